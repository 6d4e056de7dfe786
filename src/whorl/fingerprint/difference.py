"""Two values in, every path at which they differ out, with both sides.

Both values are walked side by side. Parts with equal tokens are equal and are passed over
whole; what remains is matched by its place: fields and attributes by name, elements by
index, entries by key, members of sets by content.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, NamedTuple, cast

from .asked import Mode
from .describe import Describer
from .graph import Graph
from .lookup import derives, qualname
from .rules.builtin import short
from .source import code_digest, source_of
from .tokens import LEAVES, Node, bytes_tokens, is_flat, marshalled

__all__ = ["NOTHING", "Code", "Difference", "differences"]

_ELEMENTS_SHOWN: Final = 8


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
    >>> (found,) = whorl.diff({"a": [1, 2]}, {"a": [1, 3]})
    >>> found.path, found.left, found.right
    ("value['a'][1]", 2, 3)
    """

    path: str
    left: object
    right: object

    def __str__(self) -> str:
        left, right = words(self.left), words(self.right)
        if left == right:
            return f"{self.path}: two different values of {left}"
        return f"{self.path}: {left} -> {right}"


def words(value: object) -> str:
    """A value for people, without running any code of its class."""
    if value is NOTHING or type(value) is Code:
        return repr(value)
    kind = type(value)
    if derives(kind, type):
        return f"class {qualname(cast('type', value))}"
    if kind is types.FunctionType:
        return f"function {cast('types.FunctionType', value).__qualname__}"
    if kind in (list, tuple, dict, set, frozenset):
        listed = list(cast("Any", value))
        flat = listed + list(value.values()) if type(value) is dict else listed
        if all(type(part) in LEAVES for part in flat):
            text = repr(value)
            return text if len(text) <= 60 else f"{text[:57]}..."
        return f"{kind.__name__} of {len(listed)}"
    return short(value)


class _Pair(NamedTuple):
    path: str
    left: object
    right: object
    graphs: _Graphs


class _Graphs(NamedTuple):
    """Both sides under one describer."""

    describer: Describer
    left: Graph
    right: Graph


def differences(left: object, right: object, describer: Describer) -> list[Difference]:
    """Every path at which two values differ, under a describer's policy."""
    found: list[Difference] = []
    seen: set[tuple[int, int, Mode]] = set()
    pending = [_Pair("value", left, right, _graphs(left, right, describer))]
    while pending:
        pair = pending.pop()
        graphs = pair.graphs
        if _written(pair.left, graphs.left) == _written(pair.right, graphs.right):
            continue
        key = (id(pair.left), id(pair.right), graphs.describer.mode)
        if key in seen:
            continue
        seen.add(key)
        inside = _inside(pair)
        if inside:
            pending += reversed(inside)
        else:
            left, right = _apart(pair.left, pair.right)
            found.append(Difference(pair.path, left, right))
    return found


def _graphs(left: object, right: object, describer: Describer) -> _Graphs:
    return _Graphs(describer, describer.graph(left), describer.graph(right))


def _written(value: object, graph: Graph) -> bytes:
    """The tokens of a part as bytes: unlike the tokens, they tell 1 from 1.0 and from True."""
    if value is NOTHING:
        return b""
    if type(value) is Code:
        return value.encode("utf-8", "surrogatepass")
    if type(value) in LEAVES or _one_token(value):
        return marshalled([value])
    if type(value) is bytes:
        return marshalled(bytes_tokens(value))
    return marshalled(graph.tokens_of(value))


def _one_token(value: object) -> bool:
    return type(value) in (list, tuple) and is_flat(cast("list[object]", value))


def _node(value: object, graph: Graph, describer: Describer) -> Node:
    if type(value) is Node:
        return value
    return describer(value) if _one_token(value) else graph.node_of(value)


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
    return Code(value.tag.decode("ascii", "replace")) if type(value) is Node else value


def _inside(pair: _Pair) -> list[_Pair]:
    """The parts in which the difference lies, or nothing where it is the values themselves."""
    path, left, right, graphs = pair
    if not _walkable(left) or not _walkable(right):
        return []
    nodes = (
        _node(left, graphs.left, graphs.describer),
        _node(right, graphs.right, graphs.describer),
    )
    if any(node.tag == b"code" for node in nodes):
        return _inside_code(pair) if all(node.tag == b"code" for node in nodes) else []
    if type(left) is not type(right):
        return []
    if nodes[0].tag == nodes[1].tag == b"array":
        elements = _elements(path, left, right, graphs)
        if elements:
            return elements
    sides = dict(_parts(nodes[0], left, graphs.left)), dict(_parts(nodes[1], right, graphs.right))
    places = [*sides[0], *(place for place in sides[1] if place not in sides[0])]
    if not nodes[0].counted:  # names and keys: in alphabetical order
        places.sort()
    pairs = [
        _Pair(
            path + place[0],
            sides[0].get(place, NOTHING),
            sides[1].get(place, NOTHING),
            graphs,
        )
        for place in places
    ]
    return [p for p in pairs if _written(p.left, graphs.left) != _written(p.right, graphs.right)]


def _walkable(value: object) -> bool:
    return value is not NOTHING and type(value) not in LEAVES and type(value) not in (bytes, Code)


def _inside_code(pair: _Pair) -> list[_Pair]:
    """The same two values, looked at as code."""
    code = pair.graphs.describer.in_mode(Mode.CODE)
    if type(pair.left) is not type(pair.right):
        return []
    return [pair._replace(graphs=_graphs(pair.left, pair.right, code))]


def _parts(node: Node, owner: object, graph: Graph) -> Iterator[tuple[tuple[str, bytes], object]]:
    """The parts of a node by place: the label, and the content where a label is not unique."""
    count = len(node.values)
    for i in range(count):
        part, label = node.values[i], node.label(i)
        if type(part) is Node and part.tag == b"code of":
            yield (label, b""), _text(owner)
        else:
            yield (label, b"" if label else b"%d" % i), part
    for i, item in enumerate(node.items or (), start=count):
        key = _written(item[0], graph)
        yield (node.label(i), key), item[-1] if len(item) == 2 else item[0]


def _text(owner: object) -> Code:
    """A function's code as text."""
    code = cast("types.FunctionType", owner).__code__
    text = source_of(code)
    return Code(text if text is not None else f"code {code_digest(code).digest.hex()}")


def _elements(path: str, left: Any, right: Any, graphs: _Graphs) -> list[_Pair]:
    """The elements in which two arrays of one type and shape differ, unless they are many."""
    numpy = sys.modules["numpy"]
    if left.dtype != right.dtype or left.shape != right.shape or left.dtype.fields is not None:
        return []
    a, b = numpy.asarray(left), numpy.asarray(right)
    differ = numpy.argwhere(
        (a != b) | (numpy.signbit(a) != numpy.signbit(b)) if a.dtype.kind == "f" else a != b
    )
    if not 0 < len(differ) <= _ELEMENTS_SHOWN:
        return []
    return [
        _Pair(
            f"{path}[{', '.join(map(str, place))}]",
            a[tuple(place)].item(),
            b[tuple(place)].item(),
            graphs,
        )
        for place in differ.tolist()
    ]
