"""Finds the dict in which the launcher looks up a name of a module."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from whorl.reads import Step

from .instances import attributes_in_dict
from .layout_search import object_layout

__all__ = ["module_scope"]

_LOOKS: Final = vars(ModuleType)["__getattribute__"]
_DICT: Final = vars(ModuleType)["__dict__"]


def module_scope(module: object, step: Step) -> dict[str, Any] | None:
    """The dict that a module looks into for an attribute; None if it may look elsewhere.

    >>> import math
    >>> module_scope(math, Step("attr", "pi")) is vars(math)
    True
    >>> module_scope(math, Step("attr", "nothing")), module_scope(3, Step("attr", "real"))
    (None, None)
    """
    cls = type(module)
    if not isinstance(module, ModuleType) or type(cls) is not type or step.operation != "attr":
        return None
    every = [vars(base) for base in cls.__mro__]
    reads = next(each["__getattribute__"] for each in every if "__getattribute__" in each)
    if reads is not _LOOKS or any(step.name in each for each in every):
        return None
    found = _DICT.__get__(module)
    at = object_layout()
    if type(found) is not dict or attributes_in_dict(id(found), at.inside, at.instance) is None:
        return None
    return found if step.name in found else None
