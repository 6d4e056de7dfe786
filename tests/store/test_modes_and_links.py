"""Modes are set on new files alone, links inside of a store are not followed, remedies work."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import whorl
from tests.store.entries import entry_of, key_of, leases_of
from whorl import settings
from whorl.store import Absent, DirectoryStore, Ending, Failed, Found, NoLease, Stored
from whorl.store.atomic_file import append_small, lock_file, write_small
from whorl.store.journal import Journal, Miss

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")

is_root = hasattr(os, "geteuid") and os.geteuid() == 0


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def done_literally(remedy: str) -> None:
    """Run the command that a remedy proposes."""
    command = re.search("`([^`]*)`", remedy)
    assert command is not None, remedy
    subprocess.run(command[1], shell=True, check=True)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path / "a store")
    store.put(entry_of(1, b"one"))
    store.put(entry_of(2, b"two", under=key_of("group")))
    return store


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory of the user's with a file in it that nobody may change."""
    directory = tmp_path / "victim"
    directory.mkdir()
    (directory / "file").write_text("precious")
    return directory


def is_unharmed(victim: Path) -> bool:
    return [path.name for path in victim.iterdir()] == ["file"] and (
        (victim / "file").read_text() == "precious"
    )


# -- modes --------------------------------------------------------------------------------


@pytest.fixture
def summary(tmp_path: Path) -> Iterator[Path]:
    """Where WHORL_SUMMARY leads to; the setting is put back."""
    before = settings.current()
    path = tmp_path / "summary"
    whorl.store.default_cache().statistics.flush()  # what other tests have counted
    whorl.configure(summary=str(path))
    yield path
    settings.restore(before)


def flush_something(tmp_path: Path) -> None:
    cache = whorl.store.Cache(DirectoryStore(tmp_path / "store"))
    cache.obtain(key_of(1), lambda: entry_of(1))
    cache.statistics.flush()


def test_an_empty_summary_file_that_is_there_keeps_its_mode(tmp_path: Path, summary: Path) -> None:
    summary.touch()
    summary.chmod(0o666)
    flush_something(tmp_path)
    assert summary.read_text().count("\n") == 1
    assert mode_of(summary) == 0o666


@pytest.mark.skipif(not is_root, reason="only root makes devices")
def test_a_device_as_summary_keeps_its_mode(tmp_path: Path, summary: Path) -> None:
    try:
        os.mknod(summary, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # as /dev/null
        os.close(os.open(summary, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"devices cannot be used here: {error}")
    summary.chmod(0o666)
    flush_something(tmp_path)
    assert mode_of(summary) == 0o666
    assert stat.S_ISCHR(summary.stat().st_mode)


def test_a_link_that_was_named_as_summary_is_followed(tmp_path: Path, summary: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    summary.symlink_to(tmp_path / "elsewhere")
    flush_something(tmp_path)
    assert (tmp_path / "elsewhere").read_text().count("\n") == 1


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_new_bookkeeping_files_are_for_the_user_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        append_small(f"{tmp_path}/appended", b".")
        write_small(f"{tmp_path}/written", "text")
        lock = lock_file(f"{tmp_path}/locked")
        assert lock is not None
        lock.release()
    finally:
        os.umask(before)
    assert {mode_of(path) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("how", ["append", "lock"])
def test_a_bookkeeping_file_that_is_there_keeps_its_mode(tmp_path: Path, how: str) -> None:
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    if how == "append":
        append_small(str(file), b".")
    else:
        lock = lock_file(str(file))
        assert lock is not None
        lock.release()
    assert mode_of(file) == 0o644


@pytest.mark.parametrize("how", ["append", "write", "lock"])
@pytest.mark.parametrize("kind", ["symlink", "link", "pipe"])
def test_bookkeeping_never_reaches_what_is_not_a_file_of_its_own(
    tmp_path: Path, victim: Path, how: str, kind: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    path = own / "bookkeeping"
    if kind == "symlink":
        path.symlink_to(victim / "file")
    elif kind == "link":
        path.hardlink_to(victim / "file")
    else:
        os.mkfifo(path)
    with contextlib.suppress(OSError):
        if how == "append":
            append_small(str(path), b".")
        elif how == "write":
            write_small(str(path), "text")
        else:
            lock = lock_file(str(path))
            assert lock is None
    assert is_unharmed(victim)


# -- directories that others may write to ---------------------------------------------------


def opened_up(store: DirectoryStore, mode: int = 0o777) -> None:
    subprocess.run(["chmod", "-R", f"{mode:o}", str(store.root)], check=True)


def test_the_remedy_for_a_directory_that_was_opened_to_all_works_literally(
    store: DirectoryStore,
) -> None:
    opened_up(store)
    with pytest.raises(whorl.UnsafeDirectory) as caught:
        DirectoryStore(store.root)
    done_literally(caught.value.remedy)
    again = DirectoryStore(store.root)
    assert isinstance(again.get(key_of(1)), Found)
    assert isinstance(again.get(key_of(2), key_of("group")), Found)
    assert again.put(entry_of(3)) == Stored()
    assert not any(mode_of(path) & 0o022 for path in [store.root, *store.root.rglob("*")])


def test_a_directory_of_entries_that_others_may_write_to_is_refused_though_its_root_is_safe(
    store: DirectoryStore,
) -> None:
    opened_up(store)
    store.root.chmod(0o755)
    with pytest.raises(whorl.UnsafeDirectory) as caught:
        DirectoryStore(store.root)
    assert caught.value.directory == f"{store.root}/v1"
    done_literally(caught.value.remedy)
    assert isinstance(DirectoryStore(store.root).get(key_of(1)), Found)


@pytest.mark.parametrize("which", ["entries", "shard"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_nothing_is_read_or_written_where_others_may_write(
    store: DirectoryStore, which: str, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(store.path(key_of(1)))
    (path.parent if which == "shard" else path.parent.parent).chmod(mode)
    again = DirectoryStore(store.root)
    got, put = again.get(key_of(1)), again.put(entry_of(1))
    assert isinstance(got, Failed)
    assert isinstance(put, Failed)
    assert got.ending is put.ending is Ending.UNSAFE
    assert len(caplog.records) == 1
    done_literally(caplog.text)
    assert isinstance(DirectoryStore(store.root).get(key_of(1)), Found)


def test_the_remedy_for_a_file_that_others_may_write_to_works_literally(
    store: DirectoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    Path(store.path(key_of(1))).chmod(0o666)
    assert isinstance(store.get(key_of(1)), Failed)
    done_literally(caplog.text)
    assert isinstance(store.get(key_of(1)), Found)


@pytest.mark.parametrize("kind", ["sticky", "of other things"])
def test_a_directory_that_is_not_whorls_own_is_not_proposed_to_be_changed(
    tmp_path: Path, kind: str
) -> None:
    if kind == "sticky":
        tmp_path.chmod(0o1777)
    else:
        (tmp_path / "thesis.txt").write_text("")
        tmp_path.chmod(0o777)
    with pytest.raises(whorl.UnsafeDirectory) as caught:
        DirectoryStore(tmp_path)
    assert "chmod" not in str(caught.value)
    assert "WHORL_CACHE_DIR" in caught.value.remedy


@pytest.mark.skipif(not is_root, reason="only root gives away")
def test_a_directory_inside_that_is_another_users_is_refused(store: DirectoryStore) -> None:
    os.chown(Path(store.path(key_of(1))).parent, 65534, 65534)
    got = DirectoryStore(store.root).get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE


# -- links inside of a store ----------------------------------------------------------------


def moved_behind_a_link(directory: Path, target: Path) -> None:
    directory.rename(target)
    directory.symlink_to(target)


@pytest.mark.parametrize("which", ["v1", "entries", "shard"])
def test_a_link_in_the_place_of_a_directory_is_not_followed(
    store: DirectoryStore, tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, target = Path(store.path(key_of(1))), tmp_path / "target"
    directory = {"shard": path.parent, "entries": path.parent.parent, "v1": store.root / "v1"}
    moved_behind_a_link(directory[which], target)
    before = sorted(target.rglob("*"))
    if which == "v1":
        with pytest.raises(whorl.UnsafeDirectory) as caught:
            DirectoryStore(store.root)
        remedy = caught.value.remedy
    again = DirectoryStore(store.root) if which != "v1" else store
    again.trust._safe_until.clear()  # as a few seconds later
    got = again.get(key_of(1))
    assert isinstance(got, Failed)
    assert got.ending is Ending.UNSAFE
    assert isinstance(again.put(entry_of(1, b"other")), Failed)
    assert isinstance(again.remove(key_of(1)), Failed)
    assert again.peek(key_of(1)) is None
    assert list(again.iterate()) == [] or which == "shard"
    again.collect(1)
    again.collect(unused_for=0)
    assert sorted(target.rglob("*")) == before
    if which != "v1":
        remedy = caplog.text
    done_literally(remedy)
    assert target.is_dir()
    assert DirectoryStore(store.root).get(key_of(1)) == Absent()
    assert DirectoryStore(store.root).put(entry_of(1)) == Stored()


def test_a_damaged_file_behind_a_linked_shard_is_not_moved(
    store: DirectoryStore, tmp_path: Path
) -> None:
    path, target = Path(store.path(key_of(1))), tmp_path / "target"
    path.write_bytes(b"precious")
    moved_behind_a_link(path.parent, target)
    assert isinstance(DirectoryStore(store.root).get(key_of(1)), Failed)
    assert (target / path.name).read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["written", "bound", "collecting"])
def test_a_link_that_others_have_planted_does_not_make_a_collection_write_through_it(
    store: DirectoryStore, victim: Path, name: str
) -> None:
    planted = store.root / "v1" / name
    planted.unlink(missing_ok=True)
    planted.symlink_to(victim / "file")
    store.collect()
    store.collect(1)
    DirectoryStore(store.root, max_size=10_000).put(entry_of(5, bytes(5000)))
    assert is_unharmed(victim)


@pytest.mark.parametrize("part", ["incoming", "leases", "toolchains"])
def test_a_link_in_the_place_of_a_directory_of_bookkeeping_is_not_followed(
    store: DirectoryStore, victim: Path, part: str
) -> None:
    directory = store.root / "v1" / part
    if directory.exists():
        directory.rmdir()
    directory.symlink_to(victim)
    os.utime(victim / "file", (0, 0))
    again = DirectoryStore(store.root)
    again.uses("llvm")
    assert (leases_of(again).take("key") is NoLease.UNAVAILABLE) is (part == "leases")
    again.put(entry_of(7))
    again.collect(1)
    assert is_unharmed(victim)


@pytest.mark.parametrize("part", ["statistics", "journal", "quarantine"])
def test_a_link_beside_the_entries_is_not_followed(
    store: DirectoryStore, victim: Path, part: str
) -> None:
    (store.root / part).symlink_to(victim)
    for _ in range(40):
        Path(store.path(key_of(1))).write_bytes(b"damaged")
        store.get(key_of(1))
        store.put(entry_of(1))
    Journal(store.root).note(Miss("f", "first compile", ""))
    store.statistics.flush()
    store.collect(1)
    assert is_unharmed(victim)


def test_what_is_no_directory_is_refused_as_that() -> None:
    with pytest.raises(whorl.UnsafeDirectory, match="it is not a directory") as caught:
        DirectoryStore("/dev/null")
    assert "Let WHORL_CACHE_DIR name a directory of your own." in str(caught.value)
