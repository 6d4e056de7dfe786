"""Tells whether a signal handler has raised an error.

Code of the user that is run to read something may raise, and that can mean that nothing is there.
What a handler raises in the middle of it (an alarm, say) means something else, and is the caller's.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_of_signal_handler"]


def is_of_signal_handler(error: BaseException) -> bool:
    """Whether an error has come out of a handler that is installed now.

    An error that was caught in the very frame that called C is known at once to be none.
    """
    signal = sys.modules.get("signal")  # without which nobody has installed a handler
    entry = error.__traceback__
    if signal is None or entry is None or entry.tb_next is None:
        return False
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {_code_of(handler) for handler in handlers} - {None}
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _code_of(handler: Any) -> Any:
    """The code that a handler runs; None for what is not written in Python."""
    handler = getattr(handler, "func", handler)  # of a partial
    handler = getattr(handler, "__func__", handler)  # of a method
    code = getattr(handler, "__code__", None)
    call = getattr(type(handler), "__call__", None)  # noqa: B004  # which one it is, is asked
    return code or getattr(call, "__code__", None)
