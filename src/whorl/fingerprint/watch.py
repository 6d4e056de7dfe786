"""Watches the objects that a function reads: a check in microseconds whether they have changed.

A digest of code and of all that it reads takes milliseconds; a call that is a hit takes
microseconds. So the objects that were met on the way to the digest are remembered, each with
its content, and the next call checks whether each still holds the very same objects:

    a function      its code, defaults, closure, attributes and names; each global that it reads
    a class         its attributes, bases and names
    a list, a dict, an instance, a module    its content
    an array and all else that can change    its fingerprint, computed again

What cannot change needs no check. Everything is compared by identity, and what it is compared
with is kept alive, so that no other object can have taken its address. An equal object in the
place of another counts as a change; then the digest is computed again, and comes out the same.

The check is generated as one straight-line function, 20 to 40 ns for a comparison.
"""

from __future__ import annotations

import abc
import collections
import enum
import functools
import gc
import operator
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from whorl.fast_dataclasses import NamedTuple
from whorl.signals import pass_on

from .annotations import names_in_annotations
from .bytecode import writes_globals
from .describe import Describer
from .fingerprinter import fingerprint
from .layout import state_of
from .modes import Introspection
from .names import is_heap_class, known_by_name, resolve
from .rules.assigned_names import NAMES, counted_names
from .rules.references import References
from .static_lookup import (
    ABSENT,
    cell_content,
    class_name,
    class_vars,
    derives,
    dict_place,
    find,
    instance_dict,
    module_name,
    module_vars,
    mro,
    qualname,
)
from .tokens import LEAVES

__all__ = ["Check", "Place", "Watch", "function_scope"]

Check = Callable[[], bool]

_is: Final = operator.is_

_CONSTANT: Final = frozenset(
    map(
        id,
        (
            *LEAVES, bytes, tuple, frozenset, range, slice, type(NotImplemented), types.CodeType,
            types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType,
            types.ClassMethodDescriptorType, types.WrapperDescriptorType,
            types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodWrapperType,
            types.GenericAlias, types.UnionType, types.MappingProxyType, property, staticmethod,
            classmethod, operator.attrgetter, operator.itemgetter, operator.methodcaller,
        ),
    )
)  # fmt: skip
"""Classes whose instances hold the same objects for ever. These objects are watched by themselves.
By identity: a metaclass may redefine equality."""

_CONSTANT_IN_LIBRARIES: Final = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "logging": ("Logger",),  # counts by its name
    "pathlib": ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath"),
    "_collections": ("_tuplegetter",),  # the fields of a named tuple
    "attr": ("Attribute",),
    "jax": ("PRNGKeyArray",),
    "jaxlib": ("ArrayImpl", "PjitFunction"),
    "re": ("Pattern",),
    "typing": ("TypeVar", "ParamSpec", "_GenericAlias", "_UnionGenericAlias", "_SpecialForm"),
    "uuid": ("UUID",),
}
_MUTABLE_SCALARS: Final = ("void", "object_")  # of NumPy


class Place(NamedTuple):
    """A dictionary that is read: these names of it, or all (None)."""

    stored: dict[Any, Any]
    names: frozenset[str] | None
    is_instance: bool = False
    is_own: bool = False  # the code that reads it writes to it as well


def _never_changes(cls: type) -> bool:
    if id(cls) in _CONSTANT:
        return True
    module = module_name(cls)
    if qualname(cls) in _CONSTANT_IN_LIBRARIES.get(module.partition(".")[0], ()):
        return resolve(module, qualname(cls)) is cls
    if derives(cls, tuple) and all(dict_place(c) is None for c in mro(cls)):
        return True  # a named tuple, for example
    numpy = sys.modules.get("numpy")
    if numpy is None or module.partition(".")[0] != "numpy":
        return False
    if derives(cls, numpy.generic):
        return not any(derives(cls, getattr(numpy, name)) for name in _MUTABLE_SCALARS)
    return derives(cls, numpy.dtype, numpy.ufunc)


def function_scope(function: types.FunctionType) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Where a function finds its globals, and where it looks for those that are not there."""
    builtins = cast("Any", function).__builtins__
    return function.__globals__, cast("Mapping[str, Any]", builtins)


def same_items(now: Any, items: tuple[object, ...]) -> bool:
    """Whether these very objects are in a list, in this order."""
    return len(now) == len(items) and all(map(_is, now, items))


def same_pairs(now: Any, keys: tuple[object, ...], values: tuple[object, ...]) -> bool:
    """Whether a mapping leads from these very keys to these very values, in this order."""
    return (
        len(now) == len(keys) and all(map(_is, now, keys)) and all(map(_is, now.values(), values))
    )


def same_members(now: Any, members: dict[int, object]) -> bool:
    """Whether a set has these very members."""
    return len(now) == len(members) and members.keys() == set(map(id, now))


def same_values(now: Any, before: Any) -> bool:
    """Whether two tables have the very same values under equal names."""
    return now.keys() == before.keys() and all(map(_is, map(now.get, before), before.values()))


class _CheckSource:
    """The tests of a check, the values in them, and the dictionaries that are read."""

    def __init__(self) -> None:
        self._tests: dict[str, None] = {}  # each is true as long as nothing has changed
        self._places: dict[int, Place] = {}
        self._written: set[int] = set()  # globals that functions write to, by address
        self._names: dict[int, str] = {}
        self._scope: dict[str, Any] = {
            "pass_on": pass_on,
            "same_items": same_items,
            "same_pairs": same_pairs,
            "same_members": same_members,
            "same_values": same_values,
            "content_of": cell_content,
            "name_of": class_name,
            "qualname_of": qualname,
            "fingerprint": fingerprint,
            "state_of": state_of,
            "modules": sys.modules,
            "registrations": abc.get_cache_token,
        }

    def _name(self, value: object) -> str:
        """The name of a value in the check, which keeps it alive."""
        if value is None or value is True or value is False:
            return repr(value)
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"v{len(self._names)}"
            self._scope[name] = value
        return name

    def _test(self, test: str) -> None:
        self._tests[test] = None

    def _stored(self, stored: Mapping[str, Any], name: str, value: object) -> None:
        self._place(stored, name)
        if value is ABSENT:
            self._test(f"{name!r} not in {self._name(stored)}")
        else:
            self._test(f"{self._name(stored)}[{name!r}] is {self._name(value)}")

    def _place(self, stored: Any, name: str | None, *, is_instance: bool = False) -> None:
        """Note that a name in a dictionary is read, or all of them (None)."""
        if type(stored) is types.MappingProxyType:  # of a class
            stored = next((each for each in gc.get_referents(stored) if type(each) is dict), None)
        if type(stored) is not dict or stored is sys.modules:  # where modules come and go
            return
        known = self._places.get(id(stored))
        names = frozenset(() if name is None else (name,))
        is_whole = name is None or (known is not None and known.names is None)
        if known is not None and known.names is not None:
            names |= known.names
        self._places[id(stored)] = Place(stored, None if is_whole else names, is_instance)

    def places(self) -> tuple[Place, ...]:
        """The dictionaries that were met, with the names that are read in them."""
        return tuple(
            Place(place.stored, place.names, place.is_instance, address in self._written)
            for address, place in self._places.items()
        )

    def check(self) -> Check:
        """A function that returns whether nothing has changed."""
        tests = "".join(f"        if not ({test}): return False\n" for test in self._tests)
        source = (
            f"def holds():\n    try:\n{tests}        return True\n"
            "    except Exception as error:\n        pass_on(error)\n        return False\n"
        )
        scope = dict(self._scope)
        exec(compile(source, "<whorl: what a function reads>", "exec"), scope)
        return cast("Check", scope["holds"])


class Watch(_CheckSource):
    """The objects that were met so far, and a check of them.

    >>> from whorl.fingerprint.policy import Policy
    >>> watch, items = Watch(Describer(Policy())), [1, 2]
    >>> watch.see(items)
    >>> check = watch.check()
    >>> before = check()
    >>> items.append(3)
    >>> before, check()
    (True, False)
    """

    def __init__(
        self,
        describer: Describer,
        is_ignored: Callable[[str, types.FunctionType], bool] = lambda path, function: False,
    ) -> None:
        super().__init__()
        self._describer = describer
        self._is_ignored = is_ignored
        self._library_classes: dict[int, type] = {}

    def see_directly(self, value: object) -> bool:
        """Watch an object that needs no description for that; false for other objects."""
        watcher = _WATCHERS.get(id(type(value)))
        if watcher is not None:
            watcher(self, value)
        return watcher is not None

    def see(self, value: object) -> None:
        """Watch the content of an object; the objects in it have to be seen by themselves."""
        cls = type(value)
        if self.see_directly(value) or _never_changes(cls):
            return
        if derives(cls, type):
            self._class(cast("type", value))
        elif derives(cls, types.ModuleType):
            self._test(f"type({self._name(value)}) is {self._name(cls)}")
            self._pairs(module_vars(cast("types.ModuleType", value)))
        elif derives(type(cls), enum.EnumMeta):
            self._pairs(instance_dict(value) or {})
        elif find(cls, "__whorl_function__") is not ABSENT:
            self._compiled(value)
        elif find(cls, "__whorl_constant__") is ABSENT:
            self._instance(value)

    def stays(self, function: Callable[[], object], now: object) -> None:
        """Watch that a function returns the same."""
        self._test(f"{self._name(function)}() == {self._name(now)}")

    def is_named(self, cls: type) -> None:
        """Watch that the name of a class leads to it, if it does."""
        module, dotted = module_name(cls), qualname(cls)
        if resolve(module, dotted) is not cls:
            return
        holder: Any = sys.modules[module]
        self._test(f"modules[{module!r}] is {self._name(holder)}")
        for part in dotted.split("."):
            stored = module_vars(holder) if isinstance(holder, types.ModuleType) else None
            place = class_vars(holder) if stored is None else stored
            holder = place[part]
            self._test(f"{self._name(place)}[{part!r}] is {self._name(holder)}")

    def names_used(self, names: Iterable[str]) -> None:
        """Watch these attributes of the classes of libraries that were met.

        A program can set a method there. It makes no difference unless code that was met names it.
        """
        for name in names:
            for cls in self._library_classes.values():
                self._attribute(cls, name)

    def _attribute(self, cls: type, name: str) -> None:
        if find(cls, name) is ABSENT:
            return  # taking it raises, and then no result is stored
        for base in mro(cls):
            stored = class_vars(base)
            if name in stored or is_heap_class(base):
                self._stored(stored, name, stored.get(name, ABSENT))
            if name in stored:
                return

    def _items(self, value: Any) -> None:
        self._test(f"same_items({self._name(value)}, {self._name((*value,))})")

    def _members(self, value: Any) -> None:
        members = {id(member): member for member in value}
        self._test(f"same_members({self._name(value)}, {self._name(members)})")

    def _pairs(self, value: Any, *, is_instance: bool = False) -> None:
        self._place(value, None, is_instance=is_instance)
        name = self._name(value)
        if not value:
            self._test(f"not {name}")
            return
        keys, values = tuple(value), tuple(value.values())
        self._test(f"same_pairs({name}, {self._name(keys)}, {self._name(values)})")

    def _default_dict(self, value: Any) -> None:
        self._pairs(value)
        self._test(f"{self._name(value)}.default_factory is {self._name(value.default_factory)}")

    def _cached_property(self, value: Any) -> None:
        self._test(f"{self._name(value)}.func is {self._name(value.func)}")

    def _partial(self, value: Any) -> None:
        for part in ("func", "args", "keywords"):  # which __setstate__ replaces
            self._test(f"{self._name(value)}.{part} is {self._name(getattr(value, part))}")
        self._attributes(value)

    def _attributes(self, value: Any) -> None:
        """Watch the attributes of a function or wrapper."""
        if not value.__dict__:
            self._test(f"not {self._name(value)}.__dict__")
        else:
            self._test(f"{self._name(value)}.__dict__ is {self._name(value.__dict__)}")
            self._pairs(value.__dict__)

    def _class(self, cls: type) -> None:
        if self._is_of_library(cls):
            return
        self._pairs(class_vars(cls))
        self._test(f"type({self._name(cls)}) is {self._name(type(cls))}")
        self._test(f"{self._name(cls)}.__bases__ is {self._name(cls.__bases__)}")
        self._test(f"name_of({self._name(cls)}) is {self._name(class_name(cls))}")
        self._test(f"qualname_of({self._name(cls)}) is {self._name(qualname(cls))}")
        if derives(type(cls), enum.EnumMeta):
            for member in class_vars(cls).get("_member_map_", {}).values():
                self._pairs(instance_dict(member) or {})
        if derives(type(cls), abc.ABCMeta):  # a number that grows with every register()
            self._test(f"registrations() == {abc.get_cache_token()}")

    def _is_of_library(self, cls: type) -> bool:
        """Whether a class is known by its name and the version of its library."""
        is_known = self._describer.home(module_name(cls)).kind != "user" and known_by_name(cls)
        if is_known and is_heap_class(cls):  # others cannot be changed
            self._library_classes[id(cls)] = cls
        return is_known

    def _instance(self, value: object) -> None:
        layout = self._describer.plain_layout(type(value))
        name = self._name(value)
        self._test(f"type({name}) is {self._name(type(value))}")
        if layout is None or not layout.straight:
            self._by_fingerprint(value)
            return
        stored = instance_dict(value) if layout.has_dict else None
        if not layout.slots and stored is not None and not layout.hidden & stored.keys():
            self._test(f"{name}.__dict__ is {self._name(stored)}")
            self._pairs(stored, is_instance=True)
            return
        state = state_of(layout, value)
        if not layout.has_dict and [*state] == [slot for slot, _ in layout.slots]:
            for _, slot in layout.slots:  # each is set: a test takes 40 ns, the whole state 900
                content = slot.__get__(value)
                self._test(f"{self._name(slot.__get__)}({name}) is {self._name(content)}")
            return
        self._test(f"same_values(state_of({self._name(layout)}, {name}), {self._name(state)})")

    def _compiled(self, value: object) -> None:
        """Watch the attributes of a kernel or cached function, without its own bookkeeping."""
        stored = instance_dict(value)
        if stored is None:
            return
        layout = self._describer.layout(type(value), object)
        copied = (*counted_names(self._describer), "__wrapped__")
        place = self._name(stored)
        self._test(f"len({place}) == {len(stored)}")
        for name, content in stored.items():
            if name in copied or name not in layout.hidden:
                self._test(f"{place}[{name!r}] is {self._name(content)}")

    def _by_fingerprint(self, value: object) -> None:
        self._test(f"fingerprint({self._name(value)}) == {str(fingerprint(value))!r}")

    # -- functions ------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> None:
        name = self._name(function)
        self._test(f"{name}.__code__ is {self._name(function.__code__)}")
        self._test(f"{name}.__defaults__ is {self._name(function.__defaults__)}")
        for each in NAMES:
            self._test(f"{name}.{each} is {self._name(getattr(function, each))}")
        keywords = function.__kwdefaults__
        self._test(f"{name}.__kwdefaults__ is {self._name(keywords)}")
        if keywords is not None:
            self._pairs(keywords)
        if Introspection.DOCS in self._describer.introspection:
            self._test(f"{name}.__doc__ is {self._name(function.__doc__)}")
        self._annotations(function)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for free, cell in cells:
            if self._is_ignored(free, function):
                continue
            content = cell_content(cell)
            if content is ABSENT:
                self._test(f"content_of({self._name(cell)}) is {self._name(ABSENT)}")
            else:
                self._test(f"{self._name(cell)}.cell_contents is {self._name(content)}")
        self._attributes(function)
        registry = function.__dict__.get("registry")
        if type(registry) is types.MappingProxyType:  # of singledispatch
            self._pairs(registry)
        if self._describer.home_of_globals(function.__globals__).kind == "user":
            self._reads(function)
            if writes_globals(function.__code__):
                self._written.add(id(function.__globals__))

    def _annotations(self, function: types.FunctionType) -> None:
        """Watch annotations; of deferred ones, the function that evaluates them and its names."""
        annotate: Any = getattr(function, "__annotate__", None)
        if annotate is None:
            evaluated = function.__annotations__
            if evaluated:
                self._test(f"{self._name(function)}.__annotations__ is {self._name(evaluated)}")
            return
        self._test(f"{self._name(function)}.__annotate__ is {self._name(annotate)}")
        scope, builtins = function_scope(function)
        for name in names_in_annotations(function):
            self._stored(scope, name, scope.get(name, ABSENT))
            if name not in scope:
                self._stored(builtins, name, builtins.get(name, ABSENT))

    def _reads(self, function: types.FunctionType) -> None:
        """Watch what a function takes from modules, by the same steps as its fingerprint."""
        references = References(function, self._describer)
        for lookup in references.lookups:
            if not self._leads_through_ignored(lookup.path, function):
                self._stored(lookup.holder, lookup.name, lookup.value)
                if derives(type(lookup.value), type):
                    self._is_of_library(cast("type", lookup.value))
        for path, module in references.modules.items():
            if not self._leads_through_ignored(path, function):
                self._test(f"type({self._name(module)}) is {self._name(types.ModuleType)}")
        for scope in references.scopes:
            self._pairs(scope)

    def _leads_through_ignored(self, path: str, function: types.FunctionType) -> bool:
        names = path.split(".")
        paths = (".".join(names[: i + 1]) for i in range(len(names)))
        return any(self._is_ignored(path, function) for path in paths)


_WATCHERS: Final[Mapping[int, Callable[[Watch, Any], None]]] = {
    id(list): Watch._items,
    id(dict): Watch._pairs,
    id(set): Watch._members,
    id(collections.defaultdict): Watch._default_dict,
    id(types.FunctionType): Watch._function,
    id(types.SimpleNamespace): lambda watch, value: watch._pairs(value.__dict__),
    id(functools.partial): Watch._partial,
    id(type(functools.lru_cache(len))): Watch._attributes,
    id(functools.cached_property): Watch._cached_property,
}
"""How instances of exactly these classes are watched, by the addresses of the classes."""
