"""Misses of cached functions: counted, written down, refused where only hits may be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl import settings
from whorl.store import Cache, DirectoryStore, Totals
from whorl.store.journal import Miss

FACTOR = 2


@pytest.fixture(autouse=True)
def same_settings() -> Iterator[None]:
    before = settings.current()
    yield
    settings.restore(before)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


def noted(cache: Cache) -> list[Miss]:
    journal = cache.journal
    assert journal is not None
    return list(journal.misses())


def scaled(x: int) -> int:
    return FACTOR * x


def test_a_miss_is_in_the_journal_with_what_differs(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = whorl.cached(store=cache)(scaled)
    assert [function(3), function(4)] == [6, 8]
    monkeypatch.setattr(f"{__name__}.FACTOR", 5)
    assert function(3) == 15
    causes = {miss.cause for miss in noted(cache)}
    assert causes == {"first call", "another argument", "a read differs"}
    (edited,) = [miss for miss in noted(cache) if miss.cause == "a read differs"]
    (difference,) = edited.differences
    assert (difference.path.endswith("FACTOR"), difference.old, difference.new) == (True, "2", "5")
    assert edited.program == f"{__name__}.scaled"


def test_runs_and_hits_are_counted_for_the_program(cache: Cache) -> None:
    assert isinstance(cache.store, DirectoryStore)
    for _ in range(3):
        whorl.cached(store=cache)(scaled)(3)
    cache.statistics.flush()
    totals = Totals.of(cache.store.root / "statistics")
    sums = totals.programs[f"{__name__}.scaled"]
    assert (sums.made, sums.found) == (1, 2)
    assert totals.causes == {"first call": 1}


def test_where_a_hit_is_required_a_miss_raises_with_its_explanation(cache: Cache) -> None:
    function = whorl.cached(store=cache)(scaled)
    function(3)
    whorl.configure(require_hit=True)
    assert function(3) == 6
    assert whorl.cached(store=cache)(scaled)(3) == 6
    with pytest.raises(whorl.RequiredHit, match="arg:x: 3 -> 4"):
        function(4)
    assert {miss.ending for miss in noted(cache)} == {"made", "refused"}
    whorl.configure(require_hit=False)
    assert function(4) == 8


def test_a_coroutine_raises_too(cache: Cache) -> None:
    @whorl.cached(store=cache)
    async def later(x: int) -> int:
        return x + 1

    whorl.configure(require_hit=True)
    with pytest.raises(whorl.RequiredHit):
        asyncio.run(later(1))
    whorl.configure(require_hit=False)
    assert asyncio.run(later(1)) == 2
    assert [miss.ending for miss in noted(cache)].count("made") == 1


def test_what_lives_in_this_process_only_runs_in_any_case() -> None:
    function = whorl.cached(store="process")(scaled)
    whorl.configure(require_hit=True)
    assert function(3) == 6


def test_without_a_cache_nothing_can_be_a_hit() -> None:
    function = whorl.cached(scaled)
    whorl.configure(require_hit=True, cache="off")
    with pytest.raises(whorl.RequiredHit, match="the cache is off"):
        function(3)


def test_a_run_that_raises_is_noted_as_such(cache: Cache) -> None:
    @whorl.cached(store=cache)
    def fails(x: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(1)
    assert [miss.ending for miss in noted(cache)] == ["raised ZeroDivisionError"]


def test_a_small_dict_and_the_content_of_a_file_are_said_in_words(
    cache: Cache, tmp_path: Path
) -> None:
    table = tmp_path / "table.txt"
    table.write_text("1")

    @whorl.cached(store=cache, by_content=["path"])
    def load(path: str, config: dict[str, float]) -> float:
        return config["n"] * len(path)

    load(str(table), {"n": 40, "hot": 100.0})
    (change,) = load.explain(str(table), {"hot": 90.0, "n": 40}).changes
    assert (change.old, change.new) == ("{'hot': 100.0, 'n': 40}", "{'hot': 90.0, 'n': 40}")
    table.write_text("2")
    (change,) = load.explain(str(table), {"n": 40, "hot": 100.0}).changes
    assert change.path == "arg:path"
    assert str(change.old).startswith("<Content ")


def test_a_declared_file_that_is_not_there_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @whorl.cached(store="process", files=[tmp_path / "typo.csv"])
    def table(n: int) -> int:
        return n

    assert [table(1), table(2), table(1)] == [1, 2, 1]
    (record,) = caplog.records
    assert "typo.csv, which is not there" in record.getMessage()


@pytest.mark.parametrize("option", ["files", "reads", "ignores"])
def test_a_text_is_not_the_list_of_its_letters(option: str) -> None:
    said: dict[str, Any] = {option: "data.csv"}
    with pytest.raises(TypeError, match=rf"{option}= takes a list: {option}=\['data.csv'\]"):
        whorl.cached(**said)
    with pytest.raises(TypeError, match=rf"{option}= takes a list: {option}=\['data.csv'\]"):
        whorl.CachedStep(scaled, store="process", **said)


def test_the_remedy_for_a_required_hit_is_that_of_its_cache() -> None:
    def plain(x: int) -> int:
        return x

    whorl.configure(require_hit=True, cache="off")
    with pytest.raises(whorl.RequiredHit, match="Switch the cache on"):
        whorl.cached(plain)(1)
