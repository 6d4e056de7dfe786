"""Exceptions that end a command with one clear line and an exit code."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from .units import printable

__all__ = ["CommandFailure", "UsageFailure"]


class CommandFailure(click.ClickException):
    """A command that cannot be carried out.

    >>> CommandFailure("the bundle is damaged").exit_code
    1
    """

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to the standard error."""
        lines = [printable(line) for line in self.message.splitlines()]
        click.echo("whorl: " + "\n".join(lines), file=file or sys.stderr)


class UsageFailure(CommandFailure):
    """Wrong usage of the command line.

    >>> UsageFailure("there is no entry 'zz'").exit_code
    2
    """

    exit_code = 2
