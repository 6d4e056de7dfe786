"""Explains a miss of a kernel: compares the call with the nearest earlier compile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from whorl.artifacts import Artifact, Part
from whorl.calls.explanation import Change, Explanation, changed_parts, changes_since
from whorl.calls.miss_entry import ARCHITECTURE, EDITED, FIRST_COMPILE, OTHER_PROGRAM, RECOMPILED
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Plain, Trace, World
from whorl.store import Store

from .key import COMPILER_CODE, ProgramKey
from .stored import records

__all__ = ["Compiled", "explain"]

TRACES_COMPARED: Final = 64
_EDITS: Final = {"code": EDITED, COMPILER_CODE: "its compiler was edited"}


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
            reason += RECOMPILED
        return Explanation(kernel, "miss", reason, nearest, shapes)
    programs = _programs(store, function)
    if program.parts in programs:
        return Explanation(kernel, "miss", _reason(()))
    for parts in programs:
        changes = changed_parts(dict(parts), dict(program.parts))
        differ = [change.path for change in changes]
        reason = _EDITS.get(differ[0], OTHER_PROGRAM) if len(differ) == 1 else OTHER_PROGRAM
        return Explanation(kernel, "miss", reason, changes)
    return Explanation(kernel, "miss", FIRST_COMPILE)


def _reason(changes: tuple[Change, ...]) -> str:
    if not changes:
        return "its artifact is no longer in the store"
    if _is_for_another_target(changes) and len(changes) == 1:
        return "it was compiled for another target"
    reads = len(changes) - _is_for_another_target(changes)
    differ = f"{reads} of its reads {'differs' if reads == 1 else 'differ'}"
    target = "the target and " if _is_for_another_target(changes) else ""
    return f"{target}{differ} from the nearest compile"


def _is_for_another_target(changes: tuple[Change, ...]) -> bool:
    return any(change.path == ARCHITECTURE for change in changes)


def _stored(store: Store, program: StableDigest, compared: int = TRACES_COMPARED) -> list[Compiled]:
    """The compiles whose artifacts are in the store, as many as are compared, the last first."""
    stored = sorted(
        islice(records(store, program), compared), key=lambda row: row[0].made, reverse=True
    )
    return [
        Compiled(
            dict(label.parts).get("target", ""),
            record.trace,
            tuple(seen.fact for seen in record.trace.seen),
        )
        for label, record in stored
        if isinstance(record, Artifact)
    ]


def _programs(store: Store, function: StableDigest) -> list[tuple[Part, ...]]:
    """The parts of earlier programs of the function, the last one first."""
    labels = [label for label, _ in islice(records(store, function), TRACES_COMPARED)]
    return [label.parts for label in sorted(labels, key=lambda label: label.made, reverse=True)]
