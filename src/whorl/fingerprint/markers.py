"""A class in, what its author said about its fields out.

A marker says how a field counts. It can be written in an annotation, as the metadata of
a field, above a class, or handed to a `Fingerprinter` where the class cannot be edited:

    uid: Annotated[UUID, whorl.exclude]                  dataclass, attrs, pydantic, plain class
    uid: UUID = field(metadata=whorl.exclude)            dataclass, attrs
    @whorl.exclude("uid")                                any class
    Fingerprinter(rules={Node: whorl.fields(exclude=["uid"])})
"""

from __future__ import annotations

import sys
import typing
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .lookup import ABSENT, class_vars, derives, module_name, module_vars, mro

__all__ = [
    "FieldRule",
    "Marker",
    "by_identity",
    "by_type",
    "declared_markers",
    "exclude",
    "fields",
    "ordered",
    "unreadable_markers",
]

C = TypeVar("C", bound=type)

_KEY: Final = "whorl"
_above_class: weakref.WeakKeyDictionary[type, dict[str, Marker]] = weakref.WeakKeyDictionary()


class Marker(Mapping[str, "Marker"]):
    """How a field counts in a fingerprint.

    A marker is a mapping of one entry, so that it can be a field's metadata as it is; called
    with field names it is a class decorator.

    >>> from dataclasses import dataclass, field
    >>> import whorl
    >>> @whorl.exclude("hits")
    ... @dataclass
    ... class Entry:
    ...     name: str
    ...     hits: int = 0
    ...     line: int = field(default=0, metadata=whorl.exclude)
    >>> whorl.fingerprint(Entry("a")) == whorl.fingerprint(Entry("a", hits=7, line=3))
    True
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, key: str) -> Marker:
        if key == _KEY:
            return self
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter((_KEY,))

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"whorl.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, *names: str) -> Callable[[C], C]:
        """A class decorator that gives the named fields this marker."""
        if not names or not all(type(name) is str for name in names):
            raise TypeError(f"whorl.{self.name}(...) takes field names, such as 'uid'")

        def mark(cls: C) -> C:
            _above_class.setdefault(cls, {}).update(dict.fromkeys(names, self))
            return cls

        return mark


exclude: Final = Marker("exclude")
"""The field does not count."""

ordered: Final = Marker("ordered")
"""The field holds a plain dict whose order counts."""

by_type: Final = Marker("by_type")
"""The field counts by its type: dtype and shape of an array, not what is in it."""

by_identity: Final = Marker("by_identity")
"""The field counts as this very object: the digest is good for this process only."""


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What a `Fingerprinter` says about the fields of one class."""

    markers: tuple[tuple[str, Marker], ...]

    def parts(self) -> tuple[tuple[str, str], ...]:
        """The rule as data, for the digest."""
        return tuple((name, marker.name) for name, marker in self.markers)


def fields(
    *,
    exclude: Iterable[str] = (),
    ordered: Iterable[str] = (),
    by_type: Iterable[str] = (),
    by_identity: Iterable[str] = (),
) -> FieldRule:
    """A rule for the fields of a class that cannot be edited.

    >>> import whorl
    >>> class Point:
    ...     def __init__(self, x, tag): self.x, self.tag = x, tag
    >>> own = whorl.Fingerprinter(rules={Point: whorl.fields(exclude=["tag"])})
    >>> own(Point(1, "a")) == own(Point(1, "b"))
    True
    """
    said = {"exclude": exclude, "ordered": ordered, "by_type": by_type, "by_identity": by_identity}
    markers: dict[str, Marker] = {}
    for kind, names in said.items():
        if isinstance(names, str):
            raise TypeError(f"{kind}= takes a collection of field names, not the text {names!r}")
        for name in names:
            if name in markers:
                raise ValueError(f"field {name!r} is given both {markers[name].name} and {kind}")
            markers[name] = _MARKERS[kind]
    return FieldRule(tuple(sorted(markers.items(), key=lambda item: item[0])))


_MARKERS: Final = {marker.name: marker for marker in (exclude, ordered, by_type, by_identity)}


def declared_markers(cls: type) -> dict[str, Marker]:
    """The markers of a class by field name, those of its bases included."""
    found: dict[str, Marker] = {}
    for c in reversed(mro(cls)):
        if c is object:
            continue
        found.update(_in_annotations(c))
        found.update(_in_metadata(c))
        found.update(_above_class.get(c, {}))
    return found


def _in_annotations(cls: type) -> Iterator[tuple[str, Marker]]:
    annotations = class_vars(cls).get("__annotations__", ABSENT)
    if type(annotations) is not dict:
        return
    for name, annotation in annotations.items():
        marker = _marker_in(_evaluated(annotation, cls))
        if marker is not None:
            yield name, marker


def _evaluated(annotation: object, cls: type) -> object:
    """The annotation, evaluated where it was kept as text and can be."""
    if type(annotation) is not str:
        return annotation
    module = sys.modules.get(module_name(cls))
    scope = {} if module is None else module_vars(module)
    try:
        return eval(annotation, scope, dict(class_vars(cls)))
    except (RecursionError, MemoryError):
        raise
    except Exception:
        # A name that exists for type checkers only. A marker in it would be lost in silence:
        # that case is refused by the one who asks (`layout`), which sees the text.
        return annotation


def _marker_in(annotation: object) -> Marker | None:
    if typing.get_origin(annotation) is typing.Annotated:
        for extra in annotation.__metadata__:  # type: ignore[attr-defined]  # Annotated has it
            if type(extra) is Marker:
                return extra
    return None


def _in_metadata(cls: type) -> Iterator[tuple[str, Marker]]:
    stored = class_vars(cls)
    described: list[tuple[str, Any]] = []
    for where in ("__dataclass_fields__", "__pydantic_fields__"):
        table = stored.get(where)
        if type(table) is dict:
            described += [(name, info.metadata) for name, info in table.items()]
    attributes = stored.get("__attrs_attrs__", ())
    if derives(type(attributes), tuple):
        described += [(attribute.name, attribute.metadata) for attribute in attributes]
    for name, metadata in described:
        held = metadata.values() if hasattr(metadata, "values") else metadata
        for extra in held:
            if type(extra) is Marker:
                yield name, extra


def unreadable_markers(cls: type) -> list[tuple[str, str]]:
    """Annotations kept as text that mention a marker and cannot be evaluated."""
    lost: list[tuple[str, str]] = []
    for c in mro(cls):
        annotations = class_vars(c).get("__annotations__", ABSENT)
        if type(annotations) is dict:
            for name, text in annotations.items():
                if type(text) is str and "Annotated" in text and _evaluated(text, c) is text:
                    lost.append((name, text))
    return lost
