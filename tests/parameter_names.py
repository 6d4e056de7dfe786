"""Names of parametrized tests that are the same in every process: several can share a run."""

from __future__ import annotations

__all__ = ["name_of"]


def name_of(value: object) -> str | None:
    """The text of a value; None, so that its place names it, if that text is not always the same.

    >>> name_of((1, "a"))
    "(1, 'a')"
    >>> name_of({"b", "a"})
    """
    text = repr(value)
    return None if "0x" in text or "{" in text else text
