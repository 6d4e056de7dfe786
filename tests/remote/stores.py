"""Shared caches for tests."""

from __future__ import annotations

from tests.remote.keys import TEAM, sealer_of
from whorl.artifacts import Entry
from whorl.remote.address import Address
from whorl.remote.breaker import Breaker
from whorl.remote.far_store import FarStore
from whorl.remote.keyring import Key
from whorl.remote.tiers import engine_of
from whorl.store import Found, Got, Statistics

__all__ = ["counts_of", "entry_in", "far_store"]


def far_store(
    url: str, *keys: Key, rest: float = 30.0, statistics: Statistics | None = None
) -> FarStore:
    address = Address.parse(url)
    sealer = sealer_of(
        *(keys or (TEAM,)), namespace=address.namespace, trust_all=address.trust == "all"
    )
    store = FarStore(
        address, sealer, engine_of, reading=Breaker(rest), writing=Breaker(rest)
    )  # fmt: skip
    store.report_to(statistics or Statistics())
    return store


def counts_of(store: FarStore) -> dict[str, float]:
    return dict(store.server.statistics.totals.tiers.get(store.address.name, {}))


def entry_in(got: Got) -> Entry:
    assert isinstance(got, Found), got
    return got.entry
