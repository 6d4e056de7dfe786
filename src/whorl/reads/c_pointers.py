"""Functions of C as objects of Python: their signatures, which are facts, and their addresses.

    ctypes                      library.sin with restype and argtypes; CFUNCTYPE(...)(address)
    cffi                        ffi.addressof(lib, "f"), what ffi.dlopen finds
    SciPy                       LowLevelCallable
    others                      what has `__wrapper_address__()` and `signature()`

A signature is a text: `float64(float64, int32, *float64)`, where `*` is an address. See decision
0059.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.fingerprint.static_lookup import ABSENT, find, mro
from whorl.lazy import load

__all__ = ["NotCallable", "address", "is_c_function", "signature"]


class NotCallable(Exception):
    """A function of C that machine code cannot call; the text says why, and what to do."""


def is_c_function(value: object) -> bool:
    """Whether this is a function of C that says where it is; nothing is imported to find out.

    >>> import ctypes
    >>> is_c_function(ctypes.CDLL(None).labs), is_c_function(len)
    (True, False)
    """
    return _library_of(value) is not None


def signature(value: object) -> str:
    """What a function of C returns and takes.

    >>> import ctypes
    >>> signature(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int)(1))
    'float64(int32)'
    """
    library = _library_of(value)
    if library is None:
        raise NotCallable("it is no function of C")
    return _SIGNATURES[library](value)


def address(value: object) -> int:
    """Where a function of C is."""
    library = _library_of(value)
    if library is None:
        raise NotCallable("it is no function of C")
    found = _ADDRESSES[library](value)
    if not found:
        raise NotCallable("its address is 0")
    return found


def _library_of(value: object) -> str | None:
    cls = type(value)
    for base in mro(cls):
        place = f"{base.__module__}.{base.__qualname__}"
        if place in _LIBRARIES:
            return _LIBRARIES[place]
    return None if find(cls, "__wrapper_address__") is ABSENT else "own"


_LIBRARIES: Final = {
    "_ctypes.CFuncPtr": "ctypes",
    "_cffi_backend._CDataBase": "cffi",
    "_cffi_backend.CData": "cffi",
    "scipy._lib._ccallback.LowLevelCallable": "scipy",
}
_INTEGERS: Final = {
    "char": "b", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H",
    "int": "i", "unsigned int": "I", "long": "l", "unsigned long": "L", "long long": "q",
    "unsigned long long": "Q", "size_t": "N", "ssize_t": "n", "intptr_t": "n", "uintptr_t": "N",
}  # fmt: skip
_FLOATS: Final = {"double": "float64", "float": "float32", "_Bool": "bool", "bool": "bool"}


def _text(result: str, parameters: list[str]) -> str:
    return f"{result}({', '.join(parameters)})"


# -- ctypes -----------------------------------------------------------------------------


def _of_ctypes(value: Any) -> str:
    if value._flags_ & 4:
        raise NotCallable("it is a function of Python's C API: call it outside of the kernel")
    kept = (getattr(value, "_objects", None) or {}).values()
    if any(type(each).__name__ == "CThunkObject" for each in kept):
        raise NotCallable(
            "it calls back into Python: write its function as a kernel, and call that"
        )
    if value.argtypes is None:
        raise NotCallable("its parameters are not declared: set .argtypes and .restype")
    if getattr(value, "errcheck", None) is not None:
        raise NotCallable("it has an errcheck, which machine code does not run")
    result = "void" if value.restype is None else _ctypes_name(value.restype)
    return _text(result, [_ctypes_name(each) for each in value.argtypes])


def _ctypes_name(cls: Any) -> str:
    code = getattr(cls, "_type_", None)
    if isinstance(code, str):
        if code in "PzZ":
            return "*"
        if code == "?":
            return "bool"
        try:
            return np.dtype(code).name
        except TypeError:
            pass
    elif isinstance(code, type) and not hasattr(cls, "_length_"):
        name = _ctypes_name(code)
        return "*" if name.startswith("*") else f"*{name}"
    dtype = getattr(cls, "_dtype_", None)  # of numpy.ctypeslib.ndpointer
    if isinstance(dtype, np.dtype):
        return f"*{dtype.name}"
    if hasattr(cls, "_dtype_") or getattr(cls, "__name__", "").startswith("ndpointer"):
        return "*"
    raise NotCallable(f"kernels do not pass a {getattr(cls, '__name__', cls)}")


def _address_of_ctypes(value: Any) -> int:
    ctypes = load("ctypes")
    return int(ctypes.cast(value, ctypes.c_void_p).value or 0)


# -- cffi -------------------------------------------------------------------------------


def _of_cffi(value: Any) -> str:
    kind = sys.modules["_cffi_backend"].typeof(value)
    if kind.kind != "function":
        raise NotCallable(f"it is a {kind.cname}, and no function")
    if kind.ellipsis:
        raise NotCallable("it takes any number of arguments")
    result = "void" if kind.result.kind == "void" else _c_name(kind.result.cname)
    return _text(result, [_c_name(each.cname) for each in kind.args])


def _address_of_cffi(value: Any) -> int:
    return int(sys.modules["_cffi_backend"].FFI().cast("intptr_t", value))


# -- signatures as C writes them --------------------------------------------------------


def _c_name(text: str) -> str:
    """The type that a declaration of C names, without the name of a parameter. Functions of
    Cython take an int of its own, which is 0.

    >>> _c_name("const double *"), _c_name("int"), _c_name("unsigned long")
    ('*float64', 'int32', 'uint64')
    """
    words = re.sub(r"\bconst\b|\brestrict\b", "", text).strip()
    if words.endswith("__pyx_skip_dispatch"):
        return "0"
    stars = words.count("*")
    parts = words.replace("*", " ").split()
    if len(parts) > 1 and not _number_name(" ".join(parts)):
        parts.pop()  # the name of a parameter
    plain = " ".join(parts)
    if stars:
        name = "" if plain == "void" or stars > 1 else _number_name(plain)
        return f"*{name}"
    name = _number_name(plain)
    if not name:
        raise NotCallable(f"kernels do not pass a {text}")
    return name


def _number_name(plain: str) -> str:
    if plain in _FLOATS:
        return _FLOATS[plain]
    fixed = re.fullmatch(r"(u?int(?:8|16|32|64))_t", plain)
    if fixed:
        return fixed[1]
    return np.dtype(_INTEGERS[plain]).name if plain in _INTEGERS else ""


def _of_scipy(value: Any) -> str:
    text = value.signature
    match = re.fullmatch(r"\s*(.+?)\s*\((.*)\)\s*", text or "")
    if match is None:
        raise NotCallable(f"its signature is {text!r}")
    inside = [each for each in match[2].split(",") if each.strip() not in ("", "void")]
    result = "void" if match[1].strip() == "void" else _c_name(match[1])
    return _text(result, [_c_name(each) for each in inside])


def _address_of_scipy(value: Any) -> int:
    from_capsule = load("whorl.launch.blas").address_in_capsule
    return int(from_capsule(tuple.__getitem__(value, 0)))


def _own_signature(value: Any) -> str:
    return re.sub(r"\s*,\s*", ", ", str(value.signature()))


_SIGNATURES: Final[dict[str, Callable[[Any], str]]] = {
    "ctypes": _of_ctypes, "cffi": _of_cffi, "scipy": _of_scipy, "own": _own_signature,
}  # fmt: skip
_ADDRESSES: Final[dict[str, Callable[[Any], int]]] = {
    "ctypes": _address_of_ctypes,
    "cffi": _address_of_cffi,
    "scipy": _address_of_scipy,
    "own": lambda value: int(value.__wrapper_address__()),
}
