"""A name and a way to make what it names in; one production among all who want it out.

When several threads or processes miss one key at once, one of them produces and the others wait for
what it puts:

    miss -> this process's table of productions -> the lease of the key -> look again -> produce

A producer that raises leaves the next one in line to try. One that is killed loses its lease
with its life. One that takes longer than `lease` seconds is not waited for any longer: work
is repeated then, as it is where there are no leases, and the entry is the same.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass, replace
from whorl.locks import RLock, get_ident, local

from .ending import Ending
from .lease import HELD, Held, Lease, Leases, NoLeases
from .outcome import Failed, Found, Put, Skipped, Stored
from .statistics import Statistics
from .status_line import StatusLine

if TYPE_CHECKING:
    from .cache import Cache

__all__ = ["Flights", "Obtained", "counted", "hit", "obtained"]

_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.1
_LOOK_EVERY: Final = 1.0


@dataclass(frozen=True, slots=True)
class Obtained:
    """An entry and how it came about: `HIT`, `WAITED` or one of the ways of producing it.

    `put` says what became of an entry that was produced.
    """

    entry: Entry
    how: Ending
    put: Put | None = None


T = TypeVar("T")


class _Production(Generic[T]):
    """What a thread of this process is making."""

    __slots__ = ("done", "result", "thread")

    def __init__(self) -> None:
        self.thread = get_ident()
        self.done = Event()
        self.result: T | None = None


class _Here(local):
    """What this thread is producing, in whichever cache."""

    def __init__(self) -> None:
        self.producing: set[tuple[object, str]] = set()


_here: Final = _Here()


def hit(entry: Entry) -> Obtained:
    """An entry that was there."""
    return Obtained(entry, Ending.HIT)


def counted(put: Put, size: int, statistics: Statistics) -> Put:
    """What became of an entry of so many bytes, when that is counted."""
    match put:
        case Stored():
            statistics.count(Ending.STORED, bytes_written=size)
        case Skipped(_, ending) | Failed(_, ending):
            statistics.count(ending)
    return put


def obtained(
    cache: Cache,
    key: StableDigest,
    produce: Callable[[], Entry],
    under: StableDigest | None,
    what: str,
) -> Obtained:
    """The entry of a key that was missing, made by `produce` or meanwhile by another."""

    def look(theirs: Obtained | None) -> Obtained | None:
        if theirs is not None:
            return Obtained(theirs.entry, Ending.WAITED)
        again = cache.store.get(key, under)
        return Obtained(again.entry, Ending.WAITED) if isinstance(again, Found) else None

    def make() -> Obtained:
        entry = produce()
        if (entry.under, entry.key) != (under, key):
            raise ValueError(f"asked for {key} (under {under}), got the entry of {entry.key}")
        return Obtained(entry, Ending.PRODUCED, cache.put(entry))

    name = str(key) if under is None else f"{under}-{key}"
    made, how = cache.once(name, look, make, what=what)
    if how is Ending.WAITED:
        cache.statistics.count(
            how, bytes_read=len(made.entry.data), seconds_saved=made.entry.seconds
        )
    return replace(made, how=how)


class Flights:
    """What is being made by the threads of this process, one at a time for each name."""

    def __init__(self, statistics: Statistics, leases: Leases | None, lease: float) -> None:
        self._statistics = statistics
        self._leases = leases
        self._lease = lease
        self._place = id(self) if leases is None else leases.place
        self._lock = RLock()
        self._under_way: dict[str, _Production[Any]] = {}
        self._waiting: dict[int, _Production[Any]] = {}  # what each thread waits for
        _ALIVE.add(self)

    def once(
        self,
        name: str,
        look: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        """What `look` finds, or `produce` makes: see `Cache.once`."""
        begun = time.monotonic()
        if (self._place, name) in _here.producing:  # its own production asks for it
            return self._produced(produce, Ending.UNLOCKED)
        while True:
            mine: _Production[T] = _Production()
            with self._lock:
                theirs: _Production[T] = self._under_way.setdefault(name, mine)
                in_circle = theirs is not mine and self._would_wait_for_itself(theirs)
                if theirs is not mine and not in_circle:
                    self._waiting[mine.thread] = theirs
            if theirs is mine:
                return self._first_here(name, mine, look, produce, what)
            if in_circle:  # somebody has to go on
                return self._produced(produce, Ending.UNLOCKED)
            try:
                ended = self._wait_for(theirs, begun, what)
            finally:
                with self._lock:
                    self._waiting.pop(mine.thread, None)
            found = look(theirs.result)
            if found is not None:
                return found, Ending.WAITED
            if not ended:
                return self._produced(produce, Ending.GAVE_UP)

    def _would_wait_for_itself(self, theirs: _Production[Any]) -> bool:
        """Whether a production waits, through others, for what this thread produces."""
        met = {get_ident()}
        following: _Production[Any] | None = theirs
        while following is not None:
            if following.thread in met:
                return True
            met.add(following.thread)
            following = self._waiting.get(following.thread)
        return False

    def _first_here(
        self,
        name: str,
        mine: _Production[T],
        look: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        """Produce, or wait for another process, on behalf of all threads of this one."""
        _here.producing.add((self._place, name))
        try:
            result, how = self._with_lease(name, look, produce, what)
            mine.result = result
            return result, how
        finally:
            _here.producing.discard((self._place, name))
            with self._lock:
                if self._under_way.get(name) is mine:
                    del self._under_way[name]
            mine.done.set()

    def _wait_for(self, theirs: _Production[T], begun: float, what: str) -> bool:
        """Whether another thread has come to an end within the lease."""
        with StatusLine(f"another thread to make {what}") as line:
            while not theirs.done.wait(_LONGEST_PAUSE):
                if time.monotonic() - begun > self._lease:
                    return False
                line.update()
        return True

    def _with_lease(
        self,
        name: str,
        look: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> tuple[T, Ending]:
        if self._leases is None:
            found = look(None)  # another thread may have made it since this one missed
            if found is not None:
                return found, Ending.WAITED
            return self._produced(produce, Ending.PRODUCED)
        lease: Lease | Held | NoLeases | T = self._leases.take(name)
        if isinstance(lease, Held):
            lease = self._wait_for_lease(self._leases, name, look, what)
        if isinstance(lease, Held):
            return self._produced(produce, Ending.GAVE_UP)
        if isinstance(lease, NoLeases):
            return self._produced(produce, Ending.UNLOCKED)
        if not isinstance(lease, Lease):
            return lease, Ending.WAITED
        done = False
        try:
            found = look(None)  # whoever had the lease may have made it
            result = (
                self._produced(produce, Ending.PRODUCED)
                if found is None
                else (found, Ending.WAITED)
            )
            done = True
            return result
        finally:
            lease.release(done=done)

    def _wait_for_lease(
        self, leases: Leases, name: str, look: Callable[[T | None], T | None], what: str
    ) -> Lease | Held | NoLeases | T:
        """The lease when it is free, or what is found meanwhile; still held when that took long."""
        begun = looked = time.monotonic()
        pause = _FIRST_PAUSE
        with StatusLine(f"{leases.holder(name)} to make {what}") as line:
            while True:
                now = time.monotonic()
                has_expired = now - begun > self._lease
                if has_expired or now - looked > _LOOK_EVERY:
                    looked = now
                    found = look(None)  # it may be there although somebody holds the lease
                    if found is not None:
                        return found
                if has_expired:
                    return HELD
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                line.update()
                lease = leases.take(name)
                if not isinstance(lease, Held):
                    return lease

    def _produced(self, produce: Callable[[], T], how: Ending) -> tuple[T, Ending]:
        """What `produce` makes and puts into the store before anybody else goes on."""
        begun = time.perf_counter()
        try:
            result = produce()
        except BaseException:
            self._statistics.count(Ending.RAISED)
            raise
        self._statistics.count(how, seconds_spent=time.perf_counter() - begun)
        self._statistics.flush()
        return result, how

    def _after_fork(self) -> None:
        """Productions of threads that are not in the child never end there."""
        self._lock = RLock()
        self._under_way = {}
        self._waiting = {}


_ALIVE: Final[weakref.WeakSet[Flights]] = weakref.WeakSet()


def _after_fork() -> None:
    for flights in list(_ALIVE):
        flights._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
