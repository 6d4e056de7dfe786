"""Shows a long run on the terminal: which step, how long, how long last time.

A thread writes the line after a moment, and removes it when the run is over. It is shown if
standard error is a terminal, or as WHORL_PROGRESS says.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Final, Self, TextIO

from whorl import settings
from whorl.signals import suppress

__all__ = ["Progress"]

SHOWN_AFTER: Final = 0.7  # seconds
_EVERY: Final = 0.5
_FRAMES: Final = "|/-\\"


class Progress:
    """One run. `last` returns how long it took last time, and is called at most once.

    >>> with Progress("app.solve", lambda: 3.2):
    ...     pass
    """

    def __init__(self, name: str, last: Callable[[], float | None]) -> None:
        self._name = name
        self._last = last
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._stream: TextIO | None = sys.stderr

    def __enter__(self) -> Self:
        if self._is_shown():
            self._thread = threading.Thread(target=self._show, name="whorl progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()

    def _is_shown(self) -> bool:
        mode = settings.current().progress.value
        if mode != "auto":
            return mode == "on"
        with suppress(Exception):  # the stream may be closed, or be of any make
            return self._stream is not None and self._stream.isatty()
        return False

    def _show(self) -> None:
        start = time.monotonic()
        if self._done.wait(SHOWN_AFTER):
            return
        last = None
        with suppress(Exception):
            last = self._last()
        before = "" if last is None else f", last time {last:.1f} s"
        frame = 0
        while True:
            ran = time.monotonic() - start
            line = f"whorl: {_FRAMES[frame % 4]} {self._name} runs, {ran:.0f} s{before}"
            self._write(f"\r\x1b[2K{line}")
            frame += 1
            if self._done.wait(_EVERY):
                self._write("\r\x1b[2K")
                return

    def _write(self, text: str) -> None:
        with suppress(Exception):
            assert self._stream is not None
            self._stream.write(text)
            self._stream.flush()
