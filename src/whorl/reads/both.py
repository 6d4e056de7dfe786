"""Reads and a call in, its facts out in both spellings: live and durable, from one look each.

A table leads from live facts to what was found under durable ones, so the two have to speak of
the same moment. Each pair here is taken from one look at a value: the durable fact is made of
what the live one holds, or the other way round. Where that cannot be, the live fact is taken
before and after, and if it has changed meanwhile, it is one that nothing matches.

`live_facts` and `facts_now` in `replay` are the plain twins, and take over from the second call on.
Every new process passes here once before its first hit, with all of this code cold. So reads are
taken as they are kept, those of one kind together, and the usual ones come first and call little.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy import ndarray

from whorl.fingerprint.names import class_label
from whorl.fingerprint.source import code_digest
from whorl.late import NamedTuple, make
from whorl.lazy import load
from whorl.settings import decoded, raw_environment

from . import fact as facts_of
from .fact import (
    ABSENT_FACT,
    LAYOUT_FLAGS,
    LONG,
    SIMPLE,
    NotRecorded,
    OnlyHere,
    Unmatched,
    array_signature_of,
    exact,
    has_identity,
    live_items,
    origin_of,
    own_module,
    pack,
    refused,
)
from .trace import Aspect, Plain, Read, Shape
from .world import ABSENT, World, file_state, scope_of, variable_now

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["Facts", "Rows", "both_facts", "plain_replay"]

Pair = tuple[Any, Plain]
Rows = tuple[Read, ...] | list[Any] | str
"""The reads of a shape: a list of them or a text is as it was kept, see `artifacts.record`."""

_Call: TypeAlias = tuple[
    list[Any],  # the live facts so far
    list[Plain],  # the durable ones
    list[object],  # what has to stay alive for them
    Rows,
    World,
    str | None,  # the function's own module
    Callable[[Any], Read] | None,
    bool,  # whether what has no fact is known by identity
    list[dict[str, Any]],  # the globals of other modules, once something unusual was met
]
"""What is being taken, and of what."""
_NOTHING: Final[Mapping[str, Any]] = {}


class Facts(NamedTuple):
    """The facts of a call in both spellings, and what has to stay alive for the live ones."""

    live: tuple[Any, ...]
    durable: tuple[Plain, ...]
    kept: tuple[object, ...]
    is_only_here: bool  # whether one of them means nothing in another process


def both_facts(
    rows: Rows,
    world: World,
    read_of: Callable[[Any], Read] | None = None,
    *,
    own: str | types.EllipsisType | None = ...,
    by_identity: bool = False,
) -> Facts:
    """The facts of a call. Where a value has none, they say so, or are of its identity.

    `rows` are the reads of a shape. Of a shape that was kept they may be as they are kept there,
    which spares a new process making reads of them: see `artifacts.record`, whose `read_of` is
    needed for those that are not usual. What is no such row raises what comes of that: ValueError,
    TypeError, KeyError or AttributeError. `own` is the function's own module, for who knows it.
    """
    if own is ...:
        own = own_module(world.function)
    live: list[Any] = []
    durable: list[Plain] = []
    kept: list[object] = []
    scopes: list[dict[str, Any]] = []
    call = (live, durable, kept, rows, world, own, read_of, by_identity, scopes)
    to_live, to_durable, argument = live.append, durable.append, world.arguments.get
    row: Any
    get: _Get
    for row in rows.split(";") if type(rows) is str else rows:
        try:
            label, root, *names = row.split(" ")  # some of one kind
        except AttributeError:  # it is no text
            _take_another(row, call)
            continue
        if root == "arg" and label in _TAKE:
            _TAKE[label](names, "arg ", argument, to_live, to_durable, call)
        elif root == "global" and label in _TAKE and own is not None:
            start = f"global {own}."
            short = row.replace(start[6:], " ")  # " module.name" -> " name"
            if "." in short or "/" in short:  # some are of another module, or lead further
                start, get = "global ", _nothing
            else:
                names, get = short.split(" ")[2:], world.function.__globals__.get
            _TAKE[label](names, start, get, to_live, to_durable, call)
        elif root == "env" and label == "value":
            _take_variables(names, world.environment, to_live, to_durable)
        else:
            for name in names:
                _take_another(f"{label} {root} {name}", call)
    if not scopes:  # nothing that is unusual
        return make(Facts, ((*live,), (*durable,), (*kept,), False))
    for name, before in sorted(scopes[0].items()):
        live.append(id(before) if scope_of(world.function, name) is before else Unmatched())
        kept.append(before)
    return Facts((*live,), (*durable,), (*kept,), has_identity(durable))


# -- What is looked at most --------------------------------------------------------------------
# The names of a row, how it starts without them, and what has their values. Each takes those that
# need no more than a look, and says of them what `_BOTH` says.

_Get: TypeAlias = Callable[[str, Any], Any]
_Take: TypeAlias = Callable[[Any], None]


def _nothing(name: str, default: object) -> object:
    return default


def _take_arrays(
    names: list[str], start: str, get: _Get, to_live: _Take, to_durable: _Take, call: _Call
) -> None:
    live, before, signature = call[0], None, None
    for name in names:
        value = get(name, ABSENT)
        if type(value) is ndarray:
            facts = (value.dtype, value.ndim, value.flags.num & LAYOUT_FLAGS)
            if facts != before:  # most are like the one before
                signature = array_signature_of(*facts, _DTYPE_NAMES.get(id(facts[0])))
                before = facts
            live += facts
            to_durable(signature)
        else:
            _take_another(f"array {start}{name}", call)


def _take_values(
    names: list[str], start: str, get: _Get, to_live: _Take, to_durable: _Take, call: _Call
) -> None:
    for name in names:
        value = get(name, ABSENT)
        cls = type(value)
        if cls is int or value is None or (cls is str and len(value) <= LONG):
            to_live(value)  # these stand for themselves: see `live_value`
        elif cls is float:
            to_live(pack(value))
        elif cls is tuple and (items := live_items(value)):
            to_live(items)
        else:
            _take_another(f"value {start}{name}", call)
            continue
        to_durable(value)


def _take_types(
    names: list[str], start: str, get: _Get, to_live: _Take, to_durable: _Take, call: _Call
) -> None:
    for name in names:
        cls = type(get(name, ABSENT))
        if type(cls) is type and cls in SIMPLE:  # others may refuse to be hashed
            to_live(cls)
            to_durable((cls.__name__,))
        else:
            _take_another(f"type {start}{name}", call)


def _take_code(
    names: list[str], start: str, get: _Get, to_live: _Take, to_durable: _Take, call: _Call
) -> None:
    kept, scope = call[2], call[4].function.__globals__
    for name in names:
        value = get(name, ABSENT)
        if type(value) is FunctionType and value.__globals__ is scope:
            code = value.__code__
            digest = code_digest(code)
            kept += (code, scope)
            to_live((id(scope), id(code)))
            to_durable(("code", digest.hex, origin_of(code, digest), call[5] or "apart"))
        else:
            _take_another(f"code {start}{name}", call)


_TAKE: Final = {
    "array": _take_arrays,
    "value": _take_values,
    "type": _take_types,
    "code": _take_code,
}


def _take_variables(
    names: list[str], environment: Mapping[str, str | None], to_live: _Take, to_durable: _Take
) -> None:
    table, spelled = raw_environment(), getattr(environment, "raw", _NOTHING)
    for name in names:
        if table is None or name not in spelled:
            raw, text = variable_now(name, environment.get(name))
            fact = exact(text)
        else:  # the same, sooner
            raw_name, default, fact = spelled[name]
            raw = table.get(raw_name, default)
            if raw is not default:
                fact = exact(decoded(raw))
        to_live(raw)
        to_durable(fact)


# -- All else ----------------------------------------------------------------------------------


def _take_another(row: Any, call: _Call) -> None:
    """The facts of one read, whatever it is."""
    live, durable, kept, rows, world, own, read_of, by_identity, scopes = call
    read = row if type(row) is Read else _made(row, read_of)
    if read.path.root == "env" and read.aspect is Aspect.VALUE:
        _take_variables([read.path.name], world.environment, live.append, durable.append)
        return
    if not scopes:  # before anything runs that could exchange a module
        scopes.append(_other_scopes(rows, world.function, own, read_of))
    one, other = _unusual(read, world.find(read.path), world, by_identity, kept)
    if read.aspect is Aspect.ARRAY:  # three parts, as in a generated replay
        live += one if type(one) is tuple and len(one) == 3 else (one, None, None)
    else:
        live.append(one)
    durable.append(other)


def _made(row: Any, read_of: Callable[[Any], Read] | None) -> Read:
    if read_of is None:
        raise TypeError(f"{row!r} is no read")
    return read_of(row)


def _other_scopes(
    rows: Rows,
    function: types.FunctionType,
    own: str | None,
    read_of: Callable[[Any], Read] | None,
) -> dict[str, Any]:
    """The globals of other modules that are read by name: see `world.other_modules`."""
    found: dict[str, Any] = {}
    for row in rows if type(rows) is not str else rows.split(";"):
        if type(row) is str:
            _, root, *places = row.split(" ")
            names = [place.partition("/")[0] for place in places]
        else:
            path = (row if type(row) is Read else _made(row, read_of)).path
            root, names = path.root, [path.name]
        for name in names if root == "global" else ():
            module = name.rpartition(".")[0]
            if module != own and module not in found:
                found[module] = scope_of(function, module)
    return found


AS_THE_CODE: Final = ("annotation", "written")
"""Steps to what is as fixed as the code: see `replay`."""


def _unusual(read: Read, value: Any, world: World, by_identity: bool, kept: list[object]) -> Pair:
    (root, _, steps), aspect, beside = read
    if steps and steps[-1].operation in AS_THE_CODE:
        return None, ABSENT_FACT if value is ABSENT else exact(value)
    found: Pair
    try:
        if root == "env":
            raise NotRecorded("variables are read by value")
        if root == "file":
            found = _file(read, world)
        elif value is ABSENT:
            found = (False, False) if aspect is Aspect.PRESENT else (ABSENT, ABSENT_FACT)
        elif aspect is Aspect.CODE:
            found = _code(value, kept)
        elif aspect is Aspect.ALIAS:
            found = _alias(value, world.find(beside[0]))
        else:
            found = _BOTH[aspect](value)
    except Exception as error:  # asking raises: there is no durable fact
        if by_identity:
            here = load("whorl.reads.inside").known_here(value)
            found = here, OnlyHere(("identity", here))
        else:
            fact = refused(value, error)
            found = facts_of._hashable(fact), fact
    if root == "option" and facts_of.is_settled(value):  # a kernel has one set of options
        return None, found[1]
    return found


def _file(read: Read, world: World) -> Pair:
    """A file by its status, before and after it is read."""
    name = read.path.name
    before = file_state(world.function, name)
    content = world.find(read.path)
    if content is ABSENT:
        fact: Plain = False if read.aspect is Aspect.PRESENT else ABSENT_FACT
    else:
        fact = _aspects().durable(read.aspect, content)
    return before if file_state(world.function, name) == before else Unmatched(), fact


def _alias(value: Any, other: Any) -> Pair:
    if other is ABSENT:
        return ABSENT, ABSENT_FACT
    fact = _aspects().alias_fact(value, other)
    return fact, fact


def _code(value: Any, kept: list[object]) -> Pair:
    if type(value) is not types.FunctionType:
        function = _aspects().function_behind(value)
        if isinstance(function, types.FunctionType):
            kept += (function.__code__, function.__globals__)
        return _twice(Aspect.CODE, value)
    code, scope = value.__code__, value.__globals__
    kept += (code, scope)
    digest = code_digest(code)
    fact = ("code", digest.hex, origin_of(code, digest), own_module(value) or "apart")
    return (id(scope), id(code)), fact


def _type(value: Any) -> Pair:
    cls = type(value)
    if type(cls) is type and cls in SIMPLE:
        return cls, (cls.__name__,)
    if cls is type and "whorl.reads.signature" not in sys.modules:  # so nobody has registered one
        fact = ("class", class_label(value))  # an annotation, mostly
        return facts_of._hashable(fact), fact
    return _twice(Aspect.TYPE, value)


def _array(value: Any) -> Pair:
    if type(value) is not ndarray:
        return _twice(Aspect.ARRAY, value)
    dtype, dimensions, flags = value.dtype, value.ndim, value.flags.num
    durable = array_signature_of(dtype, dimensions, flags)
    return (dtype, dimensions, flags & LAYOUT_FLAGS), durable


def _value(value: Any) -> Pair:
    cls = type(value)
    if cls is not types.BuiltinFunctionType and cls is not type:  # those have one fact for both
        if facts_of.is_constant(value):
            return facts_of.live_value(value), exact(value)
        if cls is tuple:
            return _twice(Aspect.VALUE, value)
    fact = exact(value)
    return ("exactly", facts_of._hashable(fact)), fact


def _len(value: Any) -> Pair:
    if type(value) in facts_of.SEQUENCES:
        return (size := len(value)), size
    if type(value) is dict:  # what a compiler was set up with, mostly
        return (dict, size := len(value)), ("dict", size)
    return _twice(Aspect.LEN, value)


def _present(value: Any) -> Pair:
    return True, True


def _twice(aspect: Aspect, value: Any) -> Pair:
    """The live fact before and after the durable one."""
    aspects = _aspects()
    before = aspects.live(aspect, value)
    fact = aspects.durable(aspect, value)
    return before if aspects.live(aspect, value) == before else Unmatched(), fact


def _aspects() -> types.ModuleType:
    """The facts of what is less usual."""
    return load("whorl.reads.aspects")


_USUAL: Final = (
    "<f4", "<f8", "<i4", "<i8", "<u4", "<u8", "<i2", "<u2", "|i1", "|u1", "|b1", "<c8", "<c16",
)  # fmt: skip
_USUAL_DTYPES: Final = tuple(map(np.dtype, _USUAL))  # NumPy has one of each
_DTYPE_NAMES: Final = dict(zip(map(id, _USUAL_DTYPES), _USUAL, strict=True))
"""By address: `dtype.str` of the first array of a process takes as long as all else about it."""

_BOTH: Final[dict[Aspect, Callable[[Any], Pair]]] = {
    Aspect.TYPE: _type,
    Aspect.VALUE: _value,
    Aspect.ARRAY: _array,
    Aspect.PRESENT: _present,
    Aspect.LEN: _len,
}


def plain_replay(
    shape: Shape,
    function: types.FunctionType,
    parameters: tuple[str, ...],
    environment: Mapping[str, str | None],
    *,
    by_identity: bool = False,
    compiler: object = None,
    options: Mapping[str, Any] = _NOTHING,
) -> Replay:
    """The replay of one shape without generating anything: slower, and ready at once."""
    live_facts: Callable[..., tuple[Any, ...]] | None = None

    def plain(args: tuple[Any, ...], target: Mapping[str, Any]) -> tuple[Any, ...]:
        nonlocal live_facts
        if live_facts is None:  # the first call has taken them here
            live_facts = load("whorl.reads.replay").live_facts
        arguments = dict(zip(parameters, args, strict=True))
        world = World(function, arguments, options, environment, target, compiler)
        return live_facts(shape, world, by_identity=by_identity)

    return plain
