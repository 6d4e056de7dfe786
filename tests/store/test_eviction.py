"""The bound: what goes first, what stays, and when it is looked at."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.store.children import ends_within
from tests.store.entries import entry_of, key_of
from whorl.store import Absent, DirectoryStore, Ending, Found, Skipped
from whorl.store import eviction as module
from whorl.store.eviction import DEAD_AFTER

DAY = 86400.0


def size_of(root: Path) -> int:
    homes = [path / part for path in root.glob("v*") for part in ("entries", "groups")]
    return sum(p.stat().st_size for home in homes for p in home.rglob("*") if p.is_file())


def age(store: DirectoryStore, value: object, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(store.path(key_of(value)), (then, then))


def kept(store: DirectoryStore) -> set[object]:
    return {value for value in range(50) if isinstance(store.get(key_of(value)), Found)}


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    for i in range(10):
        store.put(entry_of(i, bytes(1000)))
        age(store, i, 1000 - i)
    age(store, 2, 1)
    one = len(entry_of(0, bytes(1000)).data)
    collected = store.collect(one * 5)
    assert kept(store) == {2, 6, 7, 8, 9} - ({6} if collected.removed == 6 else set())
    assert collected.left == size_of(store.root) <= one * 5
    assert collected.freed == collected.removed * one


def test_a_store_within_its_bound_loses_nothing(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    for i in range(5):
        store.put(entry_of(i))
    assert store.collect().removed == 0
    assert kept(store) == set(range(5))


def test_writing_beyond_the_bound_evicts_without_being_asked(tmp_path: Path) -> None:
    bound = 300_000
    store = DirectoryStore(tmp_path / "store", max_size=bound)
    for i in range(200):
        store.put(entry_of(i, bytes(7000)))
        assert size_of(store.root) <= bound * 1.1
    assert size_of(store.root) >= bound * 0.8
    assert store.statistics.totals.endings[Ending.EVICTED] > 100


def test_an_entry_larger_than_the_bound_is_not_kept_and_costs_no_other(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store", max_size=10_000)
    store.put(entry_of(6, b"small"))
    for i in range(5):
        assert isinstance(store.put(entry_of(i, bytes(50_000))), Skipped)
    assert kept(store) == {6}


def test_a_narrower_bound_holds_from_the_first_put(tmp_path: Path) -> None:
    wide = DirectoryStore(tmp_path / "store")
    for i in range(20):
        wide.put(entry_of(i, bytes(9000)))
        age(wide, i, 100)
    narrow = DirectoryStore(tmp_path / "store", max_size=60_000)
    narrow.put(entry_of(30))
    assert size_of(narrow.root) <= 60_000
    assert isinstance(narrow.get(key_of(30)), Found)


def test_entries_of_older_formats_go_first(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1, bytes(9000)))
    age(store, 1, 10 * DAY)
    old = store.root / "v0" / "entries" / "ab" / ("cd" * 15)
    old.parent.mkdir(parents=True)
    old.write_bytes(bytes(9000))
    newer = store.root / "v99" / "entries" / "ab" / ("cd" * 15)
    newer.parent.mkdir(parents=True)
    newer.write_bytes(bytes(9000))
    store.collect(15_000)
    assert not old.exists()
    assert newer.exists()
    assert kept(store) == {1}


def test_entries_of_dead_toolchains_go_before_older_ones_of_living_ones(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    for i, toolchain in enumerate(["alive", "dead", "", "alive"]):
        store.put(entry_of(i, bytes(9000), toolchain=toolchain))
        age(store, i, DEAD_AFTER * (3 - i / 2))
    store.uses("alive")
    store.uses("dead")
    (stamp,) = [
        path for path in (store.root / "v1/toolchains").iterdir() if path.read_text() == "dead"
    ]
    long_ago = time.time() - DEAD_AFTER - 1
    os.utime(stamp, (long_ago, long_ago))
    store.collect(45_000)
    assert kept(store) == {0, 2, 3}


def test_what_killed_writers_left_is_removed_in_time(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1))
    left = store.root / "v1" / "incoming" / "left"
    fresh = store.root / "v1" / "incoming" / "fresh"
    for path in (left, fresh):
        path.write_bytes(b"half")
    os.utime(left, (0, 0))
    store.collect()
    assert not left.exists()
    assert fresh.exists()


def test_only_the_last_quarantined_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUARANTINED", 3)
    store = DirectoryStore(tmp_path / "store")
    for i in range(6):
        store.put(entry_of(i))
        Path(store.path(key_of(i))).write_bytes(b"x")
        store.get(key_of(i))
    store.collect()
    assert len(list((store.root / "quarantine").iterdir())) == 3


def test_groups_count_and_can_be_evicted(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    group = key_of("group")
    store.put(entry_of(1, bytes(9000), group))
    os.utime(store.path(key_of(1), group), (1, 1))
    store.put(entry_of(2, bytes(9000)))
    store.collect(15_000)
    assert store.get(key_of(1), group) == Absent()
    assert kept(store) == {2}


def test_without_locks_a_collection_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1))
    (store.root / "v1" / "collecting").unlink(missing_ok=True)
    (store.root / "v1" / "collecting").mkdir()
    assert store.collect(1).removed == 1


def size_of_entries(root: Path) -> int:
    return sum(file.size for file in DirectoryStore(root).eviction.files())


def test_programs_that_seed_random_keep_to_the_bound(tmp_path: Path) -> None:
    size = len(entry_of(0, b"").data)
    max_size = 1024 * 2 * size  # each entry is half a unit; random.seed(0) gives 0.84 first
    for number in range(int(1.3 * max_size / size)):
        random.seed(0)  # as each run of a reproducible program begins
        DirectoryStore(tmp_path, max_size=max_size).put(entry_of(number, b""))
    assert size_of_entries(tmp_path) <= 1.1 * max_size


def test_a_put_does_not_change_the_random_numbers_of_the_program(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    random.seed(1)
    alone = random.random()
    random.seed(1)
    store.put(entry_of(1))
    assert random.random() == alone


def test_large_entries_of_several_writers_keep_to_the_bound_too(tmp_path: Path) -> None:
    max_size = 4 << 20

    def write(writer: int) -> None:
        store = DirectoryStore(tmp_path, max_size=max_size)
        for number in range(20):
            store.put(entry_of((writer, number), bytes(int(0.3 * max_size))))

    children = []
    for writer in range(4):
        pid = os.fork()
        if not pid:
            write(writer)
            os._exit(0)
        children.append(pid)
    peak = 0
    while children:
        time.sleep(0.005)
        if (tmp_path / "v1").is_dir():
            # Between two writers: a sum over files that come and go would count too many.
            with FileLock(tmp_path / "v1" / "collecting", mode=0o600):
                peak = max(peak, size_of_entries(tmp_path))
        children = [pid for pid in children if not os.waitpid(pid, os.WNOHANG)[0]]
    assert 0 < peak <= 1.1 * max_size, peak / max_size


def test_an_old_pipe_among_the_entries_does_not_stop_a_collection(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    os.mkfifo(pipe := Path(store.path(key_of(1))).parent / "pipe")
    os.utime(pipe, (1, 1))
    assert ends_within(3, lambda: store.collect(100))


def test_a_collector_that_hangs_holds_up_one_put_and_not_every_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)  # half a minute as it comes
    store = DirectoryStore(tmp_path, max_size=200_000)
    store.put(entry_of(0))
    with FileLock(tmp_path / "v1" / "collecting"):
        begun = time.monotonic()
        for number in range(5):
            store.put(entry_of(number, bytes(20_000)))
    assert time.monotonic() - begun < 1.5


def test_an_entry_from_the_future_is_not_kept_for_ever(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    later = time.time() + 10 * 365 * 86400  # the clock was wrong when it was written
    os.utime(store.path(key_of(1)), (later, later))
    store.get(key_of(1))
    assert Path(store.path(key_of(1))).stat().st_mtime < time.time() + 60


def test_what_is_put_while_a_collection_looks_is_not_evicted_for_its_predecessors_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(4):
        store.put(entry_of(number))
        os.utime(store.path(key_of(number)), (1000 + number, 1000 + number))
    real = store.eviction._ranked

    def ranked(files: Any) -> Iterator[Any]:
        store.put(entry_of(0))  # another process
        return real(files)

    monkeypatch.setattr(store.eviction, "_ranked", ranked)
    store.collect(3 * 4100 + 1000)
    assert isinstance(store.get(key_of(0)), Found)


def test_files_that_are_not_whorls_are_not_evicted(tmp_path: Path) -> None:
    (tmp_path / "v0" / "entries").mkdir(parents=True)
    (thesis := tmp_path / "v0" / "entries" / "thesis.tex").write_text("x" * 5000)
    DirectoryStore(tmp_path, max_size=6000).collect(100)
    assert thesis.exists()
