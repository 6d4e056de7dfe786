"""NumPy's values: arrays by dtype, shape and content, scalars, dtypes, ufuncs.

A contiguous array is hashed where it lies. Any other layout is hashed in the order of its
indices, block by block, so that C and Fortran order of equal values agree and no whole
copy is made. Bytes that belong to no value (padding of records and of long doubles) are
left out. Floats count by their bits, as everywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from xxhash import xxh3_128

from ..digest import hash_bytes
from ..names import resolve
from ..refusal import Refused
from ..tokens import Node, unlabelled
from .libraries import named_node
from .rule import Rule, RuleContext

__all__ = ["NAMED_CLASSES", "OWNED_NAMES", "RULES", "TYPE_PARTS"]

Array = np.ndarray[Any, np.dtype[Any]]

_BLOCK: Final = 1 << 20  # elements hashed at a time where the array is not contiguous
_LONG_DOUBLES: Final = ("g", "G")


def _plain(value: Array) -> Array:
    """The same data as an exact ndarray, whose methods no subclass overrides."""
    return value if type(value) is np.ndarray else np.ndarray.view(value, np.ndarray)


def _array(value: Array, context: RuleContext) -> Node:
    array = _plain(value)
    dtype = array.dtype
    if dtype.hasobject or dtype.kind == "T":
        elements = array.ravel().tolist()
        return Node(b"array of objects", (dtype, array.shape, *elements), _element_label(array))
    label = (".dtype", ".shape", "").__getitem__
    return Node(b"array", (dtype, array.shape, content_digest(array)), label)


def _element_label(array: Array) -> Callable[[int], str]:
    def label(i: int) -> str:
        if i < 2:
            return (".dtype", ".shape")[i]
        place = np.unravel_index(i - 2, array.shape) if array.ndim else ()
        return f"[{', '.join(str(int(p)) for p in place)}]" if array.ndim else "[()]"

    return label


def content_digest(array: Array) -> bytes:
    """The hash of an array's values in index order."""
    if _has_padding(array.dtype):
        return hash_bytes(b"".join(content_digest(part) for part in _without_padding(array)))
    if array.flags.c_contiguous:
        return hash_bytes(_bytes_of(array))
    digest = xxh3_128()
    for block in _blocks(array):
        digest.update(_bytes_of(block))
    return digest.digest()


def _bytes_of(array: Array) -> memoryview:
    flat = array.reshape(-1)
    if flat.dtype.itemsize == 0 or flat.size == 0:
        return memoryview(b"")
    return flat.view(np.uint8).data


def _blocks(array: Array) -> Iterator[Array]:
    """Contiguous copies of consecutive parts, none larger than a block."""
    if array.size <= _BLOCK or array.ndim == 0:
        yield np.ascontiguousarray(array)
        return
    rows = max(1, _BLOCK * len(array) // array.size)
    for start in range(0, len(array), rows):
        part = array[start : start + rows]
        if part.size <= _BLOCK or array.ndim == 1:
            yield np.ascontiguousarray(part)
        else:
            for row in part:
                yield from _blocks(row)


def _has_padding(dtype: np.dtype[Any]) -> bool:
    base = dtype.base
    if base.char in _LONG_DOUBLES:
        return base.itemsize > np.finfo(base).bits // 8 or np.finfo(np.longdouble).nmant == 63
    if base.fields is None:
        return False
    end = 0  # up to here every byte belongs to a field
    for inner, offset, *_ in sorted(base.fields.values(), key=lambda field: field[1]):
        if offset > end or _has_padding(inner):
            return True
        end = max(end, offset + inner.itemsize)
    return end < base.itemsize


def _without_padding(array: Array) -> Iterator[Array]:
    """The parts of an array that hold values."""
    if array.dtype.fields is not None:
        for name in array.dtype.names or ():
            yield array[name]
        return
    # x87 long doubles: ten bytes of sixteen (or twelve) are the number.
    width = array.dtype.itemsize // (2 if array.dtype.char == "G" else 1)
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, width)
    yield raw[:, :10]


def _scalar(value: np.generic, context: RuleContext) -> Node:
    if value.dtype.hasobject:
        return Node(b"scalar of objects", (value.dtype, value.item()), unlabelled)
    name = "record" if type(value) is np.record else "scalar"
    if np.dtype(value.dtype.str).type is not value.dtype.type:
        name = value.dtype.type.__name__  # as wide as another class: longlong and int64
    opaque = type(value) is np.void and value.dtype.fields is None
    content = value.tobytes() if opaque else content_digest(_plain(np.asarray(value)))
    return Node(b"scalar", (name, value.dtype, content), unlabelled)


def _dtype(value: np.dtype[Any], context: RuleContext) -> Node:
    extra = (dict(value.metadata),) if value.metadata else ()
    if value.subdtype is not None:
        return Node(b"dtype of parts", (*value.subdtype, *extra))
    if value.fields is not None:
        fields = [(name, *value.fields[name]) for name in value.names or ()]
        return Node(b"dtype of fields", (value.itemsize, value.isalignedstruct, *fields, *extra))
    if value.kind == "T":
        return Node(b"dtype of strings", (repr(value), *extra))
    return Node(b"dtype", (_spelled(value), *extra))


def _spelled(value: np.dtype[Any]) -> str:
    """`<f4`, with the byte order written out, so that it means the same on every machine."""
    return (
        value.str
        if value.str[0] != "="
        else ("<" if sys.byteorder == "little" else ">") + value.str[1:]
    )


def _ufunc(value: np.ufunc, context: RuleContext) -> Node:
    for module in ("numpy", "numpy.linalg._umath_linalg", "scipy.special"):
        if resolve(module, value.__name__) is value:
            return named_node(context.home(module), module, value.__name__)
    raise Refused("it is a ufunc made at run time, whose function cannot be seen")


def _mapped(value: Any, context: RuleContext) -> Node:
    """An array that lies in a file: what it holds, not where."""
    return Node(b"memmap", (np.ndarray.view(value, np.ndarray),), unlabelled)


def _type_of_array(value: Array) -> tuple[object, ...]:
    array = _plain(value)
    return array.dtype, array.shape


TYPE_PARTS: Final[dict[type, Callable[[Any], tuple[object, ...]]]] = {
    np.ndarray: _type_of_array,
    np.generic: lambda value: (value.dtype, ()),
}

_SCALARS: Final = [
    scalar
    for scalar in vars(np).values()
    if isinstance(scalar, type) and issubclass(scalar, np.generic)
]
_DTYPES: Final = {type(np.dtype(scalar)) for scalar in _SCALARS if not scalar.__subclasses__()}

NAMED_CLASSES: Final = dict.fromkeys(_SCALARS, True)
OWNED_NAMES: Final = {
    np.memmap: frozenset(("_mmap", "filename", "offset", "mode")),
}

RULES: Final[dict[type, Rule]] = {
    np.ndarray: _array,
    np.dtype: _dtype,
    **dict.fromkeys(_DTYPES, _dtype),
    np.ufunc: _ufunc,
    np.memmap: _mapped,
    **dict.fromkeys(_SCALARS, _scalar),
}
if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
    RULES[np.dtypes.StringDType] = _dtype
