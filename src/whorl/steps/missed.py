"""The explanation of a call that found nothing in, what the journal says of it out."""

from __future__ import annotations

from typing import Final

from whorl.jit.explain import Explanation
from whorl.store.journal import Difference, Miss

__all__ = ["COMPARED", "FIRST", "miss_of"]

COMPARED: Final = 8  # results that a miss is compared with when nobody asked for more
FIRST: Final = "nothing is kept of it yet"


def miss_of(name: str, why: Explanation | None) -> Miss:
    """The miss of a function of this name, as it was explained.

    >>> miss_of("report.table", Explanation("report.table", "miss", FIRST)).cause
    'first call'
    """
    if why is None:
        return Miss(name, "unknown", "unknown")
    differences = tuple(Difference(each.path, each.old, each.new, "") for each in why.changes)
    return Miss(name, _cause(why), why.reason, differences)


def _cause(why: Explanation) -> str:
    paths = [change.path for change in why.changes]
    if not paths:
        return "first call" if why.reason == FIRST else "not kept any more"
    if any(path.startswith("code:") for path in paths):
        return "its code was edited"
    return (
        "another argument" if all(path.startswith("arg:") for path in paths) else "a read differs"
    )
