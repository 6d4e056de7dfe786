"""Shared caches on engines that people already run: Redis, object stores, HTTP.

The way of an entry to a shared cache and back:

    FarStore -> Sealer (signed, compressed) -> Behind (a queue) -> Engine -> server
    FarStore <- Sealer (checked, bounded)   <- Breaker          <- Engine <- server

To follow it, read `tiers` (URLs become stores), `far_store` (what is asked, kept and uploaded),
`server` (asked in time or not at all), then one engine (`redis_engine` does all that one can do)
and `seal`. The others stand by themselves: `address`, `keyring`, `behind`, `far_lease`, `wire`.

Nothing of this is imported unless WHORL_REMOTE or a program names a URL.
"""

from __future__ import annotations
