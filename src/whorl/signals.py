"""Tells whether a signal handler has raised an error, which is then the caller's.

Code of the user that is run to read something may raise, and that can mean that nothing is there.
What a handler raises in the middle of it (an alarm, say) means something else. So every
`except Exception` that does not raise the error again begins with `pass_on`.
"""

from __future__ import annotations

# `signal` makes an enum of each answer: 200 us in all
import _signal  # type: ignore[import-not-found]  # it has no stubs
import sys
from types import TracebackType
from typing import Any


def is_of_signal_handler(error: BaseException) -> bool:
    """Whether an error has come out of a handler that is installed now.

    An error that was caught in the very frame that called C is known at once to be none.
    """
    entry = error.__traceback__
    if entry is None or entry.tb_next is None or "signal" not in sys.modules:
        return False  # without that module nobody has installed a handler
    handlers = [_signal.getsignal(number) for number in range(1, _signal.NSIG)]
    codes = {_code_of(handler) for handler in handlers} - {None}
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def pass_on(error: Exception) -> None:
    """Raise what a handler of a signal has raised; return for all else."""
    if is_of_signal_handler(error):
        raise error


class suppress:  # used like that of contextlib
    """`contextlib.suppress`, but what a handler of a signal has raised is not suppressed.

    >>> with suppress(OSError):
    ...     raise FileNotFoundError
    """

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        return isinstance(error, self._kinds) and not is_of_signal_handler(error)


def _code_of(handler: Any) -> Any:
    """The code that a handler runs; None for what is not written in Python."""
    handler = getattr(handler, "func", handler)  # of a partial
    handler = getattr(handler, "__func__", handler)  # of a method
    code = getattr(handler, "__code__", None)
    call = getattr(type(handler), "__call__", None)  # noqa: B004  # which one it is, is asked
    return code or getattr(call, "__code__", None)
