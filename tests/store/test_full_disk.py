"""A disk that is full before the store has reached its bound: the least recently used go."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.store.entries import entry_of, key_of
from whorl.store import DirectoryStore, Ending, Failed, Found, Stored

SMALL_DISK = """
import sys
from tests.store.entries import entry_of, key_of
from whorl.store import DirectoryStore, Found, Stored
store = DirectoryStore(sys.argv[1] + "/store", max_size=1_500_000)
puts = [store.put(entry_of(n, bytes(100))) for n in range(400)]
assert isinstance(store.get(key_of(399)), Found)
print(sum(put == Stored() for put in puts), len(list(store.iterate())))
"""


def test_on_a_small_disk_results_are_kept_and_the_oldest_are_evicted(tmp_path: Path) -> None:
    mounted = f'mount -t tmpfs -o size=2m none "{tmp_path}"'
    probe = subprocess.run(
        ["unshare", "-m", "sh", "-c", mounted], check=False, capture_output=True, text=True
    )
    if sys.platform != "linux" or probe.returncode:
        pytest.skip(f"nothing can be mounted here: {probe.stderr}")
    program = f'{mounted} && exec "$0" -c "$1" "{tmp_path}"'
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", program, sys.executable, SMALL_DISK],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    stored, left = map(int, ran.stdout.split())
    assert stored == 400
    assert left > 100


class SmallDisk:
    """`os.write` on a disk that holds so many bytes."""

    def __init__(self, directory: Path, size: int, number: int) -> None:
        self.directory, self.size, self.number = directory, size, number
        self.real = os.write

    def write(self, file: int, data: Any) -> int:
        used = sum(path.stat().st_size for path in self.directory.rglob("*") if path.is_file())
        if used + len(data) > self.size:
            raise OSError(self.number, os.strerror(self.number))
        return self.real(file, data)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_where_there_is_no_space_old_entries_make_room(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "store")
    monkeypatch.setattr(os, "write", SmallDisk(tmp_path, 200_000, number).write)
    for n in range(60):
        assert store.put(entry_of(n, bytes(9000))) == Stored()
        if n < 5:
            old = 1000.0 + n
            os.utime(store.path(key_of(n)), (old, old))
    assert isinstance(store.get(key_of(59)), Found)
    assert not isinstance(store.get(key_of(0)), Found)
    assert store.statistics.totals.endings[Ending.EVICTED] > 40


def test_a_disk_that_others_have_filled_costs_entries_once_and_not_with_every_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "store")
    for n in range(30):
        store.put(entry_of(n, bytes(9000)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", SmallDisk(tmp_path, 0, errno.ENOSPC).write)
        for n in range(30, 60):
            put = store.put(entry_of(n, bytes(9000)))
            assert isinstance(put, Failed)
            assert put.ending is Ending.NO_SPACE
    assert sum(isinstance(store.get(key_of(n)), Found) for n in range(30)) >= 25


def test_what_is_larger_than_all_that_is_there_costs_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path / "store")
    store.put(entry_of(1))
    monkeypatch.setattr(os, "write", SmallDisk(tmp_path, 50_000, errno.ENOSPC).write)
    assert isinstance(store.put(entry_of(2, bytes(100_000))), Failed)
    assert isinstance(store.get(key_of(1)), Found)
