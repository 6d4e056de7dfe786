"""A value and an aspect in, a fact out: exact, and the same in every process.

There are two spellings of a fact. The durable one is plain data, for keys, for the disk and
for explanations. The live one is a hashable object that is quick to take and lives in one
process; two live facts are equal only if the durable ones are. Functions are an example: on
disk a function is the digest of its code and the name of its module, in a process it is the
addresses of its code and its globals.

A fact that is taken from an object's identity is good for this process only: such a durable
fact is an `OnlyHere`.
"""

from __future__ import annotations

import enum
import functools
import struct
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from whorl.errors import UnsupportedValue
from whorl.fingerprint.digest import ProcessDigest
from whorl.fingerprint.lookup import derives, module_name, module_vars, qualname, type_name
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import code_digest

from .library import library_name
from .signature import NoSignature, array_signature, signature
from .trace import Aspect, Plain

__all__ = [
    "ABSENT_FACT",
    "NotRecorded",
    "OnlyHere",
    "alias_fact",
    "durable",
    "function_behind",
    "has_identity",
    "live",
    "own_module",
    "same_fact",
    "words",
    "wrappers",
]

ABSENT_FACT: Final[Plain] = {"absent": True}  # no value has this fact
LAYOUT_FLAGS: Final = 0x001 | 0x002 | 0x100 | 0x400  # C, F, aligned, writeable
_HEAP_CLASS: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_TEXTS: Final = (str, bytes)
SEQUENCES: Final = (list, tuple)
_LONG: Final = 256  # a longer text is kept as its digest
_SIMPLE: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
_pack: Final = struct.Struct("<d").pack


class NotRecorded(Exception):
    """A value of which this aspect cannot be recorded exactly."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OnlyHere(tuple[Any, ...]):
    """A fact that means nothing in another process."""

    __slots__ = ()


def has_identity(fact: Plain) -> bool:
    """Whether a fact, or a part of it, means nothing in another process."""
    if type(fact) is OnlyHere:
        return True
    return type(fact) in (tuple, list) and any(map(has_identity, fact))


# -- durable ----------------------------------------------------------------------------


def durable(aspect: Aspect, value: Any) -> Plain:
    """The fact that a value answers an aspect with, as plain data; `NotRecorded` if it cannot.

    >>> durable(Aspect.VALUE, 64), durable(Aspect.TYPE, 64), durable(Aspect.LEN, [1, 2, 3])
    (64, ('int',), 3)
    """
    return _recorded(_DURABLE[aspect], value)


def _recorded(take: Callable[[Any], Any], value: Any) -> Any:
    """A fact; what taking it raises means that there is none."""
    try:
        return take(value)
    except NotRecorded:
        raise
    except Exception as error:
        raise NotRecorded(f"asking it raises {type(error).__name__}: {error}") from error


def _signature(value: Any) -> Plain:
    try:
        return signature(value)
    except NoSignature as error:
        raise NotRecorded(error.reason) from error


def _array(value: Any) -> Plain:
    try:
        return array_signature(value)
    except NoSignature as error:
        raise NotRecorded(error.reason) from error


def exact(value: Any) -> Plain:
    """A value as plain data that no other value has."""
    cls = type(value)
    if type(cls) is type and cls in _SIMPLE and not (cls in _TEXTS and len(value) > _LONG):
        return value
    try:
        if cls is tuple:
            return tuple(exact(item) for item in value)
        if cls is list:
            return ["list", *(exact(item) for item in value)]
        if cls is dict:  # whoever has the value can see the order
            return ["dict", *((exact(key), exact(held)) for key, held in value.items())]
    except RecursionError:  # deep, or in a circle
        pass
    return _by_digest(value)


def _by_digest(value: Any) -> Plain:
    known = library_name(value)
    if known is not None:
        return known
    from whorl.fingerprint import fingerprint  # for what is plain nothing of it is needed
    from whorl.fingerprint.fingerprinter import key_orders

    try:
        digest = fingerprint(value)
    except UnsupportedValue as error:
        where = error.path.removeprefix("value")
        raise NotRecorded(f"it{where}: {error.reason}" if where else error.reason) from error
    label = _label(value)
    if isinstance(digest, ProcessDigest):
        return OnlyHere(("digest", label, str(digest)))
    fact = {"digest": str(digest), "of": label}
    # Whoever has the value can see the order of the dicts in it, which a fingerprint leaves out.
    orders = [] if derives(type(value), np.ndarray, np.generic) else key_orders(value)
    if orders:
        fact["order"] = str(fingerprint(orders))
    return fact


def _label(value: Any) -> str:
    """What a value is called in an explanation, without running its code."""
    cls = type(value)
    if derives(type(cls), enum.EnumMeta):
        return f"{cls.__qualname__}.{value._name_}"
    if derives(cls, np.generic):
        return f"{cls.__name__}({value.item()!r})"
    if cls is np.ndarray:
        return f"array of {value.dtype} {value.shape}"
    if derives(cls, types.FunctionType):
        return f"{known_module_name(value.__module__ or '')}.{value.__qualname__}"
    if derives(cls, types.BuiltinFunctionType) or cls is type:
        return f"{value.__module__}.{value.__qualname__}"
    if cls is str or cls is bytes:
        return f"{cls.__name__} of {len(value)}"
    return f"{known_module_name(module_name(cls))}.{qualname(cls)}"


def _code(value: Any) -> Plain:
    function = function_behind(value)
    if isinstance(function, types.FunctionType):
        digest = code_digest(function.__code__)
        scope = own_module(function) or "apart"
        return ("code", digest.digest.hex(), digest.origin, scope, *wrappers(value))
    return ("code of", exact(function))


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
    if type(loaded) is not types.ModuleType or module_vars(loaded) is not scope:
        return None
    known = known_module_name(name)
    named = sys.modules.get(known, loaded)
    return known if named is loaded else None


def wrappers(value: Any) -> tuple[str, ...]:
    """What stands between a value and its function, outermost first."""
    found = []
    while type(value) in (types.MethodType, staticmethod, classmethod, functools.partial):
        found.append(type(value).__name__)
        value = value.func if type(value) is functools.partial else value.__func__
    return tuple(found)


def _len(value: Any) -> Plain:
    """How many items there are; of what is neither list nor tuple, what it is as well.

    Iterating over a list or a tuple yields its items, over a dict something else.
    """
    cls, n = type(value), len(value)
    return n if derives(cls, *SEQUENCES) else (type_name(cls), n)


def live_len(value: Any) -> Any:
    """The same with the class itself."""
    cls, n = type(value), len(value)
    return n if derives(cls, *SEQUENCES) else (cls, n)


def _present(value: Any) -> bool:
    return True


_DURABLE: Final[dict[Aspect, Callable[[Any], Plain]]] = {
    Aspect.TYPE: _signature,
    Aspect.VALUE: exact,
    Aspect.ARRAY: _array,
    Aspect.PRESENT: _present,
    Aspect.CODE: _code,
    Aspect.LEN: _len,
}


def alias_fact(one: Any, other: Any) -> str:
    """How the memory of two values is related."""
    if one is other:
        return "same"
    for value in (one, other):
        if not derives(type(value), np.ndarray):
            raise NotRecorded(f"a {type_name(type(value))} does not say which memory it uses")
    return "overlapping" if np.may_share_memory(one, other) else "distinct"


def function_behind(value: Any) -> Any:
    """The function that a call really runs: behind methods, partials and descriptors."""
    seen = 0
    while not isinstance(value, types.FunctionType):
        kind = type(value)
        if kind is types.MethodType or kind is staticmethod or kind is classmethod:
            value = value.__func__
        elif kind is functools.partial:
            value = value.func
        elif isinstance(getattr(kind, "__whorl_function__", None), property):
            value = value.__whorl_function__
        else:
            return value
        seen += 1
        if seen > 100:
            raise NotRecorded("it wraps itself")
    return value


# -- live -------------------------------------------------------------------------------


def live(aspect: Aspect, value: Any) -> Any:
    """The same for this process: quick, hashable, and equal only if the durable facts are."""
    return _recorded(LIVE[aspect], value)


def live_type(value: Any) -> Any:
    """The class where that says it all, else as much as the signature does."""
    cls = type(value)
    if type(cls) is type and cls in _SIMPLE:
        return cls
    if cls is np.ndarray:
        return (value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS)
    return _hashable(_signature(value))


def live_array(value: Any) -> tuple[Any, Any, Any]:
    """dtype, dimensions, layout with access: three parts, whatever it is."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS
    return _hashable(_array(value)), None, None


def live_value(value: Any) -> Any:
    """The value, told from those of other classes; by digest where it can change.

    Only `int` and `str` (and None) stand for themselves: nothing else here equals them.
    """
    cls = type(value)
    if cls is int or cls is str or value is None:
        return value
    if cls is float:
        return _pack(value)
    if cls is bool or cls is bytes:
        return (cls, value)
    if cls is tuple:
        return ("tuple", *map(live_value, value))
    return ("exactly", _hashable(exact(value)))  # which has the class in it


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
        return all(map(is_constant, value))
    return type(cls) is type and cls in _SIMPLE


def live_code(value: Any) -> Any:
    """The code and the globals of the function, by address, and what is around it."""
    function = function_behind(value)
    if type(function) is types.FunctionType:
        # Whoever keeps the fact keeps what it names by address alive: see `both.Facts`.
        return (id(function.__globals__), id(function.__code__), *wrappers(value))
    return _hashable(_code(value))


class Same:
    """An object compared by identity: equal to others of the very same object alone.

    What is gone equals nothing any more, whatever comes to its address. What cannot be referenced
    weakly is kept alive for as long.
    """

    __slots__ = ("_address", "_held", "_name")

    def __init__(self, value: object) -> None:
        self._address = id(value)
        self._name = type_name(type(value))
        self._held: Callable[[], object]
        try:
            self._held = weakref.ref(value)
        except TypeError:
            self._held = lambda: value

    def __eq__(self, other: object) -> bool:
        if type(other) is not Same or other._address != self._address:
            return False
        held = self._held()
        return held is not None and held is other._held()

    def __hash__(self) -> int:
        return self._address

    def __repr__(self) -> str:
        return f"<this {self._name}>"


LIVE: Final[dict[Aspect, Callable[[Any], Any]]] = {
    Aspect.TYPE: live_type,
    Aspect.VALUE: live_value,
    Aspect.ARRAY: live_array,
    Aspect.PRESENT: _present,
    Aspect.CODE: live_code,
    Aspect.LEN: live_len,
}


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
        return _pack(plain)
    if cls is complex:
        return ("c", _pack(plain.real), _pack(plain.imag))
    return (cls, plain)


def _as_written(fact: Plain) -> Any:
    """The value that a fact is the exact encoding of, as far as it is one."""
    if type(fact) is tuple:
        return tuple(map(_as_written, fact))
    if type(fact) is list and fact[:1] == ["list"]:
        return [_as_written(item) for item in fact[1:]]
    if type(fact) is list and fact[:1] == ["dict"]:
        return {_Shown(_as_written(key)): _as_written(held) for key, held in fact[1:]}
    if type(fact) is dict:
        return _Shown(words(fact))
    return fact


class _Shown:
    """Something that shows itself as a text."""

    def __init__(self, held: Any) -> None:
        self._text = held if type(held) is str and "(" in held else repr(held)

    def __repr__(self) -> str:
        return self._text


def same_fact(one: Plain, other: Plain) -> bool:
    """Whether two facts are the same, types and bits told apart.

    >>> same_fact((1, 0.0), (1, 0.0)), same_fact((1, 0.0), (1, -0.0)), same_fact(1, True)
    (True, False, False)
    """
    return bool(_hashable(one) == _hashable(other))


def words(fact: Plain, aspect: Aspect | None = None) -> str:
    """A fact for people.

    >>> words(["list", 1, ["dict", ("a", 2)]], Aspect.VALUE), words(("int",), Aspect.TYPE)
    ("[1, {'a': 2}]", 'int')
    """
    from whorl.fingerprint.rules.builtin import shortened

    if aspect is Aspect.VALUE and type(fact) is not dict:
        return shortened(_as_written(fact))
    match fact:
        case {"absent": True}:
            return "absent"
        case ("array", dtype, dimensions, layout, access):
            how = "writeable" if access == "rw" else "read-only"
            plural = "" if dimensions == 1 else "s"
            return f"array of {dtype}, {dimensions} dimension{plural}, {layout}, {how}"
        case ("code", str(digest), str(), *_):
            return f"code {digest[:8]}"
        case {"library": str(name), "version": str(version)}:
            return f"{name} ({version})"
        case {"digest": digest, "of": label}:
            return f"{label} ({digest[:8]})"
        case (str(name), int(items)):
            return f"{name} of {items}"
        case (str(name),):
            return name
        case _:
            return shortened(fact)
