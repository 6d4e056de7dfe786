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

__all__ = ["X86_LEVELS", "can_run", "check_level", "host_level"]

X86_LEVELS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


@functools.cache
def host_level() -> str:
    """What this machine can run, as LLVM names processors.

    NumPy has detected the features of the processor: no compiler has to be imported to know.
    """
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
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


def can_run(level: str) -> bool:
    """Whether this machine can run code of a level.

    >>> can_run(host_level())
    True
    """
    host = host_level()
    if level in X86_LEVELS and host in X86_LEVELS:
        return X86_LEVELS.index(level) <= X86_LEVELS.index(host)
    return level == host


def check_level(level: str) -> str:
    """A level that exists; `BadSetting` otherwise."""
    if level not in (*X86_LEVELS, "generic"):
        raise BadSetting("target", level, f"host, generic, or one of {', '.join(X86_LEVELS)}")
    return level
