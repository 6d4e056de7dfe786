"""`numba.config`: what programs ask of it, answered for whorl."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from whorl.launch.runtime import thread_count

__all__ = ["config"]


class _Configuration(ModuleType):
    """Settings by their names in Numba. Setting one has no effect: see whorl.configure."""

    DISABLE_JIT = 0
    CACHE_DIR = ""
    THREADING_LAYER = "default"

    @property
    def NUMBA_NUM_THREADS(self) -> int:  # the name that Numba has for it
        """How many threads a parallel loop uses."""
        return thread_count()

    NUMBA_DEFAULT_NUM_THREADS = NUMBA_NUM_THREADS

    def reload_config(self) -> None:
        """Nothing: settings are read when they are used."""


config: Final[Any] = _Configuration("whorl.compat.numba.config")
