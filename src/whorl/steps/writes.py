"""Dictionaries in, what others write to them while a function runs out.

A result is kept only if all that the function reads is after the run what it was before. That
alone misses what another thread changes and sets back in between, as `mock.patch` does. Python
gives signs of such writes to those dictionaries in which names are looked up: of modules, classes
and instances, and plain ones.

| Python         | sign                                                                         |
|----------------|------------------------------------------------------------------------------|
| 3.12 and later | watchers: a function is called with each write, by the thread that makes it. |
|                | On 3.13 they are not called for attributes of instances.                     |
| 3.11           | versions: a number in the dictionary is another after each write. It tells   |
|                | neither which name was written nor by whom.                                  |

What a function does itself is its own affair: it would do the same when it runs again. So a write
by the thread (or the task) that runs it is no sign. On 3.11, where that cannot be told, a write
counts if other threads are there, and not where the function's own code writes to globals.

Lists, sets, arrays and captured variables give no sign at all. Only runs pay for this: nothing
is watched while results are recalled.
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

__all__ = ["Writes", "watched"]

log = logging.getLogger("whorl.steps")


class Writes:
    """What others wrote to places while a function ran; `found` is a name, or empty."""

    def __init__(self, places: Iterable[Place], who: Callable[[], object]) -> None:
        self.found = ""
        self.places = {id(place.stored): place for place in places}
        self._who = who
        self._mine = who()

    def see(self, address: int, name: object) -> None:
        """Somebody writes to a name in the dictionary at an address; None: to any."""
        if self._who() == self._mine:
            return
        names = self.places[address].names
        if names is None or name is None or name in names:
            self.found = name if isinstance(name, str) else "something"


class _Signs(Protocol):
    """A way to learn of writes."""

    def begin(self, writes: Writes) -> None: ...

    def end(self, writes: Writes) -> None: ...


@contextmanager
def watched(
    places: Iterable[Place], who: Callable[[], object] = threading.get_ident
) -> Iterator[Writes]:
    """Learn of what others write to places while the block runs; `who` tells runs apart."""
    signs = _signs()
    writes = Writes(places if signs is not None else (), who)
    if signs is None:
        yield writes
        return
    signs.begin(writes)
    try:
        yield writes
    finally:
        signs.end(writes)


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
        self._runs: dict[int, tuple[Writes, ...]] = {}
        self._counts: dict[int, int] = {}
        self._lock = threading.Lock()
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
            _thread.interrupt_main()  # which is for whoever runs, and not for this
        return 0

    def begin(self, writes: Writes) -> None:
        with self._lock:
            for address, place in writes.places.items():
                runs = self._runs.get(address, ())
                self._runs[address] = (*runs, writes)
                if not runs:
                    self._counts[address] = 0
                    self._watch(self._number, place.stored)

    def end(self, writes: Writes) -> None:
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

    def begin(self, writes: Writes) -> None:
        versions = {
            address: self._version(address)
            for address, place in writes.places.items()
            if not place.is_instance and not place.is_own
        }
        self._before[id(writes)] = versions, _are_others_there()

    def end(self, writes: Writes) -> None:
        versions, were_others_there = self._before.pop(id(writes))
        if not were_others_there and not _are_others_there():
            return
        for address, version in versions.items():
            if self._version(address) != version:
                writes.found = "something"


def _are_others_there() -> bool:
    return len(sys._current_frames()) > 1


# -- which ------------------------------------------------------------------------------


def _signs() -> _Signs | None:
    """The way that this Python has, if it works."""
    if not _chosen:
        with _choosing:
            if not _chosen:
                _chosen.append(_working())
    return _chosen[0]


def _working() -> _Signs | None:
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    try:
        signs: _Signs = _Watchers() if sys.version_info >= (3, 12) else _Versions()
        if _tells(signs):
            return signs
    except Exception:  # nothing that a program could not do without
        log.debug("writes of other threads are not noticed", exc_info=True)
    return None


def _tells(signs: _Signs) -> bool:
    """Whether a write is told, and nothing is where there is none."""
    table = {"a": 1}
    place = Place(table, frozenset("a"))
    quiet, loud = Writes((place,), object), Writes((place,), object)  # everybody is another
    signs.begin(quiet)
    signs.end(quiet)
    signs.begin(loud)
    table["a"] = 2
    if isinstance(signs, _Versions):  # which ask for threads besides
        versions, _ = signs._before[id(loud)]
        signs._before[id(loud)] = versions, True
    signs.end(loud)
    return not quiet.found and bool(loud.found)


_chosen: Final[list[_Signs | None]] = []
_choosing: Final = threading.Lock()
