"""Cached coroutine functions: tasks that await the same result wait for one run of it.

Nothing here blocks the event loop for longer than it takes to read a small file. While another
process makes the result, a task sleeps and looks for it again.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from whorl.fingerprint.markers import exclude
from whorl.store import Ending, Lease, NoLease
from whorl.store.status_line import Progress

from .cached import CachedFunction
from .concurrent_writes import watch_writes
from .dependencies import UnstableReads
from .request import ResultRequest
from .result_store import Result

_LONGEST_WAIT: Final = 600.0  # seconds
_LONGEST_PAUSE: Final = 0.1

Run = Callable[[], Awaitable[Any]]

_running: Final[contextvars.ContextVar[frozenset[str]]] = contextvars.ContextVar(
    "whorl_running", default=frozenset()
)


@exclude("_flights", "_is_coroutine", "_is_coroutine_mark", "_is_coroutine_marker")
class CachedCoroutine(CachedFunction[Any, Any]):
    """A coroutine function whose results are kept; made by `whorl.cached`."""

    def __init__(self, function: Any, options: Any) -> None:
        super().__init__(function, options)
        self._flights: dict[tuple[int, str], asyncio.Future[Result | None]] = {}
        # How asyncio and inspect know a coroutine function that is not a plain function.
        self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
        mark = getattr(inspect, "markcoroutinefunction", None)  # from Python 3.12 on
        if mark is not None:
            mark(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The coroutine of a call; wrong arguments raise at once, as they would without."""
        self._renew()
        self._bind(*args, **kwargs)
        return self._result(args, kwargs)

    async def _result(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results, run = self._results, functools.partial(self.function, *args, **kwargs)
        results.follow_settings()
        if results.is_off:
            return await results.run_without_cache(run)
        memo = results.memo(self._values(args, kwargs))
        result = results.recall(memo)
        if result is not None:
            return result.value()
        try:
            memo, request = self._request(args, kwargs)
        except UnstableReads as error:
            return await results.run_without_key(error, run)
        result = results.find(request, memo) or await self._make_once(request, memo, run)
        return result.value()

    async def _make_once(self, request: ResultRequest, memo: object, run: Run) -> Result:
        """One task of this loop makes it; the others wait for that one."""
        results = self._results
        name = results.flight(request)
        if name in _running.get():  # its own run asks for it
            return await self._make(request, run)
        loop = asyncio.get_running_loop()
        place = (id(loop), name)
        while place in self._flights:
            theirs = await asyncio.shield(self._flights[place])
            if theirs is not None and theirs.is_shared:
                results.counts["waited"] += 1
                return theirs
        mine: asyncio.Future[Result | None] = loop.create_future()
        self._flights[place] = mine
        token = _running.set(_running.get() | {name})
        result: Result | None = None
        try:
            with results.record_miss(request) as outcome:
                result, outcome.how = await self._with_lease(request, run)
            results.remember(request, memo, result)
            return result
        finally:
            _running.reset(token)
            del self._flights[place]
            if not mine.done():
                mine.set_result(result)  # None: the next in line tries

    async def _with_lease(self, request: ResultRequest, run: Run) -> tuple[Result, Ending]:
        """Other processes wait for this one, or this one for them, without stopping the loop."""
        results = self._results
        leases = results.store.flights.leases
        if leases is None:
            return await self._make(request, run), Ending.PRODUCED
        start, pause = time.monotonic(), 0.002
        lease: Lease | NoLease = NoLease.HELD
        is_made = False
        try:
            while (lease := leases.take(results.flight(request))) is NoLease.HELD:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                theirs = results.find_again(request, None)
                if theirs is not None:
                    results.counts["waited"] += 1
                    return theirs, Ending.WAITED
                if time.monotonic() - start > _LONGEST_WAIT:
                    break
            if isinstance(lease, NoLease):
                return await self._make(request, run), Ending.PRODUCED
            theirs = results.find_again(request, None)  # of the last holder of the lease
            result = await self._make(request, run) if theirs is None else theirs
            is_made = True
            return result, Ending.PRODUCED if theirs is None else Ending.WAITED
        finally:
            if not isinstance(lease, NoLease):
                try:
                    lease.release(done=is_made)
                except BaseException:  # an interrupt came between
                    lease.release(done=False)
                    raise

    async def _make(self, request: ResultRequest, run: Run) -> Result:
        results = self._results
        parts, start = request.parts(), results.start_run()
        statistics = results.store.flights.statistics
        try:
            with (
                Progress(results.name, results.last_seconds),
                watch_writes(request.dependencies.places, _thread_and_task) as writes,
            ):
                value = await run()
        except BaseException:
            statistics.count(Ending.RAISED)
            raise
        result = results.finish_run(request, value, start, parts, writes)
        statistics.count(Ending.PRODUCED, seconds_spent=time.perf_counter() - start)
        return result


def _thread_and_task() -> object:
    """Which task runs now: others of the loop may run while one waits."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        task = None
    return threading.get_ident(), task
