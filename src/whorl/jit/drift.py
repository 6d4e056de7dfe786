"""Finds what has changed around a kernel since its compiles, and what a call does about it.

Globals, closed-over variables, defaults and environment variables are around a kernel. A process
that finds everything, and whose kernels follow drift, never imports this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.calls.events import emit
from whorl.calls.explanation import Change, Explanation, changes_since
from whorl.errors import Drifted
from whorl.fast_dataclasses import dataclass
from whorl.lazy import logger

from .kernel_lookup import KernelLookup, LookupRequest
from .specialization import Specialization

if TYPE_CHECKING:
    from .choices import OnDrift

__all__ = ["Drift", "drift_of", "used_despite_drift"]

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
