"""Finds the dicts in which an enum class and its members are looked up.

As attributes they are slow to ask for: `Stage.SIM` is a call of Python's on Python 3.11. But an
enum keeps its members in a dict, which is the same one as long as the class has its version; and
a member keeps its number in a dict of its own, whose place in the member is known.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, Final, TypeGuard

from .instances import MANAGED_DICT, attributes_in_dict
from .layout_search import object_layout

__all__ = ["members_of", "place_of_dict"]


def members_of(cls: object, name: object, member: object) -> dict[str, Any] | None:
    """The dict that holds a member under a name; None if it is not as enums have it.

    >>> from enum import IntEnum
    >>> class Stage(IntEnum):
    ...     SIM = 1
    >>> members_of(Stage, "SIM", Stage.SIM)
    {'SIM': <Stage.SIM: 1>}
    """
    if type(cls) is not enum.EnumMeta or type(member) is not cls or type(name) is not str:
        return None
    found = vars(cls).get("_member_map_")
    return found if _is_read_natively(found) and found.get(name) is member else None


def place_of_dict(member: object, name: str) -> int:
    """Where a member refers to its dict, of which a name is a key; 0 if that is not known.

    >>> place_of_dict(3, "_value_")
    0
    """
    cls = type(member)
    if type(cls) is not enum.EnumMeta:
        return 0
    every = [vars(base) for base in cls.__mro__]
    reads = next(each["__getattribute__"] for each in every if "__getattribute__" in each)
    if reads not in _PLAIN or any(name in each for each in every):
        return 0
    own = vars(member)
    place = _asked_for_place(member)
    if not place or ctypes.c_int64.from_address(place).value != id(own):
        return 0
    return place if _is_read_natively(own) and name in own else 0


_PLAIN: Final = tuple(
    vars(cls)["__getattribute__"]
    for cls in (object, int)
    if "__getattribute__" in vars(cls)  # from Python 3.14 on, an int has none of its own
)


def _asked_for_place(member: object) -> int:
    if type(member).__flags__ & MANAGED_DICT:  # before the member, once there is a dict
        where = object_layout().instance.dict
        return id(member) + where if where else 0
    ask = getattr(ctypes.pythonapi, "_PyObject_GetDictPtr", None)
    if ask is None:
        return 0
    ask.restype, ask.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return ask(member) or 0


def _is_read_natively(found: object) -> TypeGuard[dict[str, Any]]:
    """Whether something is a dict of which all keys are texts."""
    at = object_layout()
    return type(found) is dict and attributes_in_dict(id(found), at.inside, at.instance) is not None
