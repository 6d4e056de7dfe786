"""Short reads, sparse files and leftovers of killed writers do no harm."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from whorl.store import (
    BaseStore,
    DirectoryStore,
    Found,
    MemoryStore,
    ReadOnly,
    Stored,
    Tiered,
    atomic_file,
)


@pytest.mark.parametrize("size", [100, 2_000_000])
def test_a_short_read_does_not_set_a_good_file_aside(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1, b"x" * size))
    assert isinstance(store.get(key_of(1)), Found)  # from now on it is read the fast way
    real = os.read
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", lambda file, wanted: real(file, min(wanted, 64)))
        got = store.get(key_of(1))
    assert not (tmp_path / "quarantine").exists()
    assert isinstance(got, Found)


def test_a_sparse_file_that_says_it_is_four_terabytes_is_a_miss(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    file, size = Path(store.path(key_of(1))), 1 << 42
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, 64, size)
    file.write_bytes(data)
    os.truncate(file, size)
    assert not isinstance(store.get(key_of(1)), Found)  # MemoryError


def test_a_name_that_a_killed_writer_left_does_not_stop_a_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    monkeypatch.setattr(atomic_file, "_NUMBER", count(7))
    name = f"{atomic_file._PROCESS}-{os.getpid()}-7"  # forked from one parent, same pid again
    (tmp_path / "v1" / "incoming" / name).touch()
    assert store.put(entry_of(2)) == Stored()


@pytest.mark.parametrize("wrap", [ReadOnly, lambda store: Tiered(MemoryStore(), ReadOnly(store))])
def test_a_damaged_file_that_cannot_be_set_aside_is_logged_once(
    tmp_path: Path, wrap: Callable[[DirectoryStore], BaseStore], caplog: pytest.LogCaptureFixture
) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    file = Path(store.path(key_of(1)))
    file.write_bytes(file.read_bytes()[:-1])
    before, reader = file.read_bytes(), wrap(store)
    assert not any(isinstance(reader.get(key_of(1)), Found) for _ in range(3))
    assert caplog.text.count(f"{file} is damaged: it is shorter than it says") == 1
    assert "stays there because the store is read-only" in caplog.text
    assert file.read_bytes() == before
