"""Shows on the terminal, in one line, that something takes long: a wait, or a run.

The line is removed when it is over. A wait that nobody can see is logged.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Final, Self, TextIO

from whorl import settings
from whorl.lazy import logger
from whorl.signals import suppress

log = logger("whorl.store")

SHOWN_AFTER: Final = 0.5  # seconds
LOGGED_AFTER: Final = 5.0
_EVERY: Final = 0.5
_FRAMES: Final = "|/-\\"


class StatusLine:
    """One line about a wait; `update` is called while it lasts.

    >>> with StatusLine("the other") as line:
    ...     line.update()
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._start = time.monotonic()
        self._is_shown = self._is_logged = False

    @property
    def is_on_terminal(self) -> bool:
        """Whether somebody can see it."""
        with suppress(Exception):  # the stream may be closed, or be of any make
            return self._stream is not None and self._stream.isatty()
        return False

    @property
    def seconds(self) -> float:
        """How long it has been by now."""
        return time.monotonic() - self._start

    def __enter__(self) -> Self:
        return self

    def update(self) -> None:
        """Show how long the wait has been by now, or log once that there is one."""
        if self.seconds < SHOWN_AFTER:
            return
        if self.is_on_terminal:
            self.show(f"whorl: waiting for {self._what}, {self.seconds:.0f} s")
        elif self.seconds >= LOGGED_AFTER and not self._is_logged:
            self._is_logged = True
            log.info("waiting for %s", self._what)

    def show(self, text: str) -> None:
        """Replace what the line says."""
        with suppress(Exception):
            self._stream.write(f"\r\x1b[2K{text}")
            self._stream.flush()
            self._is_shown = True

    def __exit__(self, *exception: object) -> None:
        if self._is_shown:
            self.show("")


class Progress:
    """The line about a run of a step: how long, and how long last time. A thread writes it.

    It is shown on a terminal, or as WHORL_PROGRESS says. `last` returns how long the run took last
    time, and is called at most once.

    >>> with Progress("app.solve", lambda: 3.2):
    ...     pass
    """

    def __init__(self, name: str, last: Callable[[], float | None]) -> None:
        self._name = name
        self._last = last
        self._line = StatusLine(name)
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        mode = settings.current().progress.value
        if self._line.is_on_terminal if mode == "auto" else mode == "on":
            self._thread = threading.Thread(target=self._show, name="whorl progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()

    def _show(self) -> None:
        if self._done.wait(SHOWN_AFTER):
            return
        last = None
        with suppress(Exception):
            last = self._last()
        before = "" if last is None else f", last time {last:.1f} s"
        frame = 0
        with self._line as line:
            while not frame or not self._done.wait(_EVERY):
                ran = f"{self._name} runs, {line.seconds:.0f} s{before}"
                line.show(f"whorl: {_FRAMES[frame % 4]} {ran}")
                frame += 1
