"""Who wants to know what calls do: listeners, audits, watches.

Events themselves are only made for somebody who listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl.lazy import importing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from .events import Event

__all__ = ["Step", "audits", "emit", "listeners", "watches"]

Step = Literal[
    "recalled", "replayed", "found", "missed", "compiling", "compiled", "stored", "loaded",
    "launched", "drifted", "kept in this process only",
]  # fmt: skip
"""The values of `whorl.jit.Happened`."""

listeners: Final[list[Callable[[Event], None]]] = []
"""Told of every event. What one raises, the call raises."""

audits: Final[list[Callable[..., None]]] = []
"""Called with a kernel, a specialization, the values and the target before each launch."""

watches: Final[list[Callable[..., AbstractContextManager[object]]]] = []
"""Entered around each compile, with the function and its compiler."""


def emit(what: Step, kernel: str, **detail: Any) -> None:
    """Tell whoever listens.

    >>> listeners.append(lambda event: print(event.what, event.kernel))
    >>> emit("found", "solver.step")
    Happened.FOUND solver.step
    >>> listeners.clear()
    """
    if listeners:
        with importing:
            from .events import Event, Happened

        event = Event(Happened(what), kernel, detail)
        for listener in list(listeners):
            listener(event)
