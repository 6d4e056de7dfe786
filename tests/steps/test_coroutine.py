"""Coroutines are awaited once for each result, and nobody blocks the loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
import types
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.testing
from whorl.calls.events import Happened
from whorl.store import Cache, DirectoryStore

STARTED: list[int] = []


def run(awaited: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(awaited)


@whorl.cached(ignores=["STARTED"])
async def fetch(x: int, by: int = 2) -> list[int]:
    STARTED.append(x)
    await asyncio.sleep(0.01)
    return [x * by]


@pytest.fixture(autouse=True)
def _nothing_started() -> None:
    STARTED.clear()


def test_a_coroutine_is_awaited_and_kept() -> None:
    async def main() -> None:
        first = await fetch(1)
        first.append(5)
        assert await fetch(1, by=2) == [2]
        assert await fetch(x=1) == [2]

    run(main())
    run(main())
    assert STARTED == [1]


def test_it_is_known_to_be_a_coroutine_function() -> None:
    assert inspect.iscoroutinefunction(fetch) or asyncio.iscoroutinefunction(fetch)
    made = fetch(1)
    assert inspect.iscoroutine(made)
    made.close()


def test_wrong_arguments_raise_at_the_call() -> None:
    with pytest.raises(TypeError, match=r"fetch\(\) missing 1 required"):
        fetch()  # type: ignore[call-arg,unused-coroutine]


def test_tasks_that_ask_at_once_run_it_once() -> None:
    async def main() -> list[list[int]]:
        return await asyncio.gather(*(fetch(x % 2) for x in range(10)))

    assert run(main()) == [[0], [2]] * 5
    assert sorted(STARTED) == [0, 1]


def test_an_exception_is_for_all_who_tried_and_is_not_kept() -> None:
    @whorl.cached(ignores=["STARTED"])
    async def fails(x: int) -> int:
        STARTED.append(x)
        await asyncio.sleep(0)
        raise KeyError(x)

    async def main() -> list[Any]:
        return [*await asyncio.gather(fails(1), fails(1), return_exceptions=True)]

    assert [type(found) for found in run(main())] == [KeyError, KeyError]
    assert STARTED == [1, 1]


def test_one_who_is_cancelled_leaves_the_next_to_try() -> None:
    async def main() -> Any:
        first = asyncio.create_task(fetch(1))
        second = asyncio.create_task(fetch(1))
        await asyncio.sleep(0.005)
        first.cancel()
        return await second

    assert run(main()) == [2]
    assert fetch.explain(1).outcome == "hit"


def test_one_who_waits_and_is_cancelled_stops_nobody() -> None:
    async def main() -> Any:
        first = asyncio.create_task(fetch(1))
        second = asyncio.create_task(fetch(1))
        await asyncio.sleep(0.005)
        second.cancel()
        return await first

    assert run(main()) == [2]
    assert STARTED == [1]


def test_it_goes_on_while_another_holds_the_lease(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")

    @whorl.cached(store=Cache(store))
    async def slow(x: int) -> int:
        return x

    assert store.leases is not None
    lease = store.leases.take(f"result-{slow.key(1)}")

    async def main() -> int:
        waiting = asyncio.create_task(slow(1))
        ticks = 0
        for _ in range(20):
            await asyncio.sleep(0.002)
            ticks += not waiting.done()
        assert ticks == 20, "the loop went on, and the result was waited for"
        lease.release(done=False)  # type: ignore[union-attr]
        return await waiting

    assert run(main()) == 1


def test_loops_in_several_threads() -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(run(fetch(3)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[6]] * 4
    assert STARTED == [3]


def test_a_coroutine_that_asks_for_itself_does_not_wait_for_itself() -> None:
    @whorl.cached(ignores=["STARTED", "again"])
    async def circular(x: int) -> int:
        STARTED.append(x)
        return x if len(STARTED) > 1 else await again(x)

    again = circular
    assert run(asyncio.wait_for(again(1), 5)) == 1


def test_a_method_can_be_a_coroutine() -> None:
    class Client:
        def __init__(self, base: int) -> None:
            self.base = base

        @whorl.cached
        async def get(self, x: int) -> int:
            return self.base + x

    assert run(Client(10).get(1)) == 11
    assert run(Client(20).get(1)) == 21
    assert Client.get.stats()["ran"] == 2


def test_uncached_gives_the_coroutine_itself() -> None:
    assert run(fetch.uncached(2)) == [4]
    assert fetch.explain(2).outcome == "miss"


def test_a_coroutine_with_the_cache_off_runs_every_time() -> None:
    whorl.configure(cache="off")
    assert run(fetch(1)) == run(fetch(1)) == [2]
    assert STARTED == [1, 1]


def test_a_coroutine_whose_result_is_recalled_says_so() -> None:
    double = whorl.cached(awaited)
    asyncio.run(double(1))
    with whorl.testing.recorded_events() as events:
        asyncio.run(double(1))
    assert [event.what for event in events] == [Happened.RECALLED]


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


def test_a_default_that_is_restored_is_used_at_once() -> None:
    @whorl.cached
    async def add(n: int, d: int = 1) -> int:
        return n + d

    add.function.__defaults__ = None
    for i in range(6):
        assert run(add(n=i, d=3)) == i + 3
    add.function.__defaults__ = (2,)
    assert run(add(1)) == 3
