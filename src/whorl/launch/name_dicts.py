"""Finds the dicts in which the launcher looks up names of modules and members of enums.

Asking for an attribute is slow where Python code answers: `Stage.SIM` is such a call on Python
3.11. But an enum keeps its members in a dict, which stays the same as long as the class has its
version; a member keeps its number in a dict of its own; and a module has one dict all its life.
"""

from __future__ import annotations

import ctypes
import enum
from types import ModuleType
from typing import Any, Final

from whorl.reads import Step

from .instances import MANAGED_DICT
from .keys import entries_of
from .layout_search import object_layout

__all__ = ["address_of_dict", "member_dict", "module_dict"]

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
