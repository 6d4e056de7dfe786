"""A shape in, the facts of a call out: the reads of an earlier compile made again, without it.

`live_facts` and `facts_now` are the plain way: each path is walked by the operations that
made it. `generated` does the same in a function that is written for one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .aspects import alias_fact, durable, live
from .both import AS_THE_CODE, plain_replay
from .fact import (
    ABSENT_FACT,
    NotRecorded,
    OnlyHere,
    _hashable,
    is_constant,
    is_settled,
    own_module,
    refused,
)
from .inside import known_here
from .trace import Aspect, Path, Plain, Read, Shape
from .world import ABSENT, World, file_state, other_modules, scope_of, variable_now

__all__ = [
    "Replay",
    "facts_now",
    "is_as_the_code",
    "live_facts",
    "plain_replay",
    "samples_of",
]

Replay = Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[Any, ...]]


def facts_now(shape: Shape, world: World, *, by_identity: bool = False) -> tuple[Plain, ...]:
    """The facts of a call in plain data; what has none is known by that, or by identity."""

    def fact(read: Read) -> Plain:
        try:
            return _durable(read, world)
        except NotRecorded as error:
            value = world.find(read.path)
            fact = OnlyHere(("identity", known_here(value))) if by_identity else None
            return refused(value, error) if fact is None else fact

    return tuple(map(fact, shape.reads))


def _durable(read: Read, world: World) -> Plain:
    value = world.find(read.path)
    if value is ABSENT:
        return False if read.aspect is Aspect.PRESENT else ABSENT_FACT
    if read.aspect is Aspect.ALIAS:
        other = world.find(read.beside[0])
        return ABSENT_FACT if other is ABSENT else alias_fact(value, other)
    return durable(read.aspect, value)


def live_facts(shape: Shape, world: World, *, by_identity: bool = False) -> tuple[Any, ...]:
    """The facts of a call, for this process: the plain twin of the generated functions."""
    parts: list[Any] = []
    for read in shape.reads:
        found = _live(read, world, by_identity)
        if read.aspect is Aspect.ARRAY:
            parts += found if type(found) is tuple and len(found) == 3 else (found, None, None)
        else:
            parts.append(found)
    others = other_modules(shape, own_module(world.function))
    return (*parts, *(id(scope_of(world.function, name)) for name in others))


def _live(read: Read, world: World, by_identity: bool) -> Any:
    if read.path.root == "env":
        return variable_now(read.path.name, world.environment.get(read.path.name))[0]
    if read.path.root == "file":
        return file_state(world.function, read.path.name)
    if is_as_the_code(read.path):
        return None
    value = world.find(read.path)
    if read.path.root == "option" and is_settled(value):
        return None  # a kernel has one set of options, which nobody else has
    if value is ABSENT:
        return False if read.aspect is Aspect.PRESENT else ABSENT
    try:
        if read.aspect is Aspect.ALIAS:
            other = world.find(read.beside[0])
            return ABSENT if other is ABSENT else alias_fact(value, other)
        return live(read.aspect, value)
    except NotRecorded as error:
        return known_here(value) if by_identity else _hashable(refused(value, error))


def is_as_the_code(path: Path) -> bool:
    """Whether this is how a function or its parameter is written.

    The code of the function is read as well, or is the program's own, and code that is the very
    same object was written in one way.
    """
    return bool(path.steps) and path.steps[-1].operation in AS_THE_CODE


def samples_of(shape: Shape, world: World) -> dict[Path, Any]:
    """The constants of a call, as far as the very same object always has the same value."""
    paths = [read.path for read in shape.reads if read.aspect is Aspect.VALUE]
    found = {path: world.find(path) for path in paths}
    return {path: value for path, value in found.items() if is_constant(value)}
