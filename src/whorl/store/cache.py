"""A key and a way to make its entry in, the entry out: found, or made once by whoever is first.

A cache is a store with leases and statistics. When several threads or processes miss one key
at once, one of them produces and the others wait for what it puts:

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
from functools import partial
from typing import Any, Final, Generic, TypeVar

from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass, replace
from whorl.locks import Lock, get_ident, local

from .directory import DirectoryStore
from .ending import Ending
from .lease import HELD, Held, Lease, Leases, NoLeases
from .outcome import Absent, Failed, Found, Got, Put, Skipped, Store, Stored
from .statistics import Statistics

__all__ = ["Cache", "Obtained"]

LEASE: Final = 600.0  # seconds
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
        from threading import Event

        self.thread = get_ident()
        self.done = Event()
        self.result: T | None = None


class _Here(local):
    """What this thread is producing, in whichever cache."""

    def __init__(self) -> None:
        self.producing: set[tuple[object, str]] = set()


_here: Final = _Here()


class Cache:
    """A store, with one producer at a time for each key. A directory brings its own leases.

    >>> from whorl.artifacts import Artifact, Label, encode
    >>> from whorl.store import MemoryStore
    >>> cache = Cache(MemoryStore())
    >>> key = StableDigest("0" * 32)
    >>> def produce():
    ...     print("compiling")
    ...     return encode(Artifact({"code": b"ret"}), Label("artifact", key))
    >>> [cache.obtain(key, produce).how.value for _ in range(2)]
    compiling
    ['produced', 'hit']
    """

    def __init__(
        self,
        store: Store,
        *,
        leases: Leases | None = None,
        statistics: Statistics | None = None,
        lease: float = LEASE,
    ) -> None:
        if isinstance(store, DirectoryStore):
            leases = leases or Leases(store.leases)
            statistics = statistics or store.statistics
        self.store = store
        self.statistics = statistics or Statistics()
        self._leases = leases
        self._place = id(self) if leases is None else leases.place
        self._lease = lease
        self._lock = Lock()
        self._under_way: dict[str, _Production[Any]] = {}
        self._waiting: dict[int, _Production[Any]] = {}  # what each thread waits for
        _ALIVE.add(self)

    @property
    def leases(self) -> Leases | None:
        """The leases that other processes know; None if there are none."""
        return self._leases

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key; how that ends is counted."""
        got = self.store.get(key, under)
        match got:
            case Found(entry):
                self.statistics.hit(len(entry.data), entry.seconds)
            case Absent():
                self.statistics.count(Ending.ABSENT)
            case Failed(_, ending):
                self.statistics.count(ending)
        return got

    def uses(self, toolchain: str) -> None:
        """Say that entries of a toolchain are in use, so that they are not evicted first.

        That is written down with the statistics: a hit does not wait for it.
        """
        if isinstance(self.store, DirectoryStore) and toolchain:
            self.statistics.when_flushed(partial(self.store.uses, toolchain))

    def put(self, entry: Entry) -> Put:
        """Keep an entry; how that ends is counted."""
        put = self.store.put(entry)
        match put:
            case Stored():
                self.statistics.count(Ending.STORED, bytes_written=len(entry.data))
            case Skipped(_, ending) | Failed(_, ending):
                self.statistics.count(ending)
        return put

    def obtain(
        self,
        key: StableDigest,
        produce: Callable[[], Entry],
        *,
        under: StableDigest | None = None,
        what: str = "an entry",
    ) -> Obtained:
        """The entry of a key, made by `produce` if nobody has it.

        `what` is being made, for those who wait. What `produce` raises is raised here.
        """
        got = self.get(key, under)
        if isinstance(got, Found):
            return Obtained(got.entry, Ending.HIT)

        def look(theirs: Obtained | None) -> Obtained | None:
            if theirs is not None:
                return Obtained(theirs.entry, Ending.WAITED)
            again = self.store.get(key, under)
            return Obtained(again.entry, Ending.WAITED) if isinstance(again, Found) else None

        def make() -> Obtained:
            entry = produce()
            if (entry.under, entry.key) != (under, key):
                raise ValueError(f"asked for {key} (under {under}), got the entry of {entry.key}")
            return Obtained(entry, Ending.PRODUCED, self.put(entry))

        name = str(key) if under is None else f"{under}-{key}"
        obtained, how = self.once(name, look, make, what=what)
        if how is Ending.WAITED:
            self.statistics.count(
                how, bytes_read=len(obtained.entry.data), seconds_saved=obtained.entry.seconds
            )
        return replace(obtained, how=how)

    def once(
        self,
        name: str,
        look: Callable[[T | None], T | None],
        produce: Callable[[], T],
        *,
        what: str = "an entry",
    ) -> tuple[T, Ending]:
        """What `look` finds, or `produce` makes while nobody else produces under this name.

        Whoever has waited looks again before it produces; `look` is given what another thread
        of this process made, if it was one. Returns also how it ended: `WAITED`, or one of the
        ways of producing.
        """
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
        from .status_line import StatusLine

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
        from .status_line import StatusLine

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
            self.statistics.count(Ending.RAISED)
            raise
        self.statistics.count(how, seconds_spent=time.perf_counter() - begun)
        self.statistics.flush()
        return result, how

    def _after_fork(self) -> None:
        """Productions of threads that are not in the child never end there."""
        self._lock = Lock()
        self._under_way = {}
        self._waiting = {}


_ALIVE: Final[weakref.WeakSet[Cache]] = weakref.WeakSet()


def _after_fork() -> None:
    for cache in list(_ALIVE):
        cache._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
