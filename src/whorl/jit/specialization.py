"""One artifact that a kernel has loaded, and the shapes it is found by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whorl.artifacts import Artifact, Damaged, Entry, decode
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Plain, Shape, Trace
from whorl.reads.replay import Replay

__all__ = ["KnownShape", "Specialization"]

Generate = Callable[[tuple[Any, ...], Mapping[str, Any]], Replay]

PLAIN_USES = 2  # of a shape, before code is generated for it
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
        """What its compile has seen; of an artifact from the store, read when it is asked for."""
        if self.origin != "found" or self.entry is None:
            return self.artifact.trace
        try:
            record = decode(self.entry)
        except Damaged:
            return Trace()
        return record.trace if isinstance(record, Artifact) else Trace()


class KnownShape:
    """A shape of a kernel: its replay, and the specializations by the facts of a call.

    `key` names the shape in the store; None while nothing of it is there. `generate` writes a
    replay that is quick for calls like the one it is given.
    """

    __slots__ = ("_generate", "_plain", "_uses", "by_facts", "key", "replay", "shape")

    def __init__(self, shape: Shape, plain: Replay, generate: Generate) -> None:
        self.key: StableDigest | None = None
        self.shape = shape
        self.replay: Replay = self._warming_up
        self._plain = plain
        self._generate = generate
        self._uses = 0
        # With each specialization, what must stay alive for the facts to mean the same.
        self.by_facts: dict[Any, tuple[Specialization, tuple[object, ...]]] = {}

    def _warming_up(self, args: tuple[Any, ...], target: Mapping[str, Any]) -> tuple[Any, ...]:
        """The plain replay; when it is used again and again, a generated one takes over."""
        self._uses += 1
        if self._uses <= PLAIN_USES:
            return self._plain(args, target)
        try:
            self.replay = self._generate(args, target)
        except Exception:  # a shape that cannot be written as code is replayed the plain way
            self.replay = self._plain
        return self.replay(args, target)

    def remember(
        self, facts: Any, specialization: Specialization, kept: tuple[object, ...]
    ) -> None:
        """Let calls with these facts find a specialization at once."""
        if len(self.by_facts) >= LIVE_KEPT:
            self.by_facts.clear()
        self.by_facts[facts] = (specialization, kept)
