"""Where objects keep an attribute: in a slot, among inline values, or in their dict."""

from __future__ import annotations

import ctypes
import sys
import types
from abc import ABCMeta
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass

from .instances import (
    INLINE_VALUES,
    MANAGED_DICT,
    attributes_of,
    shared_number,
    slot_offset,
)
from .layout_search import object_layout

__all__ = ["Member", "attribute_places", "member_of", "signed_word", "version_of"]

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
    at = object_layout().instance
    if not cls.__flags__ & MANAGED_DICT:
        return cls.__dictoffset__, 0
    if at.inline == "embedded":
        return at.dict, cls.__basicsize__ if cls.__flags__ & INLINE_VALUES else 0
    return at.dict, int(bool(at.inline))


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
