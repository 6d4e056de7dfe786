"""A lease has one producer work at a time, and nobody waits for ever."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.store.entries import cache_at, entry_of, key_of, leases_of
from whorl.store import Cache, DirectoryStore, Ending, Mismatch, Verifying


def test_a_verifying_store_in_a_cache_with_leases_has_keys_produced_again(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1, b"old"))
    found: list[Mismatch] = []
    cache = Cache(Verifying(store, on_mismatch=found.append), leases=store.leases)
    made = cache.obtain(key_of(1), lambda: entry_of(1, b"new"))
    assert made.how is Ending.PRODUCED  # WAITED: `look` asks again, and is then told the truth
    assert len(found) == 1


def test_where_flock_is_not_implemented_work_is_done_without_a_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*arguments: object) -> None:  # Lustre without -o flock
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # python -W error
        made = cache_at(tmp_path).obtain(key_of(1), lambda: entry_of(1))
    assert made.how is Ending.UNLOCKED


def test_who_waits_for_one_that_hangs_takes_what_another_has_put_meanwhile(tmp_path: Path) -> None:
    hanging = leases_of(DirectoryStore(tmp_path)).take(str(key_of(1)))
    cache = cache_at(tmp_path, lease=2.0)
    threading.Timer(0.2, lambda: DirectoryStore(tmp_path).put(entry_of(1))).start()
    made = []
    begun = time.monotonic()
    got = cache.obtain(key_of(1), lambda: made.append(1) or entry_of(1))  # type: ignore[func-returns-value]  # None
    del hanging
    assert (got.how, made) == (Ending.WAITED, [])
    assert time.monotonic() - begun < 1.5


def test_two_productions_that_need_each_other_do_not_wait_for_each_other(tmp_path: Path) -> None:
    cache = cache_at(tmp_path, lease=3.0)
    both = threading.Barrier(2)

    def run(mine: int, other: int) -> None:
        def produce() -> Any:
            both.wait()
            cache.obtain(key_of(other), lambda: entry_of(other))
            return entry_of(mine)

        cache.obtain(key_of(mine), produce)

    threads = [threading.Thread(target=run, args=pair) for pair in ((1, 2), (2, 1))]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun < 2.0  # all of the lease: ten minutes as it comes


def test_a_production_that_asks_for_itself_through_another_cache_does_not_wait(
    tmp_path: Path,
) -> None:
    one, other = (cache_at(tmp_path, lease=2.0) for _ in range(2))  # before and after `configure`
    begun = time.monotonic()
    one.obtain(key_of(1), lambda: other.obtain(key_of(1), lambda: entry_of(1)).entry)
    assert time.monotonic() - begun < 1.0
