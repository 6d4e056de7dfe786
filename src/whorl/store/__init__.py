"""Entries by digest: in memory, in a directory, in tiers; made once by whoever is first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .bound import Collected
    from .cache import Cache, Obtained
    from .default import default_cache, open_cache
    from .directory import DirectoryStore
    from .ending import Ending
    from .journal import Difference, Journal, Miss, journal_of
    from .lease import Leases
    from .memory import MemoryStore, NullStore
    from .outcome import Absent, Failed, Found, Got, Put, Skipped, Store, Stored
    from .required import is_hit_required, require_hit
    from .statistics import ProgramTotals, Statistics, Totals
    from .wrappers import Mismatch, ReadOnly, Tiered, Verifying
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "bound": "Collected",
            "cache": "Cache Obtained",
            "default": "default_cache open_cache",
            "directory": "DirectoryStore",
            "ending": "Ending",
            "journal": "Difference Journal Miss journal_of",
            "lease": "Leases",
            "memory": "MemoryStore NullStore",
            "outcome": "Absent Failed Found Got Put Skipped Store Stored",
            "required": "is_hit_required require_hit",
            "statistics": "ProgramTotals Statistics Totals",
            "wrappers": "Mismatch ReadOnly Tiered Verifying",
        },
    )

__all__ = [
    "Absent",
    "Cache",
    "Collected",
    "Difference",
    "DirectoryStore",
    "Ending",
    "Failed",
    "Found",
    "Got",
    "Journal",
    "Leases",
    "MemoryStore",
    "Mismatch",
    "Miss",
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
    "is_hit_required",
    "journal_of",
    "open_cache",
    "require_hit",
]
