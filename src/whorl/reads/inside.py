"""A value in, what it holds out, part by part: each once, whatever it is held in.

What has no fact is known in one process by what it holds, as far as that has one; what holds no
code keeps the fact it has, for who has it alone.
"""

from __future__ import annotations

import collections
import enum
import types
from pathlib import PurePath
from typing import Any, Final

import numpy as np

from whorl.fingerprint.lookup import ABSENT, derives, find
from whorl.fingerprint.names import known_by_name
from whorl.lazy import load

from .aspects import Same
from .fact import SIMPLE, is_constant, live_value

__all__ = ["holds_no_code", "known_here"]


def known_here(value: Any) -> Any:
    """What stands for a value in this process that has no fact: what it holds, as far as that has
    one, and the rest by identity.

    >>> lock = object()
    >>> before = known_here(held := [1, lock])
    >>> before == known_here(held)
    True
    >>> held[0] = 2
    >>> before == known_here(held)
    False
    """
    told: list[Any] = []
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        held = _held(part)
        if held is None:
            told.append(_leaf(part))
        elif id(part) in met:  # what it holds is told already
            told.append(Same(part))
        else:
            met.add(id(part))
            told += (type(part) if _is_exact(type(part)) else Same(part), len(held))
            waiting += held
    return tuple(told) if len(told) > 1 else told[0]


def holds_no_code(value: Any) -> bool:
    """Whether nothing that is code, or that nobody can look into, is in a value."""
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in met:
            continue
        met.add(id(part))
        held = _held(part)
        if not (_is_settled_leaf(part) if held is None else _is_by_name(type(part))):
            return False
        waiting += held or ()
    return True


def _is_by_name(cls: type) -> bool:
    """Whether instances count by the name of their class; of others, its code counts too."""
    return known_by_name(cls) and find(cls, "__call__") is ABSENT


def _is_settled_leaf(value: Any) -> bool:
    cls = type(value)
    if cls is frozenset or cls is set:
        return all(map(_is_settled_leaf, value))
    if is_constant(value) or derives(type(cls), enum.EnumMeta):
        return True
    return derives(cls, np.dtype, np.generic, PurePath, range) or cls is np.ndarray


def _leaf(value: Any) -> Any:
    try:
        return live_value(value)
    except Exception:  # it has no fact
        return Same(value)


def _held(value: Any) -> list[Any] | None:
    """What a value holds, names and all, in order; None if it is known as a whole."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return None
    held: list[Any] = []
    if derives(cls, dict):
        held += (part for pair in dict.items(value) for part in pair)
    elif derives(cls, list, tuple, collections.deque):
        base = next(each for each in (list, tuple, collections.deque) if derives(cls, each))
        held += base.__iter__(value)
    elif derives(cls, np.ndarray) and value.dtype.hasobject:
        held += np.asarray(value).ravel().tolist()
    elif derives(cls, *_WHOLE) or derives(type(cls), enum.EnumMeta):
        return None
    if _is_exact(cls):
        return held
    layouts = load("whorl.fingerprint.layout")  # which a second call has no need of
    if not held and layouts.has_hidden_state(cls):
        return None
    for name, part in layouts.state_of(layouts.layout_of(cls), value).items():
        held += (name, part)
    return held


def _is_exact(cls: type) -> bool:
    """Whether what instances hold is all there is to them."""
    return type(cls) is type and cls in _EXACT  # a metaclass may refuse to be compared


_EXACT: Final = frozenset((dict, list, tuple, collections.deque))
_WHOLE: Final = (
    types.FunctionType, types.ModuleType, type, np.ndarray, np.generic, set, frozenset, PurePath,
)  # fmt: skip
