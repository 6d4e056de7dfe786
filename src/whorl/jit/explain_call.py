"""Why a call of a kernel is a hit or a miss, and what has drifted since a compile.

A process that finds everything, and is not asked for explanations, never imports this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whorl.artifacts import Artifact, Damaged, decode
from whorl.artifacts.record import shape_of
from whorl.calls import explanation
from whorl.calls.events import emit
from whorl.calls.explanation import Explanation
from whorl.calls.sources import StoredSources
from whorl.errors import Drifted
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import logger
from whorl.reads.replay import facts_now
from whorl.reads.trace import Shape
from whorl.reads.value_fact import is_only_here
from whorl.store import Found

from .drift import Drift, drift_of
from .explain import Compiled, explain
from .kernel_lookup import KernelLookup, LookupRequest
from .key import artifact_key, function_group
from .specialization import Specialization
from .target import Target

__all__ = ["explain_call", "explain_miss", "used_despite_drift"]

why = logger("whorl.why")


# -- Drift -------------------------------------------------------------------------------------


def used_despite_drift(lookup: KernelLookup, request: LookupRequest) -> Specialization | None:
    """What to do about globals, cells and variables that have changed since a compile."""
    drift = _drift(lookup, request)
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


def _drift(lookup: KernelLookup, request: LookupRequest) -> Drift | None:
    known = lookup.table.all()
    return drift_of(known, request.world, request.target.architecture) if known else None


# -- Explanations ------------------------------------------------------------------------------


def explain_miss(
    lookup: KernelLookup, request: LookupRequest, *, is_journaled: bool
) -> Explanation | None:
    """Why a call missed, if anybody wants to know; the journal alone is content with less."""
    lookup.counts["missed"] += 1
    return explanation.explain_miss(
        lookup.name,
        lambda compared: _explanation(lookup, request, compared),
        is_journaled=is_journaled,
    )


def _explanation(lookup: KernelLookup, request: LookupRequest, compared: int | None) -> Explanation:
    """Compare with all compiles that are known, or with so many."""
    known = lookup.table.all()
    return explain(
        lookup.name,
        request.world,
        program=request.program,
        architecture=request.target.architecture,
        function=function_group(lookup.function),
        store=request.cache.store,
        known=[
            Compiled(each.architecture, each.trace, each.facts)
            for each in (known if compared is None else known[-compared:])
        ],
        follows_drift=lookup.choices.on_drift == "recompile",
        compared=compared,
    )


def explain_call(lookup: KernelLookup, values: tuple[Any, ...], target: Target) -> Explanation:
    """The outcome that a call would have, found in the same order, without storing anything."""
    if lookup.table.recall(values, target) is not None:
        return Explanation(lookup.name, "hit", "its specialization is in memory")
    cache = lookup.cache
    sources = StoredSources(cache.store)
    with sources:
        return _explained(lookup, lookup.request(values, target, cache, sources))


def _explained(lookup: KernelLookup, request: LookupRequest) -> Explanation:
    name, choices = lookup.name, lookup.choices
    keys = list(_keys(lookup, request, in_memory=True))
    if any(lookup.table.of_key(key) is not None for key in keys):
        return Explanation(name, "hit", "its specialization is in memory")
    if choices.on_drift != "recompile":
        drift = _drift(lookup, request)
        explanation = None if drift is None else drift.explanation(name, choices.on_drift)
        if explanation is not None:
            return explanation
    store, group = request.cache.store, request.program.digest
    if any(_is_readable(store.get(key, group)) for key in _keys(lookup, request)):
        return Explanation(name, "hit", "its artifact is in the store")
    return _explanation(lookup, request, None)


def _keys(
    lookup: KernelLookup, request: LookupRequest, *, in_memory: bool = False
) -> Iterator[StableDigest]:
    """The keys under which an artifact for a call may be found."""
    if lookup.choices.cache == "process":
        return
    for name, rows in lookup.known_shapes(request, in_memory=in_memory):
        try:
            shape = rows if type(rows) is Shape else shape_of(rows)
            facts = facts_now(shape, request.world)
        except (ValueError, TypeError, LookupError, AttributeError):
            continue  # a hint that makes no sense
        if not is_only_here(facts):
            yield artifact_key(request.program, request.target, name, facts)


def _is_readable(got: object) -> bool:
    """Whether an artifact was found, and can be read."""
    if not isinstance(got, Found):
        return False
    try:
        return isinstance(decode(got.entry, with_trace=False), Artifact)
    except Damaged:
        return False
