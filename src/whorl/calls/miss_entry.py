"""The journal's entry about a miss, from the miss's explanation."""

from __future__ import annotations

import re
import types
from typing import Final

from whorl.fingerprint.source import code_digest, place_of_code
from whorl.store.journal import Miss

from .explanation import Explanation

__all__ = [
    "ARCHITECTURE", "EDITED", "FIRST_CALL", "FIRST_COMPILE", "OTHER_PROGRAM", "RECOMPILED",
    "function_miss", "kernel_miss",
]  # fmt: skip

ARCHITECTURE: Final = "target:architecture"
RECOMPILED: Final = ', and on_drift is "recompile"'
EDITED: Final = "its code was edited"
OTHER_PROGRAM: Final = "its code, compiler or toolchain has changed"
FIRST_COMPILE: Final = "first compile"
FIRST_CALL: Final = "no result is stored yet"
_GONE: Final = "no longer stored"
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
        return FIRST_COMPILE if why.reason == FIRST_COMPILE else _GONE
    if why.reason in (EDITED, OTHER_PROGRAM):
        if _CODE in paths:
            return EDITED
        return "another toolchain" if "toolchain" in paths else "another compiler"
    return "another target" if paths == {ARCHITECTURE} else "a read differs"


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
        return "first call" if why.reason == FIRST_CALL else _GONE
    if any(path.startswith("code:") for path in paths):
        return EDITED
    is_argument = all(path.startswith("arg:") for path in paths)
    return "another argument" if is_argument else "a read differs"
