"""The explanation of a miss in, a line of the journal out; or an error where only hits may be."""

from __future__ import annotations

import contextlib
import os
import re
import time
import types
from collections.abc import Iterator
from typing import Final

from whorl.errors import RequiredHit
from whorl.late import replace
from whorl.store import Cache, Difference, Ending, Journal, Miss, is_hit_required

from .explain import ARCHITECTURE, Explanation

__all__ = ["COMPARED", "Making", "making"]

_DEFINITION: Final = re.compile(r"(async\s+)?def\s")
_CODE: Final = "code"  # the part of a program that is the function's own
COMPARED: Final = 8  # compiles that a miss is compared with when nobody asked for more


class Making:
    """What comes of a miss, filled in on the way."""

    __slots__ = ("how", "key")

    def __init__(self) -> None:
        self.key: object = None
        self.how: Ending | None = None  # None: it is for this process only


@contextlib.contextmanager
def making(
    cache: Cache,
    journal: Journal | None,
    name: str,
    why: Explanation | None,
    code: types.CodeType,
) -> Iterator[Making]:
    """Make what was missing in the block; what comes of it is counted and written down.

    Raises `RequiredHit` before that where nothing may be made.
    """
    begun = time.perf_counter()
    miss = Miss(name, "unknown", "unknown") if why is None else miss_of(why, code)
    if is_hit_required():
        if journal is not None:
            journal.note(replace(miss, ending="refused"))
        raise RequiredHit(name, str(why))
    made = Making()
    try:
        yield made
    except BaseException as error:
        miss = replace(miss, ending=f"raised {type(error).__name__}")
        raise
    else:
        if made.how is Ending.WAITED:
            miss = replace(miss, ending=Ending.WAITED.value)
        elif made.how is not None:
            cache.statistics.made(name, time.perf_counter() - begun, miss.cause)
    finally:
        if journal is not None:
            seconds = time.perf_counter() - begun
            journal.note(replace(miss, seconds=seconds, key=str(made.key or "")))


def miss_of(why: Explanation, code: types.CodeType) -> Miss:
    """The miss that an explanation explains, of a function with this code.

    >>> miss_of(Explanation("solver.step", "miss", "first compile"), miss_of.__code__).cause
    'first compile'
    """
    differences = tuple(
        Difference(each.path, each.old, each.new, each.line or _line(each.path, code))
        for each in why.changes
    )
    return Miss(why.kernel, _cause(why), why.reason, differences)


def _line(path: str, code: types.CodeType) -> str:
    """Where the function begins whose own code is another: below its decorators."""
    if path != _CODE:
        return ""
    import linecache

    file, first = code.co_filename, code.co_firstlineno
    lines = {number: linecache.getline(file, number).strip() for number in range(first, first + 20)}
    number = next((n for n, text in lines.items() if _DEFINITION.match(text)), first)
    return f"{os.path.basename(file)}:{number}: `{lines[number]}`"  # noqa: PTH119


def _cause(why: Explanation) -> str:
    paths = {change.path for change in why.changes}
    if not paths:
        return "first compile" if why.reason == "first compile" else "not kept any more"
    if why.reason == "the program is another":
        if _CODE in paths:
            return "its code was edited"
        return "another toolchain" if "toolchain" in paths else "another program"
    return "another target" if paths == {ARCHITECTURE} else "a read differs"
