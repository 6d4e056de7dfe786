"""What Numba has and whorl has not: each says what to write instead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, NoReturn

__all__ = ["NotInWhorl", "experimental", "jitclass", "objmode", "typed"]


class NotInWhorl(NotImplementedError):
    """A part of Numba that whorl does not have."""


class _Missing:
    """Raises when it is used in any way."""

    def __init__(self, name: str, instead: str) -> None:
        self._message = f"whorl has no {name}. {instead}"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotInWhorl(self._message)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # of the interpreter: what it copies, documents or inspects
            raise AttributeError(name)
        raise NotInWhorl(self._message)

    __enter__ = __call__

    def __exit__(self, *exception: object) -> None:
        pass


_ARRAYS: Final = "Use an array, or a tuple of arrays; kernels make arrays with np.empty."
jitclass: Final = _Missing(
    "jitclass", "Remove the decorator: objects of any class can be arguments, as they are."
)
objmode: Final = _Missing(
    "objmode", "Call what needs Python before or after the kernel, and pass its results."
)
typed: Final = SimpleNamespace(
    List=_Missing("typed.List", _ARRAYS),
    Dict=_Missing("typed.Dict", "Use arrays: sorted keys with np.searchsorted, or a table."),
)
experimental: Final = SimpleNamespace(jitclass=jitclass)
