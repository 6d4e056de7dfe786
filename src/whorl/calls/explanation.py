"""Why a call missed: an explanation, and what differs from the nearest earlier result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.lazy import logger
from whorl.reads import Path, Plain, Seen, Trace, World
from whorl.reads.fact_words import contrast
from whorl.reads.replay import facts_now
from whorl.reads.value_fact import is_only_here, same_fact
from whorl.signals import pass_on
from whorl.store.journal import Change
from whorl.store.miss_recording import is_hit_required

from .events import emit, listeners

__all__ = [
    "COMPARED",
    "Change",
    "Explanation",
    "changed_parts",
    "changes_between",
    "changes_since",
    "explain_miss",
]

COMPARED: Final = 8  # results that a miss is compared with if only the journal is interested
_AMBIENT: Final = frozenset(("global", "func", "env"))
_AMBIENT_STEPS: Final = frozenset(("global", "cell", "default"))
_INFO: Final = 20  # the level, as logging has it

why = logger("whorl.why")


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


def explain_miss(
    name: str, explain: Callable[[int | None], Explanation], *, is_journaled: bool
) -> Explanation | None:
    """The explanation of a miss, logged and emitted; None if nobody is interested.

    `explain` takes the number of earlier results to compare with, None for all. If
    only the journal is interested, a few are enough.
    """
    if listeners or why.isEnabledFor(_INFO) or is_hit_required():
        explanation = explain(None)
        emit("missed", name, why=explanation)
        why.info("%s", explanation)
        return explanation
    if not is_journaled:
        return None
    try:
        return explain(COMPARED)
    except Exception as error:  # a call must not fail for the journal
        pass_on(error)
        why.debug("cannot explain the miss of %s", name, exc_info=True)
        return None


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[Change, ...]:
    """The parts of two keys that differ, by name.

    >>> changed_parts({"code": "1", "salt": "a"}, {"code": "2", "salt": "a"})[0].new
    '2'
    """
    return tuple(
        Change(name, old.get(name, "absent"), new.get(name, "absent"))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def changes_since(trace: Trace, facts: tuple[Plain, ...], world: World) -> tuple[Change, ...]:
    """The reads of a compile whose facts in this world differ."""
    by_identity = is_only_here(facts)
    return changes_between(trace, facts, facts_now(trace.shape, world, by_identity=by_identity))


def changes_between(
    trace: Trace, before: tuple[Plain, ...], now: tuple[Plain, ...]
) -> tuple[Change, ...]:
    """The reads whose facts differ between a compile and another world."""
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
