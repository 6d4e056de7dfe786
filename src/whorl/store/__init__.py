"""Entries by digest: in memory, in a directory, in tiers; each is produced once.

`journal`, `catalogue` and `bundle` are for misses and for the command line, and
are imported from their own modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.lazy import attach

if TYPE_CHECKING:
    from .cache import Cache, Obtained, default_cache, open_cache, open_url
    from .directory import DirectoryStore
    from .eviction import Collected
    from .foreign_entry import ForeignEntry, ForeignLease, KeyPart
    from .lease import DirectoryLeases, Lease, Leases, NoLease
    from .outcome import Absent, Ending, Failed, Found, Got, Put, Skipped, Stored
    from .protocol import BaseStore, MemoryStore, NullStore, Store
    from .statistics import ProgramTotals, Statistics, Totals
    from .wrappers import Mismatch, ReadOnly, Tiered, Verifying
else:
    __getattr__, __dir__ = attach(
        __name__,
        {
            "cache": "Cache Obtained default_cache open_cache open_url",
            "directory": "DirectoryStore",
            "eviction": "Collected",
            "foreign_entry": "ForeignEntry ForeignLease KeyPart",
            "lease": "DirectoryLeases Lease Leases NoLease",
            "outcome": "Absent Ending Failed Found Got Put Skipped Stored",
            "protocol": "BaseStore MemoryStore NullStore Store",
            "statistics": "ProgramTotals Statistics Totals",
            "wrappers": "Mismatch ReadOnly Tiered Verifying",
        },
    )

__all__ = [
    "Absent",
    "BaseStore",
    "Cache",
    "Collected",
    "DirectoryLeases",
    "DirectoryStore",
    "Ending",
    "Failed",
    "ForeignEntry",
    "ForeignLease",
    "Found",
    "Got",
    "KeyPart",
    "Lease",
    "Leases",
    "MemoryStore",
    "Mismatch",
    "NoLease",
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
    "open_url",
]
