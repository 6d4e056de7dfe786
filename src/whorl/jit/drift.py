"""Specializations and a call in, what they were compiled from and what has changed since out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from whorl.calls.explanation import Change, Explanation, changes_since
from whorl.fast_dataclasses import dataclass
from whorl.reads import World

from .specialization import Specialization

if TYPE_CHECKING:
    from .choices import OnDrift

__all__ = ["Drift", "drift_of"]


@dataclass(frozen=True, slots=True)
class Drift:
    """No specialization is for the surroundings as they are now; the nearest differs by these."""

    changes: tuple[Change, ...]
    nearest: Specialization

    @property
    def ambient(self) -> tuple[Change, ...]:
        """What has changed that no argument leads to."""
        return tuple(change for change in self.changes if change.is_ambient)

    @property
    def is_all(self) -> bool:
        """Whether nothing else differs: then what there is can go on being used."""
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


def drift_of(
    specializations: Iterable[Specialization], world: World, architecture: str
) -> Drift | None:
    """How far the surroundings of a call are from those that were compiled for.

    Globals, closed-over variables, defaults and environment variables are surroundings.
    """
    found: list[Drift] = []
    for made in specializations:
        if made.architecture == architecture:
            drift = Drift(changes_since(made.trace, made.facts, world), made)
            if not drift.ambient:
                return None
            found.append(drift)
    # Of those that are as near, the last.
    return min(found, key=lambda drift: (len(drift.changes), -drift.nearest.number), default=None)
