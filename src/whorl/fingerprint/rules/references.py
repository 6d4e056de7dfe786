"""Resolves what the code of a function takes from globals, captured variables and imports.

`dataflow` finds the steps that the code makes; here they are made, with the objects that are there
now. A path leads through modules and ends at the first object that is no module; that object counts
by what it is. A module at the end of a path counts whole: the code does more with it than take
names from it. So does a module that computes its attributes (`__getattr__`, a class of its own).

The lookups on the way are recorded, so that others can check later whether they still hold.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import sys
import types
from collections.abc import Mapping
from typing import Any, Final, cast

from whorl.fast_dataclasses import NamedTuple
from whorl.signals import pass_on

from ..boundary import Home
from ..bytecode import GlobalRead, ImportRead, reads_of
from ..dataflow import METHODS, SCOPE, Root, Use, UseStep, uses_of
from ..names import known_module_name
from ..refusal import Refused
from ..static_lookup import (
    ABSENT,
    bound,
    derives,
    find,
    is_special,
    lazy_submodule,
    module_vars,
    reified,
)
from .libraries import in_library, named_node, put_into, taken_from, unloaded_home
from .rule import RuleContext

__all__ = ["ReferenceLookup", "References"]


class ReferenceLookup(NamedTuple):
    """A name that was looked up in a dictionary, and the value there; `path` is the path so far."""

    path: str
    holder: Mapping[str, Any]
    name: str
    value: object


class _Object(NamedTuple):
    """A path has led to an object. `label` is its path if it counts whole."""

    path: str
    value: object
    label: str = ""


class _Namespace(NamedTuple):
    """A path has led to the dictionary of a module's names."""

    path: str
    stored: dict[str, Any]
    module: types.ModuleType | None  # None: known by a function in it


class _LibraryPlace(NamedTuple):
    """A path has led into a library."""

    path: str
    module: types.ModuleType
    attributes: tuple[str, ...] = ()


_Place = _Object | _Namespace | _LibraryPlace


class _Resolver:
    """Makes single steps: from a root to a place, and from a place to the next."""

    def __init__(self, function: types.FunctionType, context: RuleContext) -> None:
        self.globals: dict[str, object] = {}  # by path; also imports
        self.lookups: list[ReferenceLookup] = []
        self.modules: dict[str, types.ModuleType] = {}  # from which names were taken, by path
        self._context = context
        self._scope = function.__globals__
        self._builtins = cast("Mapping[str, Any]", cast("Any", function).__builtins__)
        self._cells = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
        self._reads = reads_of(function.__code__)
        self._loaded: dict[str, object] = {}

    # -- roots and names ------------------------------------------------------------------

    def _root(self, root: Root) -> _Place | None:
        if root.kind == "import":
            return self._import(root)
        if root.kind == "captured":
            try:
                value = self._cells[root.name].cell_contents
            except (KeyError, ValueError):
                return None
            leads_on = type(value) in (types.ModuleType, types.FunctionType)
            return self._place_of(_Object(root.name, value)) if leads_on else None
        return self._place_of(_Object(root.name, self._global(root.name)))

    def _global(self, name: str) -> object:
        value = self._looked_up(name, self._scope, name)
        if name not in self._scope:
            value = self._builtins.get(name, ABSENT)
            self.lookups.append(ReferenceLookup(name, self._builtins, name, value))
        if name == "__name__" and type(value) is str:
            return known_module_name(value)
        return value

    def _looked_up(self, path: str, stored: dict[str, Any], name: str) -> object:
        try:
            value = bound(stored, name) if name in stored else lazy_submodule(stored, name)
        except ImportError:  # of a lazy import
            value = ABSENT
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            pass_on(error)
            raise _failed(path, error) from error
        self.lookups.append(ReferenceLookup(path, stored, name, stored.get(name, ABSENT)))
        return value

    def _computes(self, path: str, stored: dict[str, Any]) -> bool:
        """Whether a module computes attributes that are not there, such as the one at `path`."""
        getter = stored.get("__getattr__", ABSENT)
        self.lookups.append(ReferenceLookup(path, stored, "__getattr__", getter))
        return getter is not ABSENT

    def _place_of(self, target: _Object) -> _Place:
        """The place of an object, which is in a library if it is a module of one."""
        module = target.value
        if type(module) is not types.ModuleType:
            return target
        self.modules[target.path] = module
        name = str(module_vars(module).get("__name__", ""))
        is_users = self._context.home(name).kind == "user"
        return target if is_users else _LibraryPlace(target.path, module)

    def _name(self, name: str | GlobalRead) -> str | None:
        """A name from the code, or from the global that has it."""
        if isinstance(name, str):
            return name
        value = self._function(name)
        return value if type(value) is str else None

    def _function(self, read: str | GlobalRead) -> object:
        """The value of a global, or of an attribute of a global that is a module or `object`."""
        if isinstance(read, str):
            return ABSENT
        value = self._global(read.name)
        for attribute in read.attributes:
            if type(value) is types.ModuleType:
                value = self._looked_up(read.name, module_vars(value), attribute)
            elif value is object or value is types.ModuleType:
                value = find(cast("type", value), attribute)
            else:
                return ABSENT
        return value

    # -- steps ----------------------------------------------------------------------------

    def _step(self, place: _Place, step: UseStep) -> _Place:
        """Where a step leads; the same place if it leads nowhere."""
        name = self._name(step.name)
        if step.how == "call":
            is_own = isinstance(place, _Object) and place.value is builtins.globals
            return _Namespace("globals()", self._scope, None) if is_own else place
        if name is None:
            return place
        if step.how == "import":
            return self._imported(place, name)
        if step.how == "attribute":
            return self._attribute(place, name)
        if step.how == "item":
            return self._item(place, name)
        return self._method(place, str(step.by), name)

    def _attributes(self, step: UseStep) -> tuple[UseStep, ...] | None:
        """`getattr(value, "X")` as a step that is written `value.X`; None for other functions."""
        function, name = self._function(step.by), self._name(step.name)
        if function is builtins.vars:
            return (UseStep("attribute", "__dict__"),)
        if name is None:
            return None
        if function is operator.attrgetter:
            return tuple(UseStep("attribute", part) for part in name.split("."))
        is_getter = any(function is getter for getter in _getters())
        return (UseStep("attribute", name),) if is_getter else None

    def _attribute(self, place: _Place, name: str) -> _Place:
        if isinstance(place, _LibraryPlace):
            return self._in_library(place, name)
        if isinstance(place, _Namespace):
            return place
        value = place.value
        if type(value) is types.FunctionType and name == SCOPE:
            is_users = self._context.home_of_globals(value.__globals__).kind == "user"
            self.globals[place.path] = value
            return (
                _Namespace(f"{place.path}.__globals__", value.__globals__, None)
                if is_users
                else place
            )
        if type(value) is not types.ModuleType:
            return place
        stored = module_vars(value)
        if name == "__dict__":
            return _Namespace(place.path, stored, value)
        path = f"{place.path}.{name}"
        if name not in stored and lazy_submodule(stored, name) is ABSENT:
            self.lookups.append(ReferenceLookup(path, stored, name, ABSENT))
            if self._computes(path, stored) or find(types.ModuleType, name) is not ABSENT:
                return place
        return self._place_of(_Object(path, self._looked_up(path, stored, name)))

    def _in_library(self, place: _LibraryPlace, name: str) -> _Place:
        if name == "__dict__":  # what is taken from that is taken from the module
            return _LibraryPlace(place.path, place.module, place.attributes)
        value: object = place.module
        for attribute in (*place.attributes, name):
            if derives(type(value), type):  # something may have been put into a class
                value = find(cast("type", value), attribute)
            elif type(value) is types.ModuleType:
                value = self._looked_up(place.path, module_vars(value), attribute)
            else:
                return place
        return _LibraryPlace(place.path, place.module, (*place.attributes, name))

    def _item(self, place: _Place, name: str) -> _Place:
        if isinstance(place, _LibraryPlace):
            return self._in_library(place, name)
        if not isinstance(place, _Namespace):
            return place
        path = name if place.path == "globals()" else f"{place.path}.{name}"
        return self._place_of(_Object(path, self._looked_up(path, place.stored, name)))

    def _method(self, place: _Place, method: str, name: str) -> _Place:
        if method == "__getattribute__" and not isinstance(place, _Namespace):
            is_own = isinstance(place, _Object) and type(place.value) is types.ModuleType
            return self._attribute(place, name) if is_own else place
        if isinstance(place, _Namespace) and method in METHODS:
            return self._item(place, name)
        return self._attribute(place, method)

    # -- imports --------------------------------------------------------------------------

    def _module_name(self, name: str, level: int) -> str:
        if not level:
            return name
        scope = self._scope
        package = str(scope.get("__package__") or scope.get("__name__", "").rpartition(".")[0])
        base = package.rsplit(".", level - 1)[0] if level > 1 else package
        return f"{base}.{name}" if name else base

    def _is_library(self, name: str) -> bool:
        return self._home(name).kind != "user"

    def _home(self, name: str) -> Home:
        if name in sys.modules:
            return self._context.home(name)
        return unloaded_home(name, self._context)

    def _library_import(self, read: ImportRead, function: types.FunctionType) -> None:
        """An import of a library. It is not loaded for this: then nothing was put into it."""
        name = self._module_name(read.module, read.level)
        home = self._home(name)
        if home.kind == "user":
            self._load(name)
            return
        self.globals[f"import {name}"] = named_node(home, name, "")
        self.globals.update(put_into(name, read, function, self._context))
        module = sys.modules.get(name, ABSENT)
        self.lookups.append(ReferenceLookup(f"import {name}", sys.modules, name, module))
        if type(module) is types.ModuleType:
            self._may_take(f"import {name}", module, read.names or self._reads.attributes)

    def _may_take(self, path: str, module: types.ModuleType, names: tuple[str, ...]) -> None:
        stored = module_vars(module)
        for name in names:
            if name in stored:
                self._looked_up(path, stored, name)

    def _load(self, name: str) -> object:
        """A module of the user, loaded if need be; ABSENT if there is none."""
        if name in self._loaded:
            return self._loaded[name]
        try:
            module: object = importlib.import_module(name)
        except ImportError:
            module = ABSENT
            self.globals[f"import {name}"] = ABSENT
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            pass_on(error)
            raise _failed(name, error) from error
        self._loaded[name] = module
        self.lookups.append(ReferenceLookup(f"import {name}", sys.modules, name, module))
        return module

    def _import(self, root: Root) -> _Place | None:
        """The place that an import of a module of the user leads to; None for others."""
        name = self._module_name(root.name, root.level)
        if self._is_library(name):
            return None
        module = self._load(name)
        if module is ABSENT:
            return None
        top = name.partition(".")[0] if root.top else name
        return self._place_of(_Object(top, sys.modules.get(top, ABSENT), f"import {name}"))

    def _imported(self, place: _Place, name: str) -> _Place:
        """`from module import name`."""
        if not isinstance(place, _Object) or not derives(type(place.value), types.ModuleType):
            return place
        module = cast("types.ModuleType", place.value)
        stored, path = module_vars(module), f"{place.path}.{name}"
        value = self._looked_up(path, stored, name)
        if value is ABSENT and "__path__" in stored:
            value = self._submodule(path)
        if value is ABSENT and (
            self._computes(path, stored) or type(module) is not types.ModuleType
        ):
            value = module
        return self._place_of(_Object(path, value))

    def _submodule(self, name: str) -> object:
        try:
            module: object = importlib.import_module(name)
        except ImportError:
            module = ABSENT
        self.lookups.append(ReferenceLookup(name, sys.modules, name, module))
        return module


class References(_Resolver):
    """What a function of the user takes from globals, captured variables and imports."""

    def __init__(self, function: types.FunctionType, context: RuleContext) -> None:
        super().__init__(function, context)
        self.captured: dict[str, object] = {}  # names of captured modules, by path
        self.scopes: list[dict[str, Any]] = []  # dictionaries of names that count whole
        self._shows_locals = False
        uses = uses_of(function.__code__)
        self.is_scope_taken = uses.is_scope_taken
        """Whether code takes the `__globals__` of a function that is not known."""
        for read in self._reads.imports:
            self._library_import(read, function)
        for use in uses.values:
            self._follow(use)
        for use in uses.assigned:
            self._follow(use, has_local_name=True)

    def _follow(self, use: Use, *, has_local_name: bool = False) -> None:
        into = self.captured if use.root.kind == "captured" else self.globals
        place = self._root(use.root)
        if place is None:
            return
        waiting = [*use.steps]
        while waiting:
            step = waiting.pop(0)
            if step.how == "function":
                attributes = self._attributes(step)
                if attributes is None:
                    break
                waiting[:0] = attributes
                continue
            following = self._step(place, step)
            if following is place:
                self._note_dead_end(place, (step, *waiting))
                break
            place = following
        is_module = not isinstance(place, _Object) or type(place.value) is types.ModuleType
        if not (has_local_name and is_module) or self._shows_locals:
            self._count(place, into)

    def _note_dead_end(self, place: _Place, steps: tuple[UseStep, ...]) -> None:
        """Note steps that lead nowhere from a place."""
        is_function = isinstance(place, _Object) and type(place.value) is types.FunctionType
        if not is_function and not isinstance(place, _LibraryPlace):
            self.is_scope_taken |= any(step.name == SCOPE for step in steps)

    # -- what counts ----------------------------------------------------------------------

    def _count(self, place: _Place, into: dict[str, object]) -> None:
        if isinstance(place, _LibraryPlace):
            self._count_in_library(place, into)
        elif isinstance(place, _Namespace):
            self._count_names(place, into)
        else:
            self._count_value(place, into)

    def _count_value(self, place: _Object, into: dict[str, object]) -> None:
        value = place.value
        if any(value is reader for reader in _READ_GLOBALS):
            self._count_names(_Namespace("globals()", self._scope, None), into)
        if any(value is reader for reader in _READ_LOCALS):
            self._shows_locals = True
        if place.label and derives(type(value), types.ModuleType):
            self._count_import(place, into)
            return
        path = place.path
        while path in into and into[path] is not value:  # a global and an import of one name
            path += "'"
        into[path] = value

    def _count_import(self, place: _Object, into: dict[str, object]) -> None:
        """All of a module that is imported in the body, and of its package."""
        name = place.label.removeprefix("import ")
        into[place.label] = sys.modules.get(name, ABSENT)
        if place.path != name:
            package = cast("types.ModuleType", place.value)
            into[f"import {place.path}"] = _without_submodules(package)
            self.scopes.append(module_vars(package))

    def _count_names(self, names: _Namespace, into: dict[str, object]) -> None:
        if names.module is not None:
            into[names.path] = names.module
            return
        self.scopes.append(names.stored)
        into[names.path] = {
            name: reified(value) for name, value in names.stored.items() if not is_special(name)
        }

    def _count_in_library(self, place: _LibraryPlace, into: dict[str, object]) -> None:
        path, value = in_library(place.path, place.module, place.attributes, self._context)
        into[path] = value
        last = cast("object", place.module)
        for attribute in place.attributes:
            if type(last) is types.ModuleType:
                last = reified(module_vars(last).get(attribute, ABSENT))
        if type(last) is types.ModuleType:
            self._may_take(place.path, last, self._reads.attributes)
        if type(value) is types.ModuleType:  # it, or one in it, may go by a local name
            names = self._reads.attributes
            into.update(taken_from(place.attributes, path, value, names, self._context))


def _without_submodules(package: types.ModuleType) -> dict[str, object]:
    """The content of a package, without the modules that importing them has put there."""
    name = package.__name__
    return {
        key: value
        for key, stored in module_vars(package).items()
        for value in (reified(stored),)
        if not is_special(key)
        and not (type(value) is types.ModuleType and value.__name__ == f"{name}.{key}")
    }


def _failed(name: str, error: Exception) -> Refused:
    return Refused(
        f"it imports {name!r}, which fails with {type(error).__name__}: {error}",
        "Fix the module so that it can be imported.",
    )


def _getters() -> tuple[object, ...]:
    """Functions that take an object and the name of one of its attributes."""
    inspect = sys.modules.get("inspect")
    static = () if inspect is None else (module_vars(inspect).get("getattr_static"),)
    slots = (find(object, "__getattribute__"), find(types.ModuleType, "__getattribute__"))
    return (builtins.getattr, builtins.hasattr, *slots, *static)


_READ_GLOBALS: Final = (builtins.globals, builtins.eval, builtins.exec)
_READ_LOCALS: Final = (builtins.locals, builtins.vars, builtins.eval, builtins.exec)
