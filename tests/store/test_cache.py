"""One producer for each key; every ending counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of, leases_of
from whorl.artifacts import Entry
from whorl.store import (
    Cache,
    DirectoryLeases,
    DirectoryStore,
    Ending,
    MemoryStore,
    NoLease,
    NullStore,
    ReadOnly,
    Skipped,
    Stored,
)


class Producer:
    """Makes an entry, and remembers how often."""

    def __init__(self, value: object = 1, *, seconds: float = 0.0, raises: int = 0) -> None:
        self.value = value
        self.seconds = seconds
        self.raises = raises
        self.calls = 0

    def __call__(self) -> Entry:
        self.calls += 1
        time.sleep(self.seconds)
        if self.calls <= self.raises:
            raise RuntimeError("not this time")
        return entry_of(self.value, b"made", seconds=2.5)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    store = DirectoryStore(tmp_path / "store")
    return Cache(store, leases=store.leases)


def in_threads(number: int, work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_the_first_produces_and_the_next_finds(cache: Cache) -> None:
    produce = Producer()
    first, second = (cache.obtain(key_of(1), produce) for _ in range(2))
    assert (first.how, first.put) == (Ending.PRODUCED, Stored())
    assert (second.how, second.put) == (Ending.HIT, None)
    assert bytes(second.entry.payload("code")) == b"made"
    assert produce.calls == 1


@pytest.mark.parametrize("kind", ["directory", "memory", "null", "no leases"])
def test_threads_that_miss_at_once_wait_for_one_production(kind: str, tmp_path: Path) -> None:
    directory = DirectoryStore(tmp_path / "store")
    cache = {
        "directory": lambda: Cache(directory, leases=directory.leases),
        "memory": lambda: Cache(MemoryStore()),
        "null": lambda: Cache(NullStore()),
        "no leases": lambda: Cache(directory),
    }[kind]()
    produce = Producer(seconds=0.3)
    got = []
    in_threads(8, lambda: got.append(cache.obtain(key_of(1), produce)))
    assert produce.calls == 1
    assert sorted(obtained.how.value for obtained in got) == ["produced"] + 7 * [
        "waited for another"
    ]
    assert {bytes(obtained.entry.data) for obtained in got} == {bytes(got[0].entry.data)}


def test_keys_do_not_wait_for_each_other(cache: Cache) -> None:
    begun = threading.Barrier(2, timeout=10)

    def produce(value: int) -> Entry:
        begun.wait()  # only if both are in production at once
        return entry_of(value)

    threads = [
        threading.Thread(target=cache.obtain, args=(key_of(i), partial(produce, i)))
        for i in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.statistics.totals.endings[Ending.PRODUCED] == 2


def test_the_same_key_in_two_groups_is_two_productions(cache: Cache) -> None:
    for group in ("a", "b"):
        under = key_of(group)
        produce = partial(entry_of, 1, under=under)
        made = cache.obtain(key_of(1), produce, under=under)
        assert made.how is Ending.PRODUCED


def test_what_the_producer_raises_is_raised_and_the_next_one_tries(cache: Cache) -> None:
    produce = Producer(raises=1)
    with pytest.raises(RuntimeError, match="not this time"):
        cache.obtain(key_of(1), produce)
    assert cache.obtain(key_of(1), produce).how is Ending.PRODUCED
    assert cache.statistics.totals.endings[Ending.RAISED] == 1


def test_of_threads_that_wait_for_a_producer_that_raises_the_next_one_tries(cache: Cache) -> None:
    produce = Producer(seconds=0.2, raises=1)
    got: list[object] = []

    def work() -> None:
        try:
            got.append(cache.obtain(key_of(1), produce).how)
        except RuntimeError:
            got.append("raised")

    in_threads(5, work)
    assert produce.calls == 2
    assert got.count("raised") == 1
    assert got.count(Ending.PRODUCED) == 1
    assert got.count(Ending.WAITED) + got.count(Ending.HIT) == 3


def test_a_production_that_asks_for_itself_does_not_wait_for_itself(cache: Cache) -> None:
    def outer() -> Entry:
        return cache.obtain(key_of(1), Producer()).entry

    assert cache.obtain(key_of(1), outer).how is Ending.PRODUCED


def test_a_thread_that_takes_longer_than_the_lease_is_not_waited_for(tmp_path: Path) -> None:
    cache = Cache(MemoryStore(), lease=0.2)
    produce = Producer(seconds=1.0)
    slow = threading.Thread(target=cache.obtain, args=(key_of(1), produce))
    slow.start()
    time.sleep(0.05)
    assert cache.obtain(key_of(1), Producer()).how is Ending.GAVE_UP
    slow.join()


def test_a_held_lease_is_not_waited_for_longer_than_it_lasts(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    leases = leases_of(store)
    held = leases.take(key_of(1))
    assert not isinstance(held, NoLease)
    cache = Cache(store, leases=leases, lease=0.2)
    assert cache.obtain(key_of(1), Producer()).how is Ending.GAVE_UP
    held.release(done=False)


def test_an_entry_of_another_key_is_refused(cache: Cache) -> None:
    with pytest.raises(ValueError, match="got the entry of"):
        cache.obtain(key_of(1), Producer(2))
    assert cache.obtain(key_of(1), Producer(1)).how is Ending.PRODUCED


def test_where_nothing_can_be_locked_work_is_done_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "leases").write_text("a file")
    cache = Cache(MemoryStore(), leases=DirectoryLeases(tmp_path / "leases"))
    assert cache.obtain(key_of(1), Producer()).how is Ending.UNLOCKED
    assert cache.obtain(key_of(1), Producer()).how is Ending.HIT


def test_a_read_only_store_lets_the_program_go_on(tmp_path: Path) -> None:
    obtained = Cache(ReadOnly(MemoryStore())).obtain(key_of(1), Producer())
    assert isinstance(obtained.put, Skipped)
    assert bytes(obtained.entry.payload("code")) == b"made"


def test_nothing_is_left_of_a_lease(cache: Cache) -> None:
    cache.obtain(key_of(1), Producer())
    assert isinstance(cache.store, DirectoryStore)
    assert list(Path(leases_of(cache.store).place).iterdir()) == []


def test_a_lease_is_exclusive_among_threads_too(tmp_path: Path) -> None:
    leases = DirectoryLeases(tmp_path / "leases")
    lease = leases.take("key")
    assert not isinstance(lease, NoLease)
    found: list[object] = []
    in_threads(1, lambda: found.append(leases.take("key")))
    assert found == [NoLease.HELD]
    lease.release(done=False)
    assert not isinstance(leases.take("key"), NoLease)


def test_every_ending_is_counted(cache: Cache) -> None:
    cache.obtain(key_of(1), Producer())
    cache.obtain(key_of(1), Producer())
    assert isinstance(cache.store, DirectoryStore)
    Path(cache.store.path(key_of(1))).write_bytes(b"")
    cache.obtain(key_of(1), Producer())
    totals = cache.statistics.totals
    assert totals.endings == {
        Ending.HIT: 1,
        Ending.ABSENT: 1,
        Ending.DAMAGED: 1,
        Ending.PRODUCED: 2,
        Ending.STORED: 2,
        Ending.SET_ASIDE: 1,
    }
    assert totals.misses == {Ending.ABSENT: 1, Ending.DAMAGED: 1}
    assert totals.seconds_saved == 2.5
    assert totals.bytes_written == 2 * totals.bytes_read


def test_a_toolchain_in_use_is_written_down_with_the_statistics(tmp_path: Path) -> None:
    cache = Cache(DirectoryStore(tmp_path))
    cache.uses("llvm 20")
    assert list(tmp_path.iterdir()) == []
    cache.statistics.flush()
    (stamp,) = (tmp_path / "v1" / "toolchains").iterdir()
    assert stamp.read_text() == "llvm 20"
