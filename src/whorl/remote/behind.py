"""Uploads that nobody waits for: one thread, a bounded queue, and a few seconds at the end.

Uploads happen in the order in which they were queued: an artifact before the manifest that lists
it, before the hint that leads to it. A later upload under the same name takes the place of an
earlier one, at the end of the queue. When a process ends, what is queued has five seconds; what is
left then is dropped, counted and reported. A forked child begins with an empty queue: its parent
uploads what it has queued itself.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from whorl.locks import reset_in_child
from whorl.store.statistics import at_end

from .background import background_thread

__all__ = ["END", "Behind"]

MOST_TASKS: Final = 512
MOST_BYTES: Final = 1 << 26
END: Final = 5.0  # seconds for all queues of a process when it ends
_IDLE: Final = 5.0  # seconds after which a thread without work ends


class Behind:
    """Tasks by name, done one after the other by a thread that is there while there are some.

    >>> done = []
    >>> queue = Behind(print)
    >>> queue.add("a", lambda: done.append("a"))
    True
    >>> queue.flush(5.0), done
    (True, ['a'])
    """

    def __init__(self, on_drop: Callable[[int], None]) -> None:
        self._on_drop = on_drop
        self.reset_in_child()
        reset_in_child(self)
        _alive.add(self)

    def reset_in_child(self) -> None:
        """Begin with nothing, and without a thread."""
        self._condition = threading.Condition()
        self._tasks: OrderedDict[str, tuple[Callable[[], None], int]] = OrderedDict()
        self._bytes = 0
        self._is_busy = False
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._tasks) + self._is_busy

    def add(self, name: str, task: Callable[[], None], size: int = 0) -> bool:
        """Queue a task; whether there was room. One without a size always has room."""
        with self._condition:
            earlier = self._tasks.pop(name, None)
            if earlier is not None:
                self._bytes -= earlier[1]
            is_full = len(self._tasks) >= MOST_TASKS or self._bytes + size > MOST_BYTES
            if size and is_full:
                return False
            self._tasks[name] = task, size
            self._bytes += size
            if self._thread is None:
                self._start()
            self._condition.notify_all()
        return True

    def has(self, name: str) -> bool:
        """Whether a task of a name waits in the queue."""
        return name in self._tasks

    def _start(self) -> None:
        thread = background_thread(self._work, "whorl-upload")
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending: `flush` will do it
            return
        self._thread = thread

    def _work(self) -> None:
        while True:
            with self._condition:
                if not self._tasks:
                    self._condition.wait(_IDLE)
                if not self._tasks:
                    self._thread = None
                    return
            self._next()

    def _next(self) -> None:
        """Do the first task, if nobody else does one."""
        with self._condition:
            if self._is_busy:
                self._condition.wait(0.05)
                return
            if not self._tasks:
                return
            _, (task, size) = self._tasks.popitem(last=False)
            self._bytes -= size
            self._is_busy = True
        try:
            task()
        finally:
            with self._condition:
                self._is_busy = False
                self._condition.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until all is uploaded, so long; whether it is."""
        until = time.monotonic() + seconds
        with self._condition:
            while self._tasks or self._is_busy:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                if self._thread is None:
                    break
                self._condition.wait(min(left, 0.1))
        while self._tasks and time.monotonic() < until:  # no thread could be started
            self._next()
        return not self._tasks

    def drop(self) -> None:
        """Give up what is queued."""
        with self._condition:
            number = sum(bool(size) for _, size in self._tasks.values())
            self._tasks.clear()
            self._bytes = 0
        if number:
            self._on_drop(number)


_alive: Final[weakref.WeakSet[Behind]] = weakref.WeakSet()


def _flush_all() -> None:
    until = time.monotonic() + END
    for queue in list(_alive):
        try:
            is_done = queue.flush(max(until - time.monotonic(), 0.0))
        except KeyboardInterrupt:  # whoever interrupts the end wants it now
            is_done, until = False, 0.0
        if not is_done:
            queue.drop()


at_end(_flush_all)
