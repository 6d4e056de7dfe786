"""Events: what a call does, step by step, and the hooks that are called with it.

Events are created only while there are listeners.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl.fast_dataclasses import dataclass, field

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Happened(Enum):
    """The steps of a call."""

    RECALLED = "recalled"  # the specialization was in memory
    FOUND = "found"  # the artifact was in the store
    MISSED = "missed"  # nothing fits this call
    COMPILING = "compiling"
    COMPILED = "compiled"
    STORED = "stored"
    LOADED = "loaded"
    LAUNCHED = "launched"
    DRIFTED = "drifted"
    ONLY_HERE = "kept in this process only"


EventName = Literal[
    "recalled", "found", "missed", "compiling", "compiled", "stored", "loaded",
    "launched", "drifted", "kept in this process only",
]  # fmt: skip
"""The values of `Happened`."""


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one call."""

    what: Happened
    kernel: str
    detail: dict[str, Any] = field(default_factory=dict)


listeners: Final[list[Callable[[Event], None]]] = []
"""Called with every event. An exception that one raises reaches the caller."""

audits: Final[list[Callable[..., None]]] = []
"""Called with a kernel, a specialization, the values and the target before each launch."""

watches: Final[list[Callable[..., AbstractContextManager[object]]]] = []
"""Entered around each compile, with the function and its compiler."""


def emit(what: EventName, kernel: str, **detail: Any) -> None:
    """Call all listeners with an event.

    >>> listeners.append(lambda event: print(event.what, event.kernel))
    >>> emit("found", "solver.step")
    Happened.FOUND solver.step
    >>> listeners.clear()
    """
    if listeners:
        event = Event(Happened(what), kernel, detail)
        for listener in list(listeners):
            listener(event)
