"""What a second attack on cached functions found."""

# ruff: noqa: PLW0108  # a lambda that calls is what is tested: what it calls is one call away

from __future__ import annotations

import abc
import asyncio
import math
import os
import random
import sqlite3
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from whorl.jit.events import Happened

NOTES: list[str] = []


def note(text: str) -> None:
    NOTES.append(text)


def ran(function: Any) -> int:
    return int(function.stats()["ran"])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    """Set a global of this module for one test."""
    return lambda name, value: monkeypatch.setattr(
        sys.modules[__name__], name, value, raising=False
    )


def kept(value: Any) -> Any:
    """What comes back of a result that is read from the store."""
    make = whorl.cached(exclude=["value"])(lambda value: value)
    make(value)
    make._results.begin_again()
    found = make("something else")
    assert ran(make) == 1
    return found


# -- the world ------------------------------------------------------------------------------


def test_the_docstring_of_a_cached_function_is_nothing_to_who_calls_it() -> None:
    def made(doc: str) -> Any:
        def inner(x: int) -> int:
            return x

        inner.__doc__ = doc
        cached = whorl.cached(inner)
        return whorl.cached(lambda x: cached(x))

    assert made("One.").key(1) == made("Two.").key(1)


def test_the_module_name_of_a_cached_function_is_nothing_to_who_calls_it() -> None:
    def made(module: str) -> Any:
        scope: dict[str, Any] = {"__name__": module}
        exec("def inner(x): return x", scope)
        cached = whorl.cached(scope["inner"])
        assert cached.__module__ == module
        return whorl.cached(lambda x: cached(x))

    assert made("app").key(1) == made("__main__").key(1)


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


def test_a_class_that_is_registered_with_an_abstract_one() -> None:
    class Shape(abc.ABC):  # noqa: B024  # registering is what counts
        pass

    class Square:
        pass

    is_shape = whorl.cached(lambda: issubclass(Square, Shape))
    assert [is_shape(), is_shape(), ran(is_shape)] == [False, False, 1]
    Shape.register(Square)
    assert is_shape()


def test_functions_that_come_and_go_are_no_drift() -> None:
    @whorl.cached(on_drift="raise", store="process")
    def call(function: Callable[[], int]) -> int:
        return function()

    for i in range(200):
        call._results.rows.clear()  # as it is after many results
        assert call(eval(f"lambda: {i}")) == i


def test_a_coroutine_whose_result_is_recalled_says_so() -> None:
    double = whorl.cached(awaited)
    asyncio.run(double(1))
    with whorl.testing.recorded_events() as events:
        asyncio.run(double(1))
    assert [event.what for event in events] == [Happened.RECALLED]


# -- declared -------------------------------------------------------------------------------


def test_a_linked_directory_in_a_declared_directory_counts(tmp_path: Path) -> None:
    tables, elsewhere = tmp_path / "tables", tmp_path / "elsewhere"
    tables.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a.txt").write_text("1")
    (tables / "link").symlink_to(elsewhere)
    (tables / "round").symlink_to(tables)
    (tables / "broken").symlink_to(tmp_path / "nowhere")
    read = whorl.cached(files=[tables])(lambda: (tables / "link" / "a.txt").read_text())
    assert read() == "1"
    (elsewhere / "a.txt").write_text("2")
    assert read() == "2"


def test_what_a_cached_function_declares_counts_for_who_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table"
    table.write_text("1")

    def text() -> str:
        return table.read_text()

    read = whorl.cached(files=[table])(lambda: text())
    mode: Any = whorl.CachedStep(
        lambda x: os.environ.get("MODE", "a") + x, environment={"MODE": "a"}
    )
    both = whorl.cached(lambda: read() + mode("!"))
    assert [both(), both(), ran(both)] == ["1a!", "1a!", 1]
    table.write_text("2")
    assert both() == "2a!"
    monkeypatch.setenv("MODE", "b")
    (change,) = both.explain().changes
    assert (change.path, change.old, change.new) == ("declared:env:MODE", "'a'", "'b'")
    assert [both(), ran(both)] == ["2b!", 3]
    with pytest.raises(whorl.UnsupportedFunction, match="read_text"):  # not by way of `read`
        whorl.cached(lambda: text()).key()


def test_a_path_that_a_cached_function_is_given_is_not_declared_for_who_calls_it() -> None:
    read = whorl.cached(by_content=["path"])(lambda path: Path(path).read_text())
    with pytest.raises(whorl.UnsupportedFunction, match="read_text"):
        whorl.cached(lambda: read("table")).key()


def test_what_a_cached_function_ignores_is_ignored_for_who_calls_it(
    here: Callable[[str, object], None],
) -> None:
    here("LOCK", threading.Lock())
    guarded = whorl.cached(ignores=["LOCK"])(lambda x: (LOCK.locked(), x))  # type: ignore[name-defined]  # noqa: F821
    call = whorl.cached(lambda x: guarded(x))
    assert [call(1), call(1), ran(call)] == [(False, 1), (False, 1), 1]
    with pytest.raises(whorl.UnsupportedFunction, match="LOCK"):
        whorl.cached(lambda x: (guarded(x), LOCK)).key(1)  # type: ignore[name-defined]  # noqa: F821


# -- results --------------------------------------------------------------------------------


@dataclass
class Counted:
    x: int
    limit: int = field(default=3, init=False)


def test_a_field_that_its_class_holds_stays_with_the_class() -> None:
    assert vars(kept(Counted(1))) == {"x": 1}


def test_a_dtype_of_records_stays_one() -> None:
    records = kept(np.zeros(2, np.dtype((np.record, [("a", "i4")]))))
    assert records.dtype.type is np.record
    assert records[0].a == 0


def test_a_dtype_whose_names_are_given_anew_is_the_callers_own() -> None:
    make = whorl.cached(lambda: np.dtype([("a", "i4")]))
    make().names = ("b",)
    assert make().names == ("a",)


@pytest.mark.parametrize("pair", [lambda x: frozenset((frozenset((x,)), frozenset((x, 1)))),
                                  lambda x: slice(x, x)])  # fmt: skip
def test_a_result_with_a_thousand_billion_ways_through_it(pair: Callable[[Any], Any]) -> None:
    value = pair(1)
    for _ in range(40):
        value = pair(value)
    assert type(kept(value)) is type(value)


# -- libraries and the outside --------------------------------------------------------------


def test_what_is_put_into_a_library_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    root = whorl.cached(lambda x: math.sqrt(x))
    power = whorl.cached(lambda x: np.linalg.matrix_power(x, 2))
    assert [root(4), power(np.eye(1)).tolist()] == [2.0, [[1.0]]]
    monkeypatch.setattr(math, "sqrt", lambda x: -x)
    monkeypatch.setattr(np.linalg, "matrix_power", lambda x, n: n)
    assert [root(4), power(np.eye(1))] == [-4, 2]
    monkeypatch.undo()
    assert [root(4), power(np.eye(1)).tolist()] == [2.0, [[1.0]]]
    assert [ran(root), ran(power)] == [2, 2]


def test_a_number_in_a_library_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = whorl.cached(lambda: 2 * math.pi)
    assert turn() == 2 * math.pi
    monkeypatch.setattr(math, "pi", 3)
    assert turn() == 6


class Door:
    state = "shut"

    def open(self) -> str:
        return self.state


class Animal:
    pass


OUTSIDE: list[tuple[Callable[..., object], str]] = [
    (lambda path: path.open().read(), "the file system"),
    (lambda path: [*path.iterdir()], "the file system"),
    (lambda path: sqlite3.connect(path), "the file system"),
    (lambda path: (Path.cwd(), path), "the file system"),
    (lambda n: np.random.default_rng().random(n), "random numbers"),
    (lambda n: random.Random().sample(range(n), 2), "random numbers"),
    (lambda n: time.gmtime()[n], "the time of day"),
    (lambda n: [c.__name__ for c in Animal.__subclasses__()][n:], "code that is found by its name"),
]


@pytest.mark.parametrize(("function", "kind"), OUTSIDE)
def test_what_is_taken_from_outside(function: Callable[..., object], kind: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=f"depends on {kind}"):
        whorl.cached(function).key(1)


def test_what_only_looks_as_if_it_came_from_outside() -> None:
    bar = types.SimpleNamespace(open=1.5)
    assert whorl.cached(lambda: bar.open)() == 1.5
    assert whorl.cached(lambda door: door.open())(Door()) == "shut"
    draw = whorl.cached(lambda seed: float(np.random.default_rng(seed).random()))
    assert draw(3) == draw(3)
    assert whorl.cached(lambda at: time.gmtime(at).tm_year)(0) == 1970


# -- steps ----------------------------------------------------------------------------------


async def awaited(x: int) -> int:
    return x


def yielded(x: int) -> Iterator[int]:
    yield x


class Yields:
    def __call__(self, x: int) -> Iterator[int]:
        yield x


@pytest.mark.parametrize("step", [awaited, yielded, Yields(), types.MethodType(yielded, 1)])
def test_a_step_that_makes_its_result_later_is_refused(step: Any) -> None:
    with pytest.raises(TypeError, match="a generator or a coroutine"):
        whorl.CachedStep(step, store="process")
