"""A shape in, the facts of a call out: the reads of an earlier compile made again, without it.

`live_facts` and `durable_facts` are the plain way: each path is walked by the operations that
made it. `compiled_replay` writes the same for one shape as straight-line Python, in which
common parts of paths are walked once and the usual kinds of value are looked at in place:

    def replay(args, target):
        try:
            a0, a1 = args
            v2 = a0.dofs
            return (a1.dtype, a1.ndim, ..., type(v2), ...)
        except Exception:
            return plain(args, target)

Whatever is unusual (something absent, an operation that raises, a value of another kind)
is left to the plain way. No user code runs but that behind the attributes and items themselves.
Measured by `bench/replay.py`.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from itertools import count
from keyword import iskeyword
from typing import Any, Final, cast

import numpy as np

from . import fact as facts_of
from .fact import (
    ABSENT_FACT,
    NotRecorded,
    OnlyHere,
    alias_fact,
    durable,
    has_identity,
    live,
    own_module,
)
from .trace import Aspect, Path, Plain, Read, Shape, Step
from .world import ABSENT, OPERATIONS, World, file_state, scope_of

__all__ = [
    "Replay",
    "Unmatched",
    "compiled_replay",
    "durable_facts",
    "facts_now",
    "is_only_here",
    "live_facts",
    "other_modules",
    "plain_replay",
    "replay_source",
    "samples_of",
]

Replay = Callable[[tuple[Any, ...], Mapping[str, Any]], tuple[Any, ...]]

NOTHING: Final[Mapping[Any, Any]] = types.MappingProxyType({})
_NUMBER: Final = count()


class Unmatched:
    """In place of a fact where a value has none: each equals itself alone."""


def durable_facts(shape: Shape, world: World) -> tuple[Plain, ...] | None:
    """The facts of a call in plain data; None if one of the reads has no fact here."""
    try:
        return tuple(_durable(read, world) for read in shape.reads)
    except NotRecorded:
        return None


def facts_now(shape: Shape, world: World) -> tuple[Plain, ...]:
    """The facts of a call in plain data; what has none is known by identity."""

    def fact(read: Read) -> Plain:
        try:
            return _durable(read, world)
        except NotRecorded:
            return OnlyHere(("identity", facts_of.Same(world.find(read.path))))

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


def other_modules(shape: Shape, own: str | None) -> list[str]:
    """The modules, but for the function's own, whose globals are read by name.

    Which dict a name leads to is part of the live facts: functions of a module that was replaced
    go on reading the old one.
    """
    reads = shape.reads
    names = {name.rpartition(".")[0]: None for (root, name, _), _, _ in reads if root == "global"}
    return [name for name in names if name != own]


def _live(read: Read, world: World, by_identity: bool) -> Any:
    if read.path.root == "env":
        return _raw_variable(read.path.name, world.environment.get(read.path.name))
    if read.path.root == "option":
        return None  # a kernel has one set of options
    if read.path.root == "file":
        return file_state(world.function, read.path.name)
    if is_annotation(read.path):
        return None
    value = world.find(read.path)
    if value is ABSENT:
        return False if read.aspect is Aspect.PRESENT else ABSENT
    try:
        if read.aspect is Aspect.ALIAS:
            other = world.find(read.beside[0])
            return ABSENT if other is ABSENT else alias_fact(value, other)
        return live(read.aspect, value)
    except NotRecorded:
        return facts_of.Same(value) if by_identity else Unmatched()


def is_annotation(path: Path) -> bool:
    """Whether this is how a parameter is annotated.

    The code of the function is read as well, or is the program's own, and code that is the very
    same object was written in one way.
    """
    return bool(path.steps) and path.steps[-1].operation == "annotation"


def _raw_variable(name: str, default: str | None) -> bytes | None:
    found = os.environ.get(name, default)
    return None if found is None else os.fsencode(found)


def is_only_here(facts: tuple[Plain, ...]) -> bool:
    """Whether one of the facts means nothing in another process."""
    return any(map(has_identity, facts))


# -- generated --------------------------------------------------------------------------


def compiled_replay(
    shape: Shape,
    function: types.FunctionType,
    parameters: tuple[str, ...],
    environment: Mapping[str, str | None],
    *,
    by_identity: bool = False,
    samples: Mapping[Path, Any] = NOTHING,
    compiler: object = None,
) -> Replay:
    """The replay of one shape as a function of the bound arguments and the target.

    The constants of a call, its samples, are compared by identity first.
    """
    plain = plain_replay(
        shape, function, parameters, environment, by_identity=by_identity, compiler=compiler
    )
    text, constants = replay_source(
        shape, function, parameters, environment, samples=samples, compiler=compiler
    )
    scope: dict[str, Any] = {**_SCOPE, **constants, "plain": plain}
    filename = f"<whorl replay {next(_NUMBER)} of {function.__qualname__}>"
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    weakref.finalize(scope["replay"], linecache.cache.pop, filename, None)
    return cast("Replay", scope["replay"])


def samples_of(shape: Shape, world: World) -> dict[Path, Any]:
    """The constants of a call, as far as the very same object always has the same value."""
    paths = [read.path for read in shape.reads if read.aspect is Aspect.VALUE]
    found = {path: world.find(path) for path in paths}
    return {path: value for path, value in found.items() if facts_of.is_constant(value)}


def plain_replay(
    shape: Shape,
    function: types.FunctionType,
    parameters: tuple[str, ...],
    environment: Mapping[str, str | None],
    *,
    by_identity: bool = False,
    compiler: object = None,
) -> Replay:
    """The same without generating anything: slower, and ready at once."""

    def plain(args: tuple[Any, ...], target: Mapping[str, Any]) -> tuple[Any, ...]:
        arguments = dict(zip(parameters, args, strict=True))
        world = World(function, arguments, {}, environment, target, compiler)
        return live_facts(shape, world, by_identity=by_identity)

    return plain


_SCOPE: Final[dict[str, Any]] = {
    "BUILTINS": vars(builtins),
    "FunctionType": types.FunctionType,
    "LAYOUT": facts_of.LAYOUT_FLAGS,
    "MODULES": sys.modules,
    "SEQUENCES": frozenset(facts_of.SEQUENCES),
    "SIMPLE": facts_of._SIMPLE,
    "alias_fact": alias_fact,
    "file_state": file_state,
    "HOLDERS": frozenset((dict, list, tuple)),  # looking for an item of these inserts none
    "item": OPERATIONS["item"],
    "live_array": facts_of.live_array,
    "live_code": facts_of.live_code,
    "live_len": facts_of.live_len,
    "live_type": facts_of.live_type,
    "live_value": facts_of.live_value,
    "ndarray": np.ndarray,
    "os": os,
}


class _Source:
    """The statements of a replay while they are written."""

    def __init__(
        self,
        function: types.FunctionType,
        parameters: tuple[str, ...],
        environment: Mapping[str, str | None],
        samples: Mapping[Path, Any],
        compiler: object,
    ) -> None:
        self.samples = samples
        self.compiler = compiler
        self.function = function
        self.parameters = parameters
        self.environment = environment
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._variables: dict[tuple[str, str, tuple[Step, ...]], str] = {}
        self._uses_environment = False

    def constant(self, value: object) -> str:
        name = f"K{len(self.constants)}"
        self.constants[name] = value
        return name

    def assign(self, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def value(self, root: str, name: str, steps: tuple[Step, ...]) -> str:
        """The variable that holds what is at a path; it is walked to once."""
        place = (root, name, steps)
        known = self._variables.get(place)
        if known is None:
            if root == "func" and len(steps) == 1 and steps[0].operation == "global":
                known = self._global(self.constant(self.function.__globals__), steps[0].name)
            elif steps:
                before = self.value(root, name, steps[:-1])
                known = self.assign(self._step(before, steps[-1]))
            else:
                known = self._root(root, name)
            self._variables[place] = known
        return known

    def _root(self, root: str, name: str) -> str:
        match root:
            case "arg":
                return f"a{self.parameters.index(name)}"
            case "func":
                return self.constant(self.function)
            case "target":
                return self.assign(f"target[{name!r}]")
            case "compiler":
                step = Step("attr", name)
                held = self.constant(self.compiler)
                return self.assign(self._step(held, step)) if name else held
            case "global":
                module, _, name = name.rpartition(".")
                if module == own_module(self.function):
                    scope = self.constant(self.function.__globals__)
                else:
                    scope = self.scope(module)
                return self._global(scope, name)
            case _:
                raise LookupError(root)

    def scope(self, module: str) -> str:
        """The variable that holds the globals of a module."""
        place = ("module", module, ())
        if place not in self._variables:
            self._variables[place] = self.assign(f"MODULES[{module!r}].__dict__")
        return self._variables[place]

    def _global(self, scope: str, name: str) -> str:
        if hasattr(builtins, name):
            hidden = f"{scope}[{name!r}] if {name!r} in {scope}"
            return self.assign(f"{hidden} else BUILTINS[{name!r}]")
        return self.assign(f"{scope}[{name!r}]")

    def _step(self, before: str, step: Step) -> str:
        if step.operation == "attr" and _is_plain(step.name):
            return f"{before}.{step.name}"
        if step.operation == "item" and type(step.name) in (int, str):
            held = f"{before}[{step.name!r}]"
            return f"{held} if type({before}) in HOLDERS else item({before}, {step.name!r})"
        operation = self.constant(OPERATIONS[step.operation])
        return f"{operation}({before}, {self.constant(step.name)})"

    def variable(self, name: str) -> str:
        if not self._uses_environment:
            self._uses_environment = True
            self.lines.append("env = os.environ._data")
        default = self.environment.get(name)
        raw = None if default is None else os.fsencode(default)
        return f"env.get({os.fsencode(name)!r}, {raw!r})"

    def _array(self, value: str) -> str:
        parts = [f"{part}{len(self.lines)}" for part in ("d", "n", "f")]
        self.lines += [
            f"if type({value}) is ndarray:",
            f"    {parts[0]} = {value}.dtype; {parts[1]} = {value}.ndim; "
            f"{parts[2]} = {value}.flags.num & LAYOUT",
            "else:",
            f"    {', '.join(parts)} = live_array({value})",
        ]
        return ", ".join(parts)

    def _constant_or(self, value: str, read: Read) -> str:
        """The very object that was there before has the fact it had before."""
        if read.path not in self.samples:
            return f"live_value({value})"
        sample = self.samples[read.path]
        known = self.constant(sample), self.constant(facts_of.live_value(sample))
        return f"({known[1]} if {value} is {known[0]} else live_value({value}))"

    def fact(self, read: Read) -> str:
        """The expression of a read's fact."""
        path = read.path
        if path.root == "env":
            return self.variable(path.name)
        if path.root == "option":
            return "None"
        if path.root == "file":
            return f"file_state({self.constant(self.function)}, {path.name!r})"
        if is_annotation(path):
            return "None"
        value = self.value(path.root, path.name, path.steps)
        match read.aspect:
            case Aspect.TYPE:
                return f"(t if (t := type({value})) in SIMPLE else live_type({value}))"
            case Aspect.ARRAY:
                return self._array(value)
            case Aspect.VALUE:
                return self._constant_or(value, read)
            case Aspect.CODE:
                quick = f"(id({value}.__globals__), id({value}.__code__))"
                return f"({quick} if type({value}) is FunctionType else live_code({value}))"
            case Aspect.LEN:
                return f"(len({value}) if type({value}) in SEQUENCES else live_len({value}))"
            case Aspect.PRESENT:
                return "True"  # it was walked to
            case Aspect.ALIAS:
                beside = read.beside[0]
                return f"alias_fact({value}, {self.value(beside.root, beside.name, beside.steps)})"


def replay_source(
    shape: Shape,
    function: types.FunctionType,
    parameters: tuple[str, ...],
    environment: Mapping[str, str | None],
    *,
    samples: Mapping[Path, Any] = NOTHING,
    compiler: object = None,
) -> tuple[str, dict[str, Any]]:
    """The text of a replay and the constants in it."""
    source = _Source(function, parameters, environment, samples, compiler)
    facts = [source.fact(read) for read in shape.reads]
    others = other_modules(shape, own_module(function))
    facts += [f"id({source.scope(name)})" for name in others]
    names = "".join(f"a{i}, " for i in range(len(parameters)))
    lines = [f"{names}= args"] if names else []
    lines += [*source.lines, f"return ({''.join(f'{fact}, ' for fact in facts)})"]
    body = "\n".join(f"        {line}" for line in lines)
    text = (
        "def replay(args, target):\n"
        f"    try:\n{body}\n"
        "    except RecursionError:\n"
        "        raise\n"
        "    except Exception:\n"
        "        return plain(args, target)\n"
    )
    return text, source.constants


def _is_plain(name: object) -> bool:
    return type(name) is str and name.isidentifier() and name.isascii() and not iskeyword(name)
