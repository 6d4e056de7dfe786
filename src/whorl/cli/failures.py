"""What ends a command with one clear line; and parameters that must not be empty."""

from __future__ import annotations

import sys
from os import PathLike
from typing import IO, Any, Final

import click

from .units import printable


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


# -- parameters ------------------------------------------------------------------------
#
# Parameter types of the command line: names and paths, which must not be empty.
#
# An empty argument is most often an unset variable of the shell. It must not mean the default
# cache, every program or the current directory.


class _Name(click.types.StringParamType):
    """The name of a program or an entry, or a pattern of such names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; fail if it is empty."""
        return decode_argument(str(_require_text(value, param)))


NAME: Final = _Name()


def decode_argument(text: str) -> str:
    """Decode an argument as UTF-8 if the locale could not decode it.

    >>> decode_argument("\\udcc3\\udcbc"), decode_argument("\\udcff") == "\\udcff"
    ('ü', True)
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:  # not UTF-8
        return text


class PathParameter(click.Path):
    """A path, parsed like `click.Path`."""

    def convert(
        self,
        value: str | PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | PathLike[str]:
        """Return the path; fail if it is empty."""
        return super().convert(_require_text(value, param), param, ctx)


def _require_text(value: Any, param: click.Parameter | None) -> Any:
    if isinstance(value, str) and not value.strip():
        raise UsageFailure(f"{_name_of(param)} is empty; is the variable that it comes from set?")
    return value


def _name_of(param: click.Parameter | None) -> str:
    """An option by its long name, an argument as the help writes it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "an argument" if param is None else param.human_readable_name
