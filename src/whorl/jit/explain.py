"""Explains why a call of a kernel is a hit or a miss: compares it with the nearest compile.

A process that finds everything, and is not asked for explanations, never imports this.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from whorl.artifacts import Artifact, Damaged, Label, Part, Record, decode
from whorl.calls import explanation
from whorl.calls.events import emit
from whorl.calls.explanation import (
    ARCHITECTURE,
    OTHER_PROGRAM,
    RECOMPILED,
    Explanation,
    changed_parts,
    changes_since,
)
from whorl.errors import Drifted
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import logger
from whorl.reads import Plain, Trace, World
from whorl.store import BaseStore, Found, Store
from whorl.store.cache import StoredSources, records
from whorl.store.journal import EDITED, FIRST_COMPILE, Change

from .compiler import Target
from .kernel_lookup import KernelLookup, LookupRequest, OnDrift
from .key import COMPILER_CODE, function_group
from .shipped_lookup import is_shipped
from .specialization import Specialization

# Finds what has changed around a kernel since its compiles, and what a call does about it.
#
# Globals, closed-over variables, defaults and environment variables are around a kernel. A process
# that finds everything, and whose kernels follow drift, never imports this.


why = logger("whorl.why")


@dataclass(frozen=True, slots=True)
class Drift:
    """No specialization fits the surroundings of a call; the nearest differs by these changes."""

    changes: tuple[Change, ...]
    nearest: Specialization

    @property
    def ambient(self) -> tuple[Change, ...]:
        """What has changed that no argument leads to."""
        return tuple(change for change in self.changes if change.is_ambient)

    @property
    def is_all(self) -> bool:
        """Whether nothing else differs: then the nearest specialization can still be used."""
        return all(change.is_ambient for change in self.changes)

    def explanation(self, kernel: str, on_drift: OnDrift) -> Explanation | None:
        """What comes of it, in words; None if the call goes on as if it were its first."""
        if on_drift == "raise":
            reason = 'on_drift is "raise" and what it was compiled from has changed'
            return Explanation(kernel, "raises", reason, self.ambient)
        if on_drift == "ignore" and self.is_all:
            reason = 'on_drift is "ignore" and only what it was compiled from has changed'
            return Explanation(kernel, "hit", reason, self.ambient)
        return None


def drift_of(lookup: KernelLookup, request: LookupRequest) -> Drift | None:
    """How the surroundings of a call differ from those of the nearest compile in memory.

    None if one of the compiles had the same surroundings, or if there is none.
    """
    drifts: list[Drift] = []
    for compiled in lookup.table.all():
        if compiled.architecture == request.target.architecture:
            drift = Drift(changes_since(compiled.trace, compiled.facts, request.world), compiled)
            if not drift.ambient:
                return None
            drifts.append(drift)
    # Of two that are equally near, the later one.
    return min(drifts, key=lambda drift: (len(drift.changes), -drift.nearest.number), default=None)


def used_despite_drift(lookup: KernelLookup, request: LookupRequest) -> Specialization | None:
    """The specialization that a call uses although its surroundings have changed, if any.

    Raises `Drifted` if the kernel was made with `on_drift="raise"`.
    """
    drift = drift_of(lookup, request)
    if drift is None:
        return None
    changes = tuple((change.path, change.old, change.new) for change in drift.ambient)
    emit("drifted", lookup.name, changes=list(changes))
    explanation = drift.explanation(lookup.name, lookup.choices.on_drift)
    if explanation is not None and changes != lookup.drift_shown:
        lookup.drift_shown = changes  # one line for one change, however many calls there are
        why.info("%s", explanation)
    if lookup.choices.on_drift == "raise":
        raise Drifted(lookup.name, changes)
    return drift.nearest if drift.is_all else None


# -- explanations ----------------------------------------------------------------------


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
    machine: str = ""  # that stored it, if it was another one

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
        hit = _hit(lookup, request)
    if hit is None and is_shipped(lookup, values, target, cache):
        hit = Explanation(lookup.name, "hit", "its artifact is in an installed bundle")
    return hit or _miss(lookup, request, None)


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
    memory, and some of the store: of other machines too, if there is no other. Of two that are
    equally near, the one for the same target is the nearest, then the later one.
    """
    name, program, store = lookup.name, request.program, request.cache.store
    architecture = request.target.architecture
    compiles = [
        EarlierCompile(each.architecture, each.trace, each.facts)
        for each in islice(reversed(lookup.table.all()), most)
    ]
    in_store = TRACES_COMPARED if most is None else most - len(compiles)
    compiles += _compiles_in_store(store, program.digest, in_store)
    if not compiles and most is None:
        compiles = _compiles_elsewhere(store, program.digest)
    found = min(
        ((each.changes_to(request.world, architecture), each.machine) for each in compiles),
        key=lambda row: (len(row[0]), _is_for_another_target(row[0])),
        default=None,
    )
    if found is not None:
        nearest, machine = found
        reason = _reason(nearest) + (f", on {machine}" if machine else "")
        if lookup.choices.on_drift == "recompile" and any(each.is_ambient for each in nearest):
            reason += RECOMPILED
        shapes = len({compiled.trace.shape for compiled in compiles})
        return Explanation(name, "miss", reason, nearest, shapes)
    group, machine = function_group(lookup.function), ""
    programs = _earlier_programs(store, group)
    if program.parts in programs:
        return Explanation(name, "miss", _reason(()))
    if not programs and most is None:
        programs, machine = _programs_elsewhere(store, group, program.parts)
    if not programs:
        return Explanation(name, "miss", FIRST_COMPILE)
    changes = changed_parts(dict(programs[0]), dict(program.parts))
    if machine:
        return Explanation(name, "miss", f"it differs from what {machine} has stored", changes)
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
    rows = sorted(records(store, program, most=most), key=lambda row: row[0].made, reverse=True)
    return [_compile_of(label, record) for label, record in rows if isinstance(record, Artifact)]


def _compile_of(label: Label, record: Artifact, machine: str = "") -> EarlierCompile:
    facts = tuple(seen.fact for seen in record.trace.seen)
    return EarlierCompile(dict(label.parts).get("target", ""), record.trace, facts, machine)


def _records_elsewhere(
    store: BaseStore, group: StableDigest
) -> Iterator[tuple[str, Label, Record]]:
    """The records of a group that other machines have stored, with the names of these machines."""
    for machine, entry in store.elsewhere(group):
        try:
            row = machine, entry.label, decode(entry)
        except Damaged:
            continue
        yield row


def _compiles_elsewhere(store: BaseStore, program: StableDigest) -> list[EarlierCompile]:
    """The compiles of a program that other machines have stored."""
    return [
        _compile_of(label, record, machine)
        for machine, label, record in _records_elsewhere(store, program)
        if isinstance(record, Artifact)
    ]


def _programs_elsewhere(
    store: BaseStore, function: StableDigest, parts: tuple[Part, ...]
) -> tuple[list[tuple[Part, ...]], str]:
    """The parts of the nearest program of the function on another machine, and that machine."""
    rows = [(label.parts, machine) for machine, label, _ in _records_elsewhere(store, function)]
    if not rows:
        return [], ""
    mine = dict(parts)
    nearest, machine = min(rows, key=lambda row: len(changed_parts(dict(row[0]), mine)))
    return [nearest], machine or "another machine"


def _earlier_programs(store: Store, function: StableDigest) -> list[tuple[Part, ...]]:
    """The parts of earlier programs of the function, the last one first."""
    labels = [label for label, _ in records(store, function, most=TRACES_COMPARED)]
    return [label.parts for label in sorted(labels, key=lambda label: label.made, reverse=True)]
