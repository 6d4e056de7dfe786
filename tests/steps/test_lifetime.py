"""Results expire after the time that `expires=` says, in memory, in the store and elsewhere."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import whorl


class Clock:
    """What `time.time` says to `steps/lifetime` and to labels."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1e9
        time = SimpleNamespace(time=lambda: self.now)
        monkeypatch.setattr("whorl.steps.lifetime.time", time)
        monkeypatch.setattr("whorl.steps.result_store.time", time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def counted(**options: Any) -> Any:
    runs: list[int] = []

    def quote(n: int) -> int:
        runs.append(n)
        return len(runs)

    return whorl.cached(ignores=["runs"], **options)(quote)


@pytest.mark.parametrize("store", [None, "process"])
def test_a_result_is_made_anew_after_its_time(clock: Clock, store: Any) -> None:
    quote = counted(expires=60, store=store)
    assert [quote(1), quote(1)] == [1, 1]
    clock.now += 59
    assert quote(1) == 1
    clock.now += 1
    assert "expired" in str(quote.explain(1))
    assert [quote(1), quote(1)] == [2, 2]
    clock.now += 59
    assert quote(1) == 2


def test_the_store_of_another_process_says_when_a_result_was_made(
    clock: Clock, tmp_path: Path
) -> None:
    first = counted(expires=timedelta(hours=1), store=tmp_path)
    assert first(1) == 1
    again = whorl.cached(ignores=["runs"], store=tmp_path, expires=timedelta(hours=1))
    clock.now += 3599
    assert again(first.function)(1) == 1
    clock.now += 1
    assert again(first.function)(1) == 2


def test_another_duration_is_no_other_key(clock: Clock, tmp_path: Path) -> None:
    first = counted(expires=60, store=tmp_path)
    assert first(1) == 1
    clock.now += 100
    longer = whorl.cached(ignores=["runs"], store=tmp_path, expires=200)(first.function)
    assert longer(1) == 1
    assert longer.key(1) == first.key(1)


def test_results_of_coroutines_expire(clock: Clock) -> None:
    runs: list[int] = []

    @whorl.cached(ignores=["runs"], expires=60)
    async def quote(n: int) -> int:
        runs.append(n)
        return len(runs)

    async def twice() -> list[int]:
        return [await quote(1), await quote(1)]

    assert asyncio.run(twice()) == [1, 1]
    clock.now += 61
    assert asyncio.run(twice()) == [2, 2]


@pytest.mark.parametrize("expires", [0, -1, True, "60", float("nan")])
def test_a_duration_is_above_zero(expires: Any) -> None:
    with pytest.raises(TypeError, match="above 0 or a datetime"):
        whorl.cached(expires=expires)


def test_clear_forgets_every_result() -> None:
    quote = counted()
    assert [quote(1), quote(2), quote.clear(), quote(1)] == [1, 2, 2, 3]
