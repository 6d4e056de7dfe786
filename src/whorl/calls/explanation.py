"""Why a call missed: an explanation, and what differs from the nearest earlier result."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.source import code_digest, place_of_code
from whorl.lazy import logger
from whorl.reads import Path, Plain, Trace, World
from whorl.reads.fact_words import differences
from whorl.reads.replay import facts_now
from whorl.reads.value_fact import is_only_here
from whorl.signals import pass_on
from whorl.store.journal import (
    EDITED,
    FIRST_COMPILE,
    GONE,
    READ_DIFFERS,
    Change,
    Miss,
    is_hit_required,
)

from .events import emit, listeners

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
        Change(f"{seen.read.path}{where}", old, new, seen.line, _is_ambient(seen.read.path))
        for seen, (where, old, new) in differences(trace, before, now)
    )


def _is_ambient(path: Path) -> bool:
    return path.root in _AMBIENT or any(step.operation in _AMBIENT_STEPS for step in path.steps)


# -- the journal's entry ---------------------------------------------------------------
#
# The journal's entry about a miss, from the miss's explanation.


ARCHITECTURE: Final = "target:architecture"
RECOMPILED: Final = ', and on_drift is "recompile"'
OTHER_PROGRAM: Final = "its code, compiler or toolchain has changed"
FIRST_CALL: Final = "no result is stored yet"
_DEFINITION: Final = re.compile(r"(async\s+)?def\s")
_CODE: Final = "code"  # the part of a program that is the function's own


def kernel_miss(name: str, why: Explanation | None, code: types.CodeType) -> Miss:
    """The entry for a miss of a kernel with this name and code.

    >>> why = Explanation("solver.step", "miss", "first compile")
    >>> kernel_miss("solver.step", why, kernel_miss.__code__).cause
    'first compile'
    """
    if why is None:
        return Miss(name, "unknown", "unknown")
    changes = tuple(each._replace(line=each.line or _line(each.path, code)) for each in why.changes)
    reason = why.reason.removesuffix(RECOMPILED)  # which the journal shows by the ending
    return Miss(name, _kernel_cause(why), reason, changes)


def _line(path: str, code: types.CodeType) -> str:
    """The `def` line of a function whose code was edited, below its decorators; else empty."""
    if path != _CODE:
        return ""
    written = [line.strip() for line in code_digest(code).written]
    below = next((i for i, text in enumerate(written) if _DEFINITION.match(text)), 0)
    text = written[below] if written else ""
    file, line = place_of_code(code)
    return f"{file}:{line + below}: `{text}`"


def _kernel_cause(why: Explanation) -> str:
    paths = {change.path for change in why.changes}
    if not paths:
        return FIRST_COMPILE if why.reason == FIRST_COMPILE else GONE
    if why.reason in (EDITED, OTHER_PROGRAM):
        if _CODE in paths:
            return EDITED
        return "another toolchain" if "toolchain" in paths else "another compiler"
    return "another target" if paths == {ARCHITECTURE} else READ_DIFFERS


def function_miss(name: str, why: Explanation | None) -> Miss:
    """The entry for a miss of a cached function or step of this name.

    >>> function_miss("report.table", Explanation("report.table", "miss", FIRST_CALL)).cause
    'first call'
    """
    if why is None:
        return Miss(name, "unknown", "unknown")
    return Miss(name, _function_cause(why), why.reason, why.changes)


def _function_cause(why: Explanation) -> str:
    paths = [change.path for change in why.changes]
    if not paths:
        return "first call" if why.reason == FIRST_CALL else GONE
    if any(path.startswith("code:") for path in paths):
        return EDITED
    is_argument = all(path.startswith("arg:") for path in paths)
    return "another argument" if is_argument else READ_DIFFERS
