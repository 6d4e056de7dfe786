"""A value and an aspect in, a fact out, durable or live, whatever the value is.

What a process usually meets before its first hit is in `fact`, and is not asked for here.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from whorl.fingerprint.lookup import derives, type_name
from whorl.fingerprint.source import code_digest
from whorl.lazy import room

from .fact import (
    LAYOUT_FLAGS,
    SEQUENCES,
    SIMPLE,
    NotRecorded,
    _hashable,
    asking_raises,
    exact,
    live_value,
    origin_of,
    own_module,
)
from .trace import Aspect, Plain
from .world import function_behind

if TYPE_CHECKING:
    import whorl.reads.signature as signatures  # the package has a function of this name
else:
    signatures = room("whorl.reads.signature", globals())

__all__ = [
    "LIVE",
    "Same",
    "alias_fact",
    "durable",
    "is_array",
    "live",
    "live_array",
    "live_code",
    "live_len",
    "live_type",
    "wrappers",
]

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
        raise NotRecorded(asking_raises(error)) from error


def _signature(value: Any) -> Plain:
    try:
        return signatures.signature(value)
    except signatures.NoSignature as error:
        raise NotRecorded(error.reason) from error


def _array(value: Any) -> Plain:
    try:
        return signatures.array_signature(value)
    except signatures.NoSignature as error:
        raise NotRecorded(error.reason) from error


def _code(value: Any) -> Plain:
    function = function_behind(value)
    if isinstance(function, types.FunctionType):
        digest = code_digest(function.__code__)
        scope = own_module(function) or "apart"
        origin = origin_of(function.__code__, digest)
        return ("code", digest.hex, origin, scope, *wrappers(value))
    return ("code of", exact(function))


def _len(value: Any) -> Plain:
    """How many items there are; of what is neither list nor tuple, what it is as well.

    Iterating over a list or a tuple yields its items, over a dict something else.
    """
    cls, n = type(value), len(value)
    return n if derives(cls, *SEQUENCES) else (type_name(cls), n)


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
        if not is_array(value):
            raise NotRecorded("it does not say which memory it uses")
    return "overlapping" if np.may_share_memory(one, other) else "distinct"


def is_array(value: Any) -> bool:
    """Whether it is NumPy's, or of a class that is derived from that."""
    return derives(type(value), np.ndarray)


def wrappers(value: Any) -> tuple[str, ...]:
    """What stands between a value and its function, outermost first."""
    found = []
    while type(value) in (types.MethodType, staticmethod, classmethod, functools.partial):
        found.append(type(value).__name__)
        value = value.func if type(value) is functools.partial else value.__func__
    return tuple(found)


# -- live -------------------------------------------------------------------------------


def live(aspect: Aspect, value: Any) -> Any:
    """The same for this process: quick, hashable, and equal only if the durable facts are."""
    return _recorded(LIVE[aspect], value)


def live_type(value: Any) -> Any:
    """The class where that says it all, else as much as the signature does."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return cls
    if cls is np.ndarray:
        return (value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS)
    return _hashable(_signature(value))


def live_array(value: Any) -> tuple[Any, Any, Any]:
    """dtype, dimensions, layout with access: three parts, whatever it is."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS
    return _hashable(_array(value)), None, None


def live_len(value: Any) -> Any:
    """The same with the class itself."""
    cls, n = type(value), len(value)
    return n if derives(cls, *SEQUENCES) else (cls, n)


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

    __slots__ = ("_address", "_held", "_is_weak", "_name")

    def __init__(self, value: object) -> None:
        self._address = id(value)
        self._name = type_name(type(value))
        self._held: Callable[[], object]
        self._is_weak = True
        try:
            self._held = weakref.ref(value)
        except TypeError:
            self._held, self._is_weak = lambda: value, False

    def __eq__(self, other: object) -> bool:
        if type(other) is not Same or other._address != self._address:
            return False
        held = self._held()
        is_gone = held is None and self._is_weak
        return not is_gone and held is other._held()

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
