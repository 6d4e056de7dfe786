"""Shared caches on engines that people already run: Redis, object stores, HTTP.

The way of an entry to a shared cache and back:

    FarStore -> Sealer (signed, compressed) -> Behind (a queue) -> Engine -> server
    FarStore <- Sealer (checked, bounded)   <- Breaker          <- Engine <- server

Nothing of this is imported unless WHORL_REMOTE or a program names a URL.
"""

from __future__ import annotations
