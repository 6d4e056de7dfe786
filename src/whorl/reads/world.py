"""What a compile and a call can reach, by path: arguments, globals, environment, options, target.

A world is made for each call. Recording views walk in it, and a replay walks the same paths
by the same operations in the world of another call.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.static_lookup import bound, module_vars
from whorl.settings import decoded, encoded, raw_environment
from whorl.signals import pass_on

from .operations import ABSENT, walk
from .trace import Path, Shape, Step

__all__ = [
    "ABSENT",
    "DeclaredVariables",
    "Variables",
    "World",
    "bound",
    "failed_import",
    "file_state",
    "global_path",
    "other_modules",
    "own_module",
    "place_of",
    "scope_of",
    "variable_now",
]


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

    def find(self, path: Path) -> Any:
        """What is at a path, or ABSENT: an operation that raises leads to nothing."""
        value = _ROOTS[path.root](self, path.name)
        for step in path.steps:
            if value is ABSENT:
                break
            value = walk(value, step)
        return value


def failed_import(scope: Any, name: str) -> Exception | None:
    """Why a lazy import cannot be done; None if it can, and for all else.

    >>> failed_import({"n": 3}, "n")
    """
    try:
        _ = bound(scope, name) if name in scope else None
    except Exception as error:
        pass_on(error)
        return error
    return None


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
    except Exception as error:  # of a module that is imported now
        pass_on(error)
        return ABSENT


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


def scope_of(function: types.FunctionType, module: str) -> Mapping[str, Any] | None:
    """The globals of a module by the name it has in every process."""
    if module == own_module(function):
        return function.__globals__
    loaded = sys.modules.get(module)
    if type(loaded) is not types.ModuleType:
        started = sys.modules.get("__main__")
        if started is not None and known_module_name("__main__") == module:
            if _spawned:
                return _spawned[0]
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


class DeclaredVariables(dict[str, str | None]):
    """Variables with their defaults; `names` are those of the system.

    >>> DeclaredVariables({"CC": "cc", "CFLAGS": None}).names
    [b'CC', b'CFLAGS']
    """

    __slots__ = ("names",)

    def __init__(self, defaults: Mapping[str, str | None]) -> None:
        super().__init__(defaults)
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
    except Exception as error:
        pass_on(error)
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
