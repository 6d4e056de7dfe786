"""What a compile and a call can reach, by path: arguments, globals, environment, options, target.

A world is made for each call. Recording views walk in it, and a replay walks the same paths
by the same operations in the world of another call.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from whorl.fingerprint.lookup import bound, module_vars
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import code_digest
from whorl.late import dataclass, setters
from whorl.lazy import importing, load
from whorl.settings import decoded, encoded, raw_environment

from .fact import NotRecorded, exact, own_module, spawned_scope
from .trace import Path, Plain, Shape, Step

__all__ = [
    "ABSENT",
    "Declared",
    "Variables",
    "World",
    "bound",
    "failed_import",
    "file_state",
    "function_behind",
    "global_path",
    "is_callable_object",
    "operation",
    "other_modules",
    "pass_on",
    "place_of",
    "scope_of",
    "variable_now",
    "walk",
    "walk_or_error",
]


class _Absent:
    """What is found where there is nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Final = _Absent()
_BUILTINS: Final = vars(builtins)


_NOTHING: Final[Mapping[str, Any]] = types.MappingProxyType({})


@dataclass(frozen=True, slots=True)
class World:
    """Everything that one call of a function offers to a compile.

    `environment` holds the declared variables with their defaults; the values are live.
    """

    function: types.FunctionType
    arguments: Mapping[str, Any]
    options: Mapping[str, Any] = _NOTHING
    environment: Mapping[str, str | None] = _NOTHING
    target: Mapping[str, Any] = _NOTHING
    compiler: object = None

    def __init__(
        self,
        function: types.FunctionType,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any] = _NOTHING,
        environment: Mapping[str, str | None] = _NOTHING,
        target: Mapping[str, Any] = _NOTHING,
        compiler: object = None,
    ) -> None:
        # By hand: one is made for every call that is not recalled.
        put_function, put_arguments, put_options, put_environment, put_target, put_compiler = _PUT
        put_function(self, function)
        put_arguments(self, arguments)
        put_options(self, options)
        put_environment(self, environment)
        put_target(self, target)
        put_compiler(self, compiler)

    def find(self, path: Path) -> Any:
        """What is at a path, or ABSENT: an operation that raises leads to nothing."""
        found = _ROOTS[path.root](self, path.name)
        for step in path.steps:
            if found is ABSENT:
                break
            found = walk(found, step)
        return found


_PUT: Final = setters(World)


def walk(value: Any, step: Step) -> Any:
    """What one step leads to, or ABSENT. Too deep is too deep: asking again would never end."""
    try:
        do = OPERATIONS.get(step.operation) or operation(step.operation)
        return do(value, step.name)
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT


def walk_or_error(value: Any, step: Step) -> tuple[Any, Exception | None]:
    """The same, and why it is ABSENT."""
    try:
        return operation(step.operation)(value, step.name), None
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT, error


def pass_on(error: Exception) -> None:
    """Raise what a handler of a signal has raised, while something was looked at."""
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:  # it was raised in Python
        with importing:
            from .signals import is_of_signal_handler

        if is_of_signal_handler(error):
            raise error


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


def is_callable_object(value: Any) -> bool:
    """Whether a call of this object runs the `__call__` that its class has, written in Python."""
    call = getattr(type(value), "__call__", None)  # noqa: B004  # which one it is, is asked
    return isinstance(call, types.FunctionType) and "__call__" not in getattr(value, "__dict__", ())


def _cell(value: Any, name: str) -> Any:
    function = function_behind(value)
    place = function.__code__.co_freevars.index(name)
    return function.__closure__[place].cell_contents


def _global(value: Any, name: str) -> Any:
    scope = function_behind(value).__globals__
    return bound(scope, name) if name in scope else _BUILTINS[name]


def failed_import(scope: Any, name: str) -> Exception | None:
    """Why a lazy import cannot be done; None if it can, and for all else.

    >>> failed_import({"n": 3}, "n")
    """
    try:
        _ = bound(scope, name) if name in scope else None
    except Exception as error:
        return error
    return None


def _default(value: Any, name: str) -> Any:
    function = function_behind(value)
    keyword = function.__kwdefaults__ or {}
    if name in keyword:
        return keyword[name]
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    place = names.index(name) - len(names) + len(defaults)
    if place < 0:
        raise LookupError(name)
    return defaults[place]


def _annotation(value: Any, name: str) -> str:
    return dict(code_digest(function_behind(value).__code__).annotations)[name]


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "attr": getattr,
    "cell": _cell,
    "global": _global,
    "default": _default,
    "annotation": _annotation,
}
"""How steps are done: the usual ones, and once another is met, all."""


def operation(name: str) -> Callable[[Any, Any], Any]:
    """How the steps of this name are done; replays do the same."""
    if name not in OPERATIONS:
        OPERATIONS.update(load("whorl.reads.operations").OPERATIONS)
    return OPERATIONS[name]


def _argument(world: World, name: str) -> Any:
    return world.arguments.get(name, ABSENT)


def _global_root(world: World, name: str) -> Any:
    module, _, name = name.rpartition(".")
    scope = scope_of(world.function, module)
    if scope is None:
        return ABSENT
    if name not in scope:
        return _BUILTINS.get(name, ABSENT)
    try:
        return bound(scope, name)
    except RecursionError:
        raise
    except Exception:  # of a module that is imported now
        return ABSENT


def scope_of(function: types.FunctionType, module: str) -> Mapping[str, Any] | None:
    """The globals of a module by the name it has in every process."""
    if module == own_module(function):
        return function.__globals__
    loaded = sys.modules.get(module)
    if type(loaded) is not types.ModuleType:
        started = sys.modules.get("__main__")
        if started is not None and known_module_name("__main__") == module:
            spawned = spawned_scope()
            if spawned is not None:
                return spawned
            loaded = started
    return module_vars(loaded) if isinstance(loaded, types.ModuleType) else None


def other_modules(shape: Shape, own: str | None) -> list[str]:
    """The modules, but for the function's own, whose globals are read by name.

    Which dict a name leads to is part of the live facts: functions of a module that was replaced
    go on reading the old one.
    """
    reads = shape.reads
    names = {name.rpartition(".")[0] for (root, name, _), _, _ in reads if root == "global"}
    return sorted(names - {own})


def global_path(path: Path, function: types.FunctionType, name: str) -> Path:
    """The path of a global of a function that was found at a path."""
    module = own_module(function)  # which is part of the fact of its code
    if module is not None and "." not in name:
        return Path("global", f"{module}.{name}")
    return path.then(Step("global", name))


def file_path(function: types.FunctionType, name: str) -> str:
    """Where a file is that a compile reads: relative names begin beside the function's file."""
    return os.path.join(os.path.dirname(place_of(function.__code__.co_filename)), name)


def place_of(filename: str) -> str:
    """Where a source file is; of a relative name, where it was when it was first asked for.

    Kernels ask when they are made: the working directory may be another by the first call.
    """
    if os.path.isabs(filename):
        return filename
    return _places.setdefault(filename, os.path.abspath(filename))


_places: Final[dict[str, str]] = {}


def _file(world: World, name: str) -> Any:
    try:
        with open(file_path(world.function, name), "rb") as file:
            return file.read()
    except (OSError, ValueError):  # or there can be none of that name
        return ABSENT


def file_state(function: types.FunctionType, name: str) -> Any:
    """What changes whenever a file is written or exchanged; ABSENT if there is none."""
    try:
        status = os.stat(file_path(function, name))
    except (OSError, ValueError):
        return ABSENT
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


def _environment(world: World, name: str) -> Any:
    return variable_now(name, world.environment.get(name))[1]


Variables = tuple[bytes | str | None, ...]


class Declared(dict[str, str | None]):
    """Variables with their defaults; `raw` has both as the system spells them, made once.

    With them is the fact of a variable that is not set. `names` are those of the system alone.

    >>> Declared({"CC": "cc", "CFLAGS": None}).raw
    {'CC': (b'CC', b'cc', 'cc'), 'CFLAGS': (b'CFLAGS', None, None)}
    """

    __slots__ = ("names", "raw")

    def __init__(self, defaults: Mapping[str, str | None]) -> None:
        super().__init__(defaults)
        self.raw: dict[str, tuple[bytes, bytes | None, Plain]] = {}
        for name, default in defaults.items():
            raw = None if default is None else encoded(default)
            self.raw[name] = encoded(name), raw, exact(default)
        self.names = [encoded(name) for name in defaults]

    def now(self) -> Variables:
        """How they are now, to be compared with how they were; None for what is not set."""
        table = raw_environment()
        return tuple(map(os.environ.get, self) if table is None else map(table.get, self.names))


def variable_now(name: str, default: str | None) -> tuple[bytes | None, str | None]:
    """A variable as the system has it, and in words; one that is not set is as its default."""
    table = raw_environment()
    if table is None:
        text = os.environ.get(name, default)
        return None if text is None else os.fsencode(text), text
    raw = table.get(encoded(name))
    if raw is not None:
        return raw, decoded(raw)
    return None if default is None else encoded(default), default


def _compiler(world: World, name: str) -> Any:
    try:
        return getattr(world.compiler, name) if name else world.compiler
    except Exception:
        return ABSENT


_ROOTS: Final[dict[str, Callable[[World, str], Any]]] = {
    "arg": _argument,
    "global": _global_root,
    "func": lambda world, name: world.function,
    "env": _environment,
    "compiler": _compiler,
    "file": _file,
    "option": lambda world, name: world.options.get(name, ABSENT),
    "target": lambda world, name: world.target.get(name, ABSENT) if name else (*world.target,),
}
