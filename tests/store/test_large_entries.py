"""Large entries are read: what happens to their files afterwards does not reach the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from whorl.store import DirectoryStore, Found

SIZES = [1 << 20, (1 << 22) - 5000, (1 << 22) + 1, 9 << 20]

CUT = """
import os, sys
from tests.store.entries import key_of
from whorl.store import DirectoryStore
store = DirectoryStore(sys.argv[1])
payload = store.get(key_of(1)).entry.payload("code")
os.truncate(store.path(key_of(1)), 0)
print(sum(payload[::4096]))
"""


def content(size: int) -> bytes:
    return (bytes(range(256)) * (size // 256 + 1))[:size]


@pytest.mark.parametrize("size", SIZES)
def test_a_large_entry_is_the_same_whatever_is_done_to_its_file(tmp_path: Path, size: int) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1, content(size)))
    got = store.get(key_of(1))
    assert isinstance(got, Found)
    with Path(store.path(key_of(1))).open("r+b") as file:
        file.seek(5000)
        file.write(b"changed in place")
    assert bytes(got.entry.payload("code")) == content(size)
    assert not isinstance(store.get(key_of(1)), Found)
    assert memoryview(got.entry.data).readonly


def test_a_file_that_is_cut_while_its_entry_is_in_use_does_not_kill_the_process(
    tmp_path: Path,
) -> None:
    DirectoryStore(tmp_path / "store").put(entry_of(1, content(9 << 20)))
    ran = subprocess.run(
        [sys.executable, "-c", CUT, str(tmp_path / "store")],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) == sum(content(9 << 20)[::4096])


def test_a_large_file_that_gets_shorter_while_it_is_read_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1, content(9 << 20)))
    real = os.lseek

    def cut(file: int, *place: int) -> int:
        os.truncate(store.path(key_of(1)), 1 << 20)
        return real(file, *place)

    monkeypatch.setattr(os, "lseek", cut)
    assert not isinstance(store.get(key_of(1)), Found)
