"""The fact that says exactly what a value is: plain data that no other value has.

There are two spellings of a fact. The durable one is plain data, for keys, for the disk and
for explanations. The live one is a hashable object that is quick to take and lives in one
process; two live facts are equal only if the durable ones are. Functions are an example: on
disk a function is the digest of its code and the name of its module, in a process it is the
addresses of its code and its globals.

A fact that is taken from an object's identity is good for this process only: such a durable
fact is an `OnlyHere`.
"""

from __future__ import annotations

import collections
import enum
import struct
import sys
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from whorl.fingerprint.names import known_by_name
from whorl.fingerprint.static_lookup import ABSENT, derives, find, type_name
from whorl.lazy import importing, lazy_module
from whorl.signals import pass_on

from .library import library_name
from .trace import Plain

if TYPE_CHECKING:
    from whorl.fingerprint import layout as layouts
else:
    layouts = lazy_module("whorl.fingerprint.layout", globals())  # plain values have no need of it

ABSENT_FACT: Final[Plain] = {"absent": True}  # no value has this fact
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_TEXTS: Final = (str, bytes)
_DEEP: Final = 64  # levels of tuples, lists and dicts that are written out
_MANY: Final = 10_000  # parts of them, in all
_LONG: Final = 256  # a longer text is kept as its digest
SIMPLE: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
_pack: Final = struct.Struct("<d").pack


class NotRecorded(Exception):
    """A value of which this aspect cannot be recorded exactly."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OnlyHere(tuple[Any, ...]):
    """A fact that means nothing in another process."""

    __slots__ = ()


def refusal_fact(value: Any, error: Exception) -> Plain:
    """In place of a fact where a value has none: all that a compile which goes on knows of it."""
    reason = error.reason if isinstance(error, NotRecorded) else asking_raises(error)
    return {"refused": (type_name(type(value)), reason)}  # no value has this fact


def asking_raises(error: Exception) -> str:
    """The reason why there is no fact of what raises when it is asked, without addresses."""
    with importing:
        import re

    message = re.sub("0x[0-9a-fA-F]+", "0x...", str(error))
    return f"asking it raises {type(error).__name__}: {message}"


def is_only_here(fact: Plain) -> bool:
    """Whether a fact, or a part of it, means nothing in another process."""
    cls = type(fact)
    if cls is tuple or cls is list:
        for part in fact:
            inner = type(part)  # most have no parts of their own: those need no call
            if (inner is tuple or inner is list or inner is OnlyHere) and is_only_here(part):
                return True
        return False
    return cls is OnlyHere


def exact(value: Any) -> Plain:
    """A value as plain data that no other value has."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE and not (cls in _TEXTS and len(value) > _LONG):
        return value
    if _is_holder(value) and not is_large(value):
        return _spell(value)
    return _by_digest(value)


def _spell(value: Any) -> Plain:
    cls = type(value)
    if cls is tuple:
        return tuple([_spell(item) for item in value])
    if cls is list:
        return ["list", *(_spell(item) for item in value)]
    if cls is dict:  # whoever has the value can see the order
        return ["dict", *((_spell(key), _spell(item)) for key, item in value.items())]
    return exact(value)


def _is_holder(value: Any) -> bool:
    cls = type(value)
    return cls is tuple or cls is list or cls is dict


def is_large(value: Any) -> bool:
    """Whether a value holds itself, or more than is written out: in levels, or in all.

    What is held twice is written twice, so that few objects can be large.

    >>> circle = [1]
    >>> circle.append(circle)
    >>> is_large(circle), is_large((1, [2, {3: (4,)}]))
    (True, False)
    """
    level, total = {id(value): (value, 1)}, 0
    for _ in range(_DEEP):
        inner: dict[int, tuple[Any, int]] = {}
        for holder, times in level.values():
            parts = (*holder, *holder.values()) if type(holder) is dict else holder
            total += times * len(parts)
            if total > _MANY:
                return True
            for part in parts:
                if _is_holder(part):
                    before = inner.get(id(part), (part, 0))[1]
                    inner[id(part)] = part, before + times
        if not inner:
            return False
        level = inner
    return True


def _by_digest(value: Any) -> Plain:
    known = library_name(value)
    if known is not None:
        return known
    with importing:
        from .digest_fact import by_digest  # which brings the rules of the fingerprint along

    return by_digest(value)


def live_value(value: Any) -> Any:
    """The value, distinct from those of other classes; by digest where it can change.

    Only `int` and `str` (and None) stand for themselves: nothing else here equals them.
    """
    cls = type(value)
    if cls is int or cls is str or value is None:
        return value
    if cls is float:
        return _pack(value)
    if cls is bool or cls is bytes:
        return (cls, value)
    if cls is tuple and not is_large(value):
        return _live_tuple(value)
    return ("exactly", hashable(exact(value)))  # which has the class in it


def _live_tuple(value: tuple[Any, ...]) -> Any:
    return ("tuple", *[_live_tuple(x) if type(x) is tuple else live_value(x) for x in value])


def is_constant(value: Any) -> bool:
    """Whether the very same object always has the same value.

    Leaves, tuples of them, and the functions and classes of the interpreter.
    """
    cls = type(value)
    if cls is types.BuiltinFunctionType:
        return type(value.__self__) is types.ModuleType
    if cls is type:
        return not type.__dict__["__flags__"].__get__(value) & _HEAP_CLASS
    if cls is tuple:
        return not is_large(value) and all(map(_is_constant, value))
    return type(cls) is type and cls in SIMPLE


def _is_constant(value: Any) -> bool:
    return all(map(_is_constant, value)) if type(value) is tuple else is_constant(value)


def hashable(plain: Plain) -> Any:
    """Plain data as something that can be looked up, with types and bits distinguished."""
    cls = type(plain)
    if cls is tuple or cls is OnlyHere:
        return ("t", *map(hashable, plain))
    if cls is list:
        return ("l", *map(hashable, plain))
    if cls is dict:
        pairs = cast("dict[Any, Any]", plain).items()
        return ("d", *((hashable(key), hashable(item)) for key, item in pairs))
    if cls is float:
        return _pack(plain)
    if cls is complex:
        return ("c", _pack(plain.real), _pack(plain.imag))
    return (cls, plain)


def same_fact(one: Plain, other: Plain) -> bool:
    """Whether two facts are the same, down to types and bits.

    >>> same_fact((1, 0.0), (1, 0.0)), same_fact((1, 0.0), (1, -0.0)), same_fact(1, True)
    (True, False, False)
    """
    return bool(hashable(one) == hashable(other))


# -- what a value without a fact holds -------------------------------------------------
#
# The contents of a value, part by part: each once, whatever it is held in.
#
# A value that has no fact is known in one process by its contents, as far as these have facts. A
# value without code in it keeps the fact that it has, as long as nobody else can change it.


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
