"""Key functions, rules and serializers of the user's own count by their code."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl.store import Cache, DirectoryStore

FIELD = "a"
MARK = "1"


@dataclass(frozen=True)
class Pair:
    """Two numbers, of which one counts."""

    a: int
    b: int


def counted(pair: Pair) -> Any:
    return getattr(pair, FIELD)


def by_key(store: Any) -> Any:
    @whorl.cached(key=lambda pair: (counted(pair),), store=store)
    def both(pair: Pair) -> tuple[int, int]:
        return pair.a, pair.b

    return both


def by_rule(store: Any) -> Any:
    @whorl.cached(key=whorl.Fingerprinter(rules={Pair: counted}), store=store)
    def both(pair: Pair) -> tuple[int, int]:
        return pair.a, pair.b

    return both


def both_of(pair: Pair) -> tuple[int, int]:
    return pair.a, pair.b


def step_by_key(store: Any) -> Any:
    return whorl.CachedStep(both_of, key=lambda pair: (counted(pair),), store=store)


def step_by_rule(store: Any) -> Any:
    key = whorl.Fingerprinter(rules={Pair: counted})
    return whorl.CachedStep(both_of, key=key, store=store)


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


@pytest.mark.parametrize("make", [by_key, by_rule, step_by_key, step_by_rule])
@pytest.mark.parametrize("is_kept", [True, False], ids=["on disk", "in the process"])
def test_what_says_what_counts_is_looked_at_with_every_call(
    make: Any, is_kept: bool, store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = make(store if is_kept else "process")
    assert both(Pair(1, 5)) == both(Pair(1, 6)) == (1, 5)
    monkeypatch.setitem(globals(), "FIELD", "b")
    assert both(Pair(3, 1)) == (3, 1)  # which has the key of before, by another rule
    monkeypatch.setitem(globals(), "FIELD", "a")
    assert both(Pair(1, 7)) == (1, 5)


class Marked:
    """Writes a mark before each result, and takes it away again without looking."""

    def __init__(self, level: int = 1) -> None:
        self.level = level

    def dumps(self, value: Any) -> bytes:
        return (MARK * self.level).encode() + pickle.dumps(value)

    def loads(self, data: bytes) -> Any:
        return pickle.loads(bytes(data)[len(MARK) * self.level :])


def doubled(serializer: Any, store: Cache) -> Any:
    @whorl.cached(serializer=serializer, store=store)
    def double(x: int) -> Any:
        return {x: 2 * x}

    return double


def stepped(serializer: Any, store: Cache) -> Any:
    return whorl.CachedStep(len, serializer=serializer, store=store)


@pytest.mark.parametrize(("make", "given"), [(doubled, 1), (stepped, "abc")])
def test_a_result_that_another_serializer_wrote_is_not_read(
    make: Any, given: Any, store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_found(serializer: Any) -> bool:
        step = make(serializer, store)
        step(given)
        return bool(step.stats()["found"])

    assert not is_found(Marked())
    assert is_found(Marked())
    assert not is_found(Marked(level=2))  # set up differently
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "MARK", "22")
        assert not is_found(Marked())
        assert is_found(Marked())
    assert is_found(Marked())
    patched = make(Marked(), store)
    monkeypatch.setattr(Marked, "dumps", lambda self, value: b"1" + pickle.dumps(value, 2))
    patched(given)
    assert not patched.stats()["found"]


def test_serializers_of_libraries_count_by_version(store: Cache) -> None:
    doubled(json, store)(1)
    again = doubled(json, store)
    again(1)
    assert again.stats()["found"] == 1


class Writing:
    """A serializer may open files: what it returns is checked, and signed."""

    def dumps(self, value: Any) -> bytes:
        Path("/dev/null").write_bytes(b"")
        return pickle.dumps(value)

    def loads(self, data: bytes) -> Any:
        return pickle.loads(data)


def test_a_serializer_may_use_what_is_outside_of_the_program(store: Cache) -> None:
    assert doubled(Writing(), store)(1) == {1: 2}
    again = doubled(Writing(), store)
    again(1)
    assert again.stats()["found"] == 1


def test_a_miss_because_of_a_serializer_names_it(
    store: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubled(Marked(), store)(1)
    monkeypatch.setitem(globals(), "MARK", "22")
    (change,) = doubled(Marked(), store).explain(1).changes
    assert change.path == "written by"
