"""One artifact that a kernel has loaded, and the shapes it is found by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from whorl.artifacts import Artifact, Entry
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Plain, Shape, Trace
from whorl.reads.replay import Replay

__all__ = ["KnownShape", "Specialization"]

LIVE_KEPT = 4096  # facts of calls remembered per shape


@dataclass(frozen=True, slots=True, eq=False)
class Specialization:
    """An artifact and its loaded code, one for each device. Immutable but for what is loaded."""

    key: StableDigest | None  # None: known in this process only
    architecture: str
    artifact: Artifact
    facts: tuple[Plain, ...]
    origin: str  # compiled, found
    entry: Entry | None = None
    loaded: dict[str, Callable[..., Any]] = field(default_factory=dict)

    @property
    def trace(self) -> Trace:
        """What its compile has seen."""
        return self.artifact.trace


class KnownShape:
    """A shape of a kernel: its replay, and the specializations by the facts of a call."""

    __slots__ = ("by_facts", "replay", "shape")

    def __init__(self, shape: Shape, replay: Replay) -> None:
        self.shape = shape
        self.replay = replay
        # With each specialization, what must stay alive for the facts to mean the same.
        self.by_facts: dict[Any, tuple[Specialization, tuple[object, ...]]] = {}

    def remember(
        self, facts: Any, specialization: Specialization, kept: tuple[object, ...]
    ) -> None:
        """Let calls with these facts find a specialization at once."""
        if len(self.by_facts) >= LIVE_KEPT:
            self.by_facts.clear()
        self.by_facts[facts] = (specialization, kept)
