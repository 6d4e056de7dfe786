"""Locks in forked children, and locks whose taking a signal interrupts."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import weakref
from _thread import start_new_thread

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


class Alarm(Exception):
    """What the handler of a signal raises."""


def ring(number: int, frame: object) -> None:
    raise Alarm


def test_a_lock_is_free_after_a_signal_handler_raised_while_it_was_taken() -> None:
    lock = ForkSafeLock()
    owned = 0

    def take_until_alarm() -> None:
        start_new_thread(send_soon, (threading.get_ident(),))
        while True:
            with lock:
                pass

    def send_soon(thread: int) -> None:
        time.sleep(0.001)
        signal.pthread_kill(thread, signal.SIGUSR1)

    interval = sys.getswitchinterval()
    before = signal.signal(signal.SIGUSR1, ring)
    sys.setswitchinterval(1e-5)  # the signal comes at any instruction of the loop
    try:
        for _ in range(60):
            with pytest.raises(Alarm):
                take_until_alarm()
            owned += lock._is_owned()  # type: ignore[attr-defined]  # as `threading` uses it
    finally:
        sys.setswitchinterval(interval)
        signal.signal(signal.SIGUSR1, before)
    assert owned == 0
