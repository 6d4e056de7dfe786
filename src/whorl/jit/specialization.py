"""One artifact that a kernel has loaded, and the shapes it is found by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from whorl.artifacts import Artifact, Damaged, Entry, decode
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass
from whorl.reads import Plain, Shape, Trace

if TYPE_CHECKING:
    from whorl.reads.replay import Replay

    Generate = Callable[[tuple[Any, ...], Mapping[str, Any]], Replay]

__all__ = ["Generations", "KnownShape", "Specialization"]

_NUMBER = count()
PLAIN_USES = 2  # of a shape, before code is generated for it

# Room of one generation of a kernel's table; there are two, so twice that is in memory at most.
FACTS_KEPT = 1024  # calls of different facts
SHAPES_KEPT = 64


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Specialization:
    """An artifact and its loaded code, one for each device. Immutable but for what is loaded."""

    key: StableDigest | None  # None: known in this process only
    architecture: str
    artifact: Artifact
    facts: tuple[Plain, ...]
    origin: str  # compiled, found
    entry: Entry | None
    loaded: dict[str, Callable[..., Any]]
    number: int  # the later it came to be, the higher

    def __init__(
        self,
        key: StableDigest | None,
        architecture: str,
        artifact: Artifact,
        facts: tuple[Plain, ...],
        origin: str,
        entry: Entry | None = None,
        loaded: dict[str, Callable[..., Any]] | None = None,
        number: int | None = None,
    ) -> None:
        put = object.__setattr__  # by hand: every process makes a few
        put(self, "key", key)
        put(self, "architecture", architecture)
        put(self, "artifact", artifact)
        put(self, "facts", facts)
        put(self, "origin", origin)
        put(self, "entry", entry)
        put(self, "loaded", {} if loaded is None else loaded)
        put(self, "number", next(_NUMBER) if number is None else number)

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

    def __init__(
        self, key: StableDigest | None, shape: Shape, plain: Replay, generate: Generate
    ) -> None:
        self.key = key
        self.shape = shape
        self.replay: Replay = self._warming_up
        self._plain = plain
        self._generate = generate
        self._uses = 0
        # With each specialization, what must stay alive for the facts to mean the same.
        self.by_facts: dict[Any, Remembered] = {}

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

    def emptied(self) -> KnownShape:
        """The same shape, for the next generation."""
        fresh = KnownShape(self.key, self.shape, self._plain, self._generate)
        if self.replay != self._warming_up:
            fresh.replay = self.replay
        fresh._uses = self._uses
        return fresh


ByArchitecture = dict[str, list[KnownShape]]
Remembered = tuple[Specialization, tuple[object, ...]]


class Generations:
    """The shapes of a kernel with what was found by them, in two generations.

    What is used is in the young one, or comes into it when it is used again. When that is full,
    it is the old one, and what was in the old one and was not used since is forgotten: whoever
    needs it finds it in the store, or makes it, again. A call that finds what it needs in the
    young one pays nothing for that. Whoever changes anything holds the kernel's lock.
    """

    def __init__(self) -> None:
        self.young: ByArchitecture = {}
        self.old: ByArchitecture = {}
        self._count = 0

    def named(self, architecture: str) -> dict[StableDigest, Shape]:
        """Those of both by which something is found in the store, by their keys."""
        both = (*self.young.get(architecture, ()), *self.old.get(architecture, ()))
        return {known.key: known.shape for known in both if known.key is not None}

    def remember(self, architecture: str, known: KnownShape, facts: Any, found: Remembered) -> None:
        """Let calls with these facts find a specialization at once."""
        shapes = self.young.setdefault(architecture, [])
        mine = next((each for each in shapes if each.shape == known.shape), None)
        if self._count >= FACTS_KEPT or (mine is None and len(shapes) >= SHAPES_KEPT):
            self.old, self.young, self._count = self.young, {}, 0
            shapes = self.young.setdefault(architecture, [])
            mine = None
        if mine is None:
            mine = known.emptied() if known.by_facts else known
            shapes.append(mine)
        mine.key = mine.key or known.key
        self._count += facts not in mine.by_facts
        mine.by_facts[facts] = found
