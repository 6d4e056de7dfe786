"""Shared caches on real servers: Redis, nginx, SeaweedFS."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.servers import (
    Server,
    nginx_at,
    rclone_at,
    redis_at,
    redis_cluster_at,
    seaweed_at,
    sentinel_at,
)
from tests.processes.store_children import key_of as number_key
from tests.remote.stores import counts_of, entry_in, far_store
from tests.store.entries import entry_of, key_of
from whorl.remote import object_engine
from whorl.remote.far_store import FarStore
from whorl.store import Absent, Cache, Ending, Failed, MemoryStore, NoLease, Stored, Tiered

GROUP = key_of("group")
TIMES = "timeout=1&connect_timeout=500ms"


@pytest.fixture(params=["redis", "cluster", "sentinel", "nginx", "seaweed"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "redis":
        with redis_at(tmp_path) as server:
            yield f"redis://127.0.0.1:{server.port}/2"
    elif request.param == "cluster":
        pytest.importorskip("redis", reason="clusters need the package redis")
        with redis_cluster_at(tmp_path) as servers:
            yield f"redis+cluster://127.0.0.1:{servers[0].port}"
    elif request.param == "sentinel":
        pytest.importorskip("redis", reason="sentinels need the package redis")
        with sentinel_at(tmp_path) as (_, sentinel):
            yield f"redis+sentinel://127.0.0.1:{sentinel.port}/cache/2"
    elif request.param == "nginx":
        with nginx_at(tmp_path) as server:
            yield f"http://127.0.0.1:{server.port}/shared"
    else:
        pytest.importorskip("obstore", reason="object stores need the package obstore")
        with seaweed_at(tmp_path) as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "any")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "any")
            _make_bucket(server)
            yield f"s3://whorl/ci?endpoint=http://127.0.0.1:{server.port}"


def _make_bucket(server: Server) -> None:
    until = time.monotonic() + 60
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/whorl", method="PUT")
    put = urllib.request.Request(f"http://127.0.0.1:{server.port}/whorl/x", b"x", method="PUT")
    for each in (request, put):  # the first file needs a volume, which takes a moment
        while True:
            try:
                urllib.request.urlopen(each, timeout=10).close()
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.3)


def test_a_round_trip_of_entries_and_what_the_engine_can_do(url: str) -> None:
    first, second = far_store(url), far_store(url)
    entries = [entry_of(n, os.urandom(n), GROUP if n else None) for n in (0, 10, 500_000)]
    for entry in entries:
        assert isinstance(second.get(entry.key, entry.under), Absent)
        first.put(entry)
    assert first.flush(20)
    assert counts_of(first)["stored"] == 3
    second.forget_answers()
    for entry in entries:
        assert bytes(entry_in(second.get(entry.key, entry.under)).data) == bytes(entry.data)
    engine = first.server.engine()
    if engine.can_list:
        assert len([*first.places()]) == 3
    assert isinstance(first.remove(entries[0].key), Stored)
    assert isinstance(far_store(url).get(entries[0].key), Absent)
    engine.close()


def test_leases_on_the_engine(url: str) -> None:
    one, two = (far_store(f"{url}{'&' if '?' in url else '?'}lease=1") for _ in range(2))
    if url.startswith("http:"):
        assert one.leases is None  # plain HTTP has none
        return
    assert one.leases is not None
    assert two.leases is not None
    lease = one.leases.take("key")
    assert not isinstance(lease, NoLease)
    time.sleep(1.5)  # longer than the lease: it was renewed
    assert two.leases.take("key") is NoLease.HELD
    lease.release(done=True)
    assert one.flush(10)
    mine = two.leases.take("key")
    assert not isinstance(mine, NoLease)
    mine.release(done=True)


def _works(store: FarStore, number: int) -> None:
    """Whatever the server does, a lookup ends and the right entry is there."""
    entry = entry_of(number)
    cache = Cache(Tiered(MemoryStore(), store))
    obtained = cache.obtain(entry.key, lambda: entry)
    assert bytes(obtained.entry.data) == bytes(entry.data)
    assert obtained.how in (Ending.HIT, Ending.PRODUCED, Ending.UNLOCKED, Ending.WAITED)


def test_a_redis_that_is_killed_stopped_and_restarted_empty_in_the_middle(tmp_path: Path) -> None:
    with redis_at(tmp_path) as server:
        store = far_store(f"redis://127.0.0.1:{server.port}/0?{TIMES}", rest=0.2)
        for n in range(5):
            _works(store, n)
        assert store.flush()
        server.signal(signal.SIGSTOP)
        start = time.monotonic()
        for n in range(5):
            _works(store, n)
        assert time.monotonic() - start < 6
        server.signal(signal.SIGCONT)
        time.sleep(0.3)
        assert not isinstance(store.get(key_of(0)), Failed)
        server.kill()
        for n in range(5):
            _works(store, n)
        server.start()  # empty
        time.sleep(0.3)
        for n in range(5, 10):
            _works(store, n)
        assert store.flush()
        assert isinstance(far_store(f"redis://127.0.0.1:{server.port}/0").get(key_of(0)), Absent)
        entry_in(far_store(f"redis://127.0.0.1:{server.port}/0").get(key_of(9)))


def test_a_redis_that_is_full_and_one_with_a_password(tmp_path: Path) -> None:
    more = ("--maxmemory", "3mb", "--requirepass", "secret")
    with redis_at(tmp_path, *more) as server:
        wrong = far_store(f"redis://:wrong@127.0.0.1:{server.port}/0")
        assert isinstance(wrong.get(key_of("x")), Failed)
        assert counts_of(wrong)["error: not allowed"] == 1
        store = far_store(f"redis://:secret@127.0.0.1:{server.port}/0")
        for n in range(20):
            store.put(entry_of(n, os.urandom(300_000)))
        assert store.flush(10)
        assert counts_of(store)["error: no space"] == 1
        assert counts_of(store)["dropped"] >= 1
        assert not isinstance(store.get(number_key(0)), Failed)


def test_a_server_that_ignores_conditions_is_found_out_and_used_without_leases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="object stores need the package obstore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setattr(object_engine, "_probed", {})
    with rclone_at(tmp_path) as server:
        store = far_store(f"s3://whorl/ci?endpoint=http://127.0.0.1:{server.port}&{TIMES}")
        for n in range(3):
            _works(store, n)
        assert store.flush()
        assert counts_of(store)["error: no leases"] >= 1
        assert store.leases is None or store.leases.take("x") is NoLease.UNAVAILABLE
        other = far_store(f"s3://whorl/ci?endpoint=http://127.0.0.1:{server.port}")
        entry_in(other.get(entry_of(2).key))
