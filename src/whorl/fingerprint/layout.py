"""Where the instances of a class keep their state.

State is in slots along the MRO, in the instance dictionary, and in the content of a builtin base.
The fields of a dataclass, attrs or pydantic class are in one of these; attributes beside the fields
count too, and so does which fields of a pydantic model were given. Not counted: fields marked
`exclude`, values that a cached property has stored, the hash that attrs stores.
"""

from __future__ import annotations

import functools
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from whorl.fast_dataclasses import dataclass

from .markers import Marker, declared_markers, exclude
from .static_lookup import (
    ABSENT,
    class_name,
    class_vars,
    dataclass_fields,
    derives,
    dict_place,
    find,
    instance_dict,
    mro,
    reads_plainly,
)
from .tokens import Node

__all__ = ["Layout", "Name", "has_hidden_state", "layout_of", "state_of"]

Name = str | tuple[str, ...]
"""What a piece of state is called: an attribute by its name; ("slot", "x", "1") for a slot
hidden by another of its name, ("class", "x") for an unset field that the class has a value
for, ("keys",) for entries of the instance dictionary whose keys are no names."""

_POINTER: Final = object.__basicsize__ // 2
# With these flags of its class, the interpreter keeps it before the object, not in it.
_PLACES: Final = {"__dictoffset__": 1 << 4, "__weakrefoffset__": 1 << 3}
_BOOKKEEPING: Final = frozenset(("_attrs_cached_hash",))
_GIVEN: Final = "__pydantic_fields_set__"  # the fields of a model that were not left to defaults


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the instances of one class keep the state that counts."""

    cls: type
    slots: tuple[tuple[Name, types.MemberDescriptorType], ...]
    has_dict: bool
    declared: tuple[str, ...]
    left_out: tuple[str, ...]
    hidden: frozenset[str]
    markers: Mapping[str, Marker]

    @property
    def hides_given(self) -> bool:
        """Whether a model has excluded fields: then it does not count whether they were given."""
        return bool(self.left_out) and any(name == _GIVEN for name, _ in self.slots)

    @property
    def straight(self) -> bool:
        """Whether plain attribute access reads the state that counts, and runs no code."""
        return reads_plainly(self.cls) and not self.hides_given


def layout_of(
    cls: type,
    base: type = object,
    overrides: Mapping[str, Marker] | None = None,
    owned: frozenset[str] | None = frozenset(),
) -> Layout:
    """The layout of a class on top of a base that has a rule of its own.

    `overrides` replace markers of the class; `owned` are the names in the instance dictionary
    that belong to the base's content, None for all of them.
    """
    markers = _as_stored(cls, {**declared_markers(cls), **(overrides or {})})
    covered = {id(c) for c in mro(base)}
    own = [c for c in mro(cls) if id(c) not in covered]
    hidden = {name for name, marker in markers.items() if marker is exclude}
    hidden |= _BOOKKEEPING | _cached(cls) | (owned or frozenset())
    declared = _declared(cls)
    return Layout(
        cls=cls,
        slots=tuple(_slots(own, hidden)),
        has_dict=owned is not None and any(dict_place(c) is not None for c in mro(cls)),
        declared=tuple(sorted(declared - hidden)),
        left_out=tuple(sorted(declared & hidden)),
        hidden=frozenset(hidden),
        markers={name: marker for name, marker in markers.items() if marker is not exclude},
    )


def _as_stored(cls: type, markers: Mapping[str, Marker]) -> dict[str, Marker]:
    """Markers by the names under which fields are stored: `__x` in class A is `_A__x`."""
    stored = dict(markers)
    for name, marker in markers.items():
        if name.startswith("__") and not name.endswith("__"):
            for c in mro(cls):
                stored[f"_{class_name(c).lstrip('_')}{name}"] = marker
    return stored


def _slots(
    classes: list[type], hidden: set[str]
) -> Iterator[tuple[Name, types.MemberDescriptorType]]:
    """Slots by name; one that a subclass's slot of the same name hides is a place of its own."""
    seen: Counter[str] = Counter()
    for cls in classes:
        if "__slots__" not in class_vars(cls):
            continue
        for name, stored in class_vars(cls).items():
            if type(stored) is types.MemberDescriptorType and name not in hidden:
                depth = seen[name]
                seen[name] += 1
                yield ("slot", name, str(depth)) if depth else name, stored


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
        class_name(c) == "cached_property" for c in mro(type(stored))
    )


def _cached_in_slots(stored: Mapping[str, Any]) -> set[str]:
    """attrs rebuilds a slotted class: slots that are no attributes hold its cached properties."""
    attributes = stored.get("__attrs_attrs__", ABSENT)
    if attributes is ABSENT or "__slots__" not in stored:
        return set()
    return set(stored["__slots__"]) - {attribute.name for attribute in attributes}


def _still_cached(cls: type, name: str) -> bool:
    stored = find(cls, name)
    return _is_cached_property(stored) or type(stored) is types.MemberDescriptorType


def _declared(cls: type) -> set[str]:
    names: set[str] = set()
    for c in mro(cls):
        stored = class_vars(c)
        for table in (dataclass_fields(c), stored.get("__pydantic_fields__")):
            if type(table) is dict:
                names.update(name for name, info in table.items() if _is_field(info))
        attributes = stored.get("__attrs_attrs__", ())
        if derives(type(attributes), tuple):
            names.update(attribute.name for attribute in attributes if hasattr(attribute, "name"))
    return names


def _is_field(info: object) -> bool:
    """Not a ClassVar or InitVar, which dataclasses keep in the same table."""
    kind = getattr(info, "_field_type", None)
    return kind is None or getattr(kind, "name", "_FIELD") == "_FIELD"


def state_of(layout: Layout, value: object) -> dict[Name, object]:
    """The state of an instance by name, correct for every class."""
    state: dict[Name, object] = {}
    for name, slot in layout.slots:
        try:
            state[name] = slot.__get__(value)
        except AttributeError:
            continue
    if layout.hides_given and type(given := state.get(_GIVEN)) is set:
        state[_GIVEN] = given.difference(layout.left_out)
    stored = instance_dict(value) if layout.has_dict else None
    if stored is not None:
        odd = []
        slots = {name for name, _ in layout.slots}
        for key, content in dict.items(stored):
            if type(key) is not str:
                odd.append((key, content))
            elif key not in layout.hidden:
                state[("dict", key) if key in slots else key] = content
        if odd:
            state["keys",] = Node(b"M", (), lambda i: "", items=odd)
    for name in layout.declared:
        if name not in state:
            default = find(layout.cls, name)
            if default is not ABSENT and not _is_place(default):
                state["class", name] = default
    return state


def _is_place(stored: object) -> bool:
    kind = type(stored)
    return kind is types.MemberDescriptorType or kind is types.GetSetDescriptorType


def has_hidden_state(cls: type, base: type = object) -> bool:
    """Whether instances have space for state that slots, dictionary and base do not show."""
    covered = {id(c) for c in mro(base)}
    own = [c for c in mro(cls) if id(c) not in covered]
    known = _type_field("__basicsize__", base) + _POINTER * sum(1 for _ in _slots(own, set()))
    flags = _type_field("__flags__", cls)
    for place, is_managed in _PLACES.items():
        if _type_field(place, cls) and not flags & is_managed and not _type_field(place, base):
            known += _POINTER
    return bool(_type_field("__basicsize__", cls) > known) or bool(
        _type_field("__itemsize__", cls) > _type_field("__itemsize__", base)
    )


def _type_field(name: str, cls: type) -> Any:
    return type.__dict__[name].__get__(cls)
