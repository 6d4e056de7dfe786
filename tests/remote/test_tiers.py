"""Chains of a directory and shared caches: what is found far is kept nearer, and nothing else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import whorl
from tests.remote.keys import TEAM, ed25519, public_part
from tests.remote.servers import FakeRedis
from tests.remote.stores import counts_of, entry_in, far_store
from tests.store.children import ends_within
from tests.store.entries import entry_of, key_of
from whorl import settings
from whorl.artifacts import Entry, Label
from whorl.jit.key import Hint
from whorl.remote import behind
from whorl.remote.address import Address
from whorl.remote.far_store import FarStore
from whorl.remote.hint_merge import merged_hints
from whorl.remote.seal import Sealer
from whorl.remote.tiers import engine_of
from whorl.store import (
    Absent,
    BaseStore,
    Cache,
    DirectoryStore,
    Found,
    MemoryStore,
    ReadOnly,
    Skipped,
    Stored,
    Tiered,
    open_cache,
)
from whorl.store.wrappers import LateTiers
from whorl.testing import fresh_cache

GROUP = key_of("group")


@pytest.fixture
def servers() -> Iterator[list[FakeRedis]]:
    both = [FakeRedis(), FakeRedis()]
    yield both
    for server in both:
        server.close()


def url_of(server: FakeRedis, options: str = "") -> str:
    return f"redis://127.0.0.1:{server.port}/0?{options}"


def has(store: BaseStore, entry: Entry) -> bool:
    return isinstance(store.get(entry.key, entry.under), Found)


def test_a_hit_in_the_nearest_tier_asks_nobody_and_uploads_nothing(
    servers: list[FakeRedis],
) -> None:
    near, far = MemoryStore(), far_store(url_of(servers[0]))
    near.put(entry_of("x"))
    assert has(Tiered(near, far), entry_of("x"))
    assert far.flush()
    assert not servers[0].commands


def test_what_is_found_far_is_kept_in_all_nearer_tiers(servers: list[FakeRedis]) -> None:
    near = MemoryStore()
    middle, far = (far_store(url_of(server)) for server in servers)
    far.put(entry_of("x", under=GROUP))
    assert far.flush()
    assert has(Tiered(near, middle, far), entry_of("x", under=GROUP))
    assert has(near, entry_of("x", under=GROUP))
    assert middle.flush()
    assert servers[0].entries() == servers[1].entries()


def test_who_cannot_seal_hands_on_what_was_sealed(servers: list[FakeRedis]) -> None:
    """CI seals into one cache; a reader of it fills a nearer cache for its cluster."""
    ci = ed25519()
    far_store(url_of(servers[1]), ci).put(entry_of("x"))
    behind._flush_all()
    middle, far = (far_store(url_of(server), public_part(ci)) for server in servers)
    assert has(Tiered(middle, far), entry_of("x"))
    assert middle.flush()
    assert has(far_store(url_of(servers[0]), public_part(ci)), entry_of("x"))
    assert isinstance(middle.put(entry_of("y")), Skipped)


@pytest.mark.parametrize("options", ["", "namespace=cluster"])
def test_what_nobody_has_signed_is_not_handed_on_to_a_cache_that_is_checked(
    servers: list[FakeRedis], options: str
) -> None:
    """Whoever can write to a cache that one machine trusts blindly reaches nobody else by it."""
    forger = FarStore(Address.parse(url_of(servers[1])), Sealer("whorl", {}, None, True), engine_of)
    forger.put(entry_of("x"))
    assert forger.flush()
    near = MemoryStore()
    middle = far_store(url_of(servers[0], options))
    far = far_store(url_of(servers[1], "trust=all"))
    assert has(Tiered(near, middle, far), entry_of("x"))
    assert has(near, entry_of("x"))
    assert middle.flush()
    assert not servers[0].entries()
    open_to_all = far_store(url_of(servers[0], f"trust=all&{options}"))
    assert has(Tiered(open_to_all, far), entry_of("x"))
    assert open_to_all.flush()
    assert not has(far_store(url_of(servers[0], options)), entry_of("x"))


def test_a_read_only_level_does_not_stop_the_chain(servers: list[FakeRedis]) -> None:
    near = MemoryStore()
    middle = far_store(url_of(servers[0], "readonly"))
    far = far_store(url_of(servers[1]))
    chain = Tiered(near, middle, far)
    assert isinstance(chain.put(entry_of("x")), Stored)
    assert far.flush()
    assert not servers[0].commands
    assert len(servers[1].entries()) == 1
    emptied = MemoryStore()
    assert has(Tiered(emptied, middle, far), entry_of("x"))
    assert has(emptied, entry_of("x"))


def test_a_level_that_is_down_does_not_stop_the_chain(servers: list[FakeRedis]) -> None:
    servers[0].close()
    middle, far = (far_store(url_of(server)) for server in servers)
    far.put(entry_of("x"))
    assert far.flush()
    near = MemoryStore()
    assert has(Tiered(near, middle, far), entry_of("x"))
    assert has(near, entry_of("x"))


def test_with_reshare_what_is_found_nearer_is_uploaded_once(servers: list[FakeRedis]) -> None:
    near, far = MemoryStore(), far_store(url_of(servers[0], "reshare"))
    near.put(entry_of("x"))
    chain = Tiered(near, far)
    for _ in range(3):
        assert has(chain, entry_of("x"))
    assert far.flush()
    assert [words[0] for words in servers[0].commands] == [b"SET"]


def test_a_cache_that_is_read_only_changes_no_tier(servers: list[FakeRedis]) -> None:
    near, far = MemoryStore(), far_store(url_of(servers[0]))
    far.put(entry_of("x"))
    assert far.flush()
    before = len(servers[0].commands)
    chain = ReadOnly(Tiered(near, far))
    assert has(chain, entry_of("x"))
    assert isinstance(chain.put(entry_of("y")), Skipped)
    assert chain.leases is None
    assert not [*near.iterate()]
    assert len(servers[0].commands) == before + 1


def test_listings_and_rows_about_sources_are_those_of_this_machine(
    servers: list[FakeRedis],
) -> None:
    near, far = MemoryStore(), far_store(url_of(servers[0]))
    chain = Tiered(near, far)
    row = Entry.build(Label("source", key_of("row")), {}, ["source", "ab"])
    assert isinstance(chain.put(row), Stored)
    assert isinstance(far.put(row), Skipped)
    assert [*chain.iterate()] == [row.key]
    assert next(chain.versions(key_of("none"), far=False), None) is None
    assert chain.label(key_of("none")) is None
    assert far.flush()
    assert not servers[0].commands


def test_a_lookup_does_not_ask_twice_for_what_is_absent(servers: list[FakeRedis]) -> None:
    far = far_store(url_of(servers[0]))
    for _ in range(3):
        assert isinstance(far.get(key_of("x")), Absent)
        assert not [*far.versions(key_of("x"))]
    assert len(servers[0].commands) == 1
    far.forget_answers()
    far.get(key_of("x"))
    assert len(servers[0].commands) == 2


def test_uploads_happen_in_the_order_of_puts(servers: list[FakeRedis]) -> None:
    far = far_store(url_of(servers[0]))
    for n in range(30):
        far.put(entry_of(n))
    assert far.flush()
    names = [words[1].rpartition(b"/")[2].decode() for words in servers[0].commands]
    assert names == [str(key_of(n)) for n in range(30)]


def test_a_put_does_not_wait_for_the_server(servers: list[FakeRedis]) -> None:
    servers[0].delay = 0.2
    far = far_store(url_of(servers[0]))
    start = time.monotonic()
    for n in range(5):
        far.put(entry_of(n))
    assert time.monotonic() - start < 0.15
    assert far.flush()
    assert len(servers[0].entries()) == 5


def test_a_queue_that_is_full_drops_counts_and_warns(
    servers: list[FakeRedis], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(behind, "MOST_TASKS", 5)
    servers[0].delay = 0.05
    far = far_store(url_of(servers[0]))
    for n in range(30):
        far.put(entry_of(n))
    assert far.flush()
    dropped = counts_of(far)["dropped"]
    assert dropped >= 20
    assert len(servers[0].entries()) == 30 - dropped
    assert caplog.text.count("not all that was made is uploaded") == 1


def test_a_forked_child_has_its_own_queue_and_connections(servers: list[FakeRedis]) -> None:
    far = far_store(url_of(servers[0]))
    far.get(key_of("before"))
    servers[0].delay = 0.1
    for n in range(3):
        far.put(entry_of(n))

    def child() -> None:
        assert len(far.queue) == 0
        far.put(entry_of("child"))
        assert has(far, entry_of("child"))
        assert far.flush()

    assert ends_within(10, child)
    assert far.flush()
    assert len(servers[0].entries()) == 4
    assert len(servers[0].commands) == 1 + 4  # nothing was uploaded twice


def test_many_threads_share_a_store(servers: list[FakeRedis]) -> None:
    far = far_store(url_of(servers[0]))
    wrong: list[object] = []

    def work(number: int) -> None:
        for n in range(20):
            entry = entry_of((number, n), os.urandom(100))
            far.put(entry)
            if bytes(entry_in(far.get(entry.key)).data) != bytes(entry.data):
                wrong.append(entry)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert far.flush()
    assert not wrong
    assert len(servers[0].entries()) == 160


def hint_of(*leads: str) -> Hint:
    return Hint(
        {f"row {lead}": 1 for lead in leads}, {key_of(lead): ["type arg x"] for lead in leads}
    )


def test_hints_of_two_machines_are_joined_on_the_server(servers: list[FakeRedis]) -> None:
    one, two = far_store(url_of(servers[0])), far_store(url_of(servers[0]))
    key = key_of("file")
    one.put(hint_of("a", "b").entry(key))
    two.put(hint_of("b", "c").entry(key))
    assert one.flush()
    assert two.flush()
    hint = Hint.of_entry(entry_in(far_store(url_of(servers[0])).get(key)))
    assert hint.leads.keys() == {key_of(lead) for lead in "abc"}
    assert hint.rows.keys() == {"row a", "row b", "row c"}


def test_hints_put_at_the_same_moment_lose_no_lead(servers: list[FakeRedis]) -> None:
    servers[0].delay = 0.01
    stores: list[FarStore] = [far_store(url_of(servers[0])) for _ in range(4)]
    key = key_of("file")
    for n, store in enumerate(stores):
        store.put(hint_of(f"lead {n}").entry(key))
    assert all(store.flush() for store in stores)
    hint = Hint.of_entry(entry_in(far_store(url_of(servers[0])).get(key)))
    assert len(hint.leads) == 4


def test_a_hint_that_adds_nothing_is_not_uploaded(servers: list[FakeRedis]) -> None:
    far = far_store(url_of(servers[0]))
    for _ in range(2):
        far.put(hint_of("a").entry(key_of("file")))
        assert far.flush()
    assert servers[0].names == ["GET", "EVAL", "GET"]


def test_a_lead_that_does_not_fit_into_a_full_hint_gets_its_own() -> None:
    full = hint_of(*(f"lead {n}" for n in range(1100)))
    assert full.is_full
    entries = [*merged_hints(hint_of("new").entry(key_of("file")), full.entry(key_of("file")))]
    leads = {entry.key: Hint.of_entry(entry).leads.keys() for entry in entries}
    assert leads[key_of("new")] == {key_of("new")}
    assert full.leads.keys() == leads.get(key_of("file"), full.leads.keys())


def test_the_settings_name_the_chain(tmp_path: Path, servers: list[FakeRedis]) -> None:
    before = settings.current()
    try:
        now = whorl.configure(
            remote=[url_of(servers[0]), url_of(servers[1], "readonly")],
            cache_dir=tmp_path / "cache",
            signing_key="correct horse battery staple",
            keys_dir=tmp_path / "keys",
        )
        store = open_cache(now).store
        assert isinstance(store, Tiered)
        near, late = store.tiers
        assert isinstance(near, DirectoryStore)
        assert isinstance(late, LateTiers)
        assert isinstance(late.tiers, Tiered)
        assert [type(tier) for tier in late.tiers.tiers] == [FarStore, FarStore]
        assert open_cache(now._replace(remote=settings.Setting((), "x"))).store.is_far is False
    finally:
        settings.restore(before)


def test_what_tiers_do_is_counted_with_the_statistics_of_the_directory(
    tmp_path: Path, servers: list[FakeRedis]
) -> None:
    far = far_store(url_of(servers[0]))
    cache = Cache(Tiered(DirectoryStore(tmp_path), far))
    cache.put(entry_of("x", seconds=2.0))
    assert far.flush()
    other = Cache(Tiered(MemoryStore(), far_store(url_of(servers[0]), TEAM)))
    other.get(key_of("x"))
    row = cache.statistics.totals.tiers[far.address.name]
    assert row["stored"] == 1
    row = other.statistics.totals.tiers[far.address.name]
    assert (row["hits"], row["seconds_saved"], row["requests"]) == (1, 2.0, 1)
    assert row["seconds"] > 0
    cache.statistics.flush()
    assert whorl.store.Totals.of(tmp_path / "statistics").tiers[far.address.name]["stored"] == 1


def test_a_fresh_cache_of_a_test_asks_no_shared_cache(servers: list[FakeRedis]) -> None:
    before = settings.current()
    try:
        whorl.configure(remote=url_of(servers[0]), signing_key="correct horse battery staple")
        with fresh_cache():
            open_cache(settings.current()).get(key_of("x"))
        assert not servers[0].commands
    finally:
        settings.restore(before)
