"""Signatures of functions as Numba takes them, as types of arguments for `kernel.compile`."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass

from .number_types import ArrayOf, Number, OtherType, PointerTo, SignatureOf, void, voidptr

__all__ = ["CallSignature", "signatures_in", "with_long_names"]

_KINDS: Final = {"b": "bool", "i": "i", "u": "u", "f": "f"}
_NAMES: Final = {
    "boolean": "bool", "b1": "bool", "bool_": "bool", "int_": "int64", "intp": "int64",
    "intc": "int32", "uintp": "uint64", "double": "float64", "float_": "float32",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16",
    "u4": "uint32", "u8": "uint64", "f4": "float32", "f8": "float64", "c8": "complex64",
    "c16": "complex128",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CallSignature:
    """What `kernel.compile` takes for each parameter, and the dtype of a number as result."""

    parameters: tuple[Any, ...]
    result: np.dtype[Any] | None


def signatures_in(given: Any) -> list[CallSignature]:
    """The signatures in what was given to `jit`: none, one, or a list.

    >>> signatures_in("float64(float64[:], int64)")[0].parameters
    ('f64[::1]', 'i64')
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [_parsed(given)]
    if isinstance(given, SignatureOf):
        return _if_known(given.parameters, str(given))
    if isinstance(given, tuple) and all(isinstance(each, _TYPES) for each in given):
        return _if_known(given, f"({', '.join(map(str, given))})")
    if isinstance(given, list | tuple):
        return [signature for each in given for signature in signatures_in(each)]
    raise TypeError(
        f"{given!r} is no signature: write 'float64(float64[:], int64)', or types such as "
        "float64(float64[:], int64)"
    )


def signature_of_c(given: Any) -> SignatureOf:
    """The one signature of a function of C: numbers and pointers.

    >>> str(signature_of_c("double(intc, CPointer(double))"))
    'float64(int32, *float64)'
    """
    if isinstance(given, SignatureOf):
        return given
    match = re.fullmatch(r"\s*([\w.]+)\s*\((.*)\)\s*", given) if isinstance(given, str) else None
    if match is None:
        raise TypeError(f"{given!r} is no signature of a function of C: write 'float64(float64)'")
    words = [word.strip() for word in match[2].split(",") if word.strip()]
    return SignatureOf(_type_of_c(match[1]), tuple(map(_type_of_c, words)))


def _type_of_c(word: str) -> Number | PointerTo:
    pointer = re.fullmatch(r"(?:\w+\.)*CPointer\((.*)\)|(.*\w)\s*\*|\*(.+)", word)
    if pointer is not None:
        inner = next(each for each in pointer.groups() if each is not None)
        return PointerTo(Number(_dtype(inner, word).name))
    plain = word.rpartition(".")[2]
    if plain in ("void", "none"):
        return void
    return voidptr if plain == "voidptr" else Number(_dtype(word, word).name)


_TYPES: Final = (Number, ArrayOf, OtherType)


def _if_known(parameters: tuple[Any, ...], text: str) -> list[CallSignature]:
    """The signature, unless it has types that nothing is compiled ahead for: tuples, None."""
    is_known = all(isinstance(each, Number | ArrayOf) for each in parameters)
    return [_parsed(text)] if is_known else []


def with_long_names(given: Any) -> Any:
    """Signatures of ufuncs in which `i8` is written out: it is eight bits in whorl's own names.

    >>> with_long_names(["f8(i8, f4)"])
    ['float64(int64, float32)']
    """
    if isinstance(given, str):
        return re.sub(r"[A-Za-z_]\w*", lambda name: _NAMES.get(name[0], name[0]), given)
    return [with_long_names(each) for each in given] if isinstance(given, list) else given


def _parsed(text: str) -> CallSignature:
    match = re.fullmatch(
        r"\s*((?:const )?[\w.]*(?:\[[^\]]*\])?|\w+\(.*?\))\s*\((.*)\)\s*", text, re.DOTALL
    )
    if match is None:
        raise ValueError(f"{text!r} is no signature: write 'float64(float64[:], int64)'")
    result, inside = match.groups()
    words = [word.strip() for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", inside)]
    wanted = None
    if result and not set(result) & set("[(") and result not in ("void", "none"):
        wanted = _dtype(result, text)
    return CallSignature(tuple(_parameter(word, text) for word in words if word), wanted)


def _parameter(word: str, text: str) -> Any:
    """A type as whorl writes it; complex numbers as examples."""
    const = "const " if word.startswith("const ") else ""
    name, _, axes = word.removeprefix("const ").partition("[")
    dtype = _dtype(name, text)
    ndim = axes.count(",") + 1 if axes else 0
    if dtype.kind == "c":
        return np.ones((2,) * ndim, dtype) if ndim else dtype.type(1)
    short = "bool" if dtype.kind == "b" else f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}"
    if not ndim:
        return short
    if axes.replace(" ", "").startswith("::1,"):
        return f"{const}{short}[::1, {', '.join([':'] * (ndim - 1))}]"
    # Numba's [:] stands for arrays of any strides; most are contiguous.
    return f"{const}{short}[{', '.join([':'] * (ndim - 1) + ['::1'])}]"


def _dtype(name: str, text: str) -> np.dtype[Any]:
    plain = name.strip().rpartition(".")[2]
    try:
        dtype: np.dtype[Any] = np.dtype(_NAMES.get(plain, plain))
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "biufc":
        raise ValueError(f"{name!r} in {text!r} is no type that kernels know")
    return dtype
