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
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.source import code_digest, undecorated_source
from whorl.fingerprint.static_lookup import bound, derives, find, module_vars
from whorl.lazy import load
from whorl.settings import decoded, encoded, raw_environment
from whorl.signals import pass_on

from .compiler_settings import attribute_names
from .trace import Path, Shape, Step, key_of
from .value_fact import NotRecorded

# The steps of paths: a value and a step lead to the next value, or to nothing.
#
# Views walk by these operations when a compile looks at the world, and replays by the same ones.


class _Absent:
    """What is found where there is nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<absent>"


ABSENT: Final = _Absent()
_BUILTINS: Final = vars(builtins)


def walk(value: Any, step: Step) -> Any:
    """What one step leads to, or ABSENT. Too deep is too deep: asking again would never end."""
    try:
        return OPERATIONS[step.operation](value, step.name)
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT


def walk_or_error(value: Any, step: Step) -> tuple[Any, Exception | None]:
    """The same, and why it is ABSENT."""
    try:
        return OPERATIONS[step.operation](value, step.name), None
    except RecursionError:
        raise
    except Exception as error:
        pass_on(error)
        return ABSENT, error


# -- functions ---------------------------------------------------------------------------------


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


# -- items -------------------------------------------------------------------------------------


def item(value: Any, key: Any) -> Any:
    """What `value[key]` is, without what looking would insert."""
    cls = type(value)
    if (
        derives(cls, defaultdict)
        and find(cls, "__missing__") is defaultdict.__missing__
        and not dict.__contains__(value, key)
    ):
        raise KeyError(key)
    return value[key]


def _keyed_item(value: Any, code: Any) -> Any:
    """The same for a key as plain data."""
    return item(value, key_of(code))


def _digests() -> Any:
    """Fingerprints of values, with all their rules: few paths have a step that needs them."""
    return load("whorl.reads.digest_fact")


def _written(value: Any, name: object) -> str | None:
    return undecorated_source(function_behind(value).__code__)


def _evaluated(value: Any, name: Any) -> Any:
    """The annotation of a parameter, from Python 3.14 on, where others cannot be evaluated."""
    library = load("annotationlib")
    every = library.get_annotations(function_behind(value), format=library.Format.FORWARDREF)
    if isinstance(every[name], library.ForwardRef):
        raise LookupError(name)
    return every[name]


def _c_pointers() -> Any:
    """Functions of C: few kernels call one."""
    return load("whorl.reads.c_pointers")


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "attr": getattr,
    "cell": _cell,
    "global": _global,
    "default": _default,
    "annotation": _annotation,
    "item": item,
    "keyed": _keyed_item,
    "key": lambda value, place: list(value)[place],
    "member": lambda value, place: _digests().in_order(value)[place],
    "settings": lambda compiler, name: attribute_names(compiler),
    "written": _written,
    "with code": lambda value, name: _digests().digest_with_code(value),
    "evaluated": _evaluated,
    "behind": lambda value, name: getattr(function_behind(value), name),
    "C signature": lambda value, name: _c_pointers().signature(value),
    "C address": lambda value, name: _c_pointers().address(value),
    "isinstance": lambda value, code: isinstance(value, key_of(code)),  # type: ignore[arg-type] # a class, or it raises
}
"""How each kind of step is done."""


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


# -- a world that is walked once -------------------------------------------------------


class Once(World):
    """A world in which each path is walked once, so that all that is made of it agrees.

    A property may say something else each time, and another thread may rebind what it leads to:
    the facts of what was found here are those of the table.
    """

    def __init__(self, world: World) -> None:
        super().__init__(
            world.function,
            world.arguments,
            world.options,
            world.environment,
            world.target,
            world.compiler,
        )
        self._values: dict[Path, Any] = {}

    def find(self, path: Path) -> Any:
        """What is at a path, or ABSENT."""
        if path not in self._values:
            if path.steps:
                before = self.find(owner_of(path))
                value = ABSENT if before is ABSENT else walk(before, path.steps[-1])
            else:
                value = super().find(path)
            self._values[path] = value
        return self._values[path]


def owner_of(path: Path) -> Path:
    """What a path's last step is taken from."""
    return Path(path.root, path.name, path.steps[:-1])
