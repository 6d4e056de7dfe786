"""The level of a processor: what code is made for, and what can run it.

Code is made for a level of an architecture (`x86-64-v3`), not for one model of a processor: the
level is what is in the key, and a machine of the same level or above can run the code.
"""

from __future__ import annotations

import contextlib
import functools
import platform
from importlib import import_module
from typing import Final

from whorl.errors import BadSetting

X86_LEVELS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@functools.cache
def host_level() -> str:
    """What this machine can run, as LLVM names processors.

    NumPy has detected the features of the processor: no compiler has to be imported to know.
    """
    if not _is_x86():
        return "generic"
    features: dict[str, bool] = {}
    with contextlib.suppress(ImportError, AttributeError):  # a NumPy without them: the lowest level
        features = import_module("numpy._core._multiarray_umath").__cpu_features__
    for level, names in (
        ("x86-64-v4", ("AVX512_SKX",)),
        ("x86-64-v3", ("AVX2", "FMA3", "F16C")),
        ("x86-64-v2", ("SSE42", "POPCNT")),
    ):
        if all(features.get(name) for name in names):
            return level
    return "x86-64"


def lowest_level() -> str:
    """What every machine of this one's architecture can run.

    >>> can_run(lowest_level())
    True
    """
    return X86_LEVELS[0] if _is_x86() else "generic"


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def architecture_of(level: str) -> str:
    """A level with its architecture, as it is part of keys: other machines have other code.

    >>> architecture_of("x86-64-v3")
    'x86-64-v3'
    """
    return level if level in X86_LEVELS else f"{platform.machine().lower()}-{level}"


def levels_for(level: str) -> tuple[str, ...]:
    """The levels whose code runs where that of a level runs, the best first.

    >>> levels_for("x86-64-v3")
    ('x86-64-v3', 'x86-64-v2', 'x86-64')
    """
    return X86_LEVELS[X86_LEVELS.index(level) :: -1] if level in X86_LEVELS else (level,)


def can_run(level: str) -> bool:
    """Whether this machine can run code of a level.

    >>> can_run(host_level())
    True
    """
    host = host_level()
    if level in X86_LEVELS and host in X86_LEVELS:
        return X86_LEVELS.index(level) <= X86_LEVELS.index(host)
    return level == host


def fuses(level: str) -> bool:
    """Whether processors of a level multiply and add in one step.

    >>> fuses("x86-64-v2"), fuses("x86-64-v3")
    (False, True)
    """
    return level not in X86_LEVELS or X86_LEVELS.index(level) >= X86_LEVELS.index("x86-64-v3")


def check_level(level: str) -> str:
    """A level that exists; `BadSetting` otherwise."""
    if level not in (*X86_LEVELS, "generic"):
        raise BadSetting("target", level, f"host, generic, or one of {', '.join(X86_LEVELS)}")
    return level
