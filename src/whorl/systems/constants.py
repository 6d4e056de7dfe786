"""Numbers and texts that are known when a function of the dialect is compiled, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["Constants"]


class Constants:
    """Constants by name, found when the first is needed. The compiler is given others at will.

    >>> at = Constants(lambda: {"type": 8})
    >>> at.type
    8
    """

    def __init__(self, find: Callable[[], Mapping[str, Any]]) -> None:
        self._find = find
        self._values: Mapping[str, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._values is None:
            self._values = self._find()
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    @contextmanager
    def as_given(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Inside, the constants are these."""
        before, self._values = self._values, values
        try:
            yield
        finally:
            self._values = before
