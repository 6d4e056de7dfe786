"""Detects what other threads write, while a function runs, to what it reads.

A result is kept only if all that the function reads is after the run what it was before. That
alone misses what another thread changes and sets back in between, as `mock.patch` does. Python
shows such writes to the dictionaries in which names are looked up: of modules, classes and
instances, and plain ones.

| Python         | how                                                                          |
|----------------|------------------------------------------------------------------------------|
| 3.12 and later | watchers: a function is called with each write, by the thread that makes it. |
|                | On 3.13 they are not called for attributes of instances.                     |
| 3.11           | versions: a number in the dictionary is another after each write. It tells   |
|                | neither which name was written nor by which thread.                          |

What a function writes itself does not count: it would do the same when it runs again. So writes
by the thread (or the task) that runs it are left out. On 3.11, where the thread is not known, a
write counts if there are other threads, and not where the function's own code writes to globals.

Writes to lists, sets, arrays and captured variables are not noticed. Only runs pay for this:
nothing is watched while results are recalled.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from whorl.fingerprint.watch import Place
from whorl.locks import ForkSafeLock, other_threads
from whorl.signals import pass_on

log = logging.getLogger("whorl.steps")


class ConcurrentWrites:
    """What others wrote to places while a function ran; `name` is the last of them, or empty."""

    def __init__(self, places: Iterable[Place], who: Callable[[], object]) -> None:
        self.name = ""
        self.places = {id(place.stored): place for place in places}
        self._who = who
        self._own = who()

    def see(self, address: int, name: object) -> None:
        """Somebody writes to a name in the dictionary at an address; None: to any."""
        if self._who() == self._own:
            return
        names = self.places[address].names
        if names is None or name is None or name in names:
            self.name = name if isinstance(name, str) else "something"


class _Detector(Protocol):
    """How this version of Python shows writes."""

    def begin(self, writes: ConcurrentWrites) -> None: ...

    def end(self, writes: ConcurrentWrites) -> None: ...


@contextmanager
def watch_writes(
    places: Iterable[Place], who: Callable[[], object] = threading.get_ident
) -> Iterator[ConcurrentWrites]:
    """Collect what others write to places while the block runs; `who` identifies the writer."""
    detector = _detector()
    writes = ConcurrentWrites(places if detector is not None else (), who)
    if detector is None:
        yield writes
        return
    detector.begin(writes)
    try:
        yield writes
    finally:
        detector.end(writes)


# -- watchers ---------------------------------------------------------------------------

_OWN_WRITES: Final = 10_000
"""After so many writes a dictionary is not watched any more: a loop that counts in a global would
take several times as long."""


class _Watchers:
    """Python 3.12 and later: one watcher for all runs."""

    def __init__(self) -> None:
        interface = ctypes.pythonapi
        kind = ctypes.PYFUNCTYPE(
            ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )
        self._callback = kind(self._written)
        self._runs: dict[int, tuple[ConcurrentWrites, ...]] = {}
        self._counts: dict[int, int] = {}
        self._lock = ForkSafeLock()
        add = interface.PyDict_AddWatcher
        add.argtypes, add.restype = [kind], ctypes.c_int
        self._watch, self._unwatch = interface.PyDict_Watch, interface.PyDict_Unwatch
        for function in (self._watch, self._unwatch):
            function.argtypes, function.restype = [ctypes.c_int, ctypes.py_object], ctypes.c_int
        self._number = add(self._callback)
        atexit.register(interface.PyDict_ClearWatcher, self._number)

    def _written(self, event: int, address: int, key: int | None, value: int | None) -> int:
        """Called by Python in the middle of a write: nothing may be raised or waited for here."""
        try:
            runs = self._runs.get(address, ())
            name = None if key is None else ctypes.cast(key, ctypes.py_object).value
            for run in runs:
                run.see(address, name)
            count = self._counts[address] = self._counts.get(address, 0) + 1
            if count == _OWN_WRITES and runs:
                self._unwatch(self._number, runs[0].places[address].stored)
        except KeyboardInterrupt:
            _thread.interrupt_main()  # the interrupt is for the program, not for this function
        return 0

    def begin(self, writes: ConcurrentWrites) -> None:
        with self._lock:
            for address, place in writes.places.items():
                runs = self._runs.get(address, ())
                self._runs[address] = (*runs, writes)
                if not runs:
                    self._counts[address] = 0
                    self._watch(self._number, place.stored)

    def end(self, writes: ConcurrentWrites) -> None:
        with self._lock:
            for address, place in writes.places.items():
                runs = tuple(run for run in self._runs.get(address, ()) if run is not writes)
                if runs:
                    self._runs[address] = runs
                    continue
                self._unwatch(self._number, place.stored)
                self._runs.pop(address, None)
                self._counts.pop(address, None)


# -- versions ---------------------------------------------------------------------------


class _Versions:
    """Python 3.11: the versions of dictionaries, before and after."""

    _OFFSET: Final = 24  # after the reference count, the class and the number of items

    def __init__(self) -> None:
        self._before: dict[int, tuple[dict[int, int], bool]] = {}

    def _version(self, address: int) -> int:
        return ctypes.c_uint64.from_address(address + self._OFFSET).value

    def begin(self, writes: ConcurrentWrites) -> None:
        versions = {
            address: self._version(address)
            for address, place in writes.places.items()
            if not place.is_instance and not place.is_own
        }
        self._before[id(writes)] = versions, other_threads() > 0

    def end(self, writes: ConcurrentWrites) -> None:
        versions, were_other_threads_there = self._before.pop(id(writes))
        if not were_other_threads_there and not other_threads():
            return
        for address, version in versions.items():
            if self._version(address) != version:
                writes.name = "something"


# -- choice -----------------------------------------------------------------------------


def _detector() -> _Detector | None:
    """The detector for this version of Python, if it works."""
    if not _detectors:
        with _lock:
            if not _detectors:
                _detectors.append(_working())
    return _detectors[0]


def _working() -> _Detector | None:
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    try:
        detector: _Detector = _Watchers() if sys.version_info >= (3, 12) else _Versions()
        if _works(detector):
            return detector
    except Exception as error:  # a program can do without it
        pass_on(error)
        log.debug("writes of other threads are not noticed", exc_info=True)
    return None


def _works(detector: _Detector) -> bool:
    """Whether it notices a write, and nothing where there is none."""
    table = {"a": 1}
    place = Place(table, frozenset("a"))
    quiet, loud = (
        ConcurrentWrites((place,), object),
        ConcurrentWrites((place,), object),
    )  # everybody is another
    detector.begin(quiet)
    detector.end(quiet)
    detector.begin(loud)
    table["a"] = 2
    if isinstance(detector, _Versions):  # which ask for threads besides
        versions, _ = detector._before[id(loud)]
        detector._before[id(loud)] = versions, True
    detector.end(loud)
    return not quiet.name and bool(loud.name)


_detectors: Final[list[_Detector | None]] = []
_lock: Final = ForkSafeLock()
