"""The paths at which two values differ, with both sides.

Both values are walked side by side. Parts with equal tokens are equal and are skipped whole; the
rest is matched by its place: fields and attributes by name, elements by index, entries by key,
members of sets by content.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, cast

from whorl.fast_dataclasses import NamedTuple, dataclass

from .annotations import Unevaluated, annotations_of
from .describe import Describer
from .modes import Mode
from .names import known_by_name
from .rules.builtin import short, shortened
from .source import code_digest, source_of
from .static_lookup import ABSENT, derives, module_name, qualname
from .tokens import Node, bytes_tokens, is_flat, is_leaf, marshalled
from .value_graph import Graph

__all__ = ["NOTHING", "Code", "Difference", "differences"]

_ELEMENTS_SHOWN: Final = 8
_PATHS_LISTED: Final = 16
_WHOLE: Final = frozenset(  # shown as they are
    (
        b"dtype", b"dtype of fields", b"dtype of parts", b"scalar", b"named", b"class by name",
        b"Decimal", b"UUID", b"path", b"regex",
    )
)  # fmt: skip


class _Nothing:
    """The side of a difference on which there is nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Final = _Nothing()


class Code(str):
    """A line of code, shown as it is written.

    >>> Code("return x")
    `return x`
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"`{self}`"


@dataclass(frozen=True, slots=True)
class Difference:
    """One path at which two values differ.

    >>> import whorl
    >>> (difference,) = whorl.diff({"a": [1, 2]}, {"a": [1, 3]})
    >>> difference.path, difference.left, difference.right
    ("value['a'][1]", 2, 3)
    """

    path: str
    left: object
    right: object

    def __repr__(self) -> str:
        left, right = words(self.left), words(self.right)
        return f"Difference(path={self.path!r}, left={left}, right={right})"

    def __str__(self) -> str:
        left, right = words(self.left), words(self.right)
        if left == right:
            return f"{self.path}: two different values of {left}"
        return f"{self.path}: {left} -> {right}"


def words(value: object) -> str:
    """A value for people, without running any code of its class."""
    if value is NOTHING or type(value) in (Code, Unevaluated):
        return repr(value)
    kind = type(value)
    if derives(kind, type):
        return f"class {qualname(cast('type', value))}"
    if kind is types.FunctionType:
        return f"function {cast('types.FunctionType', value).__qualname__}"
    if kind in (list, tuple, dict, set, frozenset):
        listed = list(cast("Any", value))
        flat = listed + list(value.values()) if type(value) is dict else listed
        if all(is_leaf(type(part)) for part in flat):
            return shortened(value)
        return f"{kind.__name__} of {len(listed)}"
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return f"{cast('Any', value).dtype} array of shape {cast('Any', value).shape}"
    if numpy is not None and derives(kind, numpy.dtype):
        return f"dtype {value}"
    if module_name(kind) in _READABLE and known_by_name(kind):
        return shortened(value)
    return short(value)


_READABLE: Final = frozenset(("numpy", "decimal", "datetime", "uuid", "pathlib", "fractions", "re"))


class _Graphs(NamedTuple):
    """Both sides under one describer."""

    describer: Describer
    left: Graph
    right: Graph


class _Pair(NamedTuple):
    """Two parts at one path."""

    path: str
    left: object
    right: object
    graphs: _Graphs
    settled: bool = False  # known to differ, and to be shown as they are

    def differ(self) -> bool:
        """Whether their tokens do."""
        return self.settled or _written(self.left, self.graphs.left) != _written(
            self.right, self.graphs.right
        )


class _Part(NamedTuple):
    """A part of one side: how its path ends, and the part."""

    label: str
    value: object


def differences(left: object, right: object, describer: Describer) -> list[Difference]:
    """Every path at which two values differ, under a describer's policy.

    Inside a cycle a pair of objects is compared once; where many paths lead to one pair, the
    first few of them are listed.
    """
    listed: list[Difference] = []
    on_path: set[tuple[int, int, Mode]] = set()
    visits: Counter[tuple[int, int, Mode]] = Counter()
    pending: list[_Pair | tuple[int, int, Mode]] = [
        _Pair("value", left, right, _graphs(left, right, describer))
    ]
    while pending:
        pair = pending.pop()
        if not isinstance(pair, _Pair):
            on_path.remove(pair)
            continue
        if not pair.differ():
            continue
        inside: list[_Pair] = []
        if not pair.settled and _walkable(pair.left) and _walkable(pair.right):
            key = (id(pair.left), id(pair.right), pair.graphs.describer.mode)
            visits[key] += 1
            if key in on_path or visits[key] > _PATHS_LISTED:
                continue
            inside = _inside(pair)
            on_path.add(key)
            pending.append(key)
        if inside:
            pending += reversed(inside)
        else:
            listed.append(Difference(pair.path, *_apart(pair.left, pair.right)))
    return listed


def _graphs(left: object, right: object, describer: Describer) -> _Graphs:
    looking, graphs = describer.graphs(left, right)
    return _Graphs(looking, *graphs)


def _written(value: object, graph: Graph) -> bytes:
    """The tokens of a part as bytes: unlike the tokens, they tell 1 from 1.0 and from True."""
    if value is NOTHING:
        return b""
    if type(value) is Code:
        return value.encode("utf-8", "surrogatepass")
    if is_leaf(type(value)) or _one_token(value):
        return marshalled([value])
    if type(value) is bytes:
        return marshalled(bytes_tokens(value))
    return marshalled(graph.tokens_of(value))


def _one_token(value: object) -> bool:
    return type(value) in (list, tuple) and is_flat(cast("list[object]", value))


def _walkable(value: object) -> bool:
    return value is not NOTHING and not is_leaf(type(value)) and type(value) not in (bytes, Code)


def _apart(left: object, right: object) -> tuple[object, object]:
    """Both sides as they are shown: of two texts of code, the first line that is not in both."""
    if type(left) is Code and type(right) is Code:
        for a, b in zip_longest(left.splitlines(), right.splitlines()):
            if a != b:
                return _line_or_nothing(a), _line_or_nothing(b)
    return _shown(left), _shown(right)


def _line_or_nothing(line: str | None) -> object:
    return NOTHING if line is None else Code(line.strip())


def _shown(value: object) -> object:
    if value is ABSENT:
        return NOTHING
    if type(value) is not Node:
        return value
    if len(value.values) == 1 and is_leaf(type(value.values[0])):
        return value.values[0]
    return Code(value.tag.decode("ascii", "replace"))


def _node(value: object, graph: Graph, describer: Describer) -> Node:
    if type(value) is Node:
        return value
    return describer(value) if _one_token(value) else graph.node_of(value)


def _inside(pair: _Pair) -> list[_Pair]:
    """The parts in which the difference lies, or nothing where it is the values themselves."""
    path, left, right, graphs, _ = pair
    if type(left) is not type(right):
        return []
    nodes = (
        _node(left, graphs.left, graphs.describer),
        _node(right, graphs.right, graphs.describer),
    )
    if nodes[0].tag == nodes[1].tag == b"code":
        code = graphs.describer.in_mode(Mode.CODE)
        return [pair._replace(graphs=_graphs(left, right, code))]
    if nodes[0].tag == nodes[1].tag == b"array":
        return [] if type(left) is Node else _inside_arrays(pair)
    if nodes[0].tag in _WHOLE:
        return []
    sides = (
        dict(_parts(nodes[0], left, graphs.left)),
        dict(_parts(nodes[1], right, graphs.right)),
    )
    places = [*sides[0], *(place for place in sides[1] if place not in sides[0])]
    pairs = []
    for place in places:
        mine, other = sides[0].get(place), sides[1].get(place)
        label = (mine or cast("_Part", other)).label
        pairs.append(
            _Pair(
                path + label,
                NOTHING if mine is None else mine.value,
                NOTHING if other is None else other.value,
                graphs,
            )
        )
    if not nodes[0].counted or nodes[0].items is not None:  # names and keys, which have no order
        pairs.sort(key=lambda p: p.path)
    return [p for p in pairs if p.differ()]


def _parts(node: Node, owner: object, graph: Graph) -> Iterator[tuple[str | bytes, _Part]]:
    """The parts of a node by place: keys and members by content, all others by label."""
    for i, value in enumerate(node.values):
        label = node.label(i)
        if type(value) is Node and value.tag == b"code of":
            yield label, _Part(label, _text(owner))
        elif type(value) is Node and value.tag == b"annotations":
            yield label, _Part(label, _annotations(owner))
        elif type(value) is Node and value.tag == b"names":
            known_by, names, *inners = value.values
            yield label or str(i), _Part(label, known_by)
            for name, inner in zip(cast("tuple[str, ...]", names), inners, strict=True):
                yield f".{name}", _Part(f".{name}", inner)
        elif node.keys is not None:
            yield _written(node.keys[i], graph), _Part(label, value)
        else:
            yield label or str(i), _Part(label, value)
    for i, item in enumerate(node.items or (), start=len(node.values)):
        yield _written(item[0], graph), _Part(node.label(i), item[-1])


def _text(owner: object) -> Code:
    """A function's code as text."""
    code = cast("types.FunctionType", owner).__code__
    text = source_of(code)
    return Code(text if text is not None else f"code {code_digest(code).hex}")


def _annotations(owner: object) -> Code:
    """The annotations of a function or class as text."""
    annotations = annotations_of(cast("types.FunctionType | type", owner))
    return Code(", ".join(f"{name}: {words(kind)}" for name, kind in annotations.items()))


def _inside_arrays(pair: _Pair) -> list[_Pair]:
    """Type and shape; if both are the same, the elements that differ, unless they are many."""
    numpy = sys.modules["numpy"]
    a, b = numpy.asarray(pair.left), numpy.asarray(pair.right)
    pairs = [
        pair._replace(
            path=f"{pair.path}.{name}",
            left=getattr(a, name),
            right=getattr(b, name),
            settled=name == "dtype",
        )
        for name in ("dtype", "shape")
        if repr(getattr(a, name)) != repr(getattr(b, name))
    ]
    if pairs or a.dtype.fields is not None or a.dtype.itemsize == 0:
        return pairs
    raw = [
        numpy.ascontiguousarray(side).reshape(-1).view("u1").reshape(-1, a.dtype.itemsize)
        for side in (a, b)
    ]
    differ = numpy.flatnonzero((raw[0] != raw[1]).any(axis=1)).tolist()
    if len(differ) > _ELEMENTS_SHOWN:
        return []
    places = [tuple(int(i) for i in numpy.unravel_index(flat, a.shape)) for flat in differ]
    return [
        pair._replace(
            path=f"{pair.path}[{', '.join(map(str, place)) or '()'}]",
            left=a[place].item(),
            right=b[place].item(),
            settled=True,
        )
        for place in places
    ]
