"""A coroutine function in, one out whose results are kept: those who await the same wait together.

Nothing here blocks the loop for longer than a small file takes to read. Who finds that another
process is making the result sleeps and looks again.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any, Final

from whorl.calls.events import emit, listeners
from whorl.fingerprint.markers import exclude
from whorl.lazy import importing
from whorl.store import Ending, NoLease

from .cached import CachedFunction, _Options
from .keeper import Kept
from .progress import Progress
from .results import Request
from .world import Unsteady

__all__ = ["CachedCoroutine"]

_LEASE: Final = 600.0  # seconds
_LONGEST_PAUSE: Final = 0.1

_making: Final[contextvars.ContextVar[frozenset[str]]] = contextvars.ContextVar(
    "whorl_making", default=frozenset()
)


@exclude("_flights", "_is_coroutine", "_is_coroutine_mark", "_is_coroutine_marker")
class CachedCoroutine(CachedFunction[Any, Any]):
    """A coroutine function whose results are kept; made by `whorl.cached`."""

    def __init__(self, function: Any, options: _Options) -> None:
        super().__init__(function, options)
        self._flights: dict[tuple[int, str], asyncio.Future[Kept | None]] = {}
        # How asyncio and inspect know a coroutine function that is not a plain function.
        self._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
        with importing:
            import inspect

        mark = getattr(inspect, "markcoroutinefunction", None)  # from Python 3.12 on
        if mark is not None:
            mark(self)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The coroutine of a call; wrong arguments raise at once, as they would without."""
        self._bind(*args, **kwargs)
        return self._awaited(args, kwargs)

    async def _awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = self._results
        if results.epoch is not results.now():
            results.begin_again()
        if results.is_off:
            return await results.counted(lambda: self.function(*args, **kwargs))
        memo = self._memo(args, kwargs)
        row = results.rows.get(memo)
        if row is not None and row[0]():
            results.recalled += 1
            if listeners:
                emit("recalled", results.name)
            return row[1].value()
        try:
            memo, request = self._request(args, kwargs)
        except Unsteady as error:
            return await results.unkept(error, lambda: self.function(*args, **kwargs))
        kept = results.find(request, memo)
        if kept is None:
            kept = await self._made_once(request, memo, args, kwargs)
        return kept.value()

    async def _made_once(
        self, request: Request, memo: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Kept:
        """One task of this loop makes it; the others wait for that one."""
        results = self._results
        name = results.flight(request)
        if name in _making.get():  # its own production asks for it
            return await self._run(request, args, kwargs)
        loop = asyncio.get_running_loop()
        place = (id(loop), name)
        while place in self._flights:
            theirs = await asyncio.shield(self._flights[place])
            if theirs is not None and theirs.is_shared:
                results.counts["waited"] += 1
                return theirs
        mine: asyncio.Future[Kept | None] = loop.create_future()
        self._flights[place] = mine
        token = _making.set(_making.get() | {name})
        kept: Kept | None = None
        try:
            with results.missed(request) as outcome:
                kept, outcome.how = await self._with_lease(request, args, kwargs)
            results.remember(request, memo, kept)
            return kept
        finally:
            _making.reset(token)
            del self._flights[place]
            if not mine.done():
                mine.set_result(kept)  # None: the next in line tries

    async def _with_lease(
        self, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Kept, Ending]:
        """Other processes wait for this one, or this one for them, without stopping the loop."""
        results = self._results
        leases = results.keeper.flights.leases
        if leases is None:
            return await self._run(request, args, kwargs), Ending.PRODUCED
        begun, pause, look = time.monotonic(), 0.002, results.look(request)
        while True:
            lease = leases.take(results.flight(request))
            if lease is not NoLease.HELD:
                break
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            found = look(None)
            if found is not None:
                results.counts["waited"] += 1
                return found, Ending.WAITED
            if time.monotonic() - begun > _LEASE:
                return await self._run(request, args, kwargs), Ending.PRODUCED
        if isinstance(lease, NoLease):
            return await self._run(request, args, kwargs), Ending.PRODUCED
        done = False
        try:
            found = look(None)  # whoever had the lease may have made it
            if found is not None:
                done = True
                return found, Ending.WAITED
            kept = await self._run(request, args, kwargs)
            done = True
            return kept, Ending.PRODUCED
        finally:
            lease.release(done=done)

    async def _run(self, request: Request, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Kept:
        results = self._results
        parts, begun = request.parts(), results.begin()
        statistics = results.keeper.flights.statistics
        try:
            with (
                Progress(results.name, results.last_seconds),
                results.watched(request, _thread_and_task) as writes,
            ):
                value = await self.function(*args, **kwargs)
        except BaseException:
            statistics.count(Ending.RAISED)
            raise
        kept = results.made(request, value, begun, parts, writes)
        statistics.count(Ending.PRODUCED, seconds_spent=time.perf_counter() - begun)
        return kept


def _thread_and_task() -> object:
    """Who runs now: other tasks of the loop may run while one waits."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        task = None
    return threading.get_ident(), task
