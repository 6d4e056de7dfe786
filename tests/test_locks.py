"""Locks in forked children."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest

from whorl import locks
from whorl.locks import ForkSafeLock, reset_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def in_child(check: object) -> int:
    """The exit status of a forked child that is 0 if the check holds."""
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if check() else 1)  # type: ignore[operator]  # a function
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock, holding, go = ForkSafeLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            holding.set()
            go.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(10)
    assert not lock.acquire(blocking=False)
    assert in_child(lambda: lock.acquire(blocking=False)) == 0
    assert not lock.acquire(blocking=False)  # in the parent it is held as before
    go.set()
    thread.join()


def test_a_child_that_is_forked_inside_of_the_lock_can_leave_it() -> None:
    lock = ForkSafeLock()

    def leave() -> bool:
        lock.release()
        return lock.acquire(blocking=False)

    with lock:
        assert in_child(leave) == 0


class Counter:
    def __init__(self) -> None:
        self.number = 1
        reset_in_child(self)

    def reset_in_child(self) -> None:
        self.number = 0


def test_what_is_registered_is_reset_in_children_only() -> None:
    counter = Counter()
    assert in_child(lambda: counter.number == 0) == 0
    assert counter.number == 1


def test_what_is_registered_is_not_kept_alive() -> None:
    counter, before = weakref.ref(Counter()), len(locks._registered)
    gc.collect()
    assert counter() is None
    assert len(locks._registered) <= before
