"""Results that cannot be stored are returned all the same, and results are read only for hits."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.store import Cache, Failed, MemoryStore


def test_one_hit_does_not_make_the_result_twice() -> None:
    made: list[int] = []

    class Serial:
        @staticmethod
        def dumps(value: object) -> str:
            return str(value)

        @staticmethod
        def loads(data: str) -> int:
            made.append(1)
            return int(data)

    def function(x: int) -> int:
        return x

    assert whorl.cached(serializer=Serial())(function)(1) == 1
    made.clear()
    again = whorl.cached(serializer=Serial())(function)
    assert [again(1), again(1)] == [1, 1]
    assert len(made) == 2


def test_labels_are_read_without_reading_results(monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.store import DirectoryStore

    large = whorl.cached(lambda n: np.zeros(n) + 0)
    large(200_000)
    reads: list[object] = []
    get = DirectoryStore.get

    def counted(self: DirectoryStore, *key: Any) -> Any:
        reads.append(key)
        return get(self, *key)

    monkeypatch.setattr(DirectoryStore, "get", counted)
    assert [change.path for change in large.explain(5).changes] == ["arg:n"]
    assert len(reads) == 1, "the one that was asked for"


class Grumpy:
    def dumps(self, value: Any, /) -> bytes:
        raise KeyError(value)

    def loads(self, data: Any, /) -> Any:
        raise AssertionError("nothing was written")


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("serializer", "make"),
    [
        (pickle, lambda: lambda: 1),
        (json, circle),
        (None, lambda: np.broadcast_to(1.0, (10**15,))),
        (Grumpy(), lambda: 1),
    ],
    ids=["pickle", "json", "memory", "own"],
)
def test_what_cannot_be_written_is_returned_and_said_once(
    store: Cache, caplog: pytest.LogCaptureFixture, serializer: Any, make: Callable[[], Any]
) -> None:
    @whorl.cached(store=store, serializer=serializer, ignores=["make"])
    def made() -> Any:
        return make()

    assert [type(made()) for _ in range(2)] == [type(make())] * 2
    assert (made.stats()["ran"], made.stats()["not kept"]) == (2, 2)
    assert caplog.text.count("is not kept") == 1


class Full(MemoryStore):
    """A store on a disk that is full."""

    def put(self, entry: Any) -> Failed:  # type: ignore[override]  # as stores may answer
        return Failed("no space left on device")


def test_a_result_that_the_store_could_not_take_is_counted_as_not_kept() -> None:
    made = whorl.cached(store=Cache(Full()))(lambda n: n + 1)
    assert (made(1), made(1), made(2)) == (2, 2, 3)
    assert (made.stats()["ran"], made.stats()["not kept"]) == (2, 2)
