"""Plain data in, arguments out that a compile cannot tell from those that were described.

`description` has the grammar. Modules are imported by name; nothing else of the data is executed.
"""

from __future__ import annotations

import base64
import enum
import importlib
import math
import struct
import sys
import types
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.static_lookup import derives, find, instance_dict, type_name

__all__ = ["MOST_NODES", "BadNode", "dtype_of", "named_object", "stand_ins"]

MOST_NODES: Final = 20_000
_LAYOUTS: Final = ("C", "F", "strided", "unaligned")


class BadNode(ValueError):
    """Data that describes no value."""


def stand_ins(nodes: Any) -> list[Any]:
    """The values that nodes describe, one for each node; `BadNode` if they describe none.

    >>> stand_ins([["tuple", None, [1, 1]], ["array", "<f4", [2], "C", "r", {}]])[0][0].dtype
    dtype('float32')
    """
    reader = _Reader(nodes)
    try:
        values = [reader.value(number) for number in range(len(nodes))]
        reader.fill()
    except BadNode:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise BadNode(f"it cannot be read: {type(error).__name__}: {error}") from None
    return values


class _Reader:
    """Values by number. What can refer to itself is made empty, and filled at the end."""

    def __init__(self, nodes: Any) -> None:
        if type(nodes) is not list or len(nodes) > MOST_NODES:
            raise BadNode("there is no list of values")
        self._nodes = nodes
        self._values: dict[int, Any] = {}
        self._unfilled: list[Callable[[], None]] = []

    def value(self, number: int) -> Any:
        if type(number) is not int or not 0 <= number < len(self._nodes):
            raise BadNode(f"there is no value {number!r}")
        if number not in self._values:
            kind, *rest = self._nodes[number]
            if kind not in _READ:
                raise BadNode(f"{kind!r} is no kind of value")
            self._values[number] = _READ[kind](self, *rest)
        return self._values[number]

    def later(self, fill: Callable[[], None]) -> None:
        self._unfilled.append(fill)

    def fill(self) -> None:
        while self._unfilled:
            self._unfilled.pop()()

    def items(self, numbers: Any) -> list[Any]:
        return [self.value(number) for number in numbers]

    def tuple(self, cls: str | None, items: Any) -> Any:
        made = tuple(self.items(items))
        return made if cls is None else tuple.__new__(_class(cls, tuple), made)

    def list(self, items: Any) -> Any:
        made: list[Any] = []
        self.later(lambda: made.extend(self.items(items)))
        return made

    def set(self, items: Any) -> Any:
        made: set[Any] = set()
        self.later(lambda: made.update(self.items(items)))
        return made

    def dict(self, pairs: Any) -> Any:
        made: dict[Any, Any] = {}
        self.later(lambda: made.update((self.value(k), self.value(v)) for k, v in pairs))
        return made

    def object(self, name: str, state: Any) -> Any:
        made = object.__new__(_class(name, object))
        self.later(lambda: self.put(made, state))
        return made

    def put(self, made: Any, state: Any) -> None:
        """Set attributes where instances have them; no code of the user runs."""
        attributes = instance_dict(made)
        for name, number in state.items():
            slot = find(type(made), name)
            if type(slot) is types.MemberDescriptorType:
                slot.__set__(made, self.value(number))
            elif attributes is not None:
                attributes[name] = self.value(number)
            else:
                raise BadNode(f"{type_name(type(made))} has no place for {name!r}")

    def array(self, dtype: Any, shape: Any, layout: str, access: str, rest: Any) -> Any:
        made = _empty(dtype_of(dtype), tuple(shape), layout)
        if "content" in rest:
            data = np.frombuffer(base64.b64decode(rest["content"]), made.dtype)
            made[...] = data.reshape(made.shape)
        if rest.get("class") is not None:
            made = made.view(_class(rest["class"], np.ndarray))
            self.later(lambda: self.put(made, rest.get("state", {})))
        made.flags.writeable = access == "rw"
        return made

    def view(
        self, dtype: Any, shape: Any, strides: Any, offset: int, access: str, of: int
    ) -> Any:  # fmt: skip
        base = self.value(of)
        made: Any = np.ndarray(
            tuple(shape), dtype_of(dtype), base, offset, tuple(strides)
        )  # which checks that it lies within
        if access == "r":
            made.flags.writeable = False
        return made


def _empty(dtype: np.dtype[Any], shape: tuple[int, ...], layout: str) -> Any:
    if layout not in _LAYOUTS:
        raise BadNode(f"{layout!r} is no layout")
    if layout == "unaligned":
        raw = np.zeros(math.prod(shape) * dtype.itemsize + 1, np.uint8)
        return raw[1:].view(dtype).reshape(shape)
    if layout == "strided" and shape:
        return np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    return np.zeros(shape, dtype, order="F" if layout == "F" else "C")


def dtype_of(descr: Any) -> np.dtype[Any]:
    """The dtype in plain data: a text, or rows of name, type and shape."""
    dtype = np.dtype(descr if isinstance(descr, str) else _descr(descr))
    if dtype.hasobject:
        raise BadNode("arrays of objects are not described")
    return dtype


def _descr(plain: Any) -> Any:
    """Lists as NumPy wants them: fields are tuples, and so are shapes."""
    if isinstance(plain, str):
        return plain
    return [
        (tuple(name) if isinstance(name, list) else name, _descr(kind), *map(tuple, shape))
        for name, kind, *shape in plain
    ]


def named_object(name: str) -> Any:
    """What a name says; its module is imported if need be, `BadNode` if there is no such thing.

    >>> named_object("math:tau"), named_object("collections:OrderedDict.fromkeys").__name__
    (6.283185307179586, 'fromkeys')
    """
    module, colon, inside = name.partition(":")
    if not colon or not module:
        raise BadNode(f"{name!r} is no name of something in a module")
    try:
        value: Any = _module(module)
    except ImportError as error:
        raise BadNode(f"{module} cannot be imported: {error}") from None
    for part in filter(None, inside.split(".")):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise BadNode(f"there is no {inside} in {module}") from None
    return value


def _module(name: str) -> Any:
    """A module by the name under which any process would import it; the program's own, if so."""
    for started in ("__mp_main__", "__main__"):
        loaded = sys.modules.get(started)
        if loaded is not None and name not in sys.modules and known_module_name(started) == name:
            return loaded
    return importlib.import_module(name)


def _class(name: str, base: type) -> Any:
    cls = named_object(name)
    if not isinstance(cls, type) or not derives(cls, base):
        raise BadNode(f"{name} is no class of the right kind")
    return cls


def _enum(reader: _Reader, cls: str, name: str) -> Any:
    return cast("Any", _class(cls, enum.Enum))[name]


class _Unknown:
    """In place of a value that was not recorded."""

    __slots__ = ()


_READ: Final[dict[str, Callable[..., Any]]] = {
    "none": lambda reader: None,
    "bool": lambda reader, value: bool(value),
    "int": lambda reader, value: int(value),
    "str": lambda reader, value: str(value),
    "bytes": lambda reader, value: base64.b64decode(value),
    "float": lambda reader, value: float.fromhex(value),
    "nan": lambda reader, bits: struct.unpack("<d", bytes.fromhex(bits))[0],
    "complex": lambda reader, real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "scalar": lambda reader, dtype, data: np.frombuffer(base64.b64decode(data), dtype_of(dtype), 1)[
        0
    ],
    "dtype": lambda reader, dtype: dtype_of(dtype),
    "array": _Reader.array,
    "view": _Reader.view,
    "tuple": _Reader.tuple,
    "list": _Reader.list,
    "set": _Reader.set,
    "frozenset": lambda reader, items: frozenset(reader.items(items)),
    "dict": _Reader.dict,
    "range": lambda reader, *numbers: range(*numbers),
    "slice": lambda reader, *numbers: slice(*reader.items(numbers)),
    "enum": _enum,
    "name": lambda reader, name: named_object(name),
    "object": _Reader.object,
    "unknown": lambda reader, name: _Unknown(),
}
