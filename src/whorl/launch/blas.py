"""Finds routines of BLAS and LAPACK in this process, when code that may call them is loaded.

NumPy brings a BLAS, which is in memory wherever NumPy is: its results are those of NumPy's own
products, and nothing has to be imported. Where it cannot be found (NumPy may be linked with one
whose names are hidden), SciPy exports the routines of its own. Where there is none, the address is
0, and code has loops of its own, or an error. See decision 0044.

Routines take what Fortran passes: addresses, also of numbers. Integers have 32 or 64 bits there.
Code passes the address of 64 bits, of which the lower half comes first.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from whorl.fast_dataclasses import NamedTuple

from .image import PREFIX

WIDTH: Final = f"{PREFIX}integer_bytes"
"""The name whose address is the size of the integers of routines."""
_BY_TYPE: Final = (
    "gemm", "gemv", "syrk", "gesv", "getrf", "getri", "potrf", "geev", "geqrf", "gesdd", "gelsd",
)  # fmt: skip
_OF_REALS: Final = ("orgqr", "syevd")
_OF_COMPLEX: Final = ("ungqr", "heevd")
ROUTINES: Final = frozenset((
    *(f"{PREFIX}{kind}{name}" for kind in "sdcz" for name in _BY_TYPE),
    *(f"{PREFIX}{kind}{name}" for kind in "sd" for name in _OF_REALS),
    *(f"{PREFIX}{kind}{name}" for kind in "cz" for name in _OF_COMPLEX),
    WIDTH,
))  # fmt: skip
"""The names that code may have for routines."""

_SPELLINGS: Final = (
    ("scipy_{}_64_", 8), ("{}_64_", 8), ("{}$NEWLAPACK$ILP64", 8), ("scipy_{}_", 4), ("{}_", 4),
)  # fmt: skip
"""How builds name a routine, and the size of their integers."""


class Library(NamedTuple):
    """Where routines come from: a name for people, the size of integers, and a search by name."""

    name: str
    width: int
    find: Callable[[str], int]


@cache
def find_library() -> Library | None:
    """The BLAS and LAPACK of this process; None if there are none."""
    if sys.byteorder != "little":
        return None
    for search in _SEARCHES:
        library = search()
        if library is not None:
            return library
    return None


def address(name: str) -> int:
    """The address of a routine by its name in machine code; 0 if there is none.

    >>> address("whorl_dgemm") >= 0
    True
    """
    library = find_library()
    if library is None:
        return 0
    return library.width if name == WIDTH else library.find(name.removeprefix(PREFIX))


def _of_numpy() -> Library | None:
    """The BLAS that NumPy's own extensions are linked with, by the names that builds give it."""
    try:
        modules = [import_module(name) for name in _EXTENSIONS]
        handles = [ctypes.CDLL(module.__file__) for module in modules]
    except (ImportError, OSError, AttributeError):
        return None

    def find(spelling: str, routine: str) -> int:
        for handle in handles:
            try:
                function = getattr(handle, spelling.format(routine))
            except AttributeError:
                continue
            return ctypes.cast(function, ctypes.c_void_p).value or 0
        return 0

    for spelling, width in _SPELLINGS:
        if find(spelling, "dgemm") and find(spelling, "dgesv"):
            return Library("NumPy", width, partial(find, spelling))
    return None


_EXTENSIONS: Final = ("numpy._core._multiarray_umath", "numpy.linalg._umath_linalg")


def _of_scipy() -> Library | None:
    """What SciPy exports for other compiled code. Importing it takes a tenth of a second."""
    try:
        if find_spec("scipy") is None:
            return None
        names = ("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack")
        tables = [import_module(name).__pyx_capi__ for name in names]
    except (ImportError, AttributeError):
        return None

    def find(routine: str) -> int:
        for table in tables:
            if routine in table:
                return address_in_capsule(table[routine])
        return 0

    return Library("SciPy", 4, find) if find("dgemm") else None


def address_in_capsule(capsule: Any) -> int:
    """The address in a capsule of Python."""
    api = ctypes.pythonapi
    name, pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, name(capsule)) or 0


_SEARCHES: Final[tuple[Callable[[], Library | None], ...]] = (_of_numpy, _of_scipy)
