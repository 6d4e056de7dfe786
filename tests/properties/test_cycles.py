"""Values that lead back to themselves: one digest exactly when nothing reachable differs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import whorl


class Vertex:
    """A slotted object, hashed by identity."""

    __slots__ = ("a", "b")
    a: object
    b: object


class Loose:
    """An object with a dictionary, hashed by identity."""


@dataclass(frozen=True)
class Shape:
    """One object of a graph: its kind, and for each child a number or a leaf as text."""

    kind: str
    children: tuple[int | str, ...]


Web = tuple[Shape, ...]

_HASHED_BY_IDENTITY = ("Vertex", "Loose")
_SIZES = {"Vertex": 2, "Loose": 2}
_POOLS = (
    ("list",),
    ("Vertex", "set"),
    ("list", "dict"),
    ("Loose", "map", "list"),
    ("list", "dict", "Vertex", "Loose", "set", "map", "tuple in list"),
)


@st.composite
def webs(draw: st.DrawFn, max_size: int = 7) -> Web:
    """A few objects that hold each other; most kinds and leaves alike, so that many are equal."""
    count = draw(st.integers(1, max_size))
    pool = draw(st.sampled_from(_POOLS))
    kinds = [draw(st.sampled_from(pool)) for _ in range(count)]
    identity = [i for i, kind in enumerate(kinds) if kind in _HASHED_BY_IDENTITY]
    anything = st.one_of(st.integers(0, count - 1), st.integers(0, count - 1), st.just("leaf"))
    shapes = []
    for kind in kinds:
        children: Sequence[int | str] = ()
        if kind in _SIZES:
            children = [draw(anything) for _ in range(_SIZES[kind])]
        elif kind == "set":
            children = draw(st.lists(st.sampled_from(identity), unique=True)) if identity else ()
        elif kind == "map":
            keys = draw(st.lists(st.sampled_from(identity), unique=True)) if identity else ()
            children = [part for key in keys for part in (key, draw(anything))]
        else:
            children = draw(st.lists(anything, max_size=3))
        shapes.append(Shape(kind, tuple(children)))
    return tuple(shapes)


def build(web: Web, seed: int = 0) -> list[Any]:
    """The objects of a web, made and filled in a random order."""
    chance = random.Random(seed)
    order = chance.sample(range(len(web)), len(web))
    made: dict[int, Any] = {i: _EMPTY[web[i].kind]() for i in order}
    for i in chance.sample(order, len(order)):
        shape, held = web[i], made[i]
        parts = [made[c] if type(c) is int else c for c in shape.children]
        match shape.kind:
            case "list":
                held += parts
            case "tuple in list":
                held.append(tuple(parts))
            case "dict":
                named = list(zip("abc", parts, strict=False))
                held.update(chance.sample(named, len(named)))
            case "Vertex" | "Loose":
                for name, part in chance.sample(list(zip("ab", parts, strict=True)), 2):
                    setattr(held, name, part)
            case "set":
                held.update(chance.sample(parts, len(parts)))
            case _:
                pairs = list(zip(parts[::2], parts[1::2], strict=True))
                held.update(chance.sample(pairs, len(pairs)))
    return [made[i] for i in range(len(web))]


_EMPTY: dict[str, type] = {
    "list": list, "tuple in list": list, "dict": dict, "map": dict, "set": set,
    "Vertex": Vertex, "Loose": Loose,
}  # fmt: skip


def alike(web: Web) -> list[int]:
    """The class of each object, by the definition: alike until a look tells them apart."""
    classes = [0] * len(web)
    while True:
        looks = [_look(shape, classes) for shape in web]
        distinct = sorted(set(looks))
        finer = [distinct.index(look) for look in looks]
        if len(distinct) == len(set(classes)):
            return finer
        classes = finer


def _look(shape: Shape, classes: list[int]) -> str:
    parts = [classes[c] if type(c) is int else c for c in shape.children]
    kind = shape.kind
    if kind == "set":
        return repr((kind, sorted(map(str, parts))))
    if kind == "map":
        # Without entries it is the same as a dict without entries.
        pairs = sorted(zip(map(str, parts[::2]), map(str, parts[1::2]), strict=True))
        return repr((kind if pairs else "dict", pairs))
    return repr((kind, parts))


def unrolled(web: Web, copies: int, seed: int) -> Web:
    """Every object several times; each child is any of its copies."""
    chance = random.Random(seed)
    count = len(web)
    return tuple(
        Shape(
            shape.kind,
            tuple(
                c + count * chance.randrange(copies) if type(c) is int else c
                for c in shape.children
            ),
        )
        for _ in range(copies)
        for shape in web
    )


@given(webs(), st.integers(0, 2**32))
def test_two_objects_have_one_digest_exactly_when_nothing_reachable_tells_them_apart(
    web: Web, seed: int
) -> None:
    digests = [whorl.fingerprint(value) for value in build(web, seed)]
    classes = alike(web)
    for i in range(len(web)):
        for j in range(i):
            assert (digests[i] == digests[j]) == (classes[i] == classes[j])


@given(webs(), webs())
def test_objects_of_two_separate_graphs_are_compared_like_those_of_one(one: Web, two: Web) -> None:
    shift = len(one)
    moved = tuple(
        Shape(s.kind, tuple(c + shift if type(c) is int else c for c in s.children)) for s in two
    )
    classes = alike(one + moved)
    digests = [whorl.fingerprint(value) for value in build(one) + build(two)]
    for i in range(len(one)):
        for j in range(shift, len(classes)):
            assert (digests[i] == digests[j]) == (classes[i] == classes[j])


@given(webs(), st.integers(0, 2**32), st.integers(0, 2**32))
def test_neither_the_order_of_making_nor_of_filling_shows(web: Web, seed: int, other: int) -> None:
    assert [whorl.fingerprint(value) for value in build(web, seed)] == [
        whorl.fingerprint(value) for value in build(web, other)
    ]


@given(webs(), st.integers(2, 3), st.integers(0, 2**32))
def test_an_unrolled_copy_of_a_cycle_has_the_digest_of_the_cycle(
    web: Web, copies: int, seed: int
) -> None:
    once = [whorl.fingerprint(value) for value in build(web)]
    many = [whorl.fingerprint(value) for value in build(unrolled(web, copies, seed), seed)]
    assert many == once * copies


@given(webs(), st.data())
def test_the_digest_of_a_whole_does_not_depend_on_where_the_walk_enters_a_cycle(
    web: Web, data: st.DataObject
) -> None:
    numbers = st.integers(0, len(web) - 1)
    i, j = data.draw(numbers), data.draw(numbers)
    values, classes = build(web), alike(web)
    same = whorl.fingerprint([values[i], values[j]]) == whorl.fingerprint([values[j], values[i]])
    assert same == (classes[i] == classes[j])


def test_a_list_around_a_list_that_holds_itself_is_that_list() -> None:
    inner: list[Any] = []
    inner.append(inner)
    outer = [inner]
    far = [[[[outer]]]]
    ring: list[Any] = [[[]]]
    ring[0][0].append(ring)
    assert len({whorl.fingerprint(value) for value in (inner, outer, far, ring)}) == 1


def test_a_long_object_that_leads_into_a_cycle_of_its_own_kind_is_a_member_of_it() -> None:
    filler = list(range(300))
    inner: list[Any] = [*filler]
    inner.append(inner)
    outer = [*filler, inner]
    assert whorl.fingerprint(outer) == whorl.fingerprint(inner)


def test_a_set_with_one_vertex_is_not_a_set_with_two_like_it() -> None:
    def ring_of(size: int) -> set[Any]:
        members: set[Any] = set()
        for _ in range(size):
            vertex = Vertex()
            vertex.a, vertex.b = members, None
            members.add(vertex)
        return members

    assert whorl.fingerprint(ring_of(1)) != whorl.fingerprint(ring_of(2))
    assert whorl.fingerprint(ring_of(2)) == whorl.fingerprint(ring_of(2))
