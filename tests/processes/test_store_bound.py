"""A store that is written to by many stays within its bound, and loses what is needed least."""

from __future__ import annotations

import mmap
import os
import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes.store_children import (
    entry_of,
    files_below,
    is_right,
    key_of,
    payload_of,
    ran,
    size_below,
    start,
)
from whorl.artifacts import Artifact, Entry, Label, encode
from whorl.store import DirectoryStore, Found, Stored

_MB: Final = 1 << 20
_DAY: Final = 86400.0


def _age(path: str | Path, seconds: float) -> None:
    """Have a file last used so many seconds ago."""
    os.utime(path, (time.time() - seconds,) * 2)


def _held(store: DirectoryStore, numbers: Sequence[int]) -> list[int]:
    return [number for number in numbers if Path(store.path(key_of(number))).exists()]


# -- the size -----------------------------------------------------------------------------


def writers_and_sampler(root: str, bound: str) -> dict[str, Any]:
    """Write five times the bound from four processes, and look at the size all the while."""

    def write(writer: int) -> list[int]:
        store = DirectoryStore(root, max_size=int(bound))
        chance = random.Random(f"writer {writer}")
        written = number = 0
        while written < 5 * int(bound) // 4:
            entry = entry_of(10_000 * writer + number, chance.randrange(1_000, 56_000))
            put = store.put(entry)
            assert put == Stored(), put
            written += len(entry.data)
            number += 1
        return [number, written]

    children = [start(partial(write, i)) for i in range(4)]
    samples = []
    running = list(children)
    while running:
        samples.append(size_below(root))
        running = [child for child in running if os.waitid(os.P_PID, child.pid, _LOOK) is None]
        time.sleep(0.003)
    ends = [child.result() for child in children]
    return {
        "peak": max(samples),
        "samples": len(samples),
        "entries": sum(number for number, _ in ends),
        "written": sum(written for _, written in ends),
    }


_LOOK: Final = os.WEXITED | os.WNOHANG | os.WNOWAIT


def test_four_writers_together_never_exceed_the_bound_by_more_than_a_tenth(tmp_path: Path) -> None:
    root, bound = tmp_path / "store", 8 * _MB
    ended = ran(__name__, "writers_and_sampler", root, str(bound))
    assert ended["written"] >= 5 * bound
    assert ended["samples"] >= 20
    assert ended["peak"] <= 1.1 * bound, ended
    assert 0.8 * bound <= size_below(root) <= 1.1 * bound
    store = DirectoryStore(root, max_size=bound)
    for key in store.iterate():
        assert isinstance(store.get(key), Found)


def short_lives(root: str, bound: str, count: str) -> int:
    """Have many processes put one small entry each; the largest size that the store had."""

    def put(number: int) -> int:
        pid = os.fork()
        if not pid:
            store = DirectoryStore(root, max_size=int(bound))
            os._exit(store.put(entry_of(number, 300)) != Stored())
        return pid

    peak = 0
    for first in range(0, int(count), 6):
        for pid in [put(first + i) for i in range(6)]:
            assert os.waitpid(pid, 0)[1] == 0
        if first % 60 == 0:
            peak = max(peak, size_below(root))
    return max(peak, size_below(root))


def test_processes_that_put_one_small_entry_each_keep_to_the_bound_too(tmp_path: Path) -> None:
    # Each entry is less than the 1024th of the bound that a writer counts in.
    size = len(entry_of(1, 300).data)
    bound = 1024 * (size + 50)
    count = int(1.2 * bound / size)
    peak = ran(__name__, "short_lives", tmp_path / "store", str(bound), str(count))
    assert peak <= 1.1 * bound, f"{peak / bound:.2f} of the bound"


def test_a_store_that_is_opened_with_a_smaller_bound_is_brought_within_it(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, max_size=4 * _MB)
    for number in range(60):
        store.put(entry_of(number, 50_000))
    assert size_below(tmp_path) > 2 * _MB
    DirectoryStore(tmp_path, max_size=_MB).put(entry_of(100, 1000))
    assert size_below(tmp_path) <= 1.1 * _MB


def test_an_entry_larger_than_the_bound_does_not_drive_out_all_others(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, max_size=_MB)
    for number in range(8):
        assert store.put(entry_of(number, 50_000)) == Stored()
    put = store.put(entry_of(100, 2 * _MB))
    if put == Stored():  # then "every process can find it"
        assert isinstance(store.get(key_of(100)), Found)
    assert _held(store, range(8)) != []


# -- who goes first -----------------------------------------------------------------------


def test_the_least_recently_used_go_first_and_a_hit_is_a_use(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    numbers = range(20)
    for number in numbers:
        assert store.put(entry_of(number, 10_000)) == Stored()
        _age(store.path(key_of(number)), (40 - number) * 3600)
    assert isinstance(store.get(key_of(0)), Found)  # the oldest is used again
    each = len(entry_of(0, 10_000).data)
    collected = store.collect(10 * each)
    assert _held(store, numbers) == [0, *range(12, 20)]  # nine: 5 % of room are left
    assert (collected.removed, collected.freed, collected.left) == (11, 11 * each, 9 * each)


def test_what_is_within_the_bound_stays(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(5):
        store.put(entry_of(number))
        _age(store.path(key_of(number)), 400 * _DAY)
    assert store.collect().removed == 0
    assert _held(store, range(5)) == list(range(5))


def test_entries_of_older_formats_go_first_and_those_of_newer_ones_are_not_touched(
    tmp_path: Path,
) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(4):
        store.put(entry_of(number, 10_000))
        _age(store.path(key_of(number)), 30 * _DAY)
    for name in (
        f"v0/entries/ab/{30 * 'c'}",
        f"v0/groups/12/{30 * '3'}/{32 * '5'}",
        "v2/entries/ab/cdef",
        "v0x/entries/a",
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(bytes(10_000))  # used a moment ago
    each = len(entry_of(0, 10_000).data)
    store.collect(int(4.3 * each))  # room for four entries
    left = {str(file.relative_to(tmp_path)) for file in files_below(tmp_path)}
    assert not {name for name in left if name.startswith("v0/")}
    assert {"v2/entries/ab/cdef", "v0x/entries/a"} <= left
    assert _held(store, range(4)) == [0, 1, 2, 3]


def _entry_with_a_long_label(number: int, toolchain: str) -> Entry:
    """An entry whose label is longer than most: a compile that has seen much."""
    made = Artifact(
        {"code": payload_of(number, 0, 100)}, {f"name {i}": "x" * 40 for i in range(500)}
    )
    return encode(made, Label("artifact", key_of(number), toolchain=toolchain))


@pytest.mark.parametrize("label", ["short", "long"])
def test_entries_of_toolchains_that_nothing_uses_any_more_go_before_older_ones(
    tmp_path: Path, label: str
) -> None:
    def make(number: int, toolchain: str) -> Entry:
        if label == "long":
            return _entry_with_a_long_label(number, toolchain)
        return entry_of(number, 30_000, toolchain=toolchain)

    store = DirectoryStore(tmp_path)
    store.uses("abandoned 1.0")
    (stamp,) = files_below(tmp_path / "v1" / "toolchains")
    _age(stamp, 15 * _DAY)
    store.uses("living 2.0")
    for number, toolchain in enumerate(("living 2.0", "abandoned 1.0", "unheard of 0.1", "")):
        for i in (0, 10):
            assert store.put(make(number + i, toolchain)) == Stored()
            _age(store.path(key_of(number + i)), (60 - number) * _DAY)
    everything = [0, 1, 2, 3, 10, 11, 12, 13]
    assert _held(store, everything) == everything
    each = len(make(0, "living 2.0").data)
    store.collect(int(4.4 * each))
    assert _held(store, everything) == [0, 3, 10, 13]


def test_a_toolchain_that_was_used_again_is_alive(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.uses("back again")
    (stamp,) = files_below(tmp_path / "v1" / "toolchains")
    _age(stamp, 30 * _DAY)
    store.uses("back again")
    store.put(entry_of(1, 30_000, toolchain="back again"))
    store.put(entry_of(2, 30_000, toolchain="gone"))
    _age(store.path(key_of(1)), 60 * _DAY)
    _age(store.path(key_of(2)), 20 * _DAY)
    store.collect(45_000)
    assert _held(store, [1, 2]) == [1]


def test_what_was_used_of_late_is_not_dead_whatever_its_toolchain(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.uses("living")
    store.put(entry_of(1, 30_000, toolchain="never stamped"))
    store.put(entry_of(2, 30_000, toolchain="living"))
    _age(store.path(key_of(1)), 1 * _DAY)
    _age(store.path(key_of(2)), 2 * _DAY)
    store.collect(45_000)
    assert _held(store, [1, 2]) == [1]


# -- what is in the way -------------------------------------------------------------------


def test_files_that_make_no_sense_do_not_stop_a_collection(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    chance = random.Random("no sense")
    made = Label("artifact", key_of(0), toolchain="gone", made=10**400)  # no float holds this
    entries = [encode(Artifact({"code": b"?"}), made)]
    entries += [entry_of(number, 3000, toolchain="gone") for number in range(1, 200)]
    for entry in entries:
        assert store.put(entry) == Stored()
        path = Path(store.path(entry.key))
        if entry is not entries[0]:
            data = bytearray(path.read_bytes())
            for _ in range(chance.randrange(1, 20)):  # most of it in the label
                data[chance.randrange(min(len(data), 500))] = chance.randrange(256)
            path.write_bytes(data[: chance.choice((0, 10, 90, 400, len(data)))])
        _age(path, 20 * _DAY)
    assert store.collect(1).left <= 1
    assert list(store.iterate()) == []


def test_statistics_that_make_no_sense_do_not_stop_a_put(tmp_path: Path) -> None:
    assert DirectoryStore(tmp_path).put(entry_of(1)) == Stored()
    (tmp_path / "statistics").mkdir(mode=0o700)
    lines = ["[" * 3000, '{"hit": "x"}', "\udcff", '{"hit": 1e999}', f'{{"hit": {10**400}}}']
    text = "\n".join(lines * 200).encode("utf-8", "surrogateescape")
    (tmp_path / "statistics" / "00.jsonl").write_bytes(text)
    assert DirectoryStore(tmp_path, max_size=_MB).put(entry_of(2)) == Stored()


def test_of_quarantined_files_only_the_last_are_kept(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(50):
        store.put(entry_of(number, 100))
        Path(store.path(key_of(number))).write_bytes(b"damaged")
        store.get(key_of(number))
    assert len(files_below(tmp_path / "quarantine")) >= 32
    store.collect()
    assert len(files_below(tmp_path / "quarantine")) == 32


# -- readers meanwhile --------------------------------------------------------------------


def mapped_meanwhile(root: str) -> list[Any]:
    """Map a payload, have another process collect the file away, read the payload."""
    store = DirectoryStore(root)
    got = store.get(key_of(1))
    assert isinstance(got, Found)
    (place,) = got.entry.payloads
    with open(store.path(key_of(1)), "rb") as file:  # noqa: PTH123  # a path that is text
        mapped = mmap.mmap(file.fileno(), place.size, offset=place.offset, access=mmap.ACCESS_READ)
    removed = start(lambda: DirectoryStore(root).collect(1).removed).result()
    gone = not Path(store.path(key_of(1))).exists()
    return [removed, gone, mapped[:] == payload_of(1, 0, 500_000)]


def test_a_process_that_has_mapped_an_entry_keeps_it_when_it_is_evicted(tmp_path: Path) -> None:
    assert DirectoryStore(tmp_path).put(entry_of(1, 500_000)) == Stored()
    assert ran(__name__, "mapped_meanwhile", tmp_path) == [1, True, True]


def readers_meanwhile(root: str) -> dict[str, int]:
    """Read, write and collect one store at once for a while."""
    until = time.monotonic() + 1.0

    def read(seed: int) -> list[int]:
        store = DirectoryStore(root)
        chance = random.Random(seed)
        found = others = 0
        while time.monotonic() < until:
            number = chance.randrange(40)
            match store.get(key_of(number)):
                case Found(entry):
                    assert is_right(entry, number)
                    found += 1
                case other:
                    assert repr(other) == "Absent()", other
                    others += 1
        return [found, others]

    def write() -> list[int]:
        store = DirectoryStore(root)
        number = 0
        while time.monotonic() < until:
            put = store.put(entry_of(number % 40, 20_000, version=number))
            assert put == Stored(), put
            number += 1
        return [0, 0]

    def collect() -> list[int]:
        store = DirectoryStore(root)
        while time.monotonic() < until:
            store.collect(400_000)
        return [0, 0]

    works = [lambda: read(1), lambda: read(2), write, collect]
    ends = [child.result() for child in [start(work) for work in works]]
    return {"found": sum(end[0] for end in ends), "absent": sum(end[1] for end in ends)}


def test_readers_of_a_store_that_is_written_and_collected_find_the_right_entry_or_none(
    tmp_path: Path,
) -> None:
    ended = ran(__name__, "readers_meanwhile", tmp_path / "store")
    assert ended["found"] > 20
    assert ended["absent"] > 0


def test_a_collection_of_a_store_that_is_not_there_does_not_make_it(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    assert store.collect().left == 0
    assert not (tmp_path / "store").exists()
