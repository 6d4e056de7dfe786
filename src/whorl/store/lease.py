"""One producer at a time for each name, among the threads of this process and other processes.

The system lets go of a lock when its holder ends in any way, so a killed producer is replaced at
once. Where files cannot be locked there are no leases, and work may be done twice; it is never
done wrongly.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from enum import Enum
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from whorl.lazy import logger
from whorl.locks import ForkSafeLock, get_ident, local, reset_in_child
from whorl.signals import is_of_signal_handler, suppress

from .atomic_file import lock_file, make_directory, read_small, remove_quietly, write_small
from .outcome import Ending
from .statistics import Statistics
from .status_line import StatusLine

if TYPE_CHECKING:
    from .atomic_file import Lock

ASK_FAR_EVERY: Final = 0.2  # seconds between two questions for a lease that another machine holds
_UNAVAILABLE: Final = (OSError, MemoryError, NotImplementedError)
_LONGEST_NUMBER: Final = 20  # digits of a process number, and some


class Lease(Protocol):
    """The right to produce one entry, until it is released."""

    def release(self, *, done: bool) -> None:
        """Let others have it; `done` if the entry is there now."""


class NoLease(Enum):
    """Why a lease was not granted."""

    HELD = "another has it"
    UNAVAILABLE = "there are no leases here"


class Leases(Protocol):
    """Leases by name, for everybody who shares a store.

    Nothing relies on a lease but the saving of work: who gets none may produce all the same.
    """

    @property
    def place(self) -> str:
        """Where they are: two objects for one place are the same leases."""

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it. This does not wait."""

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""


class _FileLease:
    """The right to produce one entry, as long as a file is locked."""

    def __init__(self, lock: Lock, path: str) -> None:
        self._lock = lock
        self._path = path

    def release(self, *, done: bool) -> None:
        """Let others have it. If the entry is there, nobody needs the file any more."""
        try:
            if done:
                remove_quietly(f"{self._path}.holder")
                if sys.platform != "win32":  # there, a file that is open cannot go
                    remove_quietly(self._path)
        finally:
            with suppress(OSError, MemoryError):
                self._lock.release()


class DirectoryLeases:
    """The leases in a directory: those of all processes whose locks meet there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     leases = DirectoryLeases(directory)
    ...     lease = leases.take("key")
    ...     leases.take("key") is NoLease.HELD, leases.holder("key") == f"process {os.getpid()}"
    ...     lease.release(done=True)
    ...     isinstance(leases.take("key"), NoLease)
    (True, True)
    False
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = os.fspath(directory)

    @property
    def place(self) -> str:
        """Where they are: two objects for one place are the same leases."""
        return self._directory

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it."""
        path = f"{self._directory}{os.sep}{name}"
        lock: Lock | None = None
        try:
            if not os.path.isdir(self._directory):
                make_directory(self._directory)
            lock = lock_file(path)
            if lock is None:
                return NoLease.HELD
            with suppress(OSError, MemoryError):
                write_small(f"{path}.holder", str(os.getpid()))
            return _FileLease(lock, path)
        except BaseException as error:
            if lock is not None:  # to which the frames of the traceback refer
                lock.release()
            if isinstance(error, _UNAVAILABLE) and not is_of_signal_handler(error):
                return NoLease.UNAVAILABLE
            raise

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        try:
            holder = read_small(f"{self._directory}{os.sep}{name}.holder", _LONGEST_NUMBER)
            return f"process {int(holder)}"
        except (OSError, MemoryError, ValueError):
            return "another process"


class _LeaseOfTwo:
    """The right to produce one entry on this machine, and among machines."""

    def __init__(self, near: Lease | None, far: Lease | None) -> None:
        self._near = near
        self._far = far

    def release(self, *, done: bool) -> None:
        """Let others have it: other machines when they can find the entry, ours at once."""
        try:
            if self._far is not None:
                self._far.release(done=done)
        finally:
            if self._near is not None:
                self._near.release(done=done)


class LeasesOfTwo:
    """Leases of this machine and of several, taken in this order: one process of a machine asks.

    What cannot be had on one side is done without: if other machines do not answer, the lease of
    this one is enough.
    """

    def __init__(self, near: Leases, far: Leases) -> None:
        self._near = near
        self._far = far
        self._asked: dict[str, float] = {}  # when a lease was last held by another machine

    @property
    def place(self) -> str:
        """Where those of this machine are."""
        return self._near.place

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it, here or elsewhere."""
        near: Lease | NoLease = NoLease.HELD
        far: Lease | NoLease = NoLease.HELD
        is_granted = False
        try:
            near = self._near.take(name)
            if near is NoLease.HELD:
                return near
            far = self._take_far(name)
            if far is NoLease.HELD:
                return far
            mine = None if isinstance(near, NoLease) else near
            theirs = None if isinstance(far, NoLease) else far
            if mine is None and theirs is None:
                return NoLease.UNAVAILABLE
            both = _LeaseOfTwo(mine, theirs)
            is_granted = True
            return both
        finally:
            if not is_granted:  # or an interrupt has come
                for lease in (far, near):
                    if not isinstance(lease, NoLease):
                        lease.release(done=False)

    def _take_far(self, name: str) -> Lease | NoLease:
        now = time.monotonic()
        if now - self._asked.get(name, -ASK_FAR_EVERY) < ASK_FAR_EVERY:
            return NoLease.HELD
        far = self._far.take(name)
        if far is NoLease.HELD:
            self._asked[name] = now
        else:
            self._asked.pop(name, None)
        return far

    def holder(self, name: str) -> str:
        """Who has the lease, as far as that is known."""
        return self._far.holder(name) if name in self._asked else self._near.holder(name)


# -- productions -----------------------------------------------------------------------
#
# One producer at a time for each name, among the threads of this process and other processes.
#
# When several threads or processes miss one key at once, one of them produces the entry and the
# others wait for it:
#
#   miss -> this process's table of productions -> the lease of the key -> look up again -> produce
#
# If a producer raises, the next one in line tries. If it is killed, its lease ends with it. If it
# takes longer than `lease` seconds, the others stop waiting: they repeat the work, as they do where
# there are no leases, and the entry is the same.


log = logger("whorl.store")


_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.1
_LOOK_UP_EVERY: Final = 1.0


T = TypeVar("T")


class _Production(Generic[T]):
    """What a thread of this process produces, or waits for: see `Cache.once` for the arguments."""

    __slots__ = (
        "done", "is_open", "lease", "look_up", "name", "produce", "result", "thread", "what",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        look_up: Callable[[T | None], T | None],
        produce: Callable[[], T],
        what: str,
    ) -> None:
        self.name = name
        self.look_up = look_up
        self.produce = produce
        self.what = what
        self.thread = get_ident()
        self.done = Event()
        self.lease: Lease | NoLease = NoLease.UNAVAILABLE
        self.result: T | None = None
        self.is_open = False  # its holder ends it in a later call: see `Flights.begin`


class Turn(Generic[T]):
    """What `Flights.begin` gives: something found, or the right to produce it, to be ended once.

    `how` is `WAITED`, or the way in which it is produced.
    """

    __slots__ = ("_end", "_process", "found", "how")

    def __init__(self, found: T | None, how: Ending, end: Callable[[bool], None] | None) -> None:
        self.found = found
        self.how = how
        self._end = end
        self._process = os.getpid()

    def end(self, *, done: bool) -> None:
        """Let others have it; `done` if the entry is there now. A second time it does nothing."""
        end, self._end = self._end, None
        if end is not None and self._process == os.getpid():  # a forked child has no turn
            end(done)

    def __del__(self) -> None:
        self.end(done=False)


def _produces_nothing() -> Any:
    raise AssertionError("the holder of a turn produces by itself")


class _Here(local):
    """What this thread is producing, in whichever cache."""

    def __init__(self) -> None:
        self.producing: set[tuple[object, str]] = set()


_here: Final = _Here()


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
            mine = _Production(name, look_up, produce, what)
            try:
                with self._lock:
                    theirs: _Production[T] = self._under_way.setdefault(name, mine)
                    in_circle = theirs is not mine and self._would_wait_for_itself(theirs)
                    if theirs is not mine and not in_circle:
                        self._waiting[mine.thread] = theirs
                if theirs is mine:
                    return self._first_here(mine)
                ended = not in_circle and self._wait_for(theirs, start, what)
            finally:
                try:
                    self._end(mine, is_made=mine.result is not None)
                except BaseException:  # an interrupt came between: nobody must wait for this one
                    self._end(mine, is_made=False)
                    raise
            if in_circle:  # somebody has to go on
                return self._produced(produce, Ending.UNLOCKED)
            result = look_up(theirs.result)
            if result is not None:
                return result, Ending.WAITED
            if not ended:
                return self._produced(produce, Ending.GAVE_UP)

    def begin(self, name: str, look_up: Callable[[T | None], T | None], what: str) -> Turn[T]:
        """As `once`, for whoever looks up and produces in separate calls.

        Others wait until the turn is ended, for no longer than the lease. A thread that begins
        again what it has begun ends the turn of before: nobody will.
        """
        start = time.monotonic()
        if (self._place, name) in _here.producing:
            return Turn(None, Ending.UNLOCKED, None)
        while True:
            mine = _Production(name, look_up, _produces_nothing, what)
            mine.is_open = True
            with self._lock:
                theirs: _Production[T] = self._under_way.setdefault(name, mine)
            if theirs is mine:
                return self._open(mine)
            if theirs.is_open and theirs.thread == get_ident():
                self._end(theirs, is_made=False)
                continue
            ended = self._wait_for(theirs, start, what)
            result = look_up(theirs.result)
            if result is not None:
                return Turn(result, Ending.WAITED, None)
            if not ended:
                return Turn(None, Ending.GAVE_UP, None)

    def _open(self, mine: _Production[T]) -> Turn[T]:
        """The turn of a production that no other thread of this process has begun."""
        try:
            result, how = self._granted(mine)
        except BaseException:
            self._end(mine, is_made=False)
            raise
        if result is None:
            return Turn(None, how, lambda done: self._end(mine, is_made=done))
        self._end(mine, is_made=False)
        return Turn(result, how, None)

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

    def _first_here(self, mine: _Production[T]) -> tuple[T, Ending]:
        """Produce, or wait for another process, on behalf of all threads of this one."""
        _here.producing.add((self._place, mine.name))
        result, how = self._with_lease(mine)
        mine.result = result
        return result, how

    def _end(self, mine: _Production[Any], *, is_made: bool) -> None:
        """Release the lease, and have this thread neither produce nor wait any more."""
        try:
            if not isinstance(mine.lease, NoLease):
                mine.lease.release(done=is_made)
        finally:
            _here.producing.discard((self._place, mine.name))
            with self._lock:
                if self._under_way.get(mine.name) is mine:
                    del self._under_way[mine.name]
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

    def _with_lease(self, mine: _Production[T]) -> tuple[T, Ending]:
        result, how = self._granted(mine)
        return self._produced(mine.produce, how) if result is None else (result, how)

    def _granted(self, mine: _Production[T]) -> tuple[T, Ending] | tuple[None, Ending]:
        """What `look_up` returns, or nothing and the way in which it is to be produced."""
        if self._leases is not None:
            mine.lease = self._leases.take(mine.name)
            if mine.lease is NoLease.HELD:
                result = self._wait_for_lease(self._leases, mine)
                if result is not None:
                    return result, Ending.WAITED
            if isinstance(mine.lease, NoLease):
                is_held = mine.lease is NoLease.HELD
                return None, Ending.GAVE_UP if is_held else Ending.UNLOCKED
        result = mine.look_up(None)  # another thread, or who had the lease, may have made it
        return (None, Ending.PRODUCED) if result is None else (result, Ending.WAITED)

    def _wait_for_lease(self, leases: Leases, mine: _Production[T]) -> T | None:
        """Take the lease when it is free; what `look_up` returns if that is found meanwhile.

        The lease stays `HELD` after too long.
        """
        start = last_lookup = time.monotonic()
        pause = _FIRST_PAUSE
        with StatusLine(f"{leases.holder(mine.name)} to make {mine.what}") as line:
            while True:
                now = time.monotonic()
                has_expired = now - start > self._lease
                if has_expired or now - last_lookup > _LOOK_UP_EVERY:
                    last_lookup = now
                    result = mine.look_up(None)  # it may be there although somebody has the lease
                    if result is not None:
                        return result
                if has_expired:
                    return None
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                line.update()
                mine.lease = leases.take(mine.name)
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
