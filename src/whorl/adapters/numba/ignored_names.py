"""The names that do not count, by `whorl.adapters.numba.install`, and descriptions without them."""

from __future__ import annotations

import random
import types
from typing import Final

import numpy as np

from whorl.adapters.code_description import CodeDescription, describe
from whorl.fingerprint.boundary import DEFAULT_BOUNDARY

IGNORED: Final[set[str]] = set()

# An overload can draw random numbers: compiled code does that when it runs.
_RUN_LATER: Final = frozenset(
    f"{module.__name__}.{name}" for module in (random, np.random) for name in dir(module)
)


def described(name: str, function: types.FunctionType, *roots: object) -> CodeDescription:
    """What a function that Numba compiles is made of. `UnsupportedFunction` if nobody knows.

    Other installed packages count by version; its own counts by content, because Numba's cache
    too notices when a file of it is edited.
    """
    module = str(function.__module__)
    home = DEFAULT_BOUNDARY.home(module, function.__globals__.get("__file__"))
    own = (module.partition(".")[0],) if home.kind == "installed" else ()
    return describe(name, *roots, ignores=IGNORED, leaving_out=_OPTION, packages=own)


def described_extensions(name: str, *roots: object) -> CodeDescription:
    """What functions that Numba calls while it compiles are made of.

    They are Python code: one that reads a file or the environment can return anything.
    """
    ignores = _RUN_LATER | IGNORED
    return describe(name, *roots, ignores=ignores, leaving_out=_OPTION, pure=True)


_OPTION: Final = "whorl.adapters.numba.install(ignores=[NAME])"
