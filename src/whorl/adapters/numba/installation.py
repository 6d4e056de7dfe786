"""Switches the adapter on: nothing of Numba is imported before its version is known to fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whorl.adapters.host_library import HostLibrary
from whorl.lazy import load

LIBRARY: Final = HostLibrary("numba", (0, 60), (0, 69))


def install(*, ignores: Iterable[str] = ()) -> bool:
    """Keep all functions with `cache=True` that are decorated from now on in whorl's cache; false
    for versions of Numba that whorl does not know.

    `ignores` are names that do not count: of globals and captured variables (`LOCK`,
    `solver.LOCK`), or of what an overload reads while it compiles (`os.environ`).

    It does the same as NUMBA_CACHE_LOCATOR_CLASSES=whorl.adapters.numba.Locator, and is for
    versions of Numba that do not know this variable too. Functions that were decorated before keep
    Numba's own files.
    """
    if isinstance(ignores, str):
        raise TypeError(f"ignores= takes a list of names: [{ignores!r}]")
    if not LIBRARY.is_supported():
        return False
    is_known: bool = load("whorl.adapters.numba.locator").put_first(ignores)
    return is_known
