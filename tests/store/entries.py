"""Entries to put into stores."""

from __future__ import annotations

from pathlib import Path

import whorl
from whorl.artifacts import Artifact, Entry, Label, encode
from whorl.fingerprint.digest import StableDigest
from whorl.store import Cache, DirectoryLeases, DirectoryStore, Statistics


def key_of(value: object) -> StableDigest:
    digest = whorl.fingerprint(value)
    assert isinstance(digest, StableDigest)
    return digest


def leases_of(store: DirectoryStore) -> DirectoryLeases:
    leases = store.leases
    assert leases is not None
    return leases


def entry_of(
    value: object,
    payload: bytes = b"ret",
    under: StableDigest | None = None,
    *,
    seconds: float = 0.0,
    toolchain: str = "",
) -> Entry:
    label = Label("artifact", key_of(value), under, toolchain=toolchain, seconds=seconds)
    return encode(Artifact({"code": payload}), label)


def cache_at(root: Path, *, lease: float = 600.0) -> Cache:
    counted = Statistics(root / "statistics")
    store = DirectoryStore(root, statistics=counted)
    return Cache(store, leases=store.leases, statistics=counted, lease=lease)
