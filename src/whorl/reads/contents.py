"""The contents of a value, part by part: each once, whatever it is held in.

A value that has no fact is known in one process by its contents, as far as these have facts. A
value without code in it keeps the fact that it has, as long as nobody else can change it.
"""

from __future__ import annotations

import collections
import enum
import sys
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from whorl.fingerprint.names import known_by_name
from whorl.fingerprint.static_lookup import ABSENT, derives, find, type_name
from whorl.lazy import lazy_module
from whorl.signals import pass_on

from .value_fact import SIMPLE, is_constant, live_value

if TYPE_CHECKING:
    from whorl.fingerprint import layout as layouts
else:
    layouts = lazy_module("whorl.fingerprint.layout", globals())  # plain values have no need of it

__all__ = ["Same", "is_settled", "known_here"]


def known_here(value: Any) -> Any:
    """What stands for a value in this process that has no fact: what it holds, as far as that has
    one, and the rest by identity.

    >>> lock = object()
    >>> before = known_here(pair := [1, lock])
    >>> before == known_here(pair)
    True
    >>> pair[0] = 2
    >>> before == known_here(pair)
    False
    """
    known: list[Any] = []
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        inner = _contents(part)
        if inner is None:
            known.append(_leaf(part))
        elif id(part) in met:  # its contents are there already
            known.append(Same(part))
        else:
            met.add(id(part))
            known += (type(part) if _is_exact(type(part)) else Same(part), len(inner))
            waiting += inner
    return tuple(known) if len(known) > 1 else known[0]


def is_settled(value: Any) -> bool:
    """Whether the fact of a value that nobody else has stays the same: there is no code in it.

    A copy of a value has containers and objects of its own, but shares functions, classes and
    modules with everybody.

    >>> is_settled([1, {"a": ("b", None)}]), is_settled([lambda: 0])
    (True, False)
    """
    waiting, met = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in met:
            continue
        met.add(id(part))
        inner = _contents(part)
        if not (_is_settled_leaf(part) if inner is None else _is_by_name(type(part))):
            return False
        waiting += inner or ()
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
    return derives(cls, np.dtype, np.generic, range) or cls is np.ndarray or _is_path(cls)


def _leaf(value: Any) -> Any:
    try:
        return live_value(value)
    except Exception as error:  # it has no fact
        pass_on(error)
        return Same(value)


class Same:
    """An object compared by identity: equal to others of the very same object alone.

    What is gone equals nothing any more, whatever comes to its address. What cannot be referenced
    weakly is kept alive for as long.
    """

    __slots__ = ("_address", "_is_weak", "_name", "_referent")

    def __init__(self, value: object) -> None:
        self._address = id(value)
        self._name = type_name(type(value))
        self._referent: Callable[[], object]
        self._is_weak = True
        try:
            self._referent = weakref.ref(value)
        except TypeError:
            self._referent, self._is_weak = lambda: value, False

    def __eq__(self, other: object) -> bool:
        if type(other) is not Same or other._address != self._address:
            return False
        value = self._referent()
        is_gone = value is None and self._is_weak
        return not is_gone and value is other._referent()

    def __hash__(self) -> int:
        return self._address

    def __repr__(self) -> str:
        return f"<this {self._name}>"


def _contents(value: Any) -> list[Any] | None:
    """What a value holds, names and all, in order; None if it is known as a whole."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return None
    inner: list[Any] = []
    if derives(cls, dict):
        inner += (part for pair in dict.items(value) for part in pair)
    elif derives(cls, list, tuple, collections.deque):
        base = next(each for each in (list, tuple, collections.deque) if derives(cls, each))
        inner += base.__iter__(value)
    elif derives(cls, np.ndarray) and value.dtype.hasobject:
        inner += np.asarray(value).ravel().tolist()
    elif derives(cls, *_WHOLE) or derives(type(cls), enum.EnumMeta) or _is_path(cls):
        return None
    if _is_exact(cls):
        return inner
    if not inner and layouts.has_hidden_state(cls):
        return None
    for name, part in layouts.state_of(layouts.layout_of(cls), value).items():
        inner += (name, part)
    return inner


def _is_path(cls: type) -> bool:
    """Whether instances are paths, of a module whose import takes 3 ms."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and derives(cls, pathlib.PurePath)


def _is_exact(cls: type) -> bool:
    """Whether what instances hold is all there is to them."""
    return type(cls) is type and cls in _EXACT  # a metaclass may refuse to be compared


_EXACT: Final = frozenset((dict, list, tuple, collections.deque))
_WHOLE: Final = (
    types.FunctionType, types.ModuleType, type, np.ndarray, np.generic, set, frozenset,
)  # fmt: skip
