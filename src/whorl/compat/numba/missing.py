"""What Numba has and whorl has not: each says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any, Final, NoReturn

from whorl.kernels.language import refuse_to_follow

__all__ = [
    "Missing",
    "NotInWhorl",
    "cuda",
    "experimental",
    "jitclass",
    "missing_decorator",
    "objmode",
    "typed",
]


class NotInWhorl(NotImplementedError):
    """A part of Numba that whorl does not have."""


class Missing:
    """Raises when it is used in any way."""

    def __init__(self, name: str, instead: str) -> None:
        self._message = f"whorl has no {name}. {instead}"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise what is to be written instead."""
        raise NotInWhorl(self._message)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # of the interpreter: what it copies, documents or inspects
            raise AttributeError(name)
        raise NotInWhorl(self._message)

    __enter__ = __getitem__ = __call__

    def __exit__(self, *exception: object) -> None:
        pass


def missing_decorator(name: str, instead: str) -> Callable[..., Any]:
    """A decorator, bare or with options, of functions that raise when they are called.

    A program may define such functions and never call them.
    """
    error = NotInWhorl(f"whorl has no {name}. {instead}")

    def decorate(function: Any) -> Any:
        @wraps(function)
        def refused(*args: Any, **kwargs: Any) -> NoReturn:
            raise error

        refuse_to_follow(refused, f"is for {name}, which whorl does not have", instead)
        return refused

    def decorator(*args: Any, **options: Any) -> Any:
        is_bare = len(args) == 1 and isinstance(args[0], FunctionType) and not options
        return decorate(args[0]) if is_bare else decorate

    return decorator


def _module(name: str, about: str, **names: Any) -> ModuleType:
    """A module that programs import names from: `from numba.typed import List`."""
    module = ModuleType(f"whorl.compat.numba.{name}", about)
    vars(module).update(names)
    return module


_ARRAYS: Final = "Use an array, or a tuple of arrays; kernels make arrays with np.empty."
jitclass: Final = Missing(
    "jitclass", "Remove the decorator: objects of any class can be arguments, as they are."
)
objmode: Final = Missing(
    "objmode", "Call what needs Python before or after the kernel, and pass its results."
)
_LIST: Final = Missing("typed.List", _ARRAYS)
_DICT: Final = Missing("typed.Dict", "Use arrays: sorted keys with np.searchsorted, or a table.")
_STRUCTREF: Final = Missing(
    "structref", "Use a dataclass: objects of any class can be arguments, as they are."
)
_ON_A_GRAPHICS_CARD: Final = Missing("numba.cuda", "whorl compiles for processors.")

typed: Final = _module("typed", "Containers that whorl does not have.", List=_LIST, Dict=_DICT)
experimental: Final = _module(
    "experimental", "What whorl has no need of.", jitclass=jitclass, structref=_STRUCTREF
)
cuda: Final = _module(
    "cuda",
    "No graphics card is to be found: programs then use their functions for processors.",
    is_available=lambda: False,
    jit=missing_decorator("numba.cuda", "whorl compiles for processors."),
    __getattr__=lambda name: getattr(_ON_A_GRAPHICS_CARD, name),
)
