"""What a call did, step by step: events for whoever listens."""

from __future__ import annotations

from enum import Enum
from typing import Any

from whorl.late import dataclass, field

__all__ = ["Event", "Happened"]


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
