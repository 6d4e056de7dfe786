"""Functions of C by their addresses and signatures, called through `ctypes`.

`ctypes` raises what a function of CPython has left as the current error. In the plain Python of the
dialect that error waits where C has it: in the way of nobody, until somebody asks for it. So the
few functions that are about the current error, or about the lock, have a twin of their own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import NoneType
from typing import Any, Final, Generic, TypeVar, cast

from .raw_memory import C_TYPES, load, store
from .words import Float, Word, u64

__all__ = ["CFunction", "Twin"]

Result = TypeVar("Result", bound=Word | Float | None)


class CFunction(Generic[Result]):
    """A function of C: what it returns (`NoneType`: nothing) and takes.

    It is called with its address and its arguments. One that has a `word` is called with a table
    of addresses instead, which has its own there.
    """

    def __init__(
        self,
        name: str,
        result: type[Result],
        *parameters: type[Word | Float],
        word: int | None = None,
    ) -> None:
        self.name = name
        self.result = result
        self.parameters = parameters
        self.word = word

    def __call__(self, place: u64, *args: float) -> Result:
        """Call it; what it raises is the current error of the twin."""
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments")
        given = [kind(arg) for kind, arg in zip(self.parameters, args, strict=True)]
        twin = Twin.functions.get(self.name)
        if twin is not None:
            found = twin(*given)
        else:
            address = place if self.word is None else load(place + 8 * self.word, u64)
            types = [C_TYPES[kind] for kind in self.parameters]
            result = C_TYPES.get(self.result)
            function = ctypes.PYFUNCTYPE(result, *types)(int(address))
            try:
                found = function(*given)
            except BaseException as error:  # as C has it: set, and nothing is returned
                Twin.error = error
                found = 0
        made: Any = self.result
        return cast("Result", None if made is NoneType else made(found))


class Twin:
    """The current error of the functions that run in plain Python, and what is about it."""

    error: BaseException | None = None
    functions: Final[dict[str, Callable[..., Any]]] = {}


def _occurred() -> int:
    return 0 if Twin.error is None else id(type(Twin.error))


def _clear() -> None:
    Twin.error = None


def _fetch(kind: u64, value: u64, trace: u64) -> None:
    error, Twin.error = Twin.error, None
    objects = (None, None, None)
    if error is not None:
        objects = (type(error), error, error.__traceback__)  # type: ignore[assignment]  # or None
    for place, each in zip((kind, value, trace), objects, strict=True):
        if each is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
        store(place, u64(0 if each is None else id(each)))


Twin.functions.update(
    PyErr_Occurred=_occurred,
    PyErr_Clear=_clear,
    PyErr_Fetch=_fetch,
    PyErr_NormalizeException=lambda kind, value, trace: None,
    PyEval_SaveThread=lambda: 1,  # Python cannot go on without the lock
    PyEval_RestoreThread=lambda state: None,
)
