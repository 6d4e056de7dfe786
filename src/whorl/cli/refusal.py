"""What is wrong with a command line in, one clear line out."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

__all__ = ["Refusal", "Trouble"]


class Refusal(click.ClickException):
    """A command line that cannot be followed: one line on the standard error.

    >>> Refusal("there is no entry 'zz'").exit_code
    2
    """

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it."""
        from .words import printable

        lines = [printable(line) for line in self.message.splitlines()]
        click.echo("whorl: " + "\n".join(lines), file=file or sys.stderr)


class Trouble(Refusal):
    """A command that was understood and cannot be done.

    >>> Trouble("the bundle is damaged").exit_code
    1
    """

    exit_code = 1
