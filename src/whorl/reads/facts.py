"""How facts are taken: one row per aspect, for compiles, replays and the code of replays.

    durable    plain data, for keys and the disk
    live       hashable, quick, for this process; two are equal only if the durable ones are
    pair       both, of the same moment: a table leads from live facts to what was found under
               durable ones
    source     the expression that takes the live fact in a generated replay: what is usual in
               place, all else by `live`

What takes a fact may raise `NotRecorded`: the value has no such fact.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import NamedTuple, make
from whorl.fingerprint.source import CodeDigest, code_digest
from whorl.fingerprint.static_lookup import derives, type_name
from whorl.signals import pass_on

from .array_flags import LAYOUT_FLAGS
from .operations import function_behind
from .signature import NoSignature, array_signature, array_signature_of, signature
from .trace import Aspect, Plain
from .value_fact import SIMPLE, NotRecorded, asking_raises, exact, hashable, live_value
from .world import own_module

__all__ = [
    "FACTS", "SOURCE_NAMES", "Pair", "Row", "Unmatched", "durable", "is_array", "live",
    "origin_of", "pair",
]  # fmt: skip

Take = Callable[..., Any]
_SEQUENCES: Final = (list, tuple)


class Pair(NamedTuple):
    """A fact in both spellings, and what has to stay alive for the live one to mean the same."""

    live: Any
    durable: Plain
    referents: tuple[object, ...] = ()


class Row(NamedTuple):
    """How the facts of one aspect are taken: of a value, or of one and those beside it.

    In `source` and `statements`, which come before the expression, {0} and {1} are the variables
    with the values and {n} is a number of their own. Other names are in `SOURCE_NAMES`.
    """

    durable: Callable[..., Plain]
    live: Callable[..., Any]
    pair: Callable[..., Pair]
    source: str
    statements: str = ""


class Unmatched:
    """In place of a live fact that changed while it was taken: each equals itself alone."""


def durable(aspect: Aspect, *values: Any) -> Plain:
    """The fact of a value under an aspect, as plain data; `NotRecorded` if it has none.

    >>> durable(Aspect.VALUE, 64), durable(Aspect.TYPE, 64), durable(Aspect.LEN, [1, 2, 3])
    (64, ('int',), 3)
    """
    return _take(FACTS[aspect].durable, values)


def live(aspect: Aspect, *values: Any) -> Any:
    """The same for this process."""
    return _take(FACTS[aspect].live, values)


def pair(aspect: Aspect, *values: Any) -> Pair:
    """Both of the same moment.

    >>> pair(Aspect.LEN, {"a": 1})
    Pair(live=(<class 'dict'>, 1), durable=('dict', 1), referents=())
    """
    return _take(FACTS[aspect].pair, values)  # type: ignore[no-any-return]  # of that column


def _twice(durable: Take, live: Take) -> Callable[..., Pair]:
    """The live fact before and after the durable one: if it has changed, it matches nothing."""

    def pair(*values: Any) -> Pair:
        before = live(*values)
        fact = durable(*values)
        return make(Pair, (before if live(*values) == before else Unmatched(), fact, ()))

    return pair


def _take(take: Take, values: tuple[Any, ...]) -> Any:
    """A fact; what taking it raises means that there is none."""
    try:
        return take(*values)
    except NotRecorded:
        raise
    except NoSignature as error:
        raise NotRecorded(error.reason) from error
    except Exception as error:
        pass_on(error)
        raise NotRecorded(asking_raises(error)) from error


# -- type, array -------------------------------------------------------------------------------


def _live_type(value: Any) -> Any:
    """The class where that says it all, else as much as the signature does."""
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return cls
    if cls is np.ndarray:
        return (value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS)
    return hashable(signature(value))


def _live_array(value: Any) -> tuple[Any, Any, Any]:
    """dtype, dimensions, layout with access: three parts, whatever it is."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS
    return hashable(array_signature(value)), None, None


def _array_pair(value: Any) -> Pair:
    if type(value) is not np.ndarray:
        return _other_array_pair(value)
    metadata = _live_array(value)
    return make(Pair, (metadata, array_signature_of(*metadata), ()))


_other_array_pair: Final = _twice(array_signature, _live_array)


# -- value -------------------------------------------------------------------------------------


def _value_pair(value: Any) -> Pair:
    """The live fact of what is neither plain nor a tuple is made of the durable one: taking that
    again would take a fingerprint again."""
    cls = type(value)
    if cls is tuple or (type(cls) is type and cls in SIMPLE):
        return _plain_value_pair(value)
    fact = exact(value)
    return Pair(("exactly", hashable(fact)), fact)


_plain_value_pair: Final = _twice(exact, live_value)


# -- present, len ------------------------------------------------------------------------------


def _present(value: Any) -> bool:
    return True


def _len(value: Any) -> Plain:
    """How many items there are; of what is neither list nor tuple, what it is as well.

    Iterating over a list or a tuple yields its items, over a dict something else.
    """
    cls, n = type(value), len(value)
    return n if derives(cls, *_SEQUENCES) else (type_name(cls), n)


def _live_len(value: Any) -> Any:
    cls, n = type(value), len(value)
    return n if derives(cls, *_SEQUENCES) else (cls, n)


# -- code --------------------------------------------------------------------------------------


def _code_pair(value: Any) -> Pair:
    """The code and the globals of the function, by address, and what is around it."""
    function, around = function_behind(value), _wrappers(value)
    if type(function) is not types.FunctionType:
        other = ("code of", exact(function))
        return Pair(hashable(other), other)
    code, scope = function.__code__, function.__globals__
    digest, module = code_digest(code), own_module(function) or "apart"
    fact = ("code", digest.hex, origin_of(code, digest), module, *around)
    return Pair((id(scope), id(code), *around), fact, (code, scope))


def _live_code(value: Any) -> Any:
    function = function_behind(value)
    if type(function) is types.FunctionType:
        return (id(function.__globals__), id(function.__code__), *_wrappers(value))
    return _code_pair(value).live


def _wrappers(value: Any) -> tuple[str, ...]:
    """What stands between a value and its function, outermost first."""
    names = []
    while type(value) in (types.MethodType, staticmethod, classmethod, functools.partial):
        names.append(type(value).__name__)
        value = value.func if type(value) is functools.partial else value.__func__
    return tuple(names)


def origin_of(code: types.CodeType, digest: CodeDigest) -> str:
    """What the digest of a code was taken from, and which names it has from functions around it.

    The tree spells them as it spells globals, and an edit outside can make one of the other.
    """
    names = code.co_freevars
    return f"{digest.origin}, closing over {' '.join(names)}" if names else digest.origin


# -- alias -------------------------------------------------------------------------------------


def _alias(one: Any, other: Any) -> str:
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


# -- The table ---------------------------------------------------------------------------------


FACTS: Final = {
    Aspect.TYPE: Row(
        signature,
        _live_type,
        _twice(signature, _live_type),
        "(t if type(t := type({0})) is type and t in SIMPLE else live_type({0}))",
    ),
    Aspect.VALUE: Row(exact, live_value, _value_pair, "live_value({0})"),
    Aspect.ARRAY: Row(
        array_signature,
        _live_array,
        _array_pair,
        "d{n}, n{n}, f{n}",
        "if type({0}) is ndarray:\n"
        "    d{n} = {0}.dtype; n{n} = {0}.ndim; f{n} = {0}.flags.num & LAYOUT\n"
        "else:\n"
        "    d{n}, n{n}, f{n} = live_array({0})",
    ),
    Aspect.PRESENT: Row(_present, _present, _twice(_present, _present), "True"),  # it was walked to
    Aspect.CODE: Row(
        lambda value: _code_pair(value).durable,
        _live_code,
        _code_pair,
        "((id({0}.__globals__), id({0}.__code__)) if type({0}) is FunctionType"
        " else live_code({0}))",
    ),
    Aspect.LEN: Row(
        _len,
        _live_len,
        _twice(_len, _live_len),
        "(len({0}) if type({0}) in SEQUENCES else live_len({0}))",
    ),
    Aspect.ALIAS: Row(_alias, _alias, _twice(_alias, _alias), "alias({0}, {1})"),
}
SOURCE_NAMES: Final[dict[str, Any]] = {
    "FunctionType": types.FunctionType,
    "LAYOUT": LAYOUT_FLAGS,
    "SEQUENCES": frozenset(_SEQUENCES),
    "SIMPLE": SIMPLE,
    "alias": _alias,
    "live_array": _live_array,
    "live_code": _live_code,
    "live_len": _live_len,
    "live_type": _live_type,
    "live_value": live_value,
    "ndarray": np.ndarray,
}
"""What the expressions of the table refer to."""
