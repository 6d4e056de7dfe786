"""A call and the nearest earlier compile in, why it missed out, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from whorl.artifacts import Artifact, Part
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass
from whorl.reads import Path, Plain, Seen, Trace, World
from whorl.reads.fact import is_only_here, same_fact
from whorl.reads.replay import facts_now
from whorl.reads.words import contrast
from whorl.store import Store

from .key import COMPILER_CODE, ProgramKey
from .stored import records

__all__ = ["Change", "Compiled", "Explanation", "changes_between", "changes_since", "explain"]

ARCHITECTURE: Final = "target:architecture"
TRACES_COMPARED: Final = 64
FOLLOWED: Final = ', and on_drift is "recompile"'
EDITED: Final = "its code was edited"
ANOTHER: Final = "the program is another"
_EDITS: Final = {"code": EDITED, COMPILER_CODE: "its compiler was edited"}
_AMBIENT: Final = frozenset(("global", "func", "env"))
_AMBIENT_STEPS: Final = frozenset(("global", "cell", "default"))


@dataclass(frozen=True, slots=True)
class Change:
    """One read that has another fact than it had."""

    path: str
    old: str
    new: str
    line: str = ""
    is_ambient: bool = False  # not reached through an argument

    def __str__(self) -> str:
        at = f"  (read at {self.line})" if self.line else ""
        return f"{self.path}: {self.old} -> {self.new}{at}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a call is a hit or a miss, or raises because of `on_drift`.

    >>> print(Explanation("solver.step", "miss", "first compile"))
    solver.step: miss, first compile
    """

    kernel: str
    outcome: str
    reason: str
    changes: tuple[Change, ...] = ()
    shapes_tried: int = 0

    def __str__(self) -> str:
        lines = "".join(f"\n  {change}" for change in self.changes)
        return f"{self.kernel}: {self.outcome}, {self.reason}{lines}"


@dataclass(frozen=True, slots=True)
class Compiled:
    """An earlier compile to compare with: for which architecture, what it saw, with which facts."""

    architecture: str
    trace: Trace
    facts: tuple[Plain, ...]

    def changes_to(self, world: World, architecture: str) -> tuple[Change, ...]:
        """What a compile for a call would see differently."""
        changes = changes_since(self.trace, self.facts, world)
        if self.architecture == architecture:
            return changes
        return (Change(ARCHITECTURE, self.architecture, architecture), *changes)


def explain(
    kernel: str,
    world: World,
    *,
    program: ProgramKey,
    architecture: str,
    function: StableDigest,
    store: Store,
    known: Sequence[Compiled],
    follows_drift: bool,
    compared: int | None = None,
) -> Explanation:
    """Compare a call with the nearest compile of its program, or its program with earlier ones.

    `known` are in the order in which they came to be. Of those that are as near, the one for the
    same target is compared with, then the last. `compared` is how many compiles to compare with,
    of those known here the last ones; None for all of these and some of the store.
    """
    if compared is None:
        compiles = [*reversed(known), *_stored(store, program.digest)]
    else:
        compiles = list(islice(reversed(known), compared))
        compiles += _stored(store, program.digest, compared - len(compiles))
    shapes = len({compiled.trace.shape for compiled in compiles})
    nearest = min(
        (compiled.changes_to(world, architecture) for compiled in compiles),
        key=lambda changes: (len(changes), _is_for_another_target(changes)),
        default=None,
    )
    if nearest is not None:
        reason = _reason(nearest)
        if follows_drift and any(change.is_ambient for change in nearest):
            reason += FOLLOWED
        return Explanation(kernel, "miss", reason, nearest, shapes)
    programs = _programs(store, function)
    if program.parts in programs:
        return Explanation(kernel, "miss", _reason(()))
    for parts in programs:
        old, new = dict(parts), dict(program.parts)
        changes = tuple(
            Change(name, old.get(name, "absent"), new.get(name, "absent"))
            for name in {**old, **new}
            if old.get(name) != new.get(name)
        )
        differ = [change.path for change in changes]
        reason = _EDITS.get(differ[0], ANOTHER) if len(differ) == 1 else ANOTHER
        return Explanation(kernel, "miss", reason, changes)
    return Explanation(kernel, "miss", "first compile")


def _reason(changes: tuple[Change, ...]) -> str:
    if not changes:
        return "what was made of it is not kept any more"
    if _is_for_another_target(changes) and len(changes) == 1:
        return "what was made of it is for another target"
    reads = len(changes) - _is_for_another_target(changes)
    differ = f"{reads} of its reads {'differs' if reads == 1 else 'differ'}"
    target = "the target and " if _is_for_another_target(changes) else ""
    return f"{target}{differ} from the nearest compile"


def _is_for_another_target(changes: tuple[Change, ...]) -> bool:
    return any(change.path == ARCHITECTURE for change in changes)


def changes_since(trace: Trace, facts: tuple[Plain, ...], world: World) -> tuple[Change, ...]:
    """What a compile has seen that is different in a world."""
    by_identity = is_only_here(facts)
    return changes_between(trace, facts, facts_now(trace.shape, world, by_identity=by_identity))


def changes_between(
    trace: Trace, before: tuple[Plain, ...], now: tuple[Plain, ...]
) -> tuple[Change, ...]:
    """What differs between the facts of a compile and others of its shape."""
    return tuple(
        _change(seen, old, new)
        for seen, old, new in zip(trace.seen, before, now, strict=True)
        if not same_fact(old, new)
    )


def _change(seen: Seen, old: Plain, new: Plain) -> Change:
    path, aspect, _ = seen.read
    where, before, now = contrast(old, new, aspect)
    return Change(f"{path}{where}", before, now, seen.line, _is_ambient(path))


def _is_ambient(path: Path) -> bool:
    return path.root in _AMBIENT or any(step.operation in _AMBIENT_STEPS for step in path.steps)


def _stored(store: Store, program: StableDigest, compared: int = TRACES_COMPARED) -> list[Compiled]:
    """The compiles whose artifacts are in the store, as many as are compared, the last first."""
    found = sorted(
        islice(records(store, program), compared), key=lambda row: row[0].made, reverse=True
    )
    return [
        Compiled(
            dict(label.parts).get("target", ""),
            record.trace,
            tuple(seen.fact for seen in record.trace.seen),
        )
        for label, record in found
        if isinstance(record, Artifact)
    ]


def _programs(store: Store, function: StableDigest) -> list[tuple[Part, ...]]:
    """The parts of earlier programs of the function, the last one first."""
    labels = [label for label, _ in islice(records(store, function), TRACES_COMPARED)]
    return [label.parts for label in sorted(labels, key=lambda label: label.made, reverse=True)]
