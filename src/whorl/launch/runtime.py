"""The run time of parallel loops: the OpenMP runtime, and how many threads they may use.

Parallel loops run on the OpenMP runtime of the machine, through the one entry that all of them
have. Where none is found, and in a child that was forked after threads were used, they run on
one thread, with one warning. Where the system lets fewer threads be started than are wanted, they
run on fewer.

Threads that wait for others spin for a while before they sleep. GNU's runtime spins for 10 ms,
which suits machines that do nothing else. Where other programs run, a spinning thread takes the
processor from the threads it waits for: beside three busy programs the demo took 12.5 s, and takes
6 s with 0.2 ms of spinning. Who sets `GOMP_SPINCOUNT` or `OMP_WAIT_POLICY` decides instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import _local
from functools import cache
from typing import Final

from whorl.lazy import logger
from whorl.settings import current

log = logger("whorl.kernels")

_NAMES: Final = {
    "linux": ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"),
    "darwin": ("libomp.dylib", "libgomp.1.dylib", "/opt/homebrew/opt/libomp/lib/libomp.dylib"),
    "win32": ("libgomp-1.dll", "libiomp5md.dll"),
}


class Runtime:
    """An OpenMP runtime: its name and the address of its `GOMP_parallel`."""

    def __init__(self, name: str, library: ctypes.CDLL, address: int) -> None:
        self.name = name
        self.library = library
        self.address = address


_SPINS: Final = "5000"  # looks at what is waited for: 0.2 ms
_SPIN_VARIABLES: Final = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def _load_library(name: str) -> ctypes.CDLL:
    """A runtime; GNU's spins for a short while only, unless somebody has said for how long."""
    if any(variable in os.environ for variable in _SPIN_VARIABLES):
        return ctypes.CDLL(name)
    os.environ["GOMP_SPINCOUNT"] = _SPINS  # read while the library is loaded, and never again
    try:
        return ctypes.CDLL(name)
    finally:
        del os.environ["GOMP_SPINCOUNT"]


@cache
def find_runtime() -> Runtime | None:
    """The OpenMP runtime of this machine, if there is one."""
    for name in _NAMES.get(sys.platform, ()):
        try:
            library = _load_library(name)
            entry = ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        if entry:
            return Runtime(name, library, entry)
    log.warning(
        "no OpenMP runtime is found (looked for %s): parallel loops run on one thread",
        ", ".join(_NAMES.get(sys.platform, ("none on this system",))),
    )
    return None


_state = {"used": False, "forked": False}


def parallel_address() -> int:
    """The address of the function that runs a worker on several threads; 0 to run on one."""
    if _state["forked"] or current().threads.value == 1:
        return 0
    runtime = find_runtime()
    if runtime is None:
        return 0
    _state["used"] = True
    return runtime.address


def _after_fork() -> None:
    """The runtime's threads are not in the child, and it would wait for them for ever."""
    _state["forked"] = _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# -- how many threads -------------------------------------------------------------------

_teams: Final = _local()  # for each thread: the runtime starts others for each that it is called by


def thread_count() -> int:
    """How many threads a parallel loop may use: as many as are wanted and can be started.

    GNU's runtime ends the process where a thread cannot be started. So that many are started here
    first, and end at once. Each thread that launches tries it once for a number.
    """
    wanted = current().threads.value
    tried: dict[int, int] | None = getattr(_teams, "tried", None)
    if tried is None:
        tried = _teams.tried = {}
    if wanted not in tried:
        tried[wanted] = _startable(wanted) if wanted > 1 and not _state["forked"] else wanted
    return tried[wanted]


def _startable(wanted: int) -> int:
    """How many threads can run at once here, this one included; fewer than wanted are a notice."""
    if sys.platform != "linux" or find_runtime() is None:
        return wanted
    started, error = _try_threads(wanted - 1)
    if not error:
        return wanted
    count = max(1, started)  # and one is left for others
    _warn_of_fewer(count, wanted, os.strerror(error))
    return count


def _try_threads(count: int) -> tuple[int, int]:
    """Start so many threads that all run at once, and end them; how many there were, and why not
    more (0: there were all).

    They wait to read under a lock that is held for writing: one function of the C library, so that
    no thread runs Python.
    """
    library = ctypes.CDLL(None)
    lock = ctypes.create_string_buffer(256)  # zeros are an unlocked one
    wait = ctypes.cast(library.pthread_rwlock_rdlock, ctypes.c_void_p)
    threads: list[ctypes.c_ulong] = []
    error = 0
    library.pthread_rwlock_wrlock(lock)
    for _ in range(count):
        thread = ctypes.c_ulong()
        error = library.pthread_create(ctypes.byref(thread), None, wait, lock)
        if error:
            break
        threads.append(thread)
    library.pthread_rwlock_unlock(lock)
    for thread in threads:
        library.pthread_join(thread, None)
    return len(threads), error


@cache
def _warn_of_fewer(count: int, wanted: int, reason: str) -> None:
    log.warning(
        "parallel loops run on %d of %d threads: more cannot be started here (%s)",
        count, wanted, reason,
    )  # fmt: skip
