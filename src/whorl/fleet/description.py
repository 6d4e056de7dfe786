"""Arguments as plain data: types, and the values that a compile has read.

A list of nodes, each of which names others by their number, so whatever is shared or refers to
itself stays so. The first element says what a node is:

    none, bool x, int n, str s, bytes base64, float text, complex text text
    nan bits
    scalar dtype base64                       a scalar of NumPy
    dtype dtype
    array dtype shape layout access rest      layout: C, F, strided, unaligned; access: r, rw
                                              rest: content (base64), class, state
    view dtype shape strides offset access of a part of another array
    tuple class-or-null items
    list items, set items, frozenset items
    dict [[key, value], ...]
    range start stop step, slice start stop step
    enum class name
    name module:name                          a function, class, module or kernel
    object class state                        an instance, made without calling its class
    unknown class                             nothing: whoever looks at it finds no attribute

Only what is wanted is described. Of an array that is its type; its shape if some length was
read, its content if an element was.
"""

from __future__ import annotations

import base64
import enum
import math
import struct
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.names import known_module_name, resolve
from whorl.fingerprint.static_lookup import (
    class_vars,
    derives,
    instance_dict,
    module_name,
    mro,
    qualname,
    type_name,
)
from whorl.reads.facts import array_signature_of
from whorl.reads.trace import Aspect, Plain

from .stand_in import MOST_NODES, dtype_of
from .wanted import Wanted

__all__ = ["Described", "TooLarge", "describe", "name_of"]

LARGEST_CONTENT: Final = 1 << 20


class TooLarge(Exception):
    """Arguments with more parts than a line may have."""


@dataclass(frozen=True, slots=True)
class Described:
    """Nodes, and the numbers of those that were asked for."""

    nodes: list[Plain]
    roots: list[int]


def describe(values: Sequence[object], wanted: Sequence[Wanted | None]) -> Described:
    """Values as nodes: as far as something is wanted of each, all of it where that is None.

    >>> describe([3, np.zeros((4, 5))], [None, Wanted()]).nodes
    [['int', 3], ['array', '<f8', [2, 2], 'C', 'rw', {}]]
    """
    writer = _Writer()
    roots = [writer.place(value, want) for value, want in zip(values, wanted, strict=True)]
    writer.run()
    return Described(writer.nodes, roots)


class _Writer:
    """Nodes by number; what is still to be described waits in a list, so depth is no matter."""

    def __init__(self) -> None:
        self.nodes: list[Plain] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []
        self._todo: list[tuple[int, Any, Wanted | None]] = []
        self._done: set[tuple[int, int]] = set()  # nodes, and what was wanted of them

    def place(self, value: object, wanted: Wanted | None) -> int:
        """The number of the node of a value."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.nodes)
            if number >= MOST_NODES:
                raise TooLarge(f"more than {MOST_NODES} values")
            self.nodes.append(None)
            self._alive.append(value)
        self._todo.append((number, value, wanted))
        return number

    def run(self) -> None:
        """Describe what waits."""
        while self._todo:
            number, value, wanted = self._todo.pop()
            is_done = {(number, id(None)), (number, id(wanted))} & self._done
            if is_done:
                continue
            self._done.add((number, id(wanted)))
            self.nodes[number] = self._node(value, wanted, self.nodes[number])

    def places(self, values: Iterable[Any], wanted: Wanted | None) -> list[int]:
        """The numbers of the nodes of items."""
        return [
            self.place(value, None if wanted is None else wanted.item(i))
            for i, value in enumerate(values)
        ]

    def _node(self, value: Any, wanted: Wanted | None, before: Plain) -> Plain:
        cls = type(value)
        write = _WRITE.get(cls) if type(cls) is type else None
        if write is not None:
            return write(self, value, wanted)
        if derives(cls, np.ndarray):
            return self._array(value, wanted, before)
        if derives(cls, np.generic):
            return ["scalar", *_dtype(value.dtype), _text(value.tobytes())]
        if derives(cls, np.dtype):
            return ["dtype", *_dtype(value)]
        if derives(cls, enum.Enum):
            return self._member(value)
        if derives(cls, tuple):
            named = name_of(cls)
            return ["tuple", named, self.places(tuple.__iter__(value), wanted)]
        name = name_of(value)
        if name is not None:
            return ["name", name]
        return self._object(value, wanted, before)

    def _member(self, value: enum.Enum) -> Plain:
        cls, name = type(value), value.__dict__.get("_name_")
        if type(name) is not str or class_vars(cls).get("_member_map_", {}).get(name) is not value:
            return ["unknown", type_name(cls)]
        return ["enum", name_of(cls), name]

    def _array(self, value: Any, wanted: Wanted | None, before: Plain) -> Plain:
        dtype = _dtype(value.dtype)
        if not dtype:
            return ["unknown", f"an array of {value.dtype}"]
        cls, base = type(value), value.base
        access = "rw" if value.flags.writeable else "r"
        if (
            wanted is None
            and type(base) is type(value) is np.ndarray
            and base.nbytes <= LARGEST_CONTENT
        ):
            offset = value.ctypes.data - base.ctypes.data
            if 0 <= offset < max(base.nbytes, 1):
                return [
                    "view", *dtype, list(value.shape), list(value.strides), offset, access,
                    self.place(base, None),
                ]  # fmt: skip
        layout = array_signature_of(value.dtype, value.ndim, value.flags.num)[3]
        rest = dict(before[5]) if before else {}
        has_content = wanted is None or wanted.wants_content or "content" in rest
        has_shape = has_content or (before and tuple(before[2]) == value.shape)
        if wanted is not None and (Aspect.LEN in wanted.aspects or wanted.steps):
            has_shape = True
        shape = value.shape if has_shape else (2, 2, *[1] * value.ndim)[: value.ndim]
        if has_content and value.nbytes <= LARGEST_CONTENT:
            rest["content"] = _text(value.tobytes())
        if cls is not np.ndarray and cls is not np.memmap:
            rest["class"] = name_of(cls)
            rest["state"] = {**rest.get("state", {}), **self._state(value, wanted)}
        return ["array", *dtype, list(shape), layout, access, rest]

    def _object(self, value: object, wanted: Wanted | None, before: Plain) -> Plain:
        cls = type(value)
        name = name_of(cls)
        if name is None or not _is_made_plainly(cls):
            return ["unknown", type_name(cls)]
        state = before[2] if before else {}
        return ["object", name, {**state, **self._state(value, wanted)}]

    def _state(self, value: object, wanted: Wanted | None) -> dict[str, int]:
        """The attributes in an instance that are wanted."""
        state: dict[str, int] = {}
        for name, content in _stored(value):
            below = None if wanted is None else wanted.attribute(name)
            if wanted is None or below is not None:
                state[name] = self.place(content, below)
        return state


def _stored(value: object) -> list[tuple[str, Any]]:
    """What is in the slots and the dictionary of an instance; no code of the user runs."""
    stored: dict[str, Any] = {}
    for cls in mro(type(value)):
        for name, slot in class_vars(cls).items():
            if type(slot) is types.MemberDescriptorType and name not in stored:
                try:
                    stored[name] = slot.__get__(value)
                except AttributeError:
                    continue
    attributes = instance_dict(value)
    if attributes is not None:
        stored |= {n: each for n, each in dict.items(attributes) if type(n) is str}
    return [*stored.items()]


def _is_made_plainly(cls: type) -> bool:
    """Whether an empty instance can be made without the class's own code."""
    try:
        object.__new__(cls)
    except TypeError:  # of a class with a layout of its own, or an abstract one
        return False
    return True


def name_of(value: Any) -> str | None:
    """The name by which any process finds a function, class or module; None if there is none."""
    if type(value) is types.ModuleType:
        name = known_module_name(value.__name__)
        return f"{name}:" if sys.modules.get(value.__name__) is value else None
    cls, attributes = type(value), instance_dict(value) or {}
    module: Any
    inside: Any
    if derives(cls, type):
        module, inside = module_name(value), qualname(value)
    elif cls is types.FunctionType or cls is types.BuiltinFunctionType:
        module, inside = value.__module__, value.__qualname__
    elif cls is np.ufunc:
        module, inside = "numpy", value.__name__
    else:  # a kernel has the names of its function
        module, inside = attributes.get("__module__"), attributes.get("__qualname__")
    if type(module) is not str or type(inside) is not str:
        return None
    if resolve(module, inside) is not value:
        return None
    return f"{known_module_name(module)}:{inside}"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _dtype(dtype: np.dtype[Any]) -> list[Plain]:
    """A dtype as plain data in a list; an empty list for objects and other people's dtypes."""
    if dtype.hasobject or type(dtype).__module__.partition(".")[0] != "numpy":
        return []
    descr = dtype.str if dtype.names is None else np.lib.format.dtype_to_descr(dtype)
    return [] if dtype_of(_plain(descr)) != dtype else [_plain(descr)]


def _plain(descr: Any) -> Plain:
    return [*map(_plain, descr)] if isinstance(descr, list | tuple) else descr


def _float(value: float) -> list[Plain]:
    return [value.hex()]


def _number(writer: _Writer, value: float, wanted: Wanted | None) -> Plain:
    if math.isnan(value):
        return ["nan", struct.pack("<d", value).hex()]
    return ["float", *_float(value)]


def _pairs(writer: _Writer, value: dict[Any, Any], wanted: Wanted | None) -> Plain:
    return [
        "dict",
        [
            [writer.place(key, None), writer.place(v, None if wanted is None else wanted.item(key))]
            for key, v in value.items()
        ],
    ]


_WRITE: Final[dict[type, Callable[[_Writer, Any, Wanted | None], Plain]]] = {
    type(None): lambda writer, value, wanted: ["none"],
    bool: lambda writer, value, wanted: ["bool", value],
    int: lambda writer, value, wanted: ["int", value],
    str: lambda writer, value, wanted: ["str", value],
    bytes: lambda writer, value, wanted: ["bytes", _text(value)],
    float: _number,
    complex: lambda writer, value, wanted: ["complex", value.real.hex(), value.imag.hex()],
    tuple: lambda writer, value, wanted: ["tuple", None, writer.places(value, wanted)],
    list: lambda writer, value, wanted: ["list", writer.places(value, wanted)],
    set: lambda writer, value, wanted: ["set", writer.places(value, None)],
    frozenset: lambda writer, value, wanted: ["frozenset", writer.places(value, None)],
    dict: _pairs,
    range: lambda writer, value, wanted: ["range", value.start, value.stop, value.step],
    slice: lambda writer, value, wanted: [
        "slice", *writer.places((value.start, value.stop, value.step), None)
    ],
}  # fmt: skip
