"""Locks from the interpreter itself, and what they become in a forked child.

These are the objects that `threading` has, whose import takes 1.5 ms. A process with one thread,
which finds its kernels in the cache, has no other use for it.

A forked child has one thread. A lock that another thread of the parent held at the fork would stay
locked in the child for ever, so `ForkSafeLock` is free there. What else must not survive a fork
registers with `reset_in_child`.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, allocate_lock, get_ident
from _weakref import ref
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from threading import Lock, local
    from typing import Protocol

    class Resettable(Protocol):
        """An object with state that a forked child must not inherit."""

        def reset_in_child(self) -> None: ...

else:
    from _thread import _local as local

    Lock = allocate_lock

__all__ = [
    "ForkSafeLock", "Lock", "RLock", "get_ident", "local", "other_threads", "own_threads",
    "reset_in_child",
]  # fmt: skip

own_threads: Final[set[int]] = set()
"""The threads that whorl itself has started, by identifier. They run no code of the user."""

_registered: Final[set[ref[Any]]] = set()


def reset_in_child(instance: Resettable) -> None:
    """Have the `reset_in_child` of an instance called in every forked child while it lives."""
    _registered.add(ref(instance, _registered.discard))


def other_threads() -> int:
    """How many threads of the program there are beside this one."""
    return len(sys._current_frames().keys() - own_threads - {get_ident()})


def _reset_all() -> None:
    own_threads.clear()
    for registered in _registered.copy():
        instance = registered()
        if instance is not None:
            instance.reset_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)


class ForkSafeLock(RLock):  # type: ignore[misc]  # final in the stubs only
    """An `RLock` that is free in a forked child, unless the thread that forked holds it.

    >>> lock = ForkSafeLock()
    >>> with lock, lock:
    ...     print("once more")
    once more
    """

    __slots__ = ()

    def __init__(self) -> None:
        reset_in_child(self)

    def __enter__(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock. If a signal handler raises meanwhile, the lock is as it was before.

        CPython 3.14 runs handlers after the `__enter__` of an `RLock` and before the block that
        would release it. Nothing comes between the return of this one and the block.
        """
        try:
            return self.acquire(blocking, timeout)
        except BaseException:
            if self._is_owned():  # type: ignore[attr-defined]  # as `threading` uses it
                self.release()
            raise

    def reset_in_child(self) -> None:
        """Forget a holder that is not in this process."""
        if not self._is_owned():  # type: ignore[attr-defined]  # as `threading` uses it
            self._at_fork_reinit()  # type: ignore[attr-defined]  # as `threading` does
