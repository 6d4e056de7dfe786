"""The generated replay of a shape finds the facts that the plain walk finds, on any call."""

from __future__ import annotations

import enum
import functools
import os
import sys
import threading
import types
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.artifacts.record import shape_of, shape_plain
from whorl.reads import Aspect, Path, Read, Shape, Step, World
from whorl.reads.facts import Unmatched
from whorl.reads.generated_replay import compiled_replay
from whorl.reads.replay import (
    ReplaySetup,
    facts_now,
    first_facts,
    live_facts,
    samples_of,
)
from whorl.reads.value_fact import Same

SCALE: Any = 2.0
VARIABLES = {"WHORL_TEST_A": "1", "WHORL_TEST_B": None}


class Colour(enum.Enum):
    RED = 1


class Unhashable(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other


class OfUnhashable(metaclass=Unhashable):
    """Its class cannot be looked up in anything."""


class Slotted:
    __slots__ = ("x",)


class Odd:
    """Raises, makes things up, counts."""

    def __init__(self) -> None:
        self.x = 1

    @property
    def y(self) -> int:
        raise RuntimeError("no y today")

    def __getattr__(self, name: str) -> Any:
        if name == "z":
            return (1, 2)
        raise AttributeError(name)

    def __len__(self) -> int:
        return 3


class Holder:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


def doubled(x: Any) -> Any:
    return 2 * x


def kernel(a: Any, b: Any) -> Any:
    return SCALE


FUNCTION: Any = kernel
NAMES = ("a", "b")
COMPILER = Holder(flags=["-O2"], level=2, held=object())

leaves = st.one_of(
    st.sampled_from(
        [None, True, False, 0, 1, 0.0, -0.0, 1.0, float("nan"), "x", b"x", 1j, 2**80, (1, 2.0), ()]
    ),
    st.sampled_from([Colour.RED, np.float32(1), np.int64(1), [1, 2], {"x": 1}, {1, 2}]),
    st.sampled_from([doubled, functools.partial(doubled, 1), len, int, Holder, Odd().__len__]),
    st.builds(
        np.zeros,
        st.sampled_from([0, 3, (2, 2), ()]),
        st.sampled_from(["f4", "f8", ">f8", "i4", [("q", "f4")]]),
    ),
    st.builds(Odd),
    st.builds(Slotted),
    st.builds(OfUnhashable),
    st.just(OfUnhashable),
    st.just({Colour.RED: 1, True: 2, 0.5: 3}),
    st.just(object()),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Holder, x=inner, y=inner),
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
    ),
    max_leaves=6,
)
steps = st.sampled_from(
    [
        Step("attr", "x"), Step("attr", "y"), Step("attr", "z"), Step("attr", "x y"),
        Step("item", 0), Step("item", "x"), Step("item", -1), Step("item", (0, 0)),
        Step("keyed", ("enum", __name__, "Colour", "RED")), Step("keyed", ("bool", "True")),
        Step("keyed", ("enum", __name__, "Colour", "GONE")), Step("settings", None),
        Step("key", 0), Step("cell", "q"), Step("global", "SCALE"), Step("default", "x"),
    ]
)  # fmt: skip
paths = st.one_of(
    st.builds(
        Path,
        st.just("arg"),
        st.sampled_from(NAMES),
        st.lists(steps, max_size=2).map(tuple),
    ),
    st.sampled_from(
        [
            Path("global", f"{__name__}.SCALE"),
            Path("global", f"{__name__}.MISSING"),
            Path("global", f"{__name__}.len"),
            Path("global", "os.sep"),
            Path("global", "os.path.sep"),
            Path("global", "no.such.module"),
            Path("compiler", "flags"),
            Path("compiler", "level"),
            Path("compiler", "held"),
            Path("compiler", "nothing"),
            Path("compiler", "__dict__"),
            Path("compiler", ""),
            Path("compiler", "", (Step("settings", None),)),
            Path("target", "lanes"),
            Path("target", "nothing"),
            Path("func", "kernel", (Step("attr", "__name__"),)),
            Path("func", "kernel", (Step("global", "SCALE"),)),
            Path("func", "kernel", (Step("global", "MISSING"),)),
            Path("func", "kernel", (Step("global", "len"),)),
        ]
    ),
)
aspects = st.sampled_from([aspect for aspect in Aspect if aspect is not Aspect.ALIAS])
by_value_only = st.sampled_from(
    [
        Path("env", "WHORL_TEST_A"),
        Path("env", "WHORL_TEST_B"),
        Path("file", "test_replay.py"),
        Path("file", "no such file"),
    ]
)
reads = st.one_of(
    st.builds(Read, paths, aspects, st.just(())),
    st.builds(Read, by_value_only, st.just(Aspect.VALUE), st.just(())),
    st.builds(
        Read,
        st.builds(Path, st.just("arg"), st.just("a"), st.lists(steps, max_size=1).map(tuple)),
        st.just(Aspect.ALIAS),
        st.sampled_from([(Path("arg", "b"),), (Path("arg", "b", (Step("attr", "x"),)),)]),
    ),
)
shapes = st.lists(reads, max_size=5, unique=True).map(lambda found: Shape(tuple(found)))


def comparable(facts: tuple[Any, ...]) -> list[object]:
    """What equals no other, or only the very same object, is compared by being that."""
    return [type(fact).__name__ if isinstance(fact, Unmatched | Same) else fact for fact in facts]


@given(shapes, st.tuples(values, values, values, values), st.booleans())
def test_the_generated_replay_is_the_plain_one(
    shape: Shape, held: tuple[Any, Any, Any, Any], by_identity: bool
) -> None:
    a, b, other_a, other_b = held
    target = {"lanes": 4}
    sample = World(FUNCTION, {"a": a, "b": b}, {}, VARIABLES, target, COMPILER)
    setup = ReplaySetup(FUNCTION, NAMES, VARIABLES, by_identity, COMPILER)
    replay = compiled_replay(shape, setup, samples_of(shape, sample))
    for arguments in ((a, b), (other_a, other_b), (b, other_a)):
        given = dict(zip(NAMES, arguments, strict=True))
        world = World(FUNCTION, given, {}, VARIABLES, target, COMPILER)
        expected = live_facts(shape, world, by_identity=by_identity)
        assert comparable(replay(arguments, target)) == comparable(expected)


@given(shapes, st.tuples(values, values), st.booleans())
def test_both_spellings_at_once_are_those_of_the_plain_ways(
    shape: Shape, held: tuple[Any, Any], by_identity: bool
) -> None:
    given = dict(zip(NAMES, held, strict=True))
    world = World(FUNCTION, given, {}, VARIABLES, {"lanes": 4}, COMPILER)
    expected = live_facts(shape, world, by_identity=by_identity)
    for each in (shape, shape_of(shape_plain(shape))):  # as it is, and as it is kept
        facts = first_facts(each, world, by_identity=by_identity)
        assert comparable(facts.live) == comparable(expected)
        now = facts_now(shape, world, by_identity=by_identity)
        assert repr(facts.durable) == repr(now)


def test_what_is_known_by_identity_is_looked_at_once() -> None:
    class Making:
        @property
        def x(self) -> object:
            return threading.Lock()

    shape = Shape((Read(Path("arg", "a", (Step("attr", "x"),)), Aspect.VALUE),))
    world = World(FUNCTION, {"a": Making(), "b": None})
    (live,), ((_, durable),), _ = first_facts(shape, world, by_identity=True)
    assert isinstance(live, Same)
    assert live is durable


def test_a_module_that_is_replaced_meanwhile_matches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A function of it says which module it is of, and its globals are read by that name."""
    modules = [types.ModuleType("replaced") for _ in range(2)]
    monkeypatch.setitem(sys.modules, "replaced", modules[0])

    class Replacing:
        @property
        def x(self) -> int:
            sys.modules["replaced"] = modules[1]
            return 1

    shape = Shape(
        (
            Read(Path("arg", "a", (Step("attr", "x"),)), Aspect.VALUE),
            Read(Path("global", "replaced.K"), Aspect.PRESENT),
        )
    )
    world = World(FUNCTION, {"a": Replacing(), "b": None})
    facts = first_facts(shape, world)
    assert facts.live[:2] == (1, False)
    assert isinstance(facts.live[2], Unmatched)
    after = first_facts(shape, world)
    assert after.live == live_facts(shape, world) == (1, False, id(vars(modules[1])))
    assert any(held is vars(modules[1]) for held in after.referents)


@given(shapes, values, values, values, values)
def test_equal_live_facts_mean_equal_facts_now(
    shape: Shape, a: Any, b: Any, other_a: Any, other_b: Any
) -> None:
    one, other = (
        World(FUNCTION, dict(zip(NAMES, arguments, strict=True)), {}, VARIABLES, {"lanes": 4})
        for arguments in ((a, b), (other_a, other_b))
    )
    if live_facts(shape, one) == live_facts(shape, other):
        assert repr(facts_now(shape, one)) == repr(facts_now(shape, other))


def test_variables_and_globals_are_live() -> None:
    global SCALE  # noqa: PLW0603  # what is tested
    reads_of = (
        Read(Path("env", "WHORL_TEST_A"), Aspect.VALUE),
        Read(Path("env", "WHORL_TEST_B"), Aspect.VALUE),
        Read(Path("global", f"{__name__}.SCALE"), Aspect.VALUE),
        Read(Path("global", f"{__name__}.len"), Aspect.VALUE),
    )
    shape = Shape(reads_of)
    world = World(FUNCTION, {"a": 1, "b": 2}, {}, VARIABLES)
    replay = compiled_replay(
        shape, ReplaySetup(FUNCTION, NAMES, VARIABLES), samples_of(shape, world)
    )
    before = replay((1, 2), {})
    assert before == live_facts(shape, world)
    with mock.patch.dict(os.environ, {"WHORL_TEST_A": "1"}):
        assert replay((1, 2), {}) == before
    with mock.patch.dict(os.environ, {"WHORL_TEST_B": ""}):
        assert replay((1, 2), {}) == live_facts(shape, world) != before
    with mock.patch("os.environ", {"WHORL_TEST_A": "9"}):
        assert replay((1, 2), {}) == live_facts(shape, world) != before
    SCALE = 3.0
    try:
        assert replay((1, 2), {}) == live_facts(shape, world) != before
    finally:
        SCALE = 2.0
    globals()["len"] = doubled
    try:
        assert replay((1, 2), {}) == live_facts(shape, world) != before
    finally:
        del globals()["len"]
    assert replay((1, 2), {}) == before
