"""Checks a discovered layout against objects of known content before it is used.

The launcher reads memory by a layout, and an interpreter that nobody has seen yet may keep things
elsewhere. So before a layout is used, other objects than those it was found in are read by it, as
the launcher does, and compared with what Python says of them. Every address is read through a pipe:
the system refuses to copy what is not memory, where a plain load would end the process.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.reads.facts import LAYOUT_FLAGS, OWNS_DATA

from .callable import NotKnown
from .instances import INLINE_VALUES
from .object_layout import ObjectLayout
from .probed_memory import ProbedMemory

_ARRAY_FLAGS: Final = LAYOUT_FLAGS | OWNS_DATA
_NAMES: Final = tuple(sys.intern(f"whorl_canary_{i}") for i in range(3))


def check_layout(at: ObjectLayout) -> None:
    """See that objects are read right by a layout; `NotKnown` says what is not."""
    memory = ProbedMemory()
    try:
        for what, is_right in _CHECKS.items():
            try:
                is_known = is_right(at, memory)
            except NotKnown as reason:
                raise NotKnown(f"{what} cannot be read: {reason}") from None
            if not is_known:
                raise NotKnown(f"{what} is not laid out as others are")
    finally:
        memory.close()


class _Sample:
    """Instances of it have known attributes."""


class _Slotted:
    __slots__ = _NAMES


def _one(first: object = None, /, *, last: object = None) -> None: ...


def _two(first: object = 1, second: object = 2, /, *, last: object = 3) -> int:
    return 2


def _objects(at: ObjectLayout, memory: ProbedMemory) -> bool:
    every: tuple[object, ...] = (_Slotted(), 2.5, [], _one, _Slotted, np.zeros(2))
    return at.base_size == object.__basicsize__ and all(
        memory.word(id(each) + at.type) == id(type(each)) for each in every
    )


def _floats(at: ObjectLayout, memory: ProbedMemory) -> bool:
    return all(
        memory.bytes(id(each) + at.float_value, 8) == struct.pack("<d", each)
        for each in (-0.25, 1e300, float("inf"))
    )


def _ints(at: ObjectLayout, memory: ProbedMemory) -> bool:
    def small(value: int) -> int | None:
        """An int of at most one digit, as the launcher reads it."""
        size, digit = memory.word(id(value) + 16), memory.half(id(value) + 24) if value else 0
        if at.ints == "sized":
            return size * digit if -1 <= size <= 1 else None
        return (1 - (size & 3)) * digit if 0 <= size < 16 else None

    every = (0, 1, -1, 257, -999_983, 2**30 - 1, 2**30, -(2**30), 2**61 + 5, -(2**90))
    return not at.ints or all(
        small(each) == (each if abs(each) < 2**30 else None) for each in every
    )


def _arrays(at: ObjectLayout, memory: ProbedMemory) -> bool:
    base: Any = np.arange(210, dtype=np.float32).reshape(5, 6, 7)
    fixed = np.arange(4, dtype=np.int16)
    fixed.flags.writeable = False
    every = (base[::2, 1:, ::-3], base.T, np.zeros((2, 0), order="F"), np.array(3.5), fixed)
    return all(_is_array(each, at, memory) for each in every)


def _is_array(array: Any, at: ObjectLayout, memory: ProbedMemory) -> bool:
    here, ndim = id(array), array.ndim
    if memory.half(here + at.array_ndim) != ndim:
        return False
    shape, strides = (memory.word(here + place) for place in (at.array_shape, at.array_strides))
    flags = memory.half(here + at.array_flags)
    return (
        memory.word(here + at.array_data) == array.ctypes.data
        and memory.word(here + at.array_dtype) == id(array.dtype)
        and flags & _ARRAY_FLAGS == array.flags.num & _ARRAY_FLAGS
        and (not ndim or memory.words(shape, ndim) == array.shape)
        and (not ndim or memory.words(strides, ndim) == array.strides)
    )


def _functions(at: ObjectLayout, memory: ProbedMemory) -> bool:
    return all(
        memory.word(id(each) + at.function_code) == id(each.__code__)
        and memory.word(id(each) + at.function_defaults) == id(each.__defaults__)
        and memory.word(id(each) + at.function_keyword_defaults) == id(each.__kwdefaults__)
        for each in (_one, _two)
    )


def _sequences(at: ObjectLayout, memory: ProbedMemory) -> bool:
    grown: list[object] = []  # for which there is more memory than it has items
    for _ in range(5):
        grown.append(None)  # a comprehension may know how many there will be
    lists: tuple[list[object], ...] = ([], [_one], [None] * 1000, grown)
    # Lengths that nothing else near a tuple is likely to be.
    tuples: tuple[tuple[object, ...], ...] = ((_one,), (_two, _Slotted, "text") * 71, (_one,) * 97)
    return all(memory.word(id(each) + at.list_size) == len(each) for each in lists) and all(
        memory.word(id(each) + at.tuple_size) == len(each)
        and memory.words(id(each) + at.tuple_items, len(each)) == tuple(map(id, each))
        for each in tuples
    )


def _classes(at: ObjectLayout, memory: ProbedMemory) -> bool:
    """The flags of classes; and a version that another class, and a changed one, does not have."""

    class Base:
        first = 1

    class Derived(Base):
        pass

    def version(cls: type) -> int:
        for _ in range(3):
            _ = getattr(cls(), "first", None)
        return memory.half(id(cls) + at.type_version)

    flags = all(
        memory.word(id(each) + at.type_flags) == each.__flags__ for each in (Base, _Slotted, int)
    )
    before, other = version(Derived), version(_Sample)
    Base.first = 2
    between = memory.half(id(Derived) + at.type_version)
    after = version(Derived)
    known = {before, other, after}
    return flags and len(known) == 3 and 0 not in known and between != before


def _slots(at: ObjectLayout, memory: ProbedMemory) -> bool:
    if not at.descriptor:
        return True
    sample, values = _filled(_Slotted())
    for name, value in zip(_NAMES, values, strict=True):
        defined = memory.word(id(vars(_Slotted)[name]) + at.descriptor)
        offset = memory.word(defined + 16)
        is_inside = 0 < offset < _Slotted.__basicsize__
        if not is_inside or memory.word(id(sample) + offset) != id(value):
            return False
    return True


def _filled(sample: Any) -> tuple[Any, list[object]]:
    values = [object() for _ in _NAMES]
    for name, value in zip(_NAMES, values, strict=True):
        setattr(sample, name, value)
    return sample, values


def _dicts(at: ObjectLayout, memory: ProbedMemory) -> bool:
    inside = at.inside
    for count in (1, 3, 11, 200):
        sample = {sys.intern(f"whorl_canary_{i}"): [i] for i in range(count)}
        keys = memory.word(id(sample) + inside.keys)
        expected = [id(each) for pair in sample.items() for each in pair]
        if (
            memory.word(id(sample) + inside.values)
            or memory.byte(keys + inside.kind) != 1  # a byte beside it may be anything
            or memory.word(keys + inside.count) != count
            or list(memory.words(_pairs(keys, at, memory), 2 * count)) != expected
        ):
            return False
    mixed = {1: 2, "one": 3}
    return not memory.byte(memory.word(id(mixed) + inside.keys) + inside.kind)


def _pairs(keys: int, at: ObjectLayout, memory: ProbedMemory) -> int:
    bits = memory.byte(keys + at.inside.index_bits)
    if bits > 32:
        raise NotKnown("an index is too large")
    return keys + at.inside.start + (1 << bits)


def _instances(at: ObjectLayout, memory: ProbedMemory) -> bool:
    if not at.instance.dict:
        return not at.instance.inline
    sample, values = _filled(_Sample())
    expected = dict(zip(_NAMES, map(id, values), strict=True))

    def is_found(kind: str) -> bool:
        return _attributes(sample, at, memory) == (kind, expected)

    inline = is_found("inline")
    own = vars(sample)
    split = is_found("split")
    sample.__dict__ = dict(own)
    combined = is_found("combined")
    del sample.__dict__  # what was kept inline is not used any more
    is_empty = not _inline_row(sample, memory.word(id(sample) + at.instance.dict), at, memory)
    return inline and split and combined and is_empty


def _attributes(sample: Any, at: ObjectLayout, memory: ProbedMemory) -> tuple[str, dict[str, int]]:
    """How an instance keeps its attributes, and what they are, as the launcher finds them."""
    where, inside = at.instance, at.inside
    own = memory.word(id(sample) + where.dict)
    if own and not own & 1:
        keys, row = memory.word(own + inside.keys), memory.word(own + inside.values)
        kind = "split" if row else "combined"
    else:
        keys, kind = memory.word(id(type(sample)) + where.class_keys), "inline"
        row = _inline_row(sample, own, at, memory)
    count = memory.word(keys + inside.count)
    if not 0 <= count < 64:  # no sample has so many
        return kind, {}
    pairs = memory.words(_pairs(keys, at, memory), 2 * count)
    values = memory.words(row + where.values, count) if row else pairs[1::2]
    names = {id(name): name for name in _NAMES}
    known = zip(pairs[::2], values, strict=True)
    return kind, {names[name]: value for name, value in known if name in names}


def _inline_row(sample: Any, word: int, at: ObjectLayout, memory: ProbedMemory) -> int:
    match at.instance.inline:
        case "pointer":
            return memory.word(id(sample) + at.instance.pointer)
        case "tagged":
            return word + 1 if word & 1 else 0
        case "embedded" if type(sample).__flags__ & INLINE_VALUES:
            row: int = id(sample) + type(sample).__basicsize__
            return row if memory.byte(row + at.instance.valid) else 0
    raise NotKnown("an instance keeps no values of its own")


def _references(at: ObjectLayout, memory: ProbedMemory) -> bool:
    """That counting one more in the first word, or half word, is what Python does."""
    if at.none == "call":
        return True
    thing = object()
    read = memory.word if at.none == "counted" else memory.half
    before = read(id(thing))
    more = [thing] * 5
    is_counted = read(id(thing)) - before == len(more)
    # Half a word that is negative says of an object that it lives for ever.
    return is_counted and (memory.half(id(None)) < 0) == (at.none == "for ever")


_CHECKS: Final[dict[str, Callable[[ObjectLayout, ProbedMemory], bool]]] = {
    "an object": _objects,
    "a float": _floats,
    "an int": _ints,
    "an array": _arrays,
    "a function": _functions,
    "a list or a tuple": _sequences,
    "a class": _classes,
    "an object with slots": _slots,
    "a dict": _dicts,
    "an instance": _instances,
    "a reference": _references,
}
"""Each says whether objects of one kind are read right by a layout."""
