"""Words of objects in memory, and the constants of the layout that say where they are.

Nothing here imports NumPy, of which the walk of fingerprints knows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whorl.lazy import load as load_module
from whorl.systems import Constants, load, u64


def _of_this_process() -> Mapping[str, Any]:
    """What the launcher is compiled with; the functions that run in plain Python need it."""
    layout = load_module("whorl.launch.layout_search").object_layout()
    constants: Mapping[str, Any] = load_module("whorl.launch.object_reads").constants_of(layout)
    return constants


at = Constants(_of_this_process)


def word(table: u64, number: int) -> u64:
    """The word of a number in a table."""
    return load(table + 8 * number, u64)


def class_of(value: u64) -> u64:
    """The class of an object."""
    return load(value + at.type, u64)
