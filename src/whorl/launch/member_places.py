"""Where an attribute or a key is kept: in a slot, among inline values, or in a dict."""

from __future__ import annotations

import ctypes
import enum
import sys
import types
from abc import ABCMeta
from types import ModuleType
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass
from whorl.reads import Step

from .instances import (
    MANAGED_DICT,
    PAIR,
    Attributes,
    DictLayout,
    attributes_in_dict,
    attributes_of,
    dict_places,
    shared_number,
    slot_offset,
)
from .layout_search import object_layout

# Finds the entry of a dict by its number, and the words that show that it stays there.
#
# As long as a dict has the same keys, of the same size and kind, a number has the same place.


def keys_word(inside: DictLayout) -> int:
    """Where, among the keys of a dict, the word is that says how large their index is."""
    return min(inside.index_bits, inside.kind) & ~7


def keys_bits(inside: DictLayout) -> int:
    """The bits of that word: the size of the index, and of which kind the keys are."""
    first = keys_word(inside)
    return 0xFF << 8 * (inside.index_bits - first) | 0xFF << 8 * (inside.kind - first)


def pair_of(scope: int, number: int) -> tuple[int, int, int, int]:
    """Where a dict has its keys, what they say of themselves, the pair of a number, the values.

    No values: they stand beside the keys. No keys: it is not known where anything is, and the
    launcher looks for it each time.
    """
    inside = object_layout().inside
    keys = ctypes.c_int64.from_address(scope + inside.keys).value
    # Another thread may exchange the keys at any moment: all that follows is about these.
    first = keys_word(inside)
    word = ctypes.c_uint64.from_address(keys + first).value & keys_bits(inside)
    index_bits = word >> 8 * (inside.index_bits - first) & 0xFF
    has_texts = word >> 8 * (inside.kind - first) & 0xFF
    values = ctypes.c_int64.from_address(scope + inside.values).value
    if not has_texts or (values and not object_layout().instance.dict):
        return 0, 0, 0, 0
    return keys, word, keys + inside.start + (1 << index_bits) + PAIR * number, values


def entries_of(scope: object) -> Attributes | None:
    """Where a dict keeps its entries; None for other objects, and if not all keys are texts."""
    if type(scope) is not dict:
        return None
    return attributes_in_dict(id(scope), object_layout().inside, object_layout().instance)


def key_number(scope: dict[Any, Any], key: str) -> int:
    """The number of the entry with a key, as a hint for the launcher; 0 if it is not known."""
    entries = entries_of(scope)
    return 0 if entries is None else max(entries.number(key), 0)


def own_key(scope: dict[Any, Any], key: str) -> str:
    """The text by which a dict knows what a key leads to: `__main__` is not one for all, say.

    >>> text = "".join(["a", "b"])
    >>> own_key({text: 1}, "ab") is text
    True
    """
    entries = entries_of(scope)
    if entries is None or entries.number(key) >= 0:
        return key
    return next((each for each in list(scope) if each == key), key)


_UNKNOWN: Final = 0xFFFFFFFF  # a number at which no name stands
_GENERIC: Final = object.__dict__["__getattribute__"]
_HIDDEN_BY_INSTANCES: Final = frozenset(
    (int, float, bool, str, tuple, type(None), np.ndarray, types.FunctionType)
)
"""What a class may hold under a name of which an instance has its own: no data descriptors, and
their classes never become such."""


@dataclass(frozen=True, slots=True)
class Member:
    """Where an attribute of an object is, as long as its class has this version."""

    cls: type
    version: int
    name: str
    offset: int | None  # None: in the instance's dict, or among its inline values
    shared: int = _UNKNOWN  # at which number the name stands, among the keys of the class
    own: int = _UNKNOWN  # and in a dict with keys of its own

    @property
    def numbers(self) -> int:
        """Both in one word."""
        return signed_word(self.shared | self.own << 32)


def member_of(holder: Any, name: str, value: Any) -> Member | None:
    """Where an attribute is kept; None if only `getattr` knows."""
    cls = type(holder)
    if type(cls) not in (type, ABCMeta) or _in_class(cls, "__getattribute__") is not _GENERIC:
        return None
    version = version_of(cls)
    if not version:
        return None
    in_class = _in_class(cls, name)
    if isinstance(in_class, types.MemberDescriptorType):
        owner = in_class.__objclass__
        if owner not in cls.__mro__ or "__slots__" not in vars(owner):
            return None
        offset = slot_offset(in_class, object_layout().descriptor)
        if not 0 < offset < cls.__basicsize__:
            return None
        is_there = ctypes.c_int64.from_address(id(holder) + offset).value == id(value)
        return Member(cls, version, sys.intern(name), offset) if is_there else None
    if in_class is not None and type(in_class) not in _HIDDEN_BY_INSTANCES:
        return None
    return _attribute(holder, cls, version, sys.intern(name), value)


def _attribute(holder: Any, cls: type, version: int, name: str, value: Any) -> Member | None:
    """Where an attribute is that the instance holds itself; None if it does not."""
    at = object_layout()
    place = attributes_of(holder, at.inside, at.instance)
    if place is None:
        return None
    number = place.number(name)
    if number < 0 or place.value(number) != id(value):
        return None
    shared = shared_number(cls, name, at.inside, at.instance) if place.is_combined else number
    # Where the other kind of place is not known, the same number is as good a guess as any.
    return Member(cls, version, name, None, number if shared < 0 else shared, number)


def attribute_places(cls: type) -> tuple[int, int]:
    """Where instances of a class have their dict, and their inline values, for HOLD."""
    return dict_places(cls, object_layout().instance)


def signed_word(number: int) -> int:
    """A word without a sign, as a table holds it."""
    return number - (1 << 64) if number >= 1 << 63 else number


def version_of(cls: type) -> int:
    """A number that a class keeps until it, or what it derives from, changes; 0 if none."""
    return ctypes.c_uint32.from_address(id(cls) + object_layout().type_version).value


def _in_class(cls: type, name: str) -> Any:
    """What a class or its bases hold under a name, without asking them."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


# -- dicts of modules and enums --------------------------------------------------------
#
# Finds the dicts in which the launcher looks up names of modules and members of enums.
#
# Asking for an attribute is slow where Python code answers: `Stage.SIM` is such a call on Python
# 3.11. But an enum keeps its members in a dict, which stays the same as long as the class has its
# version; a member keeps its number in a dict of its own; and a module has one dict all its life.


_PLAIN_READS: Final = tuple(
    vars(cls)["__getattribute__"]
    for cls in (object, int)
    if "__getattribute__" in vars(cls)  # from Python 3.14 on, an int has none of its own
)
_MODULE_READS: Final = (vars(ModuleType)["__getattribute__"],)
_DICT: Final = vars(ModuleType)["__dict__"]


def module_dict(module: object, step: Step) -> dict[str, Any] | None:
    """The dict in which a module has an attribute; None if it may be looked up elsewhere.

    >>> import math
    >>> module_dict(math, Step("attr", "pi")) is vars(math)
    True
    >>> module_dict(math, Step("attr", "nothing")), module_dict(3, Step("attr", "real"))
    (None, None)
    """
    cls = type(module)
    if not isinstance(module, ModuleType) or type(cls) is not type or step.operation != "attr":
        return None
    if not _is_in_instance(cls, step.name, _MODULE_READS):
        return None
    own: dict[str, Any] = _DICT.__get__(module)
    return own if entries_of(own) is not None and step.name in own else None


def member_dict(cls: object, name: object, member: object) -> dict[str, Any] | None:
    """The dict in which an enum has a member under a name; None if it is not as enums have it.

    >>> from enum import IntEnum
    >>> class Stage(IntEnum):
    ...     SIM = 1
    >>> member_dict(Stage, "SIM", Stage.SIM)
    {'SIM': <Stage.SIM: 1>}
    """
    if type(cls) is not enum.EnumMeta or type(member) is not cls or type(name) is not str:
        return None
    members = vars(cls).get("_member_map_")
    if entries_of(members) is None or members.get(name) is not member:
        return None
    return members


def address_of_dict(member: object, name: str) -> int:
    """Where the member of an enum refers to its dict, which has a name; 0 if that is not known.

    >>> address_of_dict(3, "_value_")
    0
    """
    cls = type(member)
    if type(cls) is not enum.EnumMeta or not _is_in_instance(cls, name, _PLAIN_READS):
        return 0
    own = vars(member)
    address = _dict_pointer(member)
    if not address or ctypes.c_int64.from_address(address).value != id(own):
        return 0
    return address if entries_of(own) is not None and name in own else 0


def _is_in_instance(cls: type, name: str, reads: tuple[object, ...]) -> bool:
    """Whether only the instance can have a name: its class has no such name, and reads plainly."""
    every = [vars(base) for base in cls.__mro__]
    read = next(each["__getattribute__"] for each in every if "__getattribute__" in each)
    return read in reads and not any(name in each for each in every)


def _dict_pointer(member: object) -> int:
    if type(member).__flags__ & MANAGED_DICT:  # before the member, once there is a dict
        where = object_layout().instance.dict
        return id(member) + where if where else 0
    ask = getattr(ctypes.pythonapi, "_PyObject_GetDictPtr", None)
    if ask is None:
        return 0
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return ask(member) or 0
