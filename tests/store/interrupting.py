"""Interrupts at the n-th moment of a block at which a signal handler could run.

CPython runs handlers when a function begins and after a call of C: those are the moments at which
a profiler is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from types import CodeType, FrameType
from typing import Any, Final

_EVENTS: Final = ("call", "c_return", "c_exception")


class Moments:
    """Counts the moments of a block, and calls a handler at one of them."""

    def __init__(self, number: int, handler: Callable[[], None], only_in: tuple[str, ...]) -> None:
        self.count = 0
        self._number = number
        self._handler = handler
        self._only_in = only_in
        self._files: dict[CodeType, bool] = {}

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in _EVENTS or argument is sys.setprofile:
            return
        code = frame.f_code
        if event == "call" and code.co_flags & CO_GENERATOR:  # it may be closed, not called
            return
        if code not in self._files:
            self._files[code] = any(part in code.co_filename for part in self._only_in)
        if self._files[code]:
            self.count += 1
            if self.count == self._number:
                sys.setprofile(None)
                self._handler()


@contextmanager
def interrupted(
    number: int, handler: Callable[[], None], only_in: tuple[str, ...]
) -> Iterator[Moments]:
    """Call the handler at the n-th moment in code of these files; they are parts of paths."""
    moments = Moments(number, handler, only_in)
    before = sys.getprofile()
    sys.setprofile(moments.profile)
    try:
        yield moments
    finally:
        sys.setprofile(before)
