"""What a call did, step by step: events for whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Final

from whorl.late import dataclass, field

__all__ = ["Event", "Happened", "audits", "emit", "listeners", "watches"]


class Happened(Enum):
    """The steps of a call."""

    RECALLED = "recalled"  # the specialization was in memory
    REPLAYED = "replayed"  # the facts of a known shape were read
    FOUND = "found"  # ... and its artifact was in the store
    MISSED = "missed"  # nothing fits this call
    COMPILING = "compiling"
    COMPILED = "compiled"
    STORED = "stored"
    LOADED = "loaded"
    LAUNCHED = "launched"
    DRIFTED = "drifted"
    ONLY_HERE = "kept in this process only"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one call."""

    what: Happened
    kernel: str
    detail: dict[str, Any] = field(default_factory=dict)


listeners: Final[list[Callable[[Event], None]]] = []
"""Told of every event. What one raises, the call raises."""

audits: Final[list[Callable[..., None]]] = []
"""Called with a kernel, a specialization, the values and the target before each launch."""

watches: Final[list[Callable[..., AbstractContextManager[object]]]] = []
"""Entered around each compile, with the kernel."""


def emit(what: Happened, kernel: str, **detail: Any) -> None:
    """Tell whoever listens."""
    for listener in listeners:
        listener(Event(what, kernel, detail))
