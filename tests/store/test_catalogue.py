"""Listing a store reads labels and nothing else, and passes over what is none."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import artifact_of
from tests.store.entries import entry_of, key_of
from whorl.artifacts import Entry, Label, Part
from whorl.fingerprint.digest import StableDigest
from whorl.store import DirectoryStore
from whorl.store.catalogue import catalogue, names


def test_entries_are_listed_with_and_without_a_group(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    entries = [artifact_of("m.f"), entry_of("alone"), entry_of("grouped", under=key_of("g"))]
    for entry in entries:
        store.put(entry)
    found = {row.name: row for row in catalogue(store)}
    assert {(name.key, name.under) for name in found} == {(e.key, e.under) for e in entries}
    named = next(row for row in found.values() if row.program)
    assert (named.program, named.target, named.seconds) == ("m.f", "linux-x86-64", 0.5)
    assert named.size == len(entries[0].data)


def test_entries_of_functions_are_named_by_whose_code_counts_first(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    parts = (Part("code:m.load", "ab"), Part("code:m.helper", "cd"), Part("arg:n", "1"))
    store.put(Entry.build(Label("result", key_of(1), None, parts), {}, None))
    (row,) = catalogue(store)
    assert (row.kind, row.program, row.is_bookkeeping) == ("result", "m.load", False)


def test_labels_longer_than_a_page_are_read_whole(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    name = "m." + "f" * 20_000
    store.put(artifact_of(name))
    (row,) = catalogue(store)
    assert row.program == name


def test_foreign_files_are_passed_over_and_damaged_ones_are_named(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(artifact_of("m.f"))
    ((_, file),) = names(store)
    home = Path(file.path).parent
    (home / "notes.txt").write_text("hello")
    (home / ("0" * 32)).write_bytes(b"")
    (home / ("1" * 32)).write_bytes(b"\x89whorl\r\n" + bytes(200))
    (home / ("2" * 32)).symlink_to(file.path)
    rows = {row.name.key: row for row in catalogue(store)}
    assert len(rows) == 4
    assert {rows[key_of_digit(d)].kind for d in "012"} == {"unreadable"}
    assert rows[key_of_digit("0")].trouble == "it is empty"


def key_of_digit(digit: str) -> StableDigest:
    return StableDigest(digit * 32)


def test_formats_of_other_versions_are_not_listed(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(artifact_of("m.f"))
    (tmp_path / "v1").rename(tmp_path / "v0")
    assert list(catalogue(store)) == []
