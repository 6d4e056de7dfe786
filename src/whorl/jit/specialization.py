"""The specializations that a kernel has in memory, and the table that calls recall them from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from whorl.artifacts import Artifact, Damaged, Entry, decode
from whorl.calls.events import emit, listeners
from whorl.fast_dataclasses import dataclass, field
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import lazy_module
from whorl.locks import ForkSafeLock
from whorl.reads.replay import Facts, Replay, ReplaySetup, plain_replay, samples_of
from whorl.reads.trace import Plain, Shape, Trace
from whorl.signals import pass_on

from .compiler import Target

if TYPE_CHECKING:
    from whorl.reads import generated_replay
else:
    generated_replay = lazy_module("whorl.reads.generated_replay", globals())


PLAIN_USES = 2  # of a shape, before code is generated for it

# The capacity of one generation of a kernel's table; there are two of them.
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
    entry: Entry | None = None
    loaded: dict[str, Callable[..., Any]] = field(default_factory=dict)
    number: int = field(default_factory=count().__next__)  # the later it came to be, the higher

    @property
    def trace(self) -> Trace:
        """The trace of its compile; read from the entry if the artifact came from the store."""
        if self.origin != "found" or self.entry is None:
            return self.artifact.trace
        try:
            record = decode(self.entry)
        except Damaged:
            return Trace()
        return record.trace if isinstance(record, Artifact) else Trace()


class KnownShape:
    """A shape of a kernel: its replay, and the specializations by the facts of a call.

    `key` names the shape in the store; None while nothing of it is there.
    """

    __slots__ = ("_plain", "_setup", "_uses", "by_facts", "key", "replay", "shape")

    def __init__(self, key: StableDigest | None, shape: Shape, setup: ReplaySetup) -> None:
        self.key = key
        self.shape = shape
        self.replay: Replay = self._warm_up
        self.by_facts: dict[Any, Match] = {}
        self._setup = setup
        self._plain = plain_replay(shape, setup)
        self._uses = 0

    def is_like(self, other: KnownShape) -> bool:
        """Whether the other one is of the same shape, by their keys if both have one."""
        if self.key is not None and other.key is not None:
            return self.key == other.key
        return self.shape == other.shape

    def _warm_up(self, args: tuple[Any, ...], target: Mapping[str, Any]) -> tuple[Any, ...]:
        """The plain replay; when it is used again and again, a generated one takes over."""
        self._uses += 1
        if self._uses <= PLAIN_USES:
            return self._plain(args, target)
        try:
            samples = samples_of(self.shape, self._setup.world(args, target))
            self.replay = generated_replay.compiled_replay(self.shape, self._setup, samples)
        except Exception as error:  # a shape that cannot be written as code has the plain replay
            pass_on(error)
            self.replay = self._plain
        return self.replay(args, target)

    def without_facts(self) -> KnownShape:
        """The same shape, for the next generation."""
        fresh = KnownShape(self.key, self.shape, self._setup)
        if self.replay != self._warm_up:
            fresh.replay = self.replay
        fresh._uses = self._uses
        return fresh


ByArchitecture = dict[str, list[KnownShape]]
Match = tuple[Specialization, tuple[object, ...]]
"""A specialization, and the objects that must stay alive while its facts are valid."""


class SpecializationTable:
    """The specializations of a kernel by the facts of calls, in two generations.

    A specialization that is used is in the young generation, or moves there when it is used again.
    When the young generation is full, it becomes the old one, and the previous old one is dropped:
    what was in it is found in the store again, or compiled. A call that is recalled from the young
    generation pays nothing for this.
    """

    __slots__ = ("_by_key", "_count", "_kernel", "_lock", "_older", "_setup", "old", "young")

    def __init__(self, kernel: str, setup: ReplaySetup) -> None:
        self.young: ByArchitecture = {}
        self.old: ByArchitecture = {}
        self._kernel = kernel  # its name, for events
        self._setup = setup
        self._lock = ForkSafeLock()
        self._by_key: dict[StableDigest, Specialization] = {}  # of the young one
        self._older: dict[StableDigest, Specialization] = {}
        self._count = 0

    def recall(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        """The specialization for the facts of a call; None if these facts are new."""
        for shape in self.young.get(target.architecture, ()):
            match = shape.by_facts.get(shape.replay(values, target.properties))
            if match is not None:
                if listeners:
                    emit("recalled", self._kernel, key=match[0].key)
                return match[0]
        return self._recall_older(values, target) if self.old else None

    def _recall_older(self, values: tuple[Any, ...], target: Target) -> Specialization | None:
        """The same in the old generation; what is found moves to the young one."""
        for shape in self.old.get(target.architecture, ()):
            facts = shape.replay(values, target.properties)
            match = shape.by_facts.get(facts)
            if match is not None:
                with self._lock:
                    self._put(target.architecture, shape, facts, match)
                emit("recalled", self._kernel, key=match[0].key)
                return match[0]
        return None

    def of_key(self, key: StableDigest) -> Specialization | None:
        """The specialization of a key."""
        return self._by_key.get(key) or self._older.get(key)

    def all(self) -> list[Specialization]:
        """Every specialization once, in the order in which they came to be here."""
        with self._lock:
            by_number = {
                specialization.number: specialization
                for generation in (self.young, self.old)
                for shapes in generation.values()
                for known in shapes
                for specialization, _ in known.by_facts.values()
            }
        return [by_number[number] for number in sorted(by_number)]

    def stored_shapes(self, architecture: str) -> dict[StableDigest, Shape]:
        """The shapes by which something is found in the store, by their keys."""
        with self._lock:
            every = (*self.young.get(architecture, ()), *self.old.get(architecture, ()))
            return {known.key: known.shape for known in every if known.key is not None}

    def remember(
        self,
        architecture: str,
        key: StableDigest | None,
        shape: Shape,
        facts: Facts,
        specialization: Specialization,
    ) -> Specialization:
        """Let calls with these facts recall a specialization: the one that its key has, if there
        is one already. `key` is that of the shape."""
        known = KnownShape(key, shape, self._setup)
        with self._lock:
            return self._put(architecture, known, facts.live, (specialization, facts.referents))

    def _put(
        self, architecture: str, known: KnownShape, facts: Any, match: Match
    ) -> Specialization:
        specialization, referents = match
        key = specialization.key
        if key is not None:
            specialization = self.of_key(key) or specialization
        shapes, mine = self.young.setdefault(architecture, []), None
        for each in shapes:
            if each is known or each.is_like(known):
                mine = each
                break
        if self._count >= FACTS_KEPT or (mine is None and len(shapes) >= SHAPES_KEPT):
            self.old, self.young, self._count = self.young, {}, 0
            self._older, self._by_key = self._by_key, {}
            shapes, mine = self.young.setdefault(architecture, []), None
        if mine is None:
            mine = known.without_facts() if known.by_facts else known
            shapes.append(mine)
        mine.key = mine.key or known.key
        by_facts = mine.by_facts
        before = len(by_facts)
        by_facts[facts] = specialization, referents
        self._count += len(by_facts) - before
        if key is not None:
            self._by_key[key] = specialization
        return specialization
