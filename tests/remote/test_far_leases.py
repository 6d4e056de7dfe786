"""Leases among machines: one producer at a time, and a dead one is replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.servers import FakeRedis, free_port
from tests.remote.stores import far_store
from tests.store.entries import entry_of, key_of
from whorl.artifacts import Entry
from whorl.store import Cache, DirectoryStore, Ending, MemoryStore, NoLease, Tiered
from whorl.store.lease import Lease, Leases


@pytest.fixture
def redis() -> Iterator[FakeRedis]:
    server = FakeRedis()
    yield server
    server.close()


def leases_at(redis: FakeRedis, options: str = "lease=15") -> Leases:
    leases = far_store(f"redis://127.0.0.1:{redis.port}/0?{options}").leases
    assert leases is not None
    return leases


def taken(lease: Lease | NoLease) -> Lease:
    assert not isinstance(lease, NoLease), lease
    return lease


def machine(root: Path, redis: FakeRedis, options: str = "lease=15") -> Cache:
    far = far_store(f"redis://127.0.0.1:{redis.port}/0?{options}")
    return Cache(Tiered(DirectoryStore(root), far))


def eventually(holds: object, seconds: float = 3.0) -> bool:
    assert callable(holds)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_one_machine_has_the_lease_until_it_gives_it_back(redis: FakeRedis) -> None:
    one, two = leases_at(redis), leases_at(redis)
    lease = taken(one.take("key"))
    assert two.take("key") is NoLease.HELD
    assert "process" in two.holder("key")
    assert not isinstance(two.take("other"), NoLease)
    lease.release(done=True)
    assert eventually(lambda: not isinstance(two.take("key"), NoLease))


def test_a_lease_that_is_held_is_renewed(redis: FakeRedis) -> None:
    one, two = leases_at(redis, "lease=300ms"), leases_at(redis, "lease=300ms")
    lease = taken(one.take("key"))
    time.sleep(1.0)
    assert two.take("key") is NoLease.HELD
    lease.release(done=True)


def test_a_holder_that_was_killed_is_replaced_when_its_lease_ends(redis: FakeRedis) -> None:
    redis.values[b"whorl:whorl:leases/key"] = b"dead/1/token", time.monotonic() + 0.3
    leases = leases_at(redis)
    assert leases.take("key") is NoLease.HELD
    assert leases.holder("key") == "process 1 on dead"
    assert eventually(lambda: not isinstance(leases.take("key"), NoLease))


@pytest.mark.parametrize("holder", [b"+OK", b"$5\r\nhello", b"$6\r\na/b/cd"])
def test_for_a_holder_that_is_none_nobody_waits(
    redis: FakeRedis, tmp_path: Path, holder: bytes
) -> None:
    redis.replace = lambda words: holder + b"\r\n" if words[0] == b"EVAL" else None
    start = time.monotonic()
    obtained = machine(tmp_path, redis).obtain(key_of("x"), lambda: entry_of("x"))
    assert obtained.how is Ending.PRODUCED
    assert time.monotonic() - start < 5


def test_what_another_has_taken_meanwhile_is_not_given_back(redis: FakeRedis) -> None:
    one = leases_at(redis)
    lease = taken(one.take("key"))
    redis.values[b"whorl:whorl:leases/key"] = b"other/2/token", time.monotonic() + 60
    lease.release(done=True)
    time.sleep(0.2)
    assert redis.values[b"whorl:whorl:leases/key"][0] == b"other/2/token"


def test_a_server_that_does_not_answer_has_no_leases() -> None:
    leases = far_store(f"redis://127.0.0.1:{free_port()}/0").leases
    assert leases is not None
    assert leases.take("key") is NoLease.UNAVAILABLE


def test_without_leases_elsewhere_those_of_the_machine_are_enough(tmp_path: Path) -> None:
    far = far_store(f"redis://127.0.0.1:{free_port()}/0")
    cache = Cache(Tiered(DirectoryStore(tmp_path), far))
    obtained = cache.obtain(key_of("x"), lambda: entry_of("x"))
    assert obtained.how is Ending.PRODUCED


def test_without_any_leases_it_is_produced_all_the_same() -> None:
    far = far_store(f"redis://127.0.0.1:{free_port()}/0")
    obtained = Cache(Tiered(MemoryStore(), far)).obtain(key_of("x"), lambda: entry_of("x"))
    assert obtained.how is Ending.UNLOCKED


def test_a_lease_is_given_back_behind_the_upload_of_its_entry(
    tmp_path: Path, redis: FakeRedis
) -> None:
    machine(tmp_path, redis).obtain(key_of("x"), lambda: entry_of("x"))
    assert eventually(lambda: any(b"DEL" in b"".join(words) for words in redis.commands))
    kinds = [words[0] if words[0] != b"EVAL" else words[1][:30] for words in redis.commands]
    assert kinds.index(b"SET") < len(kinds) - 1


def test_of_two_machines_that_miss_one_compiles_and_the_other_waits(
    tmp_path: Path, redis: FakeRedis
) -> None:
    made: list[str] = []
    results: dict[str, Ending] = {}

    def work(name: str) -> None:
        def produce() -> Entry:
            made.append(name)
            time.sleep(0.5)
            return entry_of("x")

        cache = machine(tmp_path / name, redis, "lease=5")
        results[name] = cache.obtain(key_of("x"), produce).how

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(made) == 1
    assert sorted(how.name for how in results.values()) == ["PRODUCED", "WAITED", "WAITED"]


def test_a_miss_asks_three_times_before_it_produces(tmp_path: Path, redis: FakeRedis) -> None:
    asked: list[int] = []

    def produce() -> Entry:
        asked.append(len(redis.commands))
        return entry_of("x")

    machine(tmp_path, redis).obtain(key_of("x"), produce)
    assert asked == [3]


def test_while_another_machine_holds_a_lease_it_is_asked_for_now_and_then(
    tmp_path: Path, redis: FakeRedis
) -> None:
    redis.values[b"whorl:whorl:leases/" + str(key_of("x")).encode()] = (
        b"host/1/token", time.monotonic() + 1.0,
    )  # fmt: skip
    machine(tmp_path, redis).obtain(key_of("x"), lambda: entry_of("x"))
    taking = [words for words in redis.commands if words[0] == b"EVAL" and b"'NX'" in words[1]]
    assert 2 <= len(taking) <= 10
