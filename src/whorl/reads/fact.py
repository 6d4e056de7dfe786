"""A value in, the fact that says exactly what it is out: the same in every process.

There are two spellings of a fact. The durable one is plain data, for keys, for the disk and
for explanations. The live one is a hashable object that is quick to take and lives in one
process; two live facts are equal only if the durable ones are. Functions are an example: on
disk a function is the digest of its code and the name of its module, in a process it is the
addresses of its code and its globals.

A fact that is taken from an object's identity is good for this process only: such a durable
fact is an `OnlyHere`.

Every new process takes facts before its first hit. What is here is what it takes them of: numbers,
texts, functions of libraries, arrays. The rest is in `aspects`.
"""

from __future__ import annotations

import struct
import sys
import types
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.fingerprint.lookup import module_vars, type_name
from whorl.fingerprint.names import dtype_text, known_module_name
from whorl.lazy import importing

from .array_flags import ALIGNED, C_ORDER, F_ORDER, LAYOUT_FLAGS, WRITEABLE
from .library import library_name

if TYPE_CHECKING:
    import numpy as np

    from whorl.fingerprint.source import CodeDigest

    from .trace import Plain

__all__ = [
    "ABSENT_FACT",
    "LAYOUT_FLAGS",
    "NotRecorded",
    "OnlyHere",
    "Unmatched",
    "array_signature_of",
    "exact",
    "has_identity",
    "is_constant",
    "is_only_here",
    "is_settled",
    "live_items",
    "live_value",
    "origin_of",
    "own_module",
    "refused",
    "same_fact",
    "spawned_scope",
]

ABSENT_FACT: Final[Plain] = {"absent": True}  # no value has this fact
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_TEXTS: Final = (str, bytes)
_DEEP: Final = 64  # levels of tuples, lists and dicts that are written out
_MANY: Final = 10_000  # parts of them, in all
SEQUENCES: Final = (list, tuple)
LONG: Final = 256  # a longer text is kept as its digest
SIMPLE: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
pack: Final = struct.Struct("<d").pack


class NotRecorded(Exception):
    """A value of which this aspect cannot be recorded exactly."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OnlyHere(tuple[Any, ...]):
    """A fact that means nothing in another process."""

    __slots__ = ()


class Unmatched:
    """In place of a live fact that changed while it was taken: each equals itself alone."""


def refused(value: Any, error: Exception) -> Plain:
    """In place of a fact where a value has none: all that a compile which goes on knows of it."""
    said = error.reason if isinstance(error, NotRecorded) else asking_raises(error)
    return {"refused": (type_name(type(value)), said)}  # no value has this fact


def asking_raises(error: Exception) -> str:
    """The reason why there is no fact of what raises when it is asked, without addresses."""
    with importing:
        import re

    said = re.sub("0x[0-9a-fA-F]+", "0x...", str(error))
    return f"asking it raises {type(error).__name__}: {said}"


def has_identity(fact: Plain) -> bool:
    """Whether a fact, or a part of it, means nothing in another process."""
    cls = type(fact)
    if cls is tuple or cls is list:
        for part in fact:
            inner = type(part)  # most have no parts of their own: those need no call
            if (inner is tuple or inner is list or inner is OnlyHere) and has_identity(part):
                return True
        return False
    return cls is OnlyHere


def is_only_here(facts: tuple[Plain, ...]) -> bool:
    """Whether one of the facts means nothing in another process."""
    return has_identity(facts)


def exact(value: Any) -> Plain:
    """A value as plain data that no other value has."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE and not (cls in _TEXTS and len(value) > LONG):
        return value
    if _is_holder(value) and not is_much(value):
        return _written(value)
    return _by_digest(value)


def _written(value: Any) -> Plain:
    cls = type(value)
    if cls is tuple:
        return tuple([_written(item) for item in value])
    if cls is list:
        return ["list", *(_written(item) for item in value)]
    if cls is dict:  # whoever has the value can see the order
        return ["dict", *((_written(key), _written(held)) for key, held in value.items())]
    return exact(value)


def _is_holder(value: Any) -> bool:
    cls = type(value)
    return cls is tuple or cls is list or cls is dict


def is_much(value: Any) -> bool:
    """Whether a value holds itself, or more than is written out: in levels, or in all.

    What is held twice is written twice, so that few objects can be much.

    >>> circle = [1]
    >>> circle.append(circle)
    >>> is_much(circle), is_much((1, [2, {3: (4,)}]))
    (True, False)
    """
    level, total = {id(value): (value, 1)}, 0
    for _ in range(_DEEP):
        inside: dict[int, tuple[Any, int]] = {}
        for held, times in level.values():
            parts = (*held, *held.values()) if type(held) is dict else held
            total += times * len(parts)
            if total > _MANY:
                return True
            for part in parts:
                if _is_holder(part):
                    before = inside.get(id(part), (part, 0))[1]
                    inside[id(part)] = part, before + times
        if not inside:
            return False
        level = inside
    return True


def _by_digest(value: Any) -> Plain:
    known = library_name(value)
    if known is not None:
        return known
    with importing:
        from .digested import by_digest  # which brings the rules of the fingerprint along

    return by_digest(value)


def array_signature_of(
    dtype: np.dtype[Any], dimensions: int, flags: int, name: str | None = None
) -> Plain:
    """The signature of an array by its metadata; `flags` are the number of its flags.

    `name` is that of the dtype, for whoever knows it already.
    """
    layout, access = _LAYOUTS[flags & LAYOUT_FLAGS]
    return ("array", name or dtype_text(dtype), dimensions, layout, access)


def _layout(flags: int) -> tuple[str, str]:
    layout = "C" if flags & C_ORDER else "F" if flags & F_ORDER else "strided"
    return layout if flags & ALIGNED else "unaligned", "rw" if flags & WRITEABLE else "r"


_LAYOUTS: Final = {
    flags: _layout(flags) for flags in range(LAYOUT_FLAGS + 1) if flags & LAYOUT_FLAGS == flags
}


def origin_of(code: types.CodeType, digest: CodeDigest) -> str:
    """What the digest of a code was taken from, and which names it has from functions around it.

    The tree spells them as it spells globals, and an edit outside can make one of the other.
    """
    names = code.co_freevars
    return f"{digest.origin}, closing over {' '.join(names)}" if names else digest.origin


def own_module(function: types.FunctionType) -> str | None:
    """The name of the module whose globals a function reads; None if they are of no module.

    Those of a module that was replaced are of none, nor are those of a program that was started
    and imported as well: its name leads to the other one.
    """
    scope = function.__globals__
    name = scope.get("__name__")
    if type(name) is not str:
        return None
    loaded = sys.modules.get(name)
    if type(loaded) is not types.ModuleType:
        return None
    if loaded.__dict__ is not scope and not _is_spawned(name, scope, loaded):
        return None
    known = known_module_name(name)
    return known if sys.modules.get(known, loaded) is loaded else None


_spawned: Final[list[dict[str, Any]]] = []  # one at most


def _is_spawned(name: str, scope: dict[str, Any], loaded: types.ModuleType) -> bool:
    """Whether these are the globals of the program, in a process that multiprocessing began.

    It runs the program's file and copies what came of that into a module. The functions go on
    reading what they were defined in, so that is what the name of the program stands for.
    """
    if name != "__mp_main__":
        return False
    if not _spawned and scope.get("__file__") == module_vars(loaded).get("__file__"):
        _spawned.append(scope)
    return bool(_spawned) and _spawned[0] is scope


def spawned_scope() -> dict[str, Any] | None:
    """The globals of the program, if multiprocessing has begun this process and they were met."""
    return _spawned[0] if _spawned else None


def live_value(value: Any) -> Any:
    """The value, told from those of other classes; by digest where it can change.

    Only `int` and `str` (and None) stand for themselves: nothing else here equals them.
    """
    cls = type(value)
    if cls is int or cls is str or value is None:
        return value
    if cls is float:
        return pack(value)
    if cls is bool or cls is bytes:
        return (cls, value)
    if cls is tuple and not is_much(value):
        return _live_tuple(value)
    return ("exactly", _hashable(exact(value)))  # which has the class in it


def _live_tuple(value: tuple[Any, ...]) -> Any:
    return ("tuple", *[_live_tuple(x) if type(x) is tuple else live_value(x) for x in value])


def live_items(value: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The same of a tuple that is its own fact, as most are, in one call; None for others.

    >>> live_items((1, "a")) == live_value((1, "a")), live_items((1, (2,)))
    (True, None)
    """
    live: list[Any] = ["tuple"]
    for item in value:
        kind = type(item)
        if kind is float:
            live.append(pack(item))
        elif kind is int or item is None or (kind is str and len(item) <= LONG):
            live.append(item)
        else:
            return None
    return tuple(live)


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
        return not is_much(value) and all(map(_is_constant, value))
    return type(cls) is type and cls in SIMPLE


def is_settled(value: Any) -> bool:
    """Whether the fact of a value that nobody else has stays the same: there is no code in it.

    Who copies a value has its containers and objects for himself, but functions, classes and
    modules with everybody.

    >>> is_settled([1, {"a": ("b", None)}]), is_settled([lambda: 0])
    (True, False)
    """
    if type(type(value)) is type and type(value) in SIMPLE:
        return True
    with importing:
        from .inside import holds_no_code

    return holds_no_code(value)


def _is_constant(value: Any) -> bool:
    return all(map(_is_constant, value)) if type(value) is tuple else is_constant(value)


def _hashable(plain: Plain) -> Any:
    """Plain data as something that can be looked up, types and bits told apart."""
    cls = type(plain)
    if cls is tuple or cls is OnlyHere:
        return ("t", *map(_hashable, plain))
    if cls is list:
        return ("l", *map(_hashable, plain))
    if cls is dict:
        pairs = cast("dict[Any, Any]", plain).items()
        return ("d", *((_hashable(key), _hashable(held)) for key, held in pairs))
    if cls is float:
        return pack(plain)
    if cls is complex:
        return ("c", pack(plain.real), pack(plain.imag))
    return (cls, plain)


def same_fact(one: Plain, other: Plain) -> bool:
    """Whether two facts are the same, types and bits told apart.

    >>> same_fact((1, 0.0), (1, 0.0)), same_fact((1, 0.0), (1, -0.0)), same_fact(1, True)
    (True, False, False)
    """
    return bool(_hashable(one) == _hashable(other))
