"""What is stored in a class, an object or a module, without running any of its code.

Ordinary attribute access may run a metaclass's `__getattr__`, a property or an overridden
`__class__`. Everything here goes through the descriptors of `type` and `object` themselves.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, cast

from whorl.fast_dataclasses import LazyAttribute

__all__ = [
    "ABSENT",
    "FIELDS",
    "LAZY_IMPORT",
    "ClassTable",
    "add_markers",
    "bound",
    "captured",
    "cell_content",
    "class_name",
    "class_vars",
    "derives",
    "dict_place",
    "find",
    "instance_dict",
    "is_special",
    "lazy_submodule",
    "module_name",
    "module_vars",
    "mro",
    "qualname",
    "reads_plainly",
    "reified",
    "type_name",
    "uncounted",
]

C = TypeVar("C", bound=type)
T = TypeVar("T")

FIELDS: Final = "__whorl_fields__"
"""The attribute of a class with the markers from its decorators: see `markers`."""


class _NotFound:
    """The result of a lookup that finds nothing."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _NotFound()

# The descriptors themselves: a function around each would take longer than the descriptor.
class_vars: Final[Callable[[type], Mapping[str, Any]]] = type.__dict__["__dict__"].__get__
"""The attributes in the class itself."""

mro: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__
"""The classes in which attributes are looked up, the class itself first."""

class_name: Final[Callable[[type], str]] = type.__dict__["__name__"].__get__
"""The name of the class alone."""

qualname: Final[Callable[[type], str]] = type.__dict__["__qualname__"].__get__
"""The dotted name of the class inside its module."""

module_vars: Final[Callable[[types.ModuleType], dict[str, Any]]] = vars(types.ModuleType)[
    "__dict__"
].__get__
"""The module's globals."""

_module_of: Final[Callable[[type], object]] = type.__dict__["__module__"].__get__


def uncounted(*names: str) -> Callable[[C], C]:
    """`whorl.exclude(*names)` for whorl's own classes, without an import of the markers.

    >>> from whorl.fingerprint.markers import declared_markers
    >>> @uncounted("hits")
    ... class Entry: hits = 0
    >>> declared_markers(Entry)
    {'hits': whorl.exclude}
    """

    def decorate(cls: C) -> C:
        add_markers(cls, dict.fromkeys(names, "exclude"))
        return cls

    return decorate


def add_markers(cls: type, markers: Mapping[str, str]) -> None:
    """Store names of markers, by field, in a class."""
    type.__setattr__(cls, FIELDS, {**class_vars(cls).get(FIELDS, {}), **markers})


def module_name(cls: type) -> str:
    """The name of the class's module; empty if it has none."""
    try:
        name = _module_of(cls)
    except AttributeError:
        return ""
    return name if type(name) is str else ""


def type_name(cls: type) -> str:
    """The class as a person writes it: `dict`, `socket.socket`."""
    module = module_name(cls)
    return qualname(cls) if module in ("", "builtins") else f"{module}.{qualname(cls)}"


def derives(cls: type, *bases: type) -> bool:
    """Whether the class is one of the bases or inherits from it, as memory is laid out."""
    for each in mro(cls):
        for base in bases:
            if each is base:
                return True
    return False


def find(cls: type, name: str) -> object:
    """The attribute of the class or a base, unbound, or ABSENT."""
    for c in mro(cls):
        stored = class_vars(c)
        if name in stored:
            return stored[name]
    return ABSENT


def dataclass_fields(cls: type) -> object:
    """The table of a dataclass's own fields; whorl's own dataclasses make it on demand."""
    table = class_vars(cls).get("__dataclass_fields__")
    return table.__get__(None, cls) if type(table) is LazyAttribute else table


def module_attribute(module: types.ModuleType, name: str) -> object:
    """An attribute of a module, or ABSENT. whorl's own packages import theirs on demand."""
    stored = module_vars(module)
    value = stored.get(name, ABSENT)
    if value is ABSENT and str(stored.get("__name__", "")).partition(".")[0] == "whorl":
        value = getattr(module, name, ABSENT)
    return value


def is_special(name: object) -> bool:
    """Whether a name begins with two underscores; false for a name that is no text."""
    return isinstance(name, str) and name.startswith("__")


LAZY_IMPORT: Final[Any] = getattr(types, "LazyImportType", None)  # from Python 3.15 on


def reified(value: Any) -> Any:
    """The value of a lazy import, which is done now; ABSENT if it fails. Any other value as it is.

    >>> reified(3)
    3
    """
    if LAZY_IMPORT is None or type(value) is not LAZY_IMPORT:
        return value
    try:
        return value.resolve()
    except ImportError:
        return ABSENT


def bound(scope: Any, name: str) -> Any:
    """The value of a global name; a lazy import is done now, as Python does it.

    >>> bound({"n": 3}, "n")
    3
    """
    value = scope[name]
    if LAZY_IMPORT is not None and type(value) is LAZY_IMPORT:
        imported = value.resolve()
        if scope.get(name) is value:
            scope[name] = imported
        return imported
    return value


def lazy_submodule(stored: Mapping[str, Any], name: str) -> object:
    """The module of a `lazy import package.name`, loaded now; ABSENT if there was none.

    Python loads it when the attribute of the package is used.

    >>> import email
    >>> lazy_submodule(vars(email), "nothing")
    ABSENT
    """
    full = f"{stored.get('__name__')}.{name}"
    if "__path__" not in stored or full not in getattr(sys, "lazy_modules", ()):
        return ABSENT
    try:
        return importlib.import_module(full)
    except ImportError:
        return ABSENT


def instance_dict(value: object) -> dict[str, Any] | None:
    """The dictionary of the object's own attributes, or None if it has none."""
    for c in mro(type(value)):
        stored = dict_place(c)
        if stored is not None:
            attributes = stored.__get__(value)
            return attributes if derives(type(attributes), dict) else None
    return None


def dict_place(cls: type) -> types.GetSetDescriptorType | types.MemberDescriptorType | None:
    """The descriptor through which this very class gives its instances a dictionary."""
    stored = class_vars(cls).get("__dict__", ABSENT)
    kind = type(stored)
    if kind is types.GetSetDescriptorType or kind is types.MemberDescriptorType:
        return cast("types.GetSetDescriptorType", stored)
    return None


def cell_content(cell: types.CellType) -> Any:
    """The value of a captured variable, or ABSENT if it is not set."""
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def captured(function: types.FunctionType) -> dict[str, Any]:
    """The captured variables of a function by name, ABSENT for those that are not set."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell_content(cell) for name, cell in cells}


def reads_plainly(cls: type) -> bool:
    """Whether `value.name` runs no code of the class if the attribute is set."""
    return find(cls, "__getattribute__") is object.__getattribute__ and all(
        type(stored) is types.GetSetDescriptorType for stored in _every(cls, "__dict__")
    )


def _every(cls: type, name: str) -> Iterator[object]:
    for c in mro(cls):
        stored = class_vars(c)
        if name in stored and c is not type:
            yield stored[name]


class ClassTable(Generic[T]):
    """Class -> value, by identity: a metaclass may redefine equality."""

    def __init__(self, entries: Mapping[type, T] | None = None) -> None:
        self._entries: dict[int, tuple[type, T]] = {}
        self.update(entries or {})

    def __setitem__(self, cls: type, value: T) -> None:
        self._entries[id(cls)] = (cls, value)

    def __contains__(self, cls: type) -> bool:
        return id(cls) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def classes(self) -> list[type]:
        """All classes that have a value."""
        return [cls for cls, _ in list(self._entries.values())]

    def get(self, cls: type) -> T | None:
        """The value of exactly this class."""
        entry = self._entries.get(id(cls))
        return None if entry is None else entry[1]

    def nearest(self, cls: type) -> type | None:
        """The first class along the MRO that has a value."""
        return next((c for c in mro(cls) if id(c) in self._entries), None)

    def update(self, entries: Mapping[type, T]) -> None:
        """Add entries."""
        for cls, value in entries.items():
            self[cls] = value

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
