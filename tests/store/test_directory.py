"""The directory store: damage, trouble, trust, and what is where."""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.store.entries import entry_of, key_of
from whorl.store import Absent, DirectoryStore, Ending, Failed, Found, Skipped, Stored
from whorl.store.directory import RENEWED_EVERY


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


def path_of(store: DirectoryStore, value: object) -> Path:
    return Path(store.path(key_of(value)))


def code(store: DirectoryStore, value: object) -> bytes:
    got = store.get(key_of(value))
    assert isinstance(got, Found), got
    return bytes(got.entry.payload("code"))


def test_nothing_is_made_before_something_is_put(store: DirectoryStore) -> None:
    assert store.get(key_of(1)) == Absent()
    assert list(store.iterate()) == list(store.groups()) == []
    assert not store.root.exists()


def test_another_store_on_the_same_directory_finds_it(store: DirectoryStore) -> None:
    store.put(entry_of(1, b"one"))
    assert code(DirectoryStore(store.root), 1) == b"one"


def test_files_and_directories_are_for_the_user_alone(store: DirectoryStore) -> None:
    store.put(entry_of(1, under=key_of("group")))
    store.put(entry_of(1))
    for path in [store.root, *store.root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, path


def test_backups_are_told_to_pass_over_it(store: DirectoryStore) -> None:
    store.put(entry_of(1))
    assert (store.root / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172")


def test_nothing_is_left_of_a_write(store: DirectoryStore) -> None:
    for i in range(5):
        store.put(entry_of(i))
    assert list((store.root / "v1" / "incoming").iterdir()) == []


def test_groups_can_be_listed(store: DirectoryStore) -> None:
    store.put(entry_of(1, under=key_of("a")))
    store.put(entry_of(1, under=key_of("b")))
    assert set(store.groups()) == {key_of("a"), key_of("b")}


def test_what_is_no_key_is_not_listed(store: DirectoryStore) -> None:
    store.put(entry_of(1))
    (store.root / "v1" / "entries" / "README").write_text("")
    (path_of(store, 1).parent / "notes.txt").write_text("")
    assert list(store.iterate()) == [key_of(1)]


# -- damage -----------------------------------------------------------------------------

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-1],
    "cut to the head": lambda data: data[:40],
    "extended": lambda data: data + b"\0",
    "flipped": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "flipped padding": lambda data: data[:4000] + b"\1" + data[4001:],
    "zeros": lambda data: bytes(len(data)),
    "foreign": lambda data: b"\x7fELF" * 2000,
    "newer format": lambda data: data[:8] + (2).to_bytes(8, "little") + data[16:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_a_miss_is_set_aside_and_made_again(
    store: DirectoryStore, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    store.put(entry_of(1, b"one"))
    path = path_of(store, 1)
    path.write_bytes(damage(path.read_bytes()))
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.DAMAGED
    assert not path.exists()
    assert len(list((store.root / "quarantine").iterdir())) == 1
    assert store.get(key_of(1)) == Absent()
    store.put(entry_of(1, b"one"))
    assert code(store, 1) == b"one"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "damaged" in caplog.text


def test_damage_of_one_file_is_said_once(
    store: DirectoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        store.put(entry_of(1))
        path_of(store, 1).write_bytes(b"")
        store.get(key_of(1))
    assert len(caplog.records) == 1


def test_the_entry_of_another_key_is_not_believed(store: DirectoryStore) -> None:
    store.put(entry_of(1, b"one"))
    store.put(entry_of(2, b"two"))
    path_of(store, 1).write_bytes(path_of(store, 2).read_bytes())
    assert isinstance(store.get(key_of(1)), Failed)
    assert code(store, 2) == b"two"


@pytest.mark.parametrize("what", ["directory", "pipe"])
def test_what_is_no_file_is_set_aside(store: DirectoryStore, what: str) -> None:
    store.put(entry_of(1))
    path = path_of(store, 1)
    path.unlink()
    path.mkdir() if what == "directory" else os.mkfifo(path)
    assert isinstance(store.get(key_of(1)), Failed)
    assert store.put(entry_of(1, b"again")) == Stored()
    assert code(store, 1) == b"again"


def test_a_directory_in_the_place_of_an_entry_gives_way_to_it(store: DirectoryStore) -> None:
    store.put(entry_of(1))
    path = path_of(store, 1)
    path.unlink()
    (path / "inside").mkdir(parents=True)
    assert store.put(entry_of(1, b"again")) == Stored()
    assert code(store, 1) == b"again"


def test_a_good_file_that_came_in_between_is_not_set_aside(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(entry_of(1))
    path_of(store, 1).write_bytes(b"")
    lstat = os.lstat

    def slow_lstat(path: Any) -> os.stat_result:
        status = lstat(path)
        if str(path) == store.path(key_of(1)):
            monkeypatch.setattr(os, "lstat", lstat)
            store.put(entry_of(1, b"good"))
        return status

    monkeypatch.setattr(os, "lstat", slow_lstat)
    assert isinstance(store.get(key_of(1)), Failed)
    assert code(store, 1) == b"good"


# -- trouble ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE, errno.EMFILE])
def test_a_file_that_cannot_be_read_just_now_is_left_alone(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    store.put(entry_of(1, b"one"))

    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    for function in ("open", "fstat", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, fail)
            got = store.get(key_of(1))
        assert got == Failed(os.strerror(number), Ending.UNREADABLE)
    assert code(store, 1) == b"one"


@pytest.mark.parametrize(
    ("number", "ending"),
    [
        (errno.ENOSPC, Ending.NO_SPACE),
        (errno.EDQUOT, Ending.NO_SPACE),
        (errno.EIO, Ending.NOT_STORED),
    ],
)
def test_what_cannot_be_written_is_a_failure_said_once(
    store: DirectoryStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: int,
    ending: Ending,
) -> None:
    store.put(entry_of(1, b"one"))

    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        for value in (1, 2, 3):
            put = store.put(entry_of(value, b"other"))
            assert isinstance(put, Failed)
            assert put.ending is ending
    assert len(caplog.records) == 1
    assert list((store.root / "v1" / "incoming").iterdir()) == []
    assert code(store, 1) == b"one"
    assert store.put(entry_of(2)) == Stored()


def test_a_directory_that_may_not_be_written_to_is_still_read(
    store: DirectoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(entry_of(1, b"one"))

    def refuse(*arguments: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("whorl.store.atomic_file.os.replace", refuse)
    assert isinstance(store.put(entry_of(2)), Skipped)
    assert code(store, 1) == b"one"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_file_in_the_place_of_the_directory_is_a_failure_and_no_exception(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("mine")
    store = DirectoryStore(tmp_path / "file" / "store")
    for value in (1, 2):
        assert isinstance(store.put(entry_of(value)), Failed)
        assert store.get(key_of(value)) == Absent()
    assert (tmp_path / "file").read_text() == "mine"
    assert len(caplog.records) == 1


def test_a_directory_removed_meanwhile_is_made_again(store: DirectoryStore) -> None:
    import shutil

    store.put(entry_of(1))
    shutil.rmtree(store.root)
    assert store.get(key_of(1)) == Absent()
    assert store.put(entry_of(1, b"again")) == Stored()
    assert code(store, 1) == b"again"


# -- trust ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o720])
def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(whorl.UnsafeDirectory) as caught:
        DirectoryStore(tmp_path)
    assert f"chmod -R go-w {tmp_path}" in str(caught.value)
    assert "WHORL_CACHE_DIR" in caught.value.remedy
    tmp_path.chmod(0o700)
    assert DirectoryStore(tmp_path).put(entry_of(1)) == Stored()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o600, 0o400])
def test_a_file_that_others_may_only_read_is_loaded(store: DirectoryStore, mode: int) -> None:
    store.put(entry_of(1, b"one"))
    path_of(store, 1).chmod(mode)
    assert code(store, 1) == b"one"


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_may_write_to_is_not_loaded(
    store: DirectoryStore, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(entry_of(1))
    path_of(store, 1).chmod(mode)
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE
    assert "chmod -R go-w" in caplog.text
    assert path_of(store, 1).exists()
    store.put(entry_of(1, b"ours"))
    assert code(store, 1) == b"ours"


def test_where_others_can_get_in_every_file_is_looked_at_every_time(
    store: DirectoryStore,
) -> None:
    store.put(entry_of(1, b"one"))
    store.root.chmod(0o755)
    assert code(store, 1) == b"one"
    path_of(store, 1).chmod(0o666)
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE


def test_an_entry_that_grows_large_is_read_whole(store: DirectoryStore) -> None:
    for size in (10, (1 << 16) - 5000, 1 << 16, (1 << 20) + 1, 10):
        store.put(entry_of(1, bytes(size)))
        for _ in range(3):
            assert len(code(store, 1)) == size


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_closing_a_directory_does_not_make_what_was_put_there_before_safe(
    store: DirectoryStore,
) -> None:
    store.put(entry_of(1))
    path_of(store, 1).chmod(0o666)
    store.root.chmod(0o700)
    got = DirectoryStore(store.root).get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_a_file_of_another_user_is_not_loaded(store: DirectoryStore, tmp_path: Path) -> None:
    store.put(entry_of(1))
    os.chown(path_of(store, 1), 65534, 65534)
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE
    os.chown(store.root, 65534, 65534)
    with pytest.raises(whorl.UnsafeDirectory, match="belongs to user 65534"):
        DirectoryStore(store.root)


def test_a_symbolic_link_in_the_place_of_an_entry_is_not_followed(
    store: DirectoryStore, tmp_path: Path
) -> None:
    store.put(entry_of(1))
    path = path_of(store, 1)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    got = store.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE


# -- last use ---------------------------------------------------------------------------


def test_a_hit_renews_the_time_of_last_use_but_not_every_time(store: DirectoryStore) -> None:
    store.put(entry_of(1))
    path = path_of(store, 1)
    recent = time.time() - RENEWED_EVERY / 2
    os.utime(path, (recent, recent))
    code(store, 1)
    assert path.stat().st_mtime == pytest.approx(recent, abs=1)
    long_ago = time.time() - RENEWED_EVERY * 2
    os.utime(path, (long_ago, long_ago))
    code(DirectoryStore(store.root), 1)  # as another process does, or this one an hour later
    assert path.stat().st_mtime == pytest.approx(time.time(), abs=60)


def test_sync_waits_for_the_names_of_new_directories_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, synced = os.fsync, set()

    def fsync(file: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{file}").readlink()))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    store = DirectoryStore(tmp_path / "store", sync=True)
    store.put(entry_of(1))
    shard = Path(store.path(key_of(1))).parent
    assert {str(shard), str(shard.parent), str(tmp_path / "store" / "v1")} <= synced
