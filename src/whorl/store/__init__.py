"""Entries by digest: in memory, in a directory, in tiers; made once by whoever is first.

What a hit has no need of is imported from its own module: `journal`, `making`, `required`,
`catalogue` and `bundle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .bound import Collected
    from .cache import Cache
    from .default import default_cache, open_cache
    from .directory import DirectoryStore
    from .ending import Ending
    from .flight import Obtained
    from .found import Absent, Found
    from .lease import Leases
    from .medium import Store
    from .memory import MemoryStore, NullStore
    from .outcome import Failed, Got, Put, Skipped, Stored
    from .statistics import Statistics
    from .totals import ProgramTotals, Totals
    from .wrappers import Mismatch, ReadOnly, Tiered, Verifying
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "bound": "Collected",
            "cache": "Cache",
            "default": "default_cache open_cache",
            "directory": "DirectoryStore",
            "ending": "Ending",
            "flight": "Obtained",
            "found": "Absent Found",
            "lease": "Leases",
            "medium": "Store",
            "memory": "MemoryStore NullStore",
            "outcome": "Failed Got Put Skipped Stored",
            "statistics": "Statistics",
            "totals": "ProgramTotals Totals",
            "wrappers": "Mismatch ReadOnly Tiered Verifying",
        },
    )

__all__ = [
    "Absent",
    "Cache",
    "Collected",
    "DirectoryStore",
    "Ending",
    "Failed",
    "Found",
    "Got",
    "Leases",
    "MemoryStore",
    "Mismatch",
    "NullStore",
    "Obtained",
    "ProgramTotals",
    "Put",
    "ReadOnly",
    "Skipped",
    "Statistics",
    "Store",
    "Stored",
    "Tiered",
    "Totals",
    "Verifying",
    "default_cache",
    "open_cache",
]
