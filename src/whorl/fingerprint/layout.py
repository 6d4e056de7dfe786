"""A class in, the places where its instances keep their state out.

State lives in slots along the MRO, in the instance dictionary, and in the content of a
builtin base. Fields that a dataclass, attrs or pydantic class declares live in one of
these; what is set beside them counts too. Not counted: fields marked `exclude`, values
that a cached property left behind, bookkeeping that pydantic does not compare either.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from .lookup import ABSENT, class_vars, derives, find, instance_dict, mro, reads_plainly
from .markers import Marker, declared_markers, exclude

__all__ = ["Layout", "has_hidden_state", "layout_of", "state_of"]

_POINTER: Final = object.__basicsize__ // 2
_BOOKKEEPING: Final = frozenset(("__pydantic_fields_set__",))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the instances of one class keep what counts."""

    cls: type
    base: type
    slots: tuple[tuple[str, types.MemberDescriptorType], ...]
    has_dict: bool
    declared: tuple[str, ...]
    left_out: tuple[str, ...]
    hidden: frozenset[str]
    markers: Mapping[str, Marker]

    @property
    def straight(self) -> bool:
        """Whether plain attribute access reads a set field without running any code."""
        return reads_plainly(self.cls)


def layout_of(cls: type, base: type, said: Mapping[str, Marker]) -> Layout:
    """The layout of a class; the content of `base` is somebody else's, `said` overrides markers."""
    markers = {**declared_markers(cls), **said}
    covered = frozenset(mro(base))
    own = [c for c in mro(cls) if c not in covered]
    hidden = {name for name, marker in markers.items() if marker is exclude}
    hidden |= _BOOKKEEPING | _cached(cls)
    declared = _declared(cls)
    return Layout(
        cls=cls,
        base=base,
        slots=tuple(_slots(own, hidden)),
        has_dict=any(_dict_descriptor(c) for c in own),
        declared=tuple(sorted(declared - hidden)),
        left_out=tuple(sorted(declared & hidden)),
        hidden=frozenset(hidden),
        markers={name: marker for name, marker in markers.items() if marker is not exclude},
    )


def _dict_descriptor(cls: type) -> bool:
    return type(class_vars(cls).get("__dict__")) is types.GetSetDescriptorType


def _slots(
    classes: list[type], hidden: set[str]
) -> Iterator[tuple[str, types.MemberDescriptorType]]:
    """Slots by name; one that a subclass's slot of the same name hides is a place of its own."""
    seen: set[str] = set()
    for cls in classes:
        if "__slots__" not in class_vars(cls):
            continue
        for name, stored in class_vars(cls).items():
            if type(stored) is types.MemberDescriptorType and name not in hidden:
                label = name
                while label in seen:
                    label += "'"
                seen.add(label)
                yield label, stored


def _cached(cls: type) -> set[str]:
    """The names under which cached properties leave their results in an instance."""
    names: set[str] = set()
    for c in mro(cls):
        stored_here = class_vars(c)
        names.update(name for name, stored in stored_here.items() if _is_cached_property(stored))
        names.update(_cached_in_slots(stored_here))
    return {name for name in names if _still_cached(cls, name)}


def _is_cached_property(stored: object) -> bool:
    return type(stored) is functools.cached_property or any(
        c.__name__ == "cached_property" for c in mro(type(stored))
    )


def _cached_in_slots(stored: Mapping[str, Any]) -> set[str]:
    """attrs rebuilds a slotted class: slots that are no attributes hold its cached properties."""
    attributes = stored.get("__attrs_attrs__", ABSENT)
    if attributes is ABSENT or "__slots__" not in stored:
        return set()
    return set(stored["__slots__"]) - {attribute.name for attribute in attributes}


def _still_cached(cls: type, name: str) -> bool:
    found = find(cls, name)
    return _is_cached_property(found) or type(found) is types.MemberDescriptorType


def _declared(cls: type) -> set[str]:
    names: set[str] = set()
    for c in mro(cls):
        stored = class_vars(c)
        for where in ("__dataclass_fields__", "__pydantic_fields__"):
            table = stored.get(where)
            if type(table) is dict:
                names.update(name for name, info in table.items() if _is_field(info))
        attributes = stored.get("__attrs_attrs__", ())
        if derives(type(attributes), tuple):
            names.update(attribute.name for attribute in attributes)
    return names


def _is_field(info: object) -> bool:
    """Not a ClassVar or InitVar, which dataclasses keep in the same table."""
    kind = getattr(info, "_field_type", None)
    return kind is None or getattr(kind, "name", "_FIELD") == "_FIELD"


def state_of(layout: Layout, value: object) -> dict[str, object]:
    """Everything the instance holds, by name: the plain way, correct for every class.

    A declared field that is not set but has a value on the class is listed as `class:name`,
    because that is what reading it gives.
    """
    found: dict[str, object] = {}
    for name, slot in layout.slots:
        try:
            found[name] = slot.__get__(value)
        except AttributeError:
            continue
    stored = instance_dict(value) if layout.has_dict else None
    if stored:
        for key, held in stored.items():
            if key in layout.hidden:
                continue
            label = key if type(key) is str else f"__dict__[{key!r}]"
            while label in found:
                label += "'"
            found[label] = held
    for name in layout.declared:
        if name not in found:
            default = find(layout.cls, name)
            if default is not ABSENT and not _is_place(default):
                found[f"class:{name}"] = default
    return found


def _is_place(stored: object) -> bool:
    return type(stored) in (types.MemberDescriptorType, types.GetSetDescriptorType)


def has_hidden_state(cls: type) -> bool:
    """Whether instances have room for state that neither slots nor a dictionary explain."""
    size = cast("int", _type_field("__basicsize__", cls))
    slots = sum(1 for _ in _slots(list(mro(cls)), set()))
    known = object.__basicsize__ + slots * _POINTER
    known += _POINTER * sum(
        1 for place in ("__dictoffset__", "__weakrefoffset__") if _type_field(place, cls) > 0
    )
    return size > known or _type_field("__itemsize__", cls) > 0


def _type_field(name: str, cls: type) -> Any:
    return type.__dict__[name].__get__(cls)
