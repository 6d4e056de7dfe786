"""Markers: how the fields of a class count, as its author or a `Fingerprinter` states.

A marker states how a field counts. It can be written in an annotation, as the metadata of a field,
above a class, or given to a `Fingerprinter` if the class cannot be edited:

    uid: Annotated[UUID, whorl.exclude]                  dataclass, attrs, pydantic, plain class
    uid: UUID = field(metadata=whorl.exclude)            dataclass, attrs
    @whorl.exclude("uid")                                any class
    Fingerprinter(rules={Node: whorl.fields(exclude=["uid"])})
"""

from __future__ import annotations

import ast
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast

from whorl.fast_dataclasses import dataclass

from .annotations import Unevaluated, annotations_of
from .static_lookup import (
    ABSENT,
    FIELDS,
    add_markers,
    class_vars,
    dataclass_fields,
    derives,
    module_attribute,
    module_name,
    module_vars,
    mro,
)
from .syntax import syntax_tree

__all__ = [
    "FieldDecorator",
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

    def __call__(self, *names: str) -> FieldDecorator:
        """A class decorator that gives the named fields this marker."""
        if not names or not all(type(name) is str for name in names):
            raise TypeError(f"whorl.{self.name}(...) takes field names, such as 'uid'")
        return FieldDecorator(self, names)


@dataclass(frozen=True, slots=True)
class FieldDecorator:
    """A marker above a class, with the names of the fields it is for."""

    marker: Marker
    names: tuple[str, ...]

    def __call__(self, cls: C) -> C:
        """The class, with the marker on it."""
        add_markers(cls, dict.fromkeys(self.names, self.marker.name))
        return cls


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
    """How the fields of one class count for a `Fingerprinter`; made by `fields`.

    >>> fields(exclude=["uid"], ordered=["passes"]).parts()
    (('passes', 'ordered'), ('uid', 'exclude'))
    """

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
    given = {"exclude": exclude, "ordered": ordered, "by_type": by_type, "by_identity": by_identity}
    markers: dict[str, Marker] = {}
    for kind, names in given.items():
        if isinstance(names, str):
            raise TypeError(f"{kind}= takes a collection of field names, not the text {names!r}")
        for name in names:
            if type(name) is not str:
                raise TypeError(f"{kind}= takes field names, not {name!r}")
            if name in markers:
                raise ValueError(f"field {name!r} is given both {markers[name].name} and {kind}")
            markers[name] = _MARKERS[kind]
    return FieldRule(tuple(sorted(markers.items(), key=lambda item: item[0])))


_MARKERS: Final = {marker.name: marker for marker in (exclude, ordered, by_type, by_identity)}


def declared_markers(cls: type) -> dict[str, Marker]:
    """The markers of a class by field name, those of its bases included."""
    markers: dict[str, Marker] = {}
    for c in reversed(mro(cls)):
        if c is object:
            continue
        markers.update(_in_annotations(c))
        markers.update(_in_metadata(c))
        decorated: dict[str, str] = class_vars(c).get(FIELDS, {})
        markers.update({name: _MARKERS[marker] for name, marker in decorated.items()})
    return markers


def _in_annotations(cls: type) -> Iterator[tuple[str, Marker]]:
    for name, annotation in annotations_of(cls).items():
        marker = _marker_in_annotation(annotation, cls)
        if type(marker) is Marker:
            yield name, marker


def unreadable_markers(cls: type) -> list[tuple[str, str]]:
    """Annotations as text that may have a marker and whose names are not defined."""
    return [
        (name, str(annotation))
        for c in mro(cls)
        for name, annotation in annotations_of(c).items()
        if type(annotation) in (str, Unevaluated)
        and _marker_in_annotation(annotation, c) is _UNKNOWN
    ]


class _Unknown:
    """A name in an annotation that is not defined."""


_UNKNOWN: Final = _Unknown()


def _marker_in_annotation(annotation: object, cls: type) -> Marker | _Unknown | None:
    """The marker in an annotation. Text is parsed, never run; only names are looked up."""
    if type(annotation) is Unevaluated:
        return _marker_in_unevaluated(annotation, cls)
    if type(annotation) is not str:
        return _marker_in_type(annotation)
    try:
        tree = syntax_tree(annotation.strip(), "eval").body
    except SyntaxError:
        return None
    return _marker_in_tree(tree, cls)


def _marker_in_unevaluated(annotation: Unevaluated, cls: type) -> Marker | _Unknown | None:
    """The same if the type beside a marker is not defined, or is made by a call."""
    match annotation.operation, annotation.operands:
        case "or", (left, right):
            return _marker_in_annotation(left, cls) or _marker_in_annotation(right, cls)
        case "getitem", (around, inside):
            parts = _parts_of(inside)
            if around is typing.Annotated:
                for part in parts[1:]:
                    if type(part) is Marker:
                        return part
                    if type(part) is Unevaluated and part.operation in ("undefined", "."):
                        return _UNKNOWN
                return _marker_in_annotation(parts[0], cls)
            if type(around) is Unevaluated:
                return _UNKNOWN if "Annotated" in repr(around) else None
            if any(around is form for form in (*_FORMS, typing.Optional)):
                markers = (_marker_in_annotation(part, cls) for part in parts)
                return next((marker for marker in markers if marker is not None), None)
    return None


def _parts_of(inside: object) -> tuple[object, ...]:
    if type(inside) is Unevaluated and inside.operation == "tuple":
        return inside.operands
    return inside if type(inside) is tuple else (inside,)


def _marker_in_tree(tree: ast.expr, cls: type) -> Marker | _Unknown | None:
    match tree:
        case ast.Constant(value=str(text)):
            return _marker_in_annotation(text, cls)
        case ast.Name() | ast.Attribute():
            return _marker_in_type(_named(tree, cls))
        case ast.BinOp(left=left, right=right):
            return _marker_in_tree(left, cls) or _marker_in_tree(right, cls)
        case ast.Subscript(value=around, slice=inside):
            return _marker_in_subscript(around, inside, cls)
    return None


def _marker_in_subscript(around: ast.expr, inside: ast.expr, cls: type) -> Marker | _Unknown | None:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    known = _named(around, cls)
    if known is typing.Annotated:
        for part in parts[1:]:
            extra = _named(part, cls)
            if type(extra) is Marker:
                return extra
            if extra is ABSENT and not isinstance(part, ast.Constant | ast.Call):
                return _UNKNOWN
        return _marker_in_tree(parts[0], cls)
    if known is ABSENT:
        return _UNKNOWN if "Annotated" in ast.unparse(around) else None
    if any(known is form for form in (*_FORMS, typing.Optional)):
        markers = (_marker_in_tree(part, cls) for part in parts)
        return next((marker for marker in markers if marker is not None), None)
    return None


def _named(tree: ast.expr, cls: type) -> object:
    """The value of a dotted name in the scope of the class, or ABSENT."""
    match tree:
        case ast.Name(id=name):
            module = sys.modules.get(module_name(cls))
            scope = {} if module is None else module_vars(module)
            return class_vars(cls).get(name, scope.get(name, ABSENT))
        case ast.Attribute(value=inner, attr=name):
            home = _named(inner, cls)
            if derives(type(home), types.ModuleType):
                return module_attribute(cast("types.ModuleType", home), name)
    return ABSENT


def _marker_in_type(annotation: object) -> Marker | None:
    """The marker in an evaluated annotation, also inside of Final, ClassVar and Optional."""
    kind = type(annotation)
    if kind is _ANNOTATED:
        for extra in cast("Any", annotation).__metadata__:
            if type(extra) is Marker:
                return extra
        return _marker_in_type(cast("Any", annotation).__origin__)
    if kind is types.UnionType or (
        any(kind is around for around in _AROUND) and _is_around(annotation)
    ):
        markers = (_marker_in_type(inner) for inner in cast("Any", annotation).__args__)
        return next((marker for marker in markers if marker is not None), None)
    return None


_ANNOTATED: Final = type(typing.Annotated[int, 1])
_AROUND: Final = (type(typing.Final[int]), type(typing.Optional[int]))  # noqa: UP045 - its class
_FORMS: Final = (typing.Final, typing.ClassVar, typing.Union, typing.Required, typing.NotRequired)


def _is_around(annotation: object) -> bool:
    return any(cast("Any", annotation).__origin__ is form for form in _FORMS)


def _in_metadata(cls: type) -> Iterator[tuple[str, Marker]]:
    stored = class_vars(cls)
    described: list[tuple[str, Any]] = []
    for table in (dataclass_fields(cls), stored.get("__pydantic_fields__")):
        if type(table) is dict:
            described += [(name, getattr(info, "metadata", {})) for name, info in table.items()]
    attributes = stored.get("__attrs_attrs__", ())
    if derives(type(attributes), tuple):
        described += [(a.name, a.metadata) for a in attributes if hasattr(a, "metadata")]
    for name, metadata in described:
        extras = metadata.values() if hasattr(metadata, "values") else metadata
        for extra in extras:
            if type(extra) is Marker:
                yield name, extra
