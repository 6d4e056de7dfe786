"""A long wait in, one line on the terminal out, gone when the wait is over."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Final, Self, TextIO

from whorl.lazy import logger

__all__ = ["StatusLine"]

log = logger("whorl.store")

SHOWN_AFTER: Final = 0.5  # seconds
LOGGED_AFTER: Final = 5.0


class StatusLine:
    """What is being waited for. Shown on a terminal, logged elsewhere.

    >>> with StatusLine("the other") as line:
    ...     line.update()
    """

    def __init__(self, what: str, stream: TextIO | None = None) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._begun = time.monotonic()
        self._shown = self._logged = False

    def __enter__(self) -> Self:
        return self

    def update(self) -> None:
        """Show how long it has been by now."""
        waited = time.monotonic() - self._begun
        if waited < SHOWN_AFTER:
            return
        with contextlib.suppress(Exception):  # the stream may be closed, or be of any make
            if self._stream is not None and self._stream.isatty():
                self._stream.write(f"\r\x1b[2Kwhorl: waiting for {self._what}, {waited:.0f} s")
                self._stream.flush()
                self._shown = True
                return
        if waited >= LOGGED_AFTER and not self._logged:
            self._logged = True
            log.info("waiting for %s", self._what)

    def __exit__(self, *exception: object) -> None:
        if self._shown:
            with contextlib.suppress(Exception):
                self._stream.write("\r\x1b[2K")
                self._stream.flush()
