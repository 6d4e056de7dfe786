"""The level of a processor: what code is made for, and what can run it.

Code is made for a level of an architecture (`x86-64-v3`), not for one model of a processor: the
level is what is in the key, and a machine of the same level or above can run the code. LLVM makes
code of one architecture on machines of the other. "generic" is the lowest level of this machine.
"""

from __future__ import annotations

import contextlib
import functools
import platform
from importlib import import_module
from typing import Final

from whorl.errors import BadSetting

X86_LEVELS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
ARM_LEVELS: Final = ("aarch64",)  # what every 64-bit processor of ARM has
_ARCHITECTURES: Final = {
    "x86_64": X86_LEVELS, "amd64": X86_LEVELS, "aarch64": ARM_LEVELS, "arm64": ARM_LEVELS,
}  # fmt: skip
"""The levels of the machines that are known, the lowest first."""


@functools.cache
def host_level() -> str:
    """What this machine can run, as LLVM names processors.

    NumPy has detected the features of the processor: no compiler has to be imported to know.
    """
    if _levels_here() is not X86_LEVELS:
        return lowest_level()
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
    return _levels_here()[0]


def _levels_here() -> tuple[str, ...]:
    return _ARCHITECTURES.get(platform.machine().lower(), ("generic",))


def level_named(name: str) -> str:
    """The level that a setting names: of this machine for "host", the lowest for "generic".

    >>> level_named("generic") == lowest_level()
    True
    """
    match name:
        case "host":
            return host_level()
        case "generic":
            return lowest_level()
        case _:
            return name


def machine_of(level: str) -> str:
    """The machines of a level, as Linux and the tags of wheels call them.

    >>> machine_of("x86-64-v3"), machine_of("aarch64")
    ('x86_64', 'aarch64')
    """
    if level in X86_LEVELS:
        return "x86_64"
    return level if level in ARM_LEVELS else platform.machine().lower()


def architecture_of(level: str) -> str:
    """A level with its architecture, as it is part of keys: other machines have other code.

    >>> architecture_of("x86-64-v3")
    'x86-64-v3'
    """
    return level if level in X86_LEVELS + ARM_LEVELS else f"{machine_of(level)}-{level}"


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
    known = X86_LEVELS + ARM_LEVELS
    if level not in (*known, "generic"):
        raise BadSetting("target", level, f"host, generic, or one of {', '.join(known)}")
    return level
