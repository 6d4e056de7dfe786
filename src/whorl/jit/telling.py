"""A call in, why it is a hit or a miss, or what has drifted since a compile, out.

These are steps of `Kernel`, in a room of their own because a process that finds everything and
is not asked has no need of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whorl.artifacts import Artifact, Damaged, decode
from whorl.artifacts.record import shape_of
from whorl.errors import Drifted
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import logger
from whorl.reads.fact import is_only_here
from whorl.reads.replay import facts_now
from whorl.reads.trace import Shape
from whorl.store import Found
from whorl.store.miss_recording import is_hit_required

from .drift import Drift, drift_of
from .explain import Compiled, Explanation, explain
from .key import artifact_key, function_group
from .listening import emit, listeners
from .missed import COMPARED
from .specialization import Specialization

if TYPE_CHECKING:
    from .kernel import Kernel, Request

__all__ = ["explained", "miss_explained", "used_despite_drift"]

log = logger("whorl.jit")
why = logger("whorl.why")
INFO: Final = 20  # the level, as logging has it


# -- Drift -------------------------------------------------------------------------------------


def used_despite_drift(kernel: Kernel, request: Request) -> Specialization | None:
    """What to do about globals, cells and variables that have changed since a compile."""
    drift = _drift(kernel, request)
    if drift is None:
        return None
    words_of = tuple((change.path, change.old, change.new) for change in drift.ambient)
    emit("drifted", kernel._name, changes=list(words_of))
    explanation = drift.explanation(kernel._name, kernel.choices.on_drift)
    if explanation is not None and words_of != kernel._drift_told:
        kernel._drift_told = words_of  # one line for one change, however many calls there are
        why.info("%s", explanation)
    if kernel.choices.on_drift == "raise":
        raise Drifted(kernel._name, words_of)
    return drift.nearest if drift.is_all else None


def _drift(kernel: Kernel, request: Request) -> Drift | None:
    known = kernel.specializations()
    return drift_of(known, request.world, request.target.architecture) if known else None


# -- Explanations ------------------------------------------------------------------------------


def miss_explained(kernel: Kernel, request: Request, *, is_kept: bool) -> Explanation | None:
    """Why it missed, if anybody wants to know; the journal alone asks for less."""
    kernel._counts["missed"] += 1
    if listeners or why.isEnabledFor(INFO) or is_hit_required():
        explanation = _explanation(kernel, request)
        emit("missed", kernel._name, why=explanation)
        why.info("%s", explanation)
        return explanation
    if not is_kept:
        return None
    try:
        return _explanation(kernel, request, COMPARED)
    except Exception:  # nobody asked: a call must not fail for the journal
        log.debug("cannot explain the miss of %s", kernel._name, exc_info=True)
        return None


def _explanation(kernel: Kernel, request: Request, compared: int | None = None) -> Explanation:
    """Compare with all that is known, or with so many."""
    known = kernel.specializations()
    return explain(
        kernel._name,
        request.world,
        program=request.program,
        architecture=request.target.architecture,
        function=function_group(kernel.function),
        store=request.cache.store,
        known=[
            Compiled(made.architecture, made.trace, made.facts)
            for made in (known if compared is None else known[-compared:])
        ],
        follows_drift=kernel.choices.on_drift == "recompile",
        compared=compared,
    )


def explained(kernel: Kernel, request: Request) -> Explanation:
    """What a lookup would come to, in the same order, without anything being kept."""
    name = kernel._name
    keys = list(_keys(kernel, request, in_memory=True))
    if any(kernel._shapes.of_key(key) is not None for key in keys):
        return Explanation(name, "hit", "its specialization is in memory")
    if kernel.choices.on_drift != "recompile":
        drift = _drift(kernel, request)
        if drift is not None:
            told = drift.explanation(name, kernel.choices.on_drift)
            if told is not None:
                return told
    store, group = request.cache.store, request.program.digest
    if any(_is_readable(store.get(key, group)) for key in _keys(kernel, request)):
        return Explanation(name, "hit", "its artifact is in the store")
    return _explanation(kernel, request)


def _keys(kernel: Kernel, request: Request, *, in_memory: bool = False) -> Iterator[StableDigest]:
    """The keys under which an artifact for a call may be found."""
    if kernel.choices.cache == "process":
        return
    for name, rows in kernel._known_shapes(request, in_memory=in_memory):
        try:
            shape = Shape(rows) if type(rows) is tuple else shape_of(rows)
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
