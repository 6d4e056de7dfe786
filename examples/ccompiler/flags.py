"""The words of CC and CFLAGS in, the first that is refused out, with the reason and a remedy.

The C compiler tells which headers it has read, by whatever flag it found them, and what is not
declared is refused then. Of other files it tells nothing. It runs in a folder that holds the
declared files alone, so a flag can only reach others by a path that leads out of it: such flags
are refused, and `@file`, which could hold any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["IN_CC", "IN_CFLAGS", "Rule", "first_refused"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Flags that are refused: which, why, what next."""

    pattern: str
    why: str
    remedy: str


_COMMON: Final = (
    Rule(
        r"(.*,)?-m.*=native",
        "which means another thing on every machine",
        "Name the machine that is meant: -march=x86-64-v3, say.",
    ),
    Rule(
        r"(.*,)?@.*",
        "a file of flags that is not declared",
        'Declare it with the headers: options={"headers": ("flags.txt",)} for CFLAGS=@flags.txt.',
    ),
    Rule(
        r"(.*,)?-(M|-[a-z-]*dependencies).*",
        "which changes what the C compiler tells of the headers that it reads",
        "Leave it out: they are looked at with every compile.",
    ),
)
IN_CC: Final = (
    *_COMMON,
    Rule(
        r"(.*,)?(-I|-isystem|-iquote|-idirafter|-include|-imacros|--include|--imacros).*",
        "which brings in headers as if they were the system's",
        "Put it into CFLAGS, and declare the headers.",
    ),
)
IN_CFLAGS: Final = (
    *_COMMON,
    Rule(
        r".*(/|\.\.).*",
        "which may bring in files that the C compiler does not tell of",
        "Declare headers, use libraries of the system by -l alone, or name what belongs to the "
        "C compiler in CC.",
    ),
)

# Paths are all right in flags for headers, which are told of, and in those that are only texts.
_WITH_PATHS: Final = ("-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-D", "-U")
_TEXTS: Final = ("-fdebug-prefix-map=", "-ffile-prefix-map=", "-fmacro-prefix-map=")


def first_refused(words: Sequence[str], rules: Sequence[Rule]) -> tuple[str, Rule] | None:
    """The first of some flags that a rule refuses, with the rule.

    >>> flag, rule = first_refused(["-O2", "-L/opt/lib"], IN_CFLAGS)
    >>> print(f"{flag}, {rule.why}")
    -L/opt/lib, which may bring in files that the C compiler does not tell of
    >>> first_refused(["-O2", "-I", "/opt/include", "-DPLACE=/opt"], IN_CFLAGS) is None
    True
    """
    return next(_refused(words, rules), None)


def _refused(words: Sequence[str], rules: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    for before, word in zip(["", *words], words, strict=False):
        for rule in rules:
            is_path = rule is IN_CFLAGS[-1]
            if is_path and (before in _WITH_PATHS or word.startswith(_WITH_PATHS + _TEXTS)):
                continue
            if re.fullmatch(rule.pattern, word, re.DOTALL):
                yield word, rule
