"""The facts of a call: the reads of an earlier compile made again, without the compile.

Each path is walked by the operations that made it, and each fact is taken by the row of its
aspect. `first_facts` takes both spellings at once, and `generated_replay` writes a function for
one shape; these here are their plain twins.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from whorl.fast_dataclasses import NamedTuple, dataclass

from .facts import Pair, Unmatched, durable, live, pair
from .trace import Aspect, Path, Plain, Read, Shape
from .value_fact import (
    ABSENT_FACT,
    NotRecorded,
    OnlyHere,
    exact,
    hashable,
    is_constant,
    is_only_here,
    is_settled,
    known_here,
    refusal_fact,
)
from .world import ABSENT, World, file_state, other_modules, own_module, scope_of, variable_now

Replay = Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[Any, ...]]
_NOTHING: Final[Mapping[str, Any]] = types.MappingProxyType({})
_BY_VALUE: Final = object()


@dataclass(frozen=True, slots=True)
class ReplaySetup:
    """What all calls of a kernel have in common; a call adds its arguments and the target."""

    function: types.FunctionType
    parameters: tuple[str, ...]
    environment: Mapping[str, str | None] = _NOTHING
    by_identity: bool = False  # whether what has no fact is known by identity
    compiler: object = None
    options: Mapping[str, Any] = _NOTHING

    def world(self, args: tuple[Any, ...], target: Mapping[str, Any]) -> World:
        """Everything that a compile for these arguments may look at."""
        arguments = dict(zip(self.parameters, args))  # noqa: B905  # as many as were bound
        return World(
            self.function, arguments, self.options, self.environment, target, self.compiler
        )


def plain_replay(shape: Shape, setup: ReplaySetup) -> Replay:
    """The replay of one shape without generating anything: slower, and ready at once."""

    def plain(args: tuple[Any, ...], target: Mapping[str, Any]) -> tuple[Any, ...]:
        return live_facts(shape, setup.world(args, target), by_identity=setup.by_identity)

    return plain


# -- Facts of a call ---------------------------------------------------------------------------


def facts_now(shape: Shape, world: World, *, by_identity: bool = False) -> tuple[Plain, ...]:
    """The durable facts of a call; what has none is known by that, or by identity."""
    return tuple([_durable(read, world, by_identity) for read in shape.reads])


def live_facts(shape: Shape, world: World, *, by_identity: bool = False) -> tuple[Any, ...]:
    """The live facts of a call: the plain twin of generated replays."""
    facts: list[Any] = []
    for read in shape.reads:
        add_live(facts, read, _live(read, world, by_identity))
    others = other_modules(shape, own_module(world.function))
    return (*facts, *(id(scope_of(world.function, name)) for name in others))


def add_live(facts: list[Any], read: Read, fact: Any) -> None:
    """Add the live fact of a read: that of an array has three parts, as in a generated replay."""
    if read.aspect is Aspect.ARRAY:
        facts += fact if type(fact) is tuple and len(fact) == 3 else (fact, None, None)
    else:
        facts.append(fact)


def fact_pair(read: Read, world: World, by_identity: bool) -> Pair:
    """The fact of a read in both spellings, of the same moment."""
    path = read.path
    if path.root == "env" and read.aspect is Aspect.VALUE:
        raw, text = variable_now(path.name, world.environment.get(path.name))
        return Pair(raw, exact(text))
    before = _without_value(read, world)
    if before is not _BY_VALUE:
        fact = _durable(read, world, by_identity)
        return Pair(before if _without_value(read, world) == before else Unmatched(), fact)
    values = _values(read, world)
    if values is None:
        return Pair(*_absent(read))
    try:
        return pair(read.aspect, *values)
    except NotRecorded as error:
        return _without_fact(values[0], error, by_identity)


def _durable(read: Read, world: World, by_identity: bool) -> Plain:
    values = _values(read, world)
    if values is None:
        return _absent(read)[1]
    try:
        return durable(read.aspect, *values)
    except NotRecorded as error:
        return _without_fact(values[0], error, by_identity).durable


def _live(read: Read, world: World, by_identity: bool) -> Any:
    fact = _without_value(read, world)
    if fact is not _BY_VALUE:
        return fact
    values = _values(read, world)
    if values is None:
        return _absent(read)[0]
    try:
        return live(read.aspect, *values)
    except NotRecorded as error:
        return _without_fact(values[0], error, by_identity).live


def _values(read: Read, world: World) -> list[Any] | None:
    """What is at the paths of a read; None if nothing is at one of them."""
    values = [world.find(read.path), *map(world.find, read.beside)]
    return None if any(value is ABSENT for value in values) else values


def _absent(read: Read) -> tuple[Any, Plain]:
    return (False, False) if read.aspect is Aspect.PRESENT else (ABSENT, ABSENT_FACT)


def _without_fact(value: Any, error: NotRecorded, by_identity: bool) -> Pair:
    if by_identity:
        known = known_here(value)
        return Pair(known, OnlyHere(("identity", known)))
    fact = refusal_fact(value, error)
    return Pair(hashable(fact), fact)


# -- Facts that need no value ------------------------------------------------------------------


def _without_value(read: Read, world: World) -> Any:
    """The live fact of what changes only with something that is quicker to compare."""
    path = read.path
    if path.root == "env":
        return variable_now(path.name, world.environment.get(path.name))[0]
    if path.root == "file":
        return file_state(world.function, path.name)
    if is_as_the_code(path) or is_settled_option(path, world.options):
        return None
    return _BY_VALUE


_AS_THE_CODE: Final = ("annotation", "written")


def is_as_the_code(path: Path) -> bool:
    """Whether this is how a function or its parameter is written.

    The code of the function is read as well, or is the program's own, and code that is the very
    same object was written in one way.
    """
    return bool(path.steps) and path.steps[-1].operation in _AS_THE_CODE


def is_settled_option(path: Path, options: Mapping[str, Any]) -> bool:
    """Whether this is an option without code in it: a kernel has options of its own."""
    if path.root != "option" or path.name not in options:
        return False
    return is_settled(options[path.name])


def samples_of(shape: Shape, world: World) -> dict[Path, Any]:
    """The constants of a call, as far as the very same object always has the same value."""
    paths = [read.path for read in shape.reads if read.aspect is Aspect.VALUE]
    values = {path: world.find(path) for path in paths}
    return {path: value for path, value in values.items() if is_constant(value)}


# -- the first replay in a process -----------------------------------------------------
#
# The first replay of a shape in a process: the facts of a call in both spellings at once.
#
# A table leads from live facts to what was found under durable ones, so the two have to be of the
# same moment: see `facts.pair`. From the second call on, live facts are enough.


class Facts(NamedTuple):
    """The facts of a call in both spellings."""

    live: tuple[Any, ...]
    durable: tuple[Plain, ...]
    referents: tuple[object, ...]  # what has to stay alive for the live ones to mean the same

    @property
    def is_only_here(self) -> bool:
        """Whether one of them means nothing in another process."""
        return is_only_here(self.durable)


def first_facts(shape: Shape, world: World, *, by_identity: bool = False) -> Facts:
    """The facts of a call. Where a value has none, they say so, or are of its identity."""
    function = world.function
    others = other_modules(shape, own_module(function))
    scopes = [scope_of(function, name) for name in others]  # before anything exchanges a module
    live: list[Any] = []
    durable: list[Plain] = []
    referents: list[object] = [*scopes]
    for read in shape.reads:
        pair = fact_pair(read, world, by_identity)
        add_live(live, read, pair.live)
        durable.append(pair.durable)
        referents += pair.referents
    for name, scope in zip(others, scopes, strict=True):
        live.append(id(scope) if scope_of(function, name) is scope else Unmatched())
    return Facts((*live,), (*durable,), (*referents,))
