"""Where report and export write to: a file is replaced, a link followed, a pipe written into."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.running import Run, artifact_of
from whorl.store import DirectoryStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")

# What is run, and how what it writes begins.
WRITING: Final = {"report -o": b"<!doctype html>", "export --force": b"\x89whorlb\n"}


@pytest.fixture(params=WRITING)
def words(request: pytest.FixtureRequest, store: DirectoryStore) -> list[str]:
    store.put(artifact_of("m.f"))
    return str(request.param).split()


@pytest.fixture
def beginning(words: list[str]) -> bytes:
    return WRITING[" ".join(words)]


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A named pipe, and the end that it is read from."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield path, end
    os.close(end)


def is_pipe(path: Path) -> bool:
    return stat.S_ISFIFO(path.lstat().st_mode)


def test_a_pipe_is_written_into_and_stays_one(
    run: Run, words: list[str], beginning: bytes, pipe: tuple[Path, int]
) -> None:
    path, end = pipe
    ran = run(*words, path, "--json")
    assert (ran.code, is_pipe(path)) == (0, True)
    got = os.read(end, 1 << 16)
    assert got.startswith(beginning)
    assert ran.json["size"] == len(got)


def test_a_link_to_a_pipe_is_followed(
    run: Run, words: list[str], beginning: bytes, pipe: tuple[Path, int], tmp_path: Path
) -> None:
    path, end = pipe
    link = tmp_path / "link"
    link.symlink_to(path)
    assert run(*words, link).code == 0
    assert (link.is_symlink(), is_pipe(path)) == (True, True)
    assert os.read(end, 1 << 16).startswith(beginning)


def test_a_pipe_that_nobody_reads_any_more_is_one_line(
    run: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr("shutil.copyfileobj", gone)
    ran = run(*words, tmp_path / "pipe")
    os.close(end)
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "pipe cannot be written: Broken pipe." in ran.err


@pytest.mark.parametrize("is_there", [True, False], ids=["a file", "nothing yet"])
def test_a_link_is_followed_and_what_it_leads_to_replaced(
    run: Run, words: list[str], beginning: bytes, tmp_path: Path, is_there: bool
) -> None:
    target, link = tmp_path / "else" / "where", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    if is_there:
        target.write_text("before")
        held = target.open()
    assert run(*words, link).code == 0
    assert link.is_symlink()
    assert target.read_bytes().startswith(beginning)
    assert list(target.parent.iterdir()) == [target]
    if is_there:
        with held:
            assert held.read() == "before"  # who reads it has the one or the other


def test_links_in_a_circle_are_one_line(run: Run, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    ran = run(*words, tmp_path / "one")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "one cannot be written: Too many levels of symbolic links." in ran.err
    assert (tmp_path / "one").is_symlink()


def test_a_directory_is_refused_and_left_alone(run: Run, words: list[str], tmp_path: Path) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    for path in (place, tmp_path / "link"):
        ran = run(*words, path)
        assert (ran.code, "is a directory" in ran.err) == (2, True)
    assert list(place.iterdir()) == []


def test_a_file_that_only_its_owner_may_read_stays_so(
    run: Run, words: list[str], tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    place.write_text("before")
    place.chmod(0o600)
    assert run(*words, place).code == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_a_pipe_is_not_written_into_by_export_unasked(
    run: Run, store: DirectoryStore, pipe: tuple[Path, int]
) -> None:
    store.put(artifact_of("m.f"))
    ran = run("export", pipe[0])
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "exists already and is not a file; --force writes into it." in ran.err


@pytest.mark.skipif(sys.platform != "linux", reason="a directory in use stays")
def test_in_a_directory_that_is_gone_the_path_is_named(
    run: Run, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    ran = run(*words, "page")
    assert (ran.code, ran.err) == (
        1,
        "whorl: page cannot be written: No such file or directory.\n",
    )
