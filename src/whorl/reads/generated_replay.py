"""Writes the replay of a shape as a function, in straight lines.

Common parts of paths are walked once, and the usual kinds of value are looked at in place:

    def replay(args, target):
        try:
            a0, a1 = args
            v2 = a0.dofs
            return (a1.dtype, a1.ndim, ..., type(v2), ...)
        except Exception as error:
            pass_on(error)
            return plain(args, target)

Whatever is unusual (something absent, an operation that raises, a value of another kind)
is left to the plain replay. No user code runs but that behind the attributes and items themselves.
Measured by `bench/replay.py`.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
import types
import weakref
from collections.abc import Mapping
from itertools import count
from keyword import iskeyword
from typing import Any, Final, cast

from whorl.fingerprint.static_lookup import LAZY_IMPORT, bound
from whorl.settings import raw_environment
from whorl.signals import pass_on

from .facts import FACTS, SOURCE_NAMES
from .replay import Replay, ReplaySetup, is_as_the_code, is_settled_option, plain_replay
from .trace import Aspect, Path, Read, Shape, Step
from .value_fact import live_value
from .world import OPERATIONS, file_state, item, other_modules, own_module, variable_now

Samples = Mapping[Path, Any]
_NO_SAMPLES: Final[Samples] = types.MappingProxyType({})
_NUMBER: Final = count()


def compiled_replay(shape: Shape, setup: ReplaySetup, samples: Samples = _NO_SAMPLES) -> Replay:
    """The replay of one shape as a function of the bound arguments and the target.

    The constants of a call, its samples, are compared by identity first.
    """
    text, constants = replay_source(shape, setup, samples)
    scope: dict[str, Any] = {**_SCOPE, **constants, "plain": plain_replay(shape, setup)}
    filename = f"<whorl replay {next(_NUMBER)} of {setup.function.__qualname__}>"
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    weakref.finalize(scope["replay"], linecache.cache.pop, filename, None)
    return cast("Replay", scope["replay"])


_SCOPE: Final[dict[str, Any]] = {
    **SOURCE_NAMES,
    "BUILTINS": vars(builtins),
    "LAZY_IMPORT": LAZY_IMPORT,
    "MODULES": sys.modules,
    "bound": bound,
    "file_state": file_state,
    "getattr": getattr,
    "HOLDERS": frozenset((dict, list, tuple)),  # looking for an item of these inserts none
    "item": item,
    "os": os,
    "pass_on": pass_on,
    "variable_now": variable_now,
}


class _Source:
    """The statements of a replay while they are written."""

    def __init__(self, setup: ReplaySetup, samples: Samples) -> None:
        self.setup = setup
        self.samples = samples
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
                known = self._global(self.constant(self.setup.function.__globals__), steps[0].name)
            elif steps:
                before = self.value(root, name, steps[:-1])
                known = self.assign(self._step(before, steps[-1], is_argument=root == "arg"))
            else:
                known = self._root(root, name)
            self._variables[place] = known
        return known

    def _root(self, root: str, name: str) -> str:
        match root:
            case "arg":
                return f"a{self.setup.parameters.index(name)}"
            case "func":
                return self.constant(self.setup.function)
            case "target":
                return self.assign(f"target[{name!r}]" if name else "(*target,)")
            case "option":
                return self.constant(self.setup.options[name])
            case "compiler":
                step = Step("attr", name)
                compiler = self.constant(self.setup.compiler)
                return self.assign(self._step(compiler, step)) if name else compiler
            case "global":
                module, _, name = name.rpartition(".")
                if module == own_module(self.setup.function):
                    scope = self.constant(self.setup.function.__globals__)
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
        known = f"{scope}[{name!r}]"
        if hasattr(builtins, name):
            known = f"{known} if {name!r} in {scope} else BUILTINS[{name!r}]"
        variable = self.assign(known)
        if LAZY_IMPORT is not None:
            self.lines.append(
                f"if type({variable}) is LAZY_IMPORT: {variable} = bound({scope}, {name!r})"
            )
        return variable

    def _step(self, before: str, step: Step, *, is_argument: bool = False) -> str:
        if step.operation == "attr" and _is_plain(step.name):
            # From Python 3.14 on, `module.name` that has run twice does not notice that the module
            # got another class with a property of that name. `getattr` always does.
            return f"{before}.{step.name}" if is_argument else f"getattr({before}, {step.name!r})"
        if step.operation == "item" and type(step.name) in (int, str):
            subscript = f"{before}[{step.name!r}]"
            return f"{subscript} if type({before}) in HOLDERS else item({before}, {step.name!r})"
        operation = self.constant(OPERATIONS[step.operation])
        return f"{operation}({before}, {self.constant(step.name)})"

    def variable(self, name: str) -> str:
        default = self.setup.environment.get(name)
        if raw_environment() is None:
            return f"variable_now({name!r}, {default!r})[0]"
        if not self._uses_environment:
            self._uses_environment = True
            self.lines.append("env = os.environ._data")
        raw = None if default is None else os.fsencode(default)
        return f"env.get({os.fsencode(name)!r}, {raw!r})"

    def fact(self, read: Read) -> str:
        """The expression of a read's fact."""
        path = read.path
        if path.root == "env":
            return self.variable(path.name)
        if path.root == "file":
            return f"file_state({self.constant(self.setup.function)}, {path.name!r})"
        if is_as_the_code(path) or is_settled_option(path, self.setup.options):
            return "None"
        row = FACTS[read.aspect]
        values = [self.value(*each) for each in (path, *read.beside)]
        number = len(self.lines)
        self.lines += row.statements.format(*values, n=number).splitlines()
        source = row.source.format(*values, n=number)
        if read.aspect is Aspect.VALUE and path in self.samples:
            # The very object that was there before has the fact it had before.
            sample = self.samples[path]
            known, fact = self.constant(sample), self.constant(live_value(sample))
            return f"({fact} if {values[0]} is {known} else {source})"
        return source


def replay_source(
    shape: Shape, setup: ReplaySetup, samples: Samples = _NO_SAMPLES
) -> tuple[str, dict[str, Any]]:
    """The text of a replay and the constants in it."""
    source = _Source(setup, samples)
    facts = [source.fact(read) for read in shape.reads]
    others = other_modules(shape, own_module(setup.function))
    facts += [f"id({source.scope(name)})" for name in others]
    names = "".join(f"a{i}, " for i in range(len(setup.parameters)))
    lines = [f"{names}= args"] if names else []
    lines += [*source.lines, f"return ({''.join(f'{fact}, ' for fact in facts)})"]
    body = "\n".join(f"        {line}" for line in lines)
    text = (
        "def replay(args, target):\n"
        f"    try:\n{body}\n"
        "    except RecursionError:\n"
        "        raise\n"
        "    except Exception as error:\n"
        "        pass_on(error)\n"
        "        return plain(args, target)\n"
    )
    return text, source.constants


def _is_plain(name: object) -> bool:
    return type(name) is str and name.isidentifier() and name.isascii() and not iskeyword(name)
