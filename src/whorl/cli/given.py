"""What a command line gives for a name or a path in, the same out; what is empty is refused.

An empty text is most often a variable of the shell that is not set. It names nothing: not the
user's own cache, nor every program, nor the directory that the command runs in.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, Final

import click

from .refusal import Refusal

__all__ = ["NAME", "Place"]


class _Name(click.types.StringParamType):
    """The name of something in a cache, or a pattern of such names."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        return as_typed(str(_something(value, param)))


NAME: Final = _Name()


def as_typed(text: str) -> str:
    """A text as it was typed, where the locale does not know its letters; names are UTF-8.

    >>> as_typed("\\udcc3\\udcbc"), as_typed("\\udcff") == "\\udcff"
    ('ü', True)
    """
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:  # it is something else
        return text


class Place(click.Path):
    """A path, as `click.Path` reads it."""

    def convert(
        self,
        value: str | PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | PathLike[str]:
        """The path, if it is one."""
        return super().convert(_something(value, param), param, ctx)


def _something(value: Any, param: click.Parameter | None) -> Any:
    if isinstance(value, str) and not value.strip():
        raise Refusal(f"{_name_of(param)} is empty; is the variable that it comes from set?")
    return value


def _name_of(param: click.Parameter | None) -> str:
    """An option by its long name, an argument as the help writes it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "an argument" if param is None else param.human_readable_name
