"""One producer at a time for each name, among the threads of this process and other processes.

When several threads or processes miss one key at once, one of them produces the entry and the
others wait for it:

    miss -> this process's table of productions -> the lease of the key -> look up again -> produce

If a producer raises, the next one in line tries. If it is killed, its lease ends with it. If it
takes longer than `lease` seconds, the others stop waiting: they repeat the work, as they do where
there are no leases, and the entry is the same.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import Event
from typing import Any, Final, Generic, Self, TextIO, TypeVar

from whorl.lazy import logger
from whorl.locks import ForkSafeLock, get_ident, local, reset_in_child
from whorl.signals import suppress

from .lease import Lease, Leases, NoLease
from .outcome import Ending
from .statistics import Statistics

__all__ = ["Flights", "StatusLine"]

log = logger("whorl.store")

SHOWN_AFTER: Final = 0.5  # seconds
LOGGED_AFTER: Final = 5.0

_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.1
_LOOK_UP_EVERY: Final = 1.0


T = TypeVar("T")


class _Production(Generic[T]):
    """A production by a thread of this process."""

    __slots__ = ("done", "lease", "result", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()
        self.done = Event()
        self.lease: Lease | NoLease = NoLease.UNAVAILABLE
        self.result: T | None = None


class _Here(local):
    """What this thread is producing, in whichever cache."""

    def __init__(self) -> None:
        self.producing: set[tuple[object, str]] = set()


_here: Final = _Here()


class StatusLine:
    """A long wait as one line on the terminal, gone when the wait is over; logged elsewhere.

    >>> with StatusLine("the other") as line:
    ...     line.update()
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._start = time.monotonic()
        self._shown = self._logged = False

    def __enter__(self) -> Self:
        return self

    def update(self) -> None:
        """Show how long it has been by now."""
        waited = time.monotonic() - self._start
        if waited < SHOWN_AFTER:
            return
        with suppress(Exception):  # the stream may be closed, or be of any make
            if self._stream is not None and self._stream.isatty():
                self._stream.write(f"\r\x1b[2Kwhorl: waiting for {self._what}, {waited:.0f} s")
                self._stream.flush()
                self._shown = True
                return
        if waited >= LOGGED_AFTER and not self._logged:
            self._logged = True
            log.info("waiting for %s", self._what)

    def __exit__(self, *exception: object) -> None:
        if self._shown:
            with suppress(Exception):
                self._stream.write("\r\x1b[2K")
                self._stream.flush()


class Flights:
    """The productions of this process, one at a time for each name."""

    def __init__(self, statistics: Statistics, leases: Leases | None, lease: float) -> None:
        self._statistics = statistics
        self._leases = leases
        self._lease = lease
        self._place = id(self) if leases is None else leases.place
        self._lock = ForkSafeLock()
        self._under_way: dict[str, _Production[Any]] = {}
        self._waiting: dict[int, _Production[Any]] = {}  # what each thread waits for
        reset_in_child(self)

    def once(
        self,
        name: str,
        look_up: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        """What `look_up` returns, or `produce` makes: see `Cache.once`."""
        start = time.monotonic()
        if (self._place, name) in _here.producing:  # its own production asks for it
            return self._produced(produce, Ending.UNLOCKED)
        while True:
            mine: _Production[T] = _Production()
            try:
                with self._lock:
                    theirs: _Production[T] = self._under_way.setdefault(name, mine)
                    in_circle = theirs is not mine and self._would_wait_for_itself(theirs)
                    if theirs is not mine and not in_circle:
                        self._waiting[mine.thread] = theirs
                if theirs is mine:
                    return self._first_here(name, mine, look_up, produce, what)
                ended = not in_circle and self._wait_for(theirs, start, what)
            finally:
                try:
                    self._end(name, mine, is_made=mine.result is not None)
                except BaseException:  # an interrupt came between: nobody must wait for this one
                    self._end(name, mine, is_made=False)
                    raise
            if in_circle:  # somebody has to go on
                return self._produced(produce, Ending.UNLOCKED)
            result = look_up(theirs.result)
            if result is not None:
                return result, Ending.WAITED
            if not ended:
                return self._produced(produce, Ending.GAVE_UP)

    def _would_wait_for_itself(self, theirs: _Production[Any]) -> bool:
        """Whether a production waits, through others, for what this thread produces."""
        threads = {get_ident()}
        following: _Production[Any] | None = theirs
        while following is not None:
            if following.thread in threads:
                return True
            threads.add(following.thread)
            following = self._waiting.get(following.thread)
        return False

    def _first_here(
        self,
        name: str,
        mine: _Production[T],
        look_up: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        """Produce, or wait for another process, on behalf of all threads of this one."""
        _here.producing.add((self._place, name))
        result, how = self._with_lease(name, mine, look_up, produce, what)
        mine.result = result
        return result, how

    def _end(self, name: str, mine: _Production[Any], *, is_made: bool) -> None:
        """Release the lease, and have this thread neither produce nor wait any more."""
        try:
            if not isinstance(mine.lease, NoLease):
                mine.lease.release(done=is_made)
        finally:
            _here.producing.discard((self._place, name))
            with self._lock:
                if self._under_way.get(name) is mine:
                    del self._under_way[name]
                self._waiting.pop(mine.thread, None)
            mine.done.set()

    def _wait_for(self, theirs: _Production[T], start: float, what: str) -> bool:
        """Whether another thread has come to an end within the lease."""
        with StatusLine(f"another thread to make {what}") as line:
            while not theirs.done.wait(_LONGEST_PAUSE):
                if time.monotonic() - start > self._lease:
                    return False
                line.update()
        return True

    def _with_lease(
        self,
        name: str,
        mine: _Production[T],
        look_up: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        if self._leases is None:
            result = look_up(None)  # another thread may have made it since this one missed
            if result is not None:
                return result, Ending.WAITED
            return self._produced(produce, Ending.PRODUCED)
        mine.lease = self._leases.take(name)
        if mine.lease is NoLease.HELD:
            result = self._wait_for_lease(self._leases, name, mine, look_up, what)
            if result is not None:
                return result, Ending.WAITED
        if isinstance(mine.lease, NoLease):
            is_held = mine.lease is NoLease.HELD
            return self._produced(produce, Ending.GAVE_UP if is_held else Ending.UNLOCKED)
        result = look_up(None)  # whoever had the lease may have made it
        if result is not None:
            return result, Ending.WAITED
        return self._produced(produce, Ending.PRODUCED)

    def _wait_for_lease(
        self,
        leases: Leases,
        name: str,
        mine: _Production[T],
        look_up: Callable[[T | None], T | None],
        what: str,
    ) -> T | None:
        """Take the lease when it is free; what `look_up` returns if that is found meanwhile.

        The lease stays `HELD` after too long.
        """
        start = last_lookup = time.monotonic()
        pause = _FIRST_PAUSE
        with StatusLine(f"{leases.holder(name)} to make {what}") as line:
            while True:
                now = time.monotonic()
                has_expired = now - start > self._lease
                if has_expired or now - last_lookup > _LOOK_UP_EVERY:
                    last_lookup = now
                    result = look_up(None)  # it may be there although somebody holds the lease
                    if result is not None:
                        return result
                if has_expired:
                    return None
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                line.update()
                mine.lease = leases.take(name)
                if mine.lease is not NoLease.HELD:
                    return None

    def _produced(self, produce: Callable[[], T], how: Ending) -> tuple[T, Ending]:
        """Call `produce`, which stores its result before anybody else goes on."""
        start = time.perf_counter()
        try:
            result = produce()
        except BaseException:
            self._statistics.count(Ending.RAISED)
            raise
        self._statistics.count(how, seconds_spent=time.perf_counter() - start)
        self._statistics.flush()
        return result, how

    def reset_in_child(self) -> None:
        """Forget productions: their threads are not in the child, and would never end them."""
        self._under_way = {}
        self._waiting = {}
