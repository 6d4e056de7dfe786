"""Files where directories should be, directories where files should be, files that are huge."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from whorl.store import (
    DirectoryStore,
    Ending,
    Found,
    Statistics,
    Stored,
    Totals,
    eviction,
)
from whorl.store.journal import Journal
from whorl.store.statistics import compact


@pytest.mark.parametrize("which", ["shard", "entries", "v1", "incoming"])
def test_a_file_in_the_place_of_a_directory_gives_way_to_it(tmp_path: Path, which: str) -> None:
    store = DirectoryStore(tmp_path / "store")
    path = Path(store.path(key_of(1)))
    place = {
        "shard": path.parent, "entries": path.parent.parent, "v1": store.root / "v1",
        "incoming": store.root / "v1" / "incoming",
    }[which]  # fmt: skip
    place.parent.mkdir(parents=True, mode=0o700)
    place.write_text("somebody's")
    store = DirectoryStore(tmp_path / "store")
    assert not isinstance(store.get(key_of(1)), Found)
    assert store.put(entry_of(1, b"one")) == Stored()
    assert isinstance(store.get(key_of(1)), Found)
    (aside,) = (store.root / "quarantine").iterdir()
    assert aside.read_text() == "somebody's"


def test_a_file_in_the_place_of_a_group_gives_way_to_it(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    place = Path(store.path(key_of(1), key_of("group"))).parent
    place.parent.mkdir(parents=True)
    place.touch()
    assert store.put(entry_of(1, under=key_of("group"))) == Stored()
    assert isinstance(store.get(key_of(1), key_of("group")), Found)


def test_directories_that_were_set_aside_are_trimmed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eviction, "QUARANTINED", 3)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    store = DirectoryStore(tmp_path / "store")
    for _ in range(10):
        path = Path(store.path(key_of(1)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        (path / "inside" / "deeper").mkdir(parents=True)
        (path / "inside" / "file").touch()
        (path / "link").symlink_to(tmp_path / "elsewhere")
        assert store.put(entry_of(1)) == Stored()
    assert len(list((store.root / "quarantine").iterdir())) == 3
    assert (tmp_path / "elsewhere" / "file").exists()


def test_a_huge_statistics_file_is_read_as_far_as_it_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics = Statistics(tmp_path / "statistics")
    statistics.count(Ending.HIT)
    statistics.flush()
    (file,) = (tmp_path / "statistics").iterdir()
    os.truncate(file, 1 << 40)  # sparse: it takes no space, and more memory than there is
    assert Totals.of(tmp_path / "statistics").hits == 1
    assert Totals.in_file(file).hits == 1
    compact(tmp_path / "statistics")
    assert Totals.of(tmp_path / "statistics").hits == 1
    assert sum(file.stat().st_size for file in (tmp_path / "statistics").iterdir()) < 1000


def test_a_huge_journal_is_read_as_far_as_it_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir(mode=0o700)
    (tmp_path / "journal" / "misses.jsonl").touch()
    os.truncate(tmp_path / "journal" / "misses.jsonl", 1 << 40)
    assert Journal(tmp_path).misses() == []
