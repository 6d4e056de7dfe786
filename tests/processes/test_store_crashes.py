"""Writers that are killed and files that are damaged: an entry is right, or it is not there."""

from __future__ import annotations

import logging
import os
import random
import signal
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from tests.processes.store_children import (
    Child,
    entry_of,
    files_below,
    is_right,
    key_of,
    lines_of,
    note,
    ran,
    start,
    version_of,
)
from whorl.artifacts import Entry, Label, Manifest, decode, encode
from whorl.fingerprint.digest import StableDigest
from whorl.reads import Aspect, Read, Shape
from whorl.reads import Path as ReadPath
from whorl.store import Absent, DirectoryStore, Ending, Failed, Found, Stored

# -- killed writers -----------------------------------------------------------------------

_WRITES: Final = 500
_KILLS: Final = 60
_WRITERS: Final = 4
_SIZES: Final = (0, 1, 700, 5_000, 60_000, 300_000, 1_500_000, 2_500_000)


def killed_writers(root: str, log: str) -> dict[str, int]:
    """Write from several processes, kill each at some time, until enough was written and killed."""
    chance = random.Random("killed writers")
    kills = 0
    while len(lines_of(Path(log))) < _WRITES or kills < _KILLS:
        children: list[tuple[float, Child]] = []
        for _ in range(_WRITERS):
            seed = kills + len(children)
            child = start(partial(_write_on, root, Path(log), seed))
            children.append((time.monotonic() + chance.uniform(0.002, 0.08), child))
        for at, child in sorted(children, key=lambda pair: pair[0]):
            time.sleep(max(0.0, at - time.monotonic()))
            child.send(signal.SIGKILL)
            kills += 1
        for _, child in children:
            child.result()
    return {"kills": kills}


def _write_on(root: str, log: Path, seed: int) -> NoReturn:
    """Put new entries and new versions of own ones, and note each when it is stored."""
    store = DirectoryStore(root)
    chance = random.Random(f"writer {seed}")
    version = 0
    while True:
        number = 1000 * seed + chance.randrange(6)
        version += 1
        put = store.put(entry_of(number, chance.choice(_SIZES), version=version))
        assert put == Stored(), put
        note(log, f"{number} {version}")


def test_whatever_writers_were_killed_at_what_they_stored_is_whole_and_the_rest_is_old_or_absent(
    tmp_path: Path,
) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    ended = ran(__name__, "killed_writers", root, log)
    assert ended["kills"] >= _KILLS
    stored: dict[int, int] = {}
    under_way: dict[int, int] = {}  # what each writer would have noted next
    for line in lines_of(log):
        number, version = map(int, line.split())
        stored[number] = version  # the last one: each number has one writer
        under_way[number // 1000] = version + 1
    assert len(lines_of(log)) >= _WRITES

    store = DirectoryStore(root)
    listed = set(store.iterate())
    for key in listed:
        got = store.get(key)
        assert isinstance(got, Found), (key, got)
        version_of(got.entry)
    for number, version in stored.items():
        got = store.get(key_of(number))
        assert isinstance(got, Found), (number, got)
        # The kill may have come between a put and the note of it.
        assert version_of(got.entry) in (version, under_way[number // 1000])
        assert key_of(number) in listed
    assert files_below(root / "quarantine") == []


_POINTS: Final = ("opened", "a byte", "half", "all but one byte", "written", "named")


def _killed_at(point: str, data: bytes | memoryview) -> None:
    """Have this process kill itself when it has come so far with writing an entry."""
    limit = {"opened": 0, "a byte": 1, "half": len(data) // 2, "all but one byte": len(data) - 1}
    real_write, real_replace = os.write, os.replace
    written = 0

    def write(file: int, part: bytes | memoryview) -> int:
        nonlocal written
        if point not in limit:
            return real_write(file, part)
        part = memoryview(part)[: limit[point] - written]
        if part:
            written += real_write(file, part)
        if written >= limit[point]:
            os.kill(os.getpid(), signal.SIGKILL)
        return len(part)

    def replace(source: Any, target: Any) -> None:
        if point == "named":
            real_replace(source, target)
        os.kill(os.getpid(), signal.SIGKILL)

    os.write, os.replace = write, replace  # type: ignore[assignment]  # this process only


def writers_killed_at(root: str) -> list[str]:
    """Kill a writer of a new entry and one of a new version at each point."""
    store = DirectoryStore(root)
    for number in range(len(_POINTS)):
        assert store.put(entry_of(number, 2_000_000, version=1)) == Stored()

    def write(point: str, number: int) -> object:
        entry = entry_of(number, 2_000_000, version=2)
        _killed_at(point, entry.data)
        return repr(store.put(entry))

    ended = []
    for i, point in enumerate(_POINTS):
        for number in (i, 100 + i):
            child = start(partial(write, point, number))
            ended.append(child.result())
    return ended


def test_a_writer_killed_at_any_step_leaves_the_old_entry_or_the_new_one_or_none(
    tmp_path: Path,
) -> None:
    assert ran(__name__, "writers_killed_at", tmp_path / "store") == [None] * 2 * len(_POINTS)
    store = DirectoryStore(tmp_path / "store")
    for i, point in enumerate(_POINTS):
        old, new = store.get(key_of(i)), store.get(key_of(100 + i))
        assert isinstance(old, Found), point
        assert version_of(old.entry) == (2 if point == "named" else 1)
        if point == "named":
            assert isinstance(new, Found)
            assert version_of(new.entry) == 2
        else:
            assert new == Absent(), point
        assert store.put(entry_of(100 + i, version=3)) == Stored()
    assert len(set(store.iterate())) == 2 * len(_POINTS)


def test_what_killed_writers_left_is_removed_by_a_collection_an_hour_later(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    assert store.put(entry_of(1)) == Stored()
    incoming = tmp_path / "store" / "v1" / "incoming"
    old, young = incoming / "dead-1-1", incoming / "alive-1-1"
    old.write_bytes(b"half an entry")
    young.write_bytes(b"half an entry")
    os.utime(old, (time.time() - 7200,) * 2)
    store.collect()
    assert list(incoming.iterdir()) == [young]


# -- damaged files ------------------------------------------------------------------------

Damage = Callable[[bytes, random.Random], bytes]


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _flip_in_the_head(data: bytes, chance: random.Random) -> bytes:
    return _flip(data[:96], chance) + data[96:]


def _truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, len(data))]


def _truncate_to_a_few_bytes(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, 120)]


def _extend(data: bytes, chance: random.Random) -> bytes:
    size = chance.choice((1, 7, 4096, 2_000_000))
    return data + chance.choice(
        (bytes(size), chance.randbytes(size), (data * (size // len(data) + 1))[:size])
    )


def _zero(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    size = chance.randrange(1, 5000)
    return data[:at] + bytes(len(data[at : at + size])) + data[at + size :]


def _replace(data: bytes, chance: random.Random) -> bytes:
    return chance.choice(
        (b"\n", b"\x7fELF" + data[4:], b"{}", chance.randbytes(len(data)), b"\x89PNG\r\n\x1a\n")
    )


def _empty(data: bytes, chance: random.Random) -> bytes:
    return b""


def _renumber(data: bytes, chance: random.Random) -> bytes:
    number = chance.choice((0, 2, 3, 255, 1 << 32, chance.getrandbits(64) | 2))
    return data[:8] + number.to_bytes(8, "little") + data[16:]


def _repeat(data: bytes, chance: random.Random) -> bytes:
    return data * chance.randrange(2, 4)


_DAMAGES: Final[tuple[Damage, ...]] = (
    _flip, _flip_in_the_head, _truncate, _truncate_to_a_few_bytes, _extend, _zero, _replace,
    _empty, _renumber, _repeat,
)  # fmt: skip


def _artifact(number: int) -> Entry:
    return entry_of(number, 5_000)


def _manifest(number: int) -> Entry:
    reads = tuple(
        Read(ReadPath("arg", f"x{number}_{i}"), Aspect.VALUE) for i in range(number % 7 + 1)
    )
    program = key_of(-1)
    return encode(
        Manifest(program, (Shape(reads),)), Label("manifest", key_of(number), under=program)
    )


@pytest.mark.parametrize(
    ("make", "rounds"), [(_artifact, 4000), (_manifest, 1000)], ids=["artifact", "manifest"]
)
def test_damage_of_any_kind_is_a_miss_set_aside_and_healed_by_the_next_put(
    tmp_path: Path, make: Callable[[int], Entry], rounds: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random("damage")
    store = DirectoryStore(tmp_path / "store")
    entries = [make(number) for number in range(8)]
    others = [_manifest(number) if make is _artifact else _artifact(number) for number in range(8)]
    quarantine = tmp_path / "store" / "quarantine"
    kept = 0
    for i in range(rounds):
        entry = entries[i % len(entries)]
        place = (entry.key, entry.under)
        assert store.put(entry) == Stored()
        data = bytes(entry.data)
        damaged = data
        while damaged == data:
            damage = chance.choice((*_DAMAGES, None))
            if damage is not None:
                damaged = damage(data, chance)
            else:  # a whole and right entry, in the wrong place
                damaged = bytes(chance.choice((*entries, *others)).data)
        Path(store.path(*place)).write_bytes(damaged)

        got = store.get(*place)
        assert isinstance(got, Failed), (damage, got)
        assert got.ending is Ending.DAMAGED
        assert store.get(*place) == Absent()
        (aside,) = quarantine.iterdir()
        assert aside.read_bytes() == damaged
        aside.unlink()
        kept += 1
        if i % 10 == 0:
            assert store.put(entry) == Stored()
            again = store.get(*place)
            assert isinstance(again, Found)
            assert again.entry.data == data
            assert decode(again.entry) == decode(entry)
    assert kept == rounds
    assert store.statistics.totals.endings == {Ending.SET_ASIDE: rounds}
    # The log says it once for each file.
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == len(entries)
    assert all("is damaged" in record.getMessage() for record in said)


def test_a_file_that_has_grown_to_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for make in (_artifact, _manifest):
        for grow in (True, False):
            entry = make(1)
            path = Path(store.path(entry.key, entry.under))
            assert store.put(entry) == Stored()
            if not grow:
                path.write_bytes(b"")
            os.truncate(path, 1 << 30)
            tracemalloc.start()
            begun = time.perf_counter()
            got = store.get(entry.key, entry.under)
            took = time.perf_counter() - begun
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert isinstance(got, Failed)
            assert got.ending is Ending.DAMAGED
            assert peak < 1_000_000, f"{peak} bytes"
            assert took < 1.0
            assert not path.exists()


def test_what_is_under_an_entrys_name_and_is_no_file_is_a_miss_and_healed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    entry = entry_of(1)
    path = Path(store.path(entry.key))
    path.parent.mkdir(parents=True, mode=0o700)
    (tmp_path / "v1").chmod(0o700)

    def directory() -> None:
        path.mkdir()
        (path / "file").write_text("somebody's")

    def link() -> None:
        path.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").write_bytes(entry.data)

    makes: tuple[Callable[[], None], ...] = (
        directory, link, lambda: os.mkfifo(path), lambda: path.symlink_to(path),
    )  # fmt: skip
    for make in makes:
        make()
        assert isinstance(store.get(entry.key), Failed)
        assert store.put(entry) == Stored()
        got = store.get(entry.key)
        assert isinstance(got, Found)
        assert is_right(got.entry, 1)
        path.unlink()


def test_a_directory_in_the_way_of_a_put_is_set_aside(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    entry = entry_of(1)
    path = Path(store.path(entry.key))
    path.mkdir(parents=True)
    (path / "file").write_text("somebody's")
    assert store.put(entry) == Stored()
    assert isinstance(store.get(entry.key), Found)
    assert [file.read_text() for file in files_below(tmp_path / "quarantine")] == ["somebody's"]


def test_names_that_are_no_keys_are_not_listed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    entry = entry_of(1)
    assert store.put(entry) == Stored()
    shard = Path(store.path(entry.key)).parent
    for name in (".hidden", "short", "X" * 30, "0" * 31, "core"):
        (shard / name).write_bytes(b"?")
    (shard.parent / "stray").write_bytes(b"?")
    assert list(store.iterate()) == [entry.key]
    assert list(store.iterate(StableDigest("f" * 32))) == []
