"""What a store can do is asked of the store, however it is put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import whorl
import whorl.store
from tests.store.entries import entry_of, key_of, leases_of
from whorl.artifacts import Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.store import (
    Absent,
    BaseStore,
    Cache,
    DirectoryStore,
    Ending,
    Found,
    MemoryStore,
    NullStore,
    ReadOnly,
    Skipped,
    Stored,
    Tiered,
    Totals,
    Verifying,
)
from whorl.store.journal import Journal, Miss
from whorl.store.listing import last_use

Wrap = Callable[[DirectoryStore, DirectoryStore], BaseStore]

WRITTEN: dict[str, Wrap] = {
    "a directory": lambda own, shipped: own,
    "tiers": lambda own, shipped: Tiered(own, ReadOnly(shipped)),
    "the shipped tier first": lambda own, shipped: Tiered(ReadOnly(shipped), own),
    "memory first": lambda own, shipped: Tiered(MemoryStore(), Tiered(own), shipped.for_reading()),
    "off first": lambda own, shipped: Tiered(NullStore(), own, ReadOnly(shipped)),
}
READ: dict[str, Wrap] = {
    "memory": lambda own, shipped: MemoryStore(),
    "nothing": lambda own, shipped: NullStore(),
    "read-only": lambda own, shipped: ReadOnly(own),
    "a directory for reading": lambda own, shipped: own.for_reading(),
    "read-only tiers": lambda own, shipped: ReadOnly(Tiered(own, shipped)),
    "tiers that are read-only": lambda own, shipped: Tiered(ReadOnly(own), ReadOnly(shipped)),
}


@pytest.fixture
def own(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path / "own")
    store.put(entry_of("own"))
    return store


@pytest.fixture
def shipped(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path / "shipped")
    store.put(entry_of("shipped", toolchain="llvm"))
    return store


def files(store: DirectoryStore) -> dict[Path, tuple[int, int]]:
    paths = [path for path in store.root.rglob("*") if path.is_file()]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


def use(store: BaseStore) -> Cache:
    """A cache that has looked up, produced, counted and noted."""
    cache = Cache(store)
    cache.get(key_of("shipped"))
    cache.obtain(key_of(1), lambda: entry_of(1))
    cache.uses("llvm")
    if cache.journal is not None:
        cache.journal.note(Miss("m.f", "first compile", ""))
    cache.statistics.flush()
    return cache


@pytest.mark.parametrize("wrap", WRITTEN.values(), ids=WRITTEN.keys())
def test_the_nearest_directory_that_is_written_to_has_leases_statistics_and_the_journal(
    own: DirectoryStore, shipped: DirectoryStore, wrap: Wrap
) -> None:
    before = files(shipped)
    cache = use(wrap(own, shipped))
    assert cache.leases is not None
    assert cache.leases.place == leases_of(own).place
    assert cache.statistics is own.statistics
    assert Totals.of(own.root / "statistics").endings[Ending.PRODUCED] == 1
    assert [miss.program for miss in Journal(own.root).misses()] == ["m.f"]
    assert last_use(own.home, "llvm") > 0
    assert files(shipped) == before


@pytest.mark.parametrize("wrap", READ.values(), ids=READ.keys())
def test_what_is_not_written_to_has_none_of_them(
    own: DirectoryStore, shipped: DirectoryStore, wrap: Wrap
) -> None:
    before = files(own), files(shipped)
    cache = use(wrap(own, shipped))
    assert (cache.leases, cache.journal) == (None, None)
    assert cache.statistics is not own.statistics
    assert (files(own), files(shipped)) == before


def test_a_store_that_checks_its_compiler_has_the_leases_and_statistics_of_its_inner_one(
    own: DirectoryStore,
) -> None:
    cache = use(Verifying(own))
    assert cache.leases is not None
    assert cache.leases.place == leases_of(own).place
    assert cache.statistics is own.statistics
    assert last_use(own.home, "llvm") > 0


def test_toolchains_are_noted_in_every_tier_that_is_written_to(
    own: DirectoryStore, shipped: DirectoryStore
) -> None:
    use(Tiered(own, shipped))
    assert last_use(own.home, "llvm") > 0
    assert last_use(shipped.home, "llvm") > 0


def test_leases_and_statistics_that_a_cache_is_given_come_first(
    own: DirectoryStore, shipped: DirectoryStore
) -> None:
    cache = Cache(own, leases=shipped.leases, statistics=shipped.statistics)
    assert cache.leases is not None
    assert cache.leases.place == leases_of(shipped).place
    assert cache.statistics is shipped.statistics


def test_tiers_are_off_when_all_of_them_are() -> None:
    assert Tiered(NullStore(), ReadOnly(NullStore())).is_off
    assert not Tiered(NullStore(), MemoryStore()).is_off


class Dictionary:
    """A store of somebody else's: the four methods, and no base class."""

    def __init__(self) -> None:
        self.entries: dict[Any, Entry] = {}

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Found | Absent:
        entry = self.entries.get((under, key))
        return Absent() if entry is None else Found(entry)

    def put(self, entry: Entry) -> Stored:
        self.entries[entry.under, entry.key] = entry
        return Stored()

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Stored | Absent:
        return Stored() if self.entries.pop((under, key), None) else Absent()

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        return iter([key for group, key in self.entries if group == under])


def test_a_store_of_four_methods_is_complete(own: DirectoryStore) -> None:
    inner = Dictionary()
    for store in (inner, Verifying(inner, sample=0), Tiered(inner)):
        cache = Cache(store)
        assert cache.obtain(key_of(1), lambda: entry_of(1)).how in (Ending.PRODUCED, Ending.HIT)
        assert (cache.leases, cache.journal, cache.store.is_off) == (None, None, False)
        assert list(cache.store.iterate()) == [key_of(1)]
        label = cache.store.label(key_of(1))
        assert label is not None
        assert label.kind == "artifact"
        assert [entry.key for entry in cache.store.versions(key_of(1))] == [key_of(1)]
    assert Cache(Tiered(inner, own)).leases is not None
    assert isinstance(Cache(ReadOnly(inner)).put(entry_of(2)), Skipped)
    assert Cache(inner).store.remove(key_of(1)) == Stored()

    @whorl.cached(store=inner)
    def double(x: int) -> int:
        return 2 * x

    assert [double(2), double(2)] == [4, 4]
    assert len(inner.entries) >= 1


# -- entries of several tiers --------------------------------------------------------------


def payloads(store: BaseStore, value: object) -> list[bytes]:
    return [bytes(entry.payload("code")) for entry in store.versions(key_of(value))]


def test_versions_are_those_of_every_tier_the_nearest_first() -> None:
    near, middle, far = MemoryStore(), MemoryStore(), MemoryStore()
    near.put(entry_of(1, b"near"))
    far.put(entry_of(1, b"far"))
    middle.put(entry_of(2, b"middle"))
    far.put(entry_of(2, b"far"))
    store = Tiered(near, Tiered(ReadOnly(middle), far))
    assert payloads(store, 1) == [b"near", b"far"]
    assert payloads(store, 2) == [b"middle", b"far"]
    assert payloads(near, 2) == [b"middle"]  # kept where it is looked for first
    assert payloads(middle, 1) == []
    assert payloads(store, 3) == []


def test_versions_of_a_key_that_is_to_be_produced_again_are_none() -> None:
    inner = MemoryStore()
    inner.put(entry_of(1))
    store = Verifying(Tiered(inner))
    assert payloads(store, 1) == []
    store.put(entry_of(1))
    assert payloads(store, 1) == [b"ret"]


def test_what_is_put_near_is_in_the_nearest_store_that_takes_it() -> None:
    shipped, near, far = MemoryStore(), MemoryStore(), MemoryStore()
    store = Tiered(ReadOnly(shipped), near, far)
    assert store.put_near(entry_of(1)) == Stored()
    assert [len(list(each.iterate())) for each in (shipped, near, far)] == [0, 1, 0]
    assert isinstance(Tiered(ReadOnly(near)).put_near(entry_of(2)), Skipped)


def test_read_only_tiers_are_not_filled_by_reading() -> None:
    near, far = MemoryStore(), MemoryStore()
    far.put(entry_of(1))
    assert isinstance(ReadOnly(Tiered(near, far)).get(key_of(1)), Found)
    assert list(near.iterate()) == []


def test_a_label_is_read_without_the_rest_of_its_entry(own: DirectoryStore) -> None:
    group = key_of("group")
    own.put(entry_of(1, bytes(100_000), group, toolchain="llvm"))
    path = Path(own.path(key_of(1), group))
    path.write_bytes(path.read_bytes()[:8192])  # no whole entry any more
    for store in (own, ReadOnly(own), Tiered(MemoryStore(), own), Verifying(own)):
        label = store.label(key_of(1), group)
        assert isinstance(label, Label)
        assert label.toolchain == "llvm"
        assert store.label(key_of(2), group) is None


def test_only_what_is_quick_to_read_is_read_ahead(own: DirectoryStore) -> None:
    assert MemoryStore().peek(key_of("own")) is None
    for store in (own, ReadOnly(own), Tiered(MemoryStore(), own)):
        entry = store.peek(key_of("own"))
        assert entry is not None
        assert entry.key == key_of("own")
    assert Verifying(own).peek(key_of("own")) is None  # it may be sampled


# -- nobody asks for a class ----------------------------------------------------------------


def test_nothing_outside_of_the_store_asks_which_class_a_store_is_of() -> None:
    source = Path(whorl.__file__).parent
    stores = {name for name in whorl.store.__all__ if isinstance(getattr(whorl.store, name), type)}
    stores = {name for name in stores if issubclass(getattr(whorl.store, name), BaseStore)}
    assert {"DirectoryStore", "NullStore", "Tiered"} <= stores
    asked = []
    for path in source.rglob("*.py"):
        if source / "store" in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            is_question = isinstance(node, ast.Compare) or (
                isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
            )
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if is_question and names & stores:
                asked.append(f"{path.relative_to(source)}:{node.lineno}")  # type: ignore[attr-defined]
    assert asked == []
