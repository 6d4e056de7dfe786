"""Finds where an instance keeps its attributes: in a dict, or in the instance itself.

CPython keeps the attributes of an instance in one of three ways, and changes from one to another
as it likes:

    inline    values in a row that belongs to the instance; their names are keys that all instances
              of the class share
    split     a dict with the same shared keys, and a row of values
    combined  a dict with names and values in pairs

In all three there is a row of pairs that holds the names, in the order in which they came, and a
row of values: beside the names, or apart. A launch remembers at which number a name was. If the
same name still stands there, its value is the attribute; if not, the dict is asked.

Where all this lies is looked for in instances whose attributes are known. What is not found as
expected is not used: the attributes are then read as `getattr` reads them.
"""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any, Final

from whorl.fast_dataclasses import NamedTuple, dataclass, replace

MANAGED_DICT: Final = 1 << 4  # flags of a class
INLINE_VALUES: Final = 1 << 2  # from Python 3.13 on
PAIR: Final = 16  # bytes of a name and a value
_SHIFT_OF_PAIRS, _SHIFT_OF_VALUES = 4, 3


@dataclass(frozen=True, slots=True)
class DictLayout:
    """Offsets in a dict, and in the table of its keys."""

    keys: int = 32
    values: int = 40  # 0 there: values stand beside the keys
    index_bits: int = 9  # of the keys: the logarithm of the size of the index, one byte
    kind: int = 10  # one byte: 0 if there are keys that are no texts
    count: int = 24
    start: int = 32  # of the index, behind which the pairs are


@dataclass(frozen=True, slots=True)
class InstanceLayout:
    """Offsets in an instance whose dict is managed by Python."""

    dict: int  # 0: not known
    inline: str  # how inline values are found: "pointer", "tagged", "embedded", or "" for not
    pointer: int = 0  # where the pointer to them is
    values: int = 0  # where the first of a row of values is
    valid: int = 0  # one byte of an embedded row: 0 if it is no longer used
    class_keys: int = 0  # of a class: the keys that its instances share


class Attributes(NamedTuple):
    """Where an instance keeps its attributes, right now."""

    names: int  # the address of the first pair
    values: int  # the address of the first value
    shift: int  # the logarithm of the bytes from one value to the next
    known: int  # how many pairs there are
    dict: int  # its address; 0 for inline values

    @property
    def is_combined(self) -> bool:
        """Whether names and values stand in pairs."""
        return self.shift == _SHIFT_OF_PAIRS

    def number(self, name: str) -> int:
        """At which number an interned name stands; -1 if it does not."""
        return _number(self.names, self.known, name)

    def value(self, number: int) -> int:
        """The address of the object at a number; 0 if there is none."""
        return _word(self.values + (number << self.shift))


def _number(pairs: int, count: int, name: str) -> int:
    names = (ctypes.c_int64 * (2 * count)).from_address(pairs)[::2]
    return names.index(id(name)) if id(name) in names else -1


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def _byte(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


# -- reading through a layout, as the launcher does ---------------------------------------


def attributes_of(value: object, inside: DictLayout, at: InstanceLayout) -> Attributes | None:
    """Where an instance keeps its attributes; None if that is not known.

    It is the plain twin of what the launcher does.
    """
    cls = type(value)
    if not cls.__flags__ & MANAGED_DICT:
        if cls.__dictoffset__ <= 0:
            return None
        own = _word(id(value) + cls.__dictoffset__)
        return attributes_in_dict(own, inside, at) if own else None
    if not at.dict:
        return None
    own = _word(id(value) + at.dict)
    if own and not own & 1:
        return attributes_in_dict(own, inside, at)
    values = _inline_values(value, own, at)
    keys = _word(id(cls) + at.class_keys) if values else 0
    if not keys:
        return None
    return Attributes(_pairs(keys, inside), values, _SHIFT_OF_VALUES, _word(keys + inside.count), 0)


def shared_number(cls: type, name: str, inside: DictLayout, at: InstanceLayout) -> int:
    """At which number a name stands among the keys that instances share; -1 if it does not."""
    if not at.dict or not cls.__flags__ & MANAGED_DICT:
        return -1
    keys = _word(id(cls) + at.class_keys)
    return _number(_pairs(keys, inside), _word(keys + inside.count), name) if keys else -1


def _pairs(keys: int, inside: DictLayout) -> int:
    return keys + inside.start + (1 << _byte(keys + inside.index_bits))


def attributes_in_dict(address: int, inside: DictLayout, at: InstanceLayout) -> Attributes | None:
    """Where a dict keeps what it holds; None if it has keys that are no texts."""
    keys, values = _word(address + inside.keys), _word(address + inside.values)
    if not _byte(keys + inside.kind):
        return None
    names, count = _pairs(keys, inside), _word(keys + inside.count)
    if not values:
        return Attributes(names, names + 8, _SHIFT_OF_PAIRS, count, address)
    if not at.dict:  # then it is not known where values begin
        return None
    return Attributes(names, values + at.values, _SHIFT_OF_VALUES, count, address)


def _inline_values(value: object, word: int, at: InstanceLayout) -> int:
    """The address of the first inline value; 0 if there are none."""
    match at.inline:
        case "pointer":
            row = _word(id(value) + at.pointer)
            return row + at.values if row else 0
        case "tagged":
            return word + 1 + at.values if word & 1 else 0
        case "embedded" if type(value).__flags__ & INLINE_VALUES:
            row = id(value) + type(value).__basicsize__
            return row + at.values if _byte(row + at.valid) else 0
    return 0


def dict_places(cls: type, at: InstanceLayout) -> tuple[int, int]:
    """Where instances of a class have their dict, and their inline values, for `hold`."""
    flags = type_field(cls, "__flags__")
    if not flags & MANAGED_DICT:
        return type_field(cls, "__dictoffset__"), 0
    if at.inline == "embedded":
        return at.dict, type_field(cls, "__basicsize__") if flags & INLINE_VALUES else 0
    return at.dict, int(bool(at.inline))


def type_field(cls: type, name: str) -> int:
    """A number that every class has, without asking its metaclass."""
    number: int = type.__dict__[name].__get__(cls)
    return number


def slot_offset(descriptor: types.MemberDescriptorType, at: int) -> int:
    """Where a slot is in an instance; 0 if that is not known."""
    return _word(_word(id(descriptor) + at) + _DEFINED) if at else 0


# -- looking for it -----------------------------------------------------------------------


class _Sample:
    """Instances of it have known attributes."""


class _Slotted:
    """Its slots lie in the order of their names."""

    __slots__ = ("whorl_sample_0", "whorl_sample_1", "whorl_sample_2")


_NEAR: Final = 1024  # a class is followed by the definitions of its slots


def dict_layout() -> DictLayout | None:
    """Where a dict keeps keys and values; None if it is not as expected."""
    if sys.version_info >= (3, 16) or dict.__basicsize__ != 48:
        return None
    at = DictLayout()
    samples: list[dict[Any, Any]] = [
        {sys.intern(f"whorl_{i}"): [i] for i in range(count)} for count in (1, 5, 6, 40, 300)
    ]
    if not all(_is_dict(sample, at, 1) for sample in samples):
        return None
    samples[1][2] = 3  # not a text, on purpose
    mixed: dict[Any, Any] = {1: 2, "one": 3}
    return at if all(_is_dict(each, at, 0) for each in (samples[1], mixed)) else None


def _is_dict(sample: dict[Any, Any], at: DictLayout, kind: int) -> bool:
    """Whether a dict of its own keys is laid out as expected."""
    keys = _word(id(sample) + at.keys)
    if _word(id(sample) + 16) != len(sample) or not keys or keys % 8:
        return False
    if _word(id(sample) + at.values) or _byte(keys + at.kind) != kind:
        return False
    if _word(keys + at.count) != len(sample):
        return False
    if not kind:
        return True
    bits = _byte(keys + at.index_bits)
    if not len(sample) <= 1 << bits <= 8 * max(8, 4 * len(sample)):
        return False
    pairs = keys + at.start + (1 << bits)
    words = (ctypes.c_int64 * (2 * len(sample))).from_address(pairs)
    return list(words) == [id(each) for pair in sample.items() for each in pair]


_DEFINED: Final = 16  # where a definition says the offset, behind a name and a type


def descriptor_layout() -> int:
    """Where the descriptor of a slot refers to its definition; 0 if that is not as expected."""
    descriptor = vars(_Slotted)[_NAMES[0]]
    for place in range(object.__basicsize__, types.MemberDescriptorType.__basicsize__, 8):
        address = _word(id(descriptor) + place)
        is_near = address % 8 == 0 and abs(address - id(_Slotted)) < _NEAR
        if is_near and _finds_slots(place):
            return place
    return 0


def _finds_slots(place: int) -> bool:
    sample = _Slotted()
    for name in _NAMES:
        setattr(sample, name, [name])
    offsets = [slot_offset(vars(_Slotted)[name], place) for name in _NAMES]
    if not all(0 < offset < _Slotted.__basicsize__ for offset in offsets):
        return False
    values = [_word(id(sample) + offset) for offset in offsets]
    return values == [id(getattr(sample, name)) for name in _NAMES]


def instance_layout(inside: DictLayout) -> InstanceLayout:
    """Where an instance keeps its dict, or its values."""
    unknown = InstanceLayout(0, "")
    if not _Sample.__flags__ & MANAGED_DICT:
        return unknown
    sample, values = _sample()
    embedded = InstanceLayout(-24, "embedded", values=8, valid=3)
    expected = {
        (3, 11): InstanceLayout(-24, "pointer", -32),
        (3, 12): InstanceLayout(-24, "tagged"),
        (3, 13): embedded,
        (3, 14): embedded,
        (3, 15): embedded,
    }.get(sys.version_info[:2])
    if expected is None:
        return unknown
    class_keys = _class_keys(inside, expected)
    if not class_keys:
        return unknown
    layout = replace(expected, class_keys=class_keys)
    return layout if _holds(sample, values, inside, layout) else unknown


def _sample() -> tuple[Any, list[object]]:
    sample, values = _Sample(), [object() for _ in range(3)]
    for name, value in zip(_NAMES, values, strict=True):
        setattr(sample, name, value)
    return sample, values


_NAMES: Final = tuple(sys.intern(f"whorl_sample_{i}") for i in range(3))


def _class_keys(inside: DictLayout, expected: InstanceLayout) -> int:
    """Where a class has the keys that its instances share: what their dicts have as keys."""
    sample, _ = _sample()
    own = vars(sample)
    if _word(id(sample) + expected.dict) != id(own) or not _word(id(own) + inside.values):
        return 0
    keys = _word(id(own) + inside.keys)
    metaclass: Any = type
    words = (ctypes.c_int64 * (metaclass.__basicsize__ // 8)).from_address(id(_Sample))
    places = [8 * i for i, word in enumerate(words) if word == keys]
    return places[0] if len(places) == 1 else 0


def _holds(sample: Any, values: list[object], inside: DictLayout, at: InstanceLayout) -> bool:
    """Whether the attributes of an instance are found: inline, split, combined, and exchanged."""

    def is_found(*, is_inline: bool, is_combined: bool) -> bool:
        place = attributes_of(sample, inside, at)
        if place is None or bool(place.dict) == is_inline or place.is_combined != is_combined:
            return False
        numbers = [place.number(name) for name in _NAMES]
        return -1 not in numbers and [place.value(i) for i in numbers] == [id(v) for v in values]

    inline = is_found(is_inline=True, is_combined=False)
    own = vars(sample)
    split = is_found(is_inline=False, is_combined=False) and _word(id(sample) + at.dict) == id(own)
    own[7] = None  # not a text: the dict gets keys of its own
    mixed = attributes_of(sample, inside, at) is None
    sample.__dict__ = dict(reversed([(name, own[name]) for name in _NAMES]))
    combined = is_found(is_inline=False, is_combined=True)
    del sample.__dict__
    empty = attributes_of(sample, inside, at) is None
    return inline and split and mixed and combined and empty
