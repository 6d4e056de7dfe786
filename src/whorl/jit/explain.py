"""Explains why a call of a kernel is a hit or a miss: compares it with the nearest compile.

A process that finds everything, and is not asked for explanations, never imports this.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from whorl.artifacts import Artifact, Damaged, Part, decode
from whorl.calls import explanation
from whorl.calls.explanation import Change, Explanation, changed_parts, changes_since
from whorl.calls.miss_entry import ARCHITECTURE, EDITED, FIRST_COMPILE, OTHER_PROGRAM, RECOMPILED
from whorl.calls.sources import StoredSources
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Plain, Trace, World
from whorl.store import Found, Store

from .drift import drift_of
from .group_records import records
from .kernel_lookup import KernelLookup, LookupRequest
from .key import COMPILER_CODE, function_group
from .target import Target

__all__ = ["explain_call", "explain_miss"]

TRACES_COMPARED: Final = 64
_IN_MEMORY: Final = "its specialization is in memory"
_EDITS: Final = {
    "code": EDITED,
    COMPILER_CODE: "its compiler's code, or something that it reads, has changed",
}


@dataclass(frozen=True, slots=True)
class EarlierCompile:
    """A compile to compare with: for which architecture, what it read, and the facts it saw."""

    architecture: str
    trace: Trace
    facts: tuple[Plain, ...]

    def changes_to(self, world: World, architecture: str) -> tuple[Change, ...]:
        """What a compile for a call would see differently."""
        changes = changes_since(self.trace, self.facts, world)
        if self.architecture == architecture:
            return changes
        return (Change(ARCHITECTURE, self.architecture, architecture), *changes)


def explain_call(lookup: KernelLookup, values: tuple[Any, ...], target: Target) -> Explanation:
    """The outcome that a call would have, found in the same order, without storing anything."""
    if lookup.table.recall(values, target) is not None:
        return Explanation(lookup.name, "hit", _IN_MEMORY)
    cache = lookup.cache
    with StoredSources(cache.store) as sources:
        request = lookup.request(values, target, cache, sources)
        return _hit(lookup, request) or _miss(lookup, request, None)


def _hit(lookup: KernelLookup, request: LookupRequest) -> Explanation | None:
    """Why a call is a hit, or raises because of drift; None if it is a miss."""
    name, on_drift, table = lookup.name, lookup.choices.on_drift, lookup.table
    in_memory = lookup.candidates(request, in_memory=True)
    if any(table.of_key(candidate.key) is not None for candidate in in_memory):
        return Explanation(name, "hit", _IN_MEMORY)
    drift = None if on_drift == "recompile" else drift_of(lookup, request)
    outcome = None if drift is None else drift.explanation(name, on_drift)
    if outcome is not None:
        return outcome
    store, group = request.cache.store, request.program.digest
    if any(_is_artifact(store.get(each.key, group)) for each in lookup.candidates(request)):
        return Explanation(name, "hit", "its artifact is in the store")
    return None


def _is_artifact(got: object) -> bool:
    """Whether the store has returned an artifact that can be read."""
    if not isinstance(got, Found):
        return False
    try:
        return isinstance(decode(got.entry, with_trace=False), Artifact)
    except Damaged:
        return False


def explain_miss(
    lookup: KernelLookup, request: LookupRequest, *, is_journaled: bool
) -> Explanation | None:
    """Why a call missed, if anybody wants to know; the journal alone is content with less."""
    lookup.counts["missed"] += 1
    return explanation.explain_miss(
        lookup.name, lambda most: _miss(lookup, request, most), is_journaled=is_journaled
    )


def _miss(lookup: KernelLookup, request: LookupRequest, most: int | None) -> Explanation:
    """Compare a call with the nearest compile of its program, or its program with earlier ones.

    `most` is how many compiles to compare with, the last ones first; None for all that are in
    memory, and some of the store. Of two that are equally near, the one for the same target is
    the nearest, then the later one.
    """
    name, program, store = lookup.name, request.program, request.cache.store
    architecture = request.target.architecture
    compiles = [
        EarlierCompile(each.architecture, each.trace, each.facts)
        for each in islice(reversed(lookup.table.all()), most)
    ]
    in_store = TRACES_COMPARED if most is None else most - len(compiles)
    compiles += _compiles_in_store(store, program.digest, in_store)
    nearest = min(
        (compiled.changes_to(request.world, architecture) for compiled in compiles),
        key=lambda changes: (len(changes), _is_for_another_target(changes)),
        default=None,
    )
    if nearest is not None:
        reason = _reason(nearest)
        if lookup.choices.on_drift == "recompile" and any(each.is_ambient for each in nearest):
            reason += RECOMPILED
        shapes = len({compiled.trace.shape for compiled in compiles})
        return Explanation(name, "miss", reason, nearest, shapes)
    programs = _earlier_programs(store, function_group(lookup.function))
    if program.parts in programs:
        return Explanation(name, "miss", _reason(()))
    if not programs:
        return Explanation(name, "miss", FIRST_COMPILE)
    changes = changed_parts(dict(programs[0]), dict(program.parts))
    reason = _EDITS.get(changes[0].path, OTHER_PROGRAM) if len(changes) == 1 else OTHER_PROGRAM
    return Explanation(name, "miss", reason, changes)


def _reason(changes: tuple[Change, ...]) -> str:
    if not changes:
        return "its artifact is no longer in the store"
    is_for_another_target = _is_for_another_target(changes)
    reads = len(changes) - is_for_another_target
    if not reads:
        return "it was compiled for another target"
    differ = f"{reads} of its reads {'differs' if reads == 1 else 'differ'}"
    target = "the target and " if is_for_another_target else ""
    return f"{target}{differ} from the nearest compile"


def _is_for_another_target(changes: tuple[Change, ...]) -> bool:
    return any(change.path == ARCHITECTURE for change in changes)


def _compiles_in_store(store: Store, program: StableDigest, most: int) -> list[EarlierCompile]:
    """The compiles whose artifacts are in the store, no more than so many, the last first."""
    rows = sorted(islice(records(store, program), most), key=lambda row: row[0].made, reverse=True)
    return [
        EarlierCompile(
            dict(label.parts).get("target", ""),
            record.trace,
            tuple(seen.fact for seen in record.trace.seen),
        )
        for label, record in rows
        if isinstance(record, Artifact)
    ]


def _earlier_programs(store: Store, function: StableDigest) -> list[tuple[Part, ...]]:
    """The parts of earlier programs of the function, the last one first."""
    labels = [label for label, _ in islice(records(store, function), TRACES_COMPARED)]
    return [label.parts for label in sorted(labels, key=lambda label: label.made, reverse=True)]
