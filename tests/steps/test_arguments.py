"""Arguments of every kind count by their content, and those that cannot are refused by name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pydantic
import pytest

import whorl
import whorl.testing
from tests.steps.programs import ran
from whorl.store import Cache


def test_an_argument_that_is_a_class_counts_by_its_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unit:
        size = 1

        @classmethod
        @whorl.cached
        def scaled(cls, x: int) -> int:
            return cls.size * x

    class Large(Unit):
        size = 10

    classes: list[Any] = [Unit, Large]
    for _ in range(2):
        assert [cls.scaled(2) for cls in classes] == [2, 20]
    monkeypatch.setattr(Large, "size", 30)
    assert [cls.scaled(2) for cls in classes] == [2, 60]
    monkeypatch.setattr(Unit, "size", 7)
    assert [cls.scaled(2) for cls in classes] == [14, 60]


def test_functions_and_classes_in_other_places_are_other_calls() -> None:
    told = whorl.cached(lambda *values: [getattr(value, "__name__", value) for value in values])
    calls: list[tuple[Any, ...]] = [
        (int, 1),
        (1, int),
        (int, str),
        (str, int),
        (None, int),
        (ran, 0),
    ]
    for _ in range(2):
        assert [told(*call) for call in calls] == [told.uncached(*call) for call in calls]


def test_deep_and_circular_arguments() -> None:
    depth = whorl.cached(lambda held: 1)
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    assert [depth(deep), depth(deep), depth(circle), depth(circle)] == [1] * 4
    assert ran(depth) == 2


def test_a_long_text_is_not_kept_as_a_key() -> None:
    size = whorl.cached(lambda text: len(text) + 0)
    for _ in range(2):
        assert size("x" * 10**6) == 10**6
    assert ran(size) == 1
    (memo,) = size._results.rows
    assert isinstance(memo, bytes)
    assert len(memo) < 100


def test_an_excluded_field_brings_no_class_along(monkeypatch: pytest.MonkeyPatch) -> None:
    class Log:
        def write(self) -> int:
            return 1

    @whorl.exclude("log")
    class Job:
        def __init__(self, log: object) -> None:
            self.x, self.log = 1, log

    run = whorl.cached(lambda job: job.x)
    job = Job(Log())
    run(job)
    monkeypatch.setattr(Log, "write", lambda self: 2)
    run(job)
    assert ran(run) == 1


def test_an_argument_that_cannot_be_known_is_named() -> None:
    class Job:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        @whorl.cached
        def run(self, x: int) -> int:
            return x

    with pytest.raises(whorl.UnsupportedValue) as caught:
        Job().run(1)
    assert caught.value.path.startswith("argument self.lock of ")
    assert "@whorl.exclude('lock') above class Job" in caught.value.remedy


NOTES: list[str] = []


def note(text: str) -> None:
    NOTES.append(text)


def test_what_is_ignored_is_ignored_in_an_argument_that_is_a_class() -> None:
    class Model:
        @classmethod
        @whorl.cached(ignores=["note"])
        def named(cls, x: int) -> tuple[str, int]:
            note("ran")
            return cls.__name__, x

    NOTES.clear()
    named: Any = Model.named
    assert [named(1), named(1)] == [("Model", 1)] * 2
    assert NOTES == ["ran"]


def test_functions_as_arguments_are_told_apart_by_their_places() -> None:
    first = whorl.cached(lambda a, b: (a and a(), b and b()))

    def one() -> int:
        return 1

    def two() -> int:
        return 2

    assert [first(one, two), first(two, one), first(one, one)] == [(1, 2), (2, 1), (1, 1)]
    assert [first(one, None), first(None, one)] == [(1, None), (None, 1)]


def test_functions_that_come_and_go_are_no_drift() -> None:
    @whorl.cached(on_drift="raise", store="process")
    def call(function: Callable[[], int]) -> int:
        return function()

    for i in range(200):
        call._results.rows.clear()  # as it is after many results
        assert call(eval(f"lambda: {i}")) == i


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.random.default_rng(1),
        lambda: np.random.PCG64(1),
        lambda: np.random.SeedSequence(1),
        lambda: np.random.RandomState(1),
    ],
)
def test_generators_may_be_arguments(store: Cache, made: Callable[[], Any]) -> None:
    @whorl.cached(store=store)
    def kind(generator: Any) -> str:
        return type(generator).__name__

    assert kind(made()) == kind(made()) == type(made()).__name__
    assert kind.stats()["ran"] == 1
    assert "hit" in str(kind.explain(made()))


class Change(pydantic.BaseModel):
    a: int = 1
    b: int | None = None


def test_a_model_of_which_other_fields_were_given_is_another_argument(store: Cache) -> None:
    @whorl.cached(store=store)
    def patch(change: Change) -> dict[str, Any]:
        return change.model_dump(exclude_unset=True)

    assert (patch(Change()), patch(Change(a=1))) == ({}, {"a": 1})
    assert (patch(Change(b=None)), patch(Change())) == ({"b": None}, {})
    assert patch.stats()["ran"] == 3
