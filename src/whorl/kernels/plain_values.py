"""What `kernel.interpret` gives a function, and what it hands back: values as a kernel has them.

In a kernel a row of an argument is read as a small vector: `x[i].y`. Plain Python has that of a
view of the array.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from .small_vectors import SmallArray

__all__ = ["as_argument", "as_result"]


def as_argument(value: Any) -> Any:
    """An argument with its arrays as views whose rows are small vectors; an object with such
    members as a copy of itself.

    >>> as_argument(np.zeros((2, 3)))[0].x.item()
    0.0
    """
    seen = _view(value)
    members = getattr(value, "__dict__", None)
    if seen is not value or type(members) is not dict or not _is_copied(value):
        return seen
    views = {name: _view(member) for name, member in members.items()}
    if all(views[name] is member for name, member in members.items()):
        return value
    try:
        copied = object.__new__(type(value))
    except TypeError:  # it is of a class that is written in C
        return value
    copied.__dict__.update(views)
    return copied


def _is_copied(value: object) -> bool:
    """Whether it is an object like others: all of it is in its `__dict__`, and a copy ends without
    a trace."""
    cls = type(value)
    has_slots = any(set(vars(base).get("__slots__", ())) - _PLACES for base in cls.__mro__)
    is_single = isinstance(value, type | enum.Enum) or callable(value)
    return not is_single and not has_slots and not hasattr(cls, "__del__")


_PLACES = frozenset(("__dict__", "__weakref__"))


def _view(value: Any) -> Any:
    """An array as a view, a tuple or list of arrays as one of views; all else as it is."""
    if type(value) in (tuple, list):
        views = [_view(item) for item in value]
        is_changed = any(one is not other for one, other in zip(views, value, strict=True))
        return type(value)(views) if is_changed else value
    if type(value) is not np.ndarray:
        return value
    return value.view(np.recarray) if value.dtype.names else value.view(SmallArray)


def as_result(value: Any) -> Any:
    """A result as compiled kernels return it: Python's numbers, and plain arrays.

    >>> as_result((np.float64(1.5), np.zeros(2).view(SmallArray)))
    (1.5, array([0., 0.]))
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if isinstance(value, SmallArray):
        return value.view(np.ndarray)
    if "__dataclass_fields__" in vars(type(value)):
        names = getattr(type(value), "__match_args__", ())
        return type(value)(*(as_result(getattr(value, name)) for name in names))
    if isinstance(value, tuple):
        items = map(as_result, value)
        return type(value)(*items) if hasattr(type(value), "_fields") else tuple(items)
    return value
