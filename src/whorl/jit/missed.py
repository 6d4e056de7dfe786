"""The explanation of a miss in, what the journal says of it out."""

from __future__ import annotations

import re
import types
from typing import Final

from whorl.fingerprint.source import code_digest, place_of_code
from whorl.store.journal import Difference, Miss

from .explain import ARCHITECTURE, EDITED, FOLLOWED, Explanation

__all__ = ["COMPARED", "miss_of"]

_DEFINITION: Final = re.compile(r"(async\s+)?def\s")
_CODE: Final = "code"  # the part of a program that is the function's own
COMPARED: Final = 8  # compiles that a miss is compared with when nobody asked for more


def miss_of(name: str, why: Explanation | None, code: types.CodeType) -> Miss:
    """The miss of a function with this name and code, as it was explained.

    >>> why = Explanation("solver.step", "miss", "first compile")
    >>> miss_of("solver.step", why, miss_of.__code__).cause
    'first compile'
    """
    if why is None:
        return Miss(name, "unknown", "unknown")
    differences = tuple(
        Difference(each.path, each.old, each.new, each.line or _line(each.path, code))
        for each in why.changes
    )
    reason = why.reason.removesuffix(FOLLOWED)  # whoever reads this knows that it was made
    return Miss(name, _cause(why), reason, differences)


def _line(path: str, code: types.CodeType) -> str:
    """Where the function begins whose own code is another: below its decorators."""
    if path != _CODE:
        return ""
    written = [line.strip() for line in code_digest(code).written]
    below = next((i for i, text in enumerate(written) if _DEFINITION.match(text)), 0)
    text = written[below] if written else ""
    file, line = place_of_code(code)
    return f"{file}:{line + below}: `{text}`"


def _cause(why: Explanation) -> str:
    paths = {change.path for change in why.changes}
    if not paths:
        return "first compile" if why.reason == "first compile" else "not kept any more"
    if why.reason in (EDITED, "the program is another"):
        if _CODE in paths:
            return EDITED
        return "another toolchain" if "toolchain" in paths else "another program"
    return "another target" if paths == {ARCHITECTURE} else "a read differs"
