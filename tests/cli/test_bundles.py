"""export and import: everything arrives, byte for byte, or nothing does."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from tests.cli.running import Run, artifact_of, unlabelled
from tests.store.entries import key_of
from whorl.artifacts import Entry, Label, Manifest, encode
from whorl.store import DirectoryStore, Found


@pytest.fixture
def other(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "other")


def filled(store: DirectoryStore) -> list[Entry]:
    entries = [artifact_of(name, variant) for name in ("m.f", "m.g") for variant in (1, 2)]
    for entry in entries:
        store.put(entry)
    for entry in entries[::2]:
        label = Label("manifest", key_of("shape"), key_of(entry.key), entry.label.parts)
        store.put(encode(Manifest(key_of("program")), label))
    return entries


def holds(store: DirectoryStore, entry: Entry) -> bool:
    got = store.get(entry.key, entry.under)
    return isinstance(got, Found) and got.entry.data == entry.data


def test_everything_arrives_byte_for_byte(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    entries = filled(store)
    bundle = tmp_path / "all.whorl"
    assert run("export", bundle, "--json").json["entries"] == 6
    ran = run("import", bundle, "--json", cache_dir=other.root)
    assert (ran.code, ran.json["stored"], ran.json["known"]) == (0, 6, 0)
    assert all(holds(other, entry) for entry in entries)
    again = run("import", bundle, "--json", cache_dir=other.root)
    assert (again.code, again.json["stored"], again.json["known"]) == (0, 0, 6)
    assert run("verify", cache_dir=other.root).code == 0


def test_a_selection_goes_with_what_leads_to_it(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    entries = filled(store)
    told = run("export", tmp_path / "f.whorl", "--program", "m.f", "--json").json
    assert (told["entries"], told["programs"]) == (3, ["m.f"])
    run("import", tmp_path / "f.whorl", cache_dir=other.root)
    assert [holds(other, entry) for entry in entries] == [True, True, False, False]
    told = run("export", tmp_path / "one.whorl", "--key", str(entries[0].key)[:12], "--json").json
    assert told["entries"] == 2


def test_nothing_to_export_is_one_line_and_no_file(run: Run, tmp_path: Path) -> None:
    ran = run("export", tmp_path / "none.whorl")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert not list(tmp_path.glob("none*"))


def test_a_file_that_is_there_is_not_replaced_unasked(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    (tmp_path / "b").write_text("mine")
    assert run("export", tmp_path / "b").code == 2
    assert (tmp_path / "b").read_text() == "mine"
    assert run("export", tmp_path / "b", "--force").code == 0


def test_a_place_that_cannot_be_written_is_one_line(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    ran = run("export", tmp_path / "no" / "such" / "b")
    assert (ran.code, ran.err.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"\x89whorl\r\n" + bytes(100), b"\x89whorlb\n"]
)
def test_what_is_no_bundle_is_refused_in_one_line(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b").write_bytes(content)
    ran = run("import", tmp_path / "b")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "is not imported" in ran.err


def test_a_newer_bundle_is_refused_by_its_format(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    run("export", tmp_path / "b")
    data = bytearray((tmp_path / "b").read_bytes())
    data[8] = 99
    (tmp_path / "b").write_bytes(data)
    ran = run("import", tmp_path / "b")
    assert "it has format 99, and this whorl reads format 1" in ran.err


def test_a_directory_or_nothing_in_its_place_is_one_line(run: Run, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nothing"):
        ran = run("import", place)
        assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_bundle_with_any_byte_changed_brings_nothing(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    run("export", tmp_path / "b")
    whole = (tmp_path / "b").read_bytes()
    chance = random.Random(3)
    places = [*range(48), *(chance.randrange(len(whole)) for _ in range(80)), len(whole) - 1]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        (tmp_path / "b").write_bytes(data)
        ran = run("import", tmp_path / "b", cache_dir=other.root)
        assert (ran.code, ran.err.count("\n")) == (1, 1), place
    for other_bytes in (whole[:-1], whole[:100], whole + b"x", whole[: len(whole) // 2]):
        (tmp_path / "b").write_bytes(other_bytes)
        assert run("import", tmp_path / "b", cache_dir=other.root).code == 1
    assert not other.root.exists()


def test_pickled_values_neither_leave_nor_arrive_unasked(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    pickled = artifact_of("m.step", payload=pickle.dumps([1, 2]))
    plain = artifact_of("m.f")
    for entry in (pickled, plain):
        store.put(entry)
    ran = run("export", tmp_path / "b")
    assert "left out" in ran.err
    assert "exported 1 entry of 1 program" in ran.out
    run("export", tmp_path / "c", "--allow-pickles")
    refused = run("import", tmp_path / "c", cache_dir=other.root)
    assert (refused.code, holds(other, pickled), holds(other, plain)) == (1, False, True)
    assert "pickled" in refused.err
    assert run("import", tmp_path / "c", "--allow-pickles", cache_dir=other.root).code == 0
    assert holds(other, pickled)


def test_a_rehearsed_import_checks_and_puts_nothing(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    run("export", tmp_path / "b")
    ran = run("import", tmp_path / "b", "--dry-run", cache_dir=other.root)
    assert (ran.code, other.root.exists()) == (0, False)
    assert ran.out == "the bundle is intact: 6 entries would be imported; 0 exist already\n"


def test_a_rehearsed_import_knows_what_is_there_already(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    entries = filled(store)
    run("export", tmp_path / "b")
    other.put(entries[0])
    before = sorted(other.root.rglob("*"))
    told = run("import", tmp_path / "b", "--dry-run", "--json", cache_dir=other.root).json
    assert (told["stored"], told["known"], told["failed"]) == (5, 1, [])
    assert sorted(other.root.rglob("*")) == before
    done = run("import", tmp_path / "b", "--json", cache_dir=other.root).json
    assert (done["stored"], done["known"]) == (5, 1)


def test_one_entry_is_said_as_one(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path
) -> None:
    store.put(artifact_of("m.f"))
    assert run("export", tmp_path / "b").out.startswith("exported 1 entry of 1 program to ")
    ran = run("import", tmp_path / "b", "--dry-run", cache_dir=other.root)
    assert ran.out == "the bundle is intact: 1 entry would be imported; 0 exist already\n"
    ran = run("import", tmp_path / "b", cache_dir=other.root)
    assert ran.out == "imported 1 entry; 0 existed already\n"


def damaged(store: DirectoryStore, entry: Entry, place: int) -> None:
    with Path(store.path(entry.key, entry.under)).open("r+b") as file:
        file.seek(place, 2 if place < 0 else 0)
        file.write(b"rubbish")


@pytest.mark.parametrize("place", [0, -20], ids=["its head", "its end"])
def test_a_damaged_entry_is_left_out_by_name_and_is_code_1(
    run: Run, store: DirectoryStore, other: DirectoryStore, tmp_path: Path, place: int
) -> None:
    entries = filled(store)
    damaged(store, entries[0], place)
    ran = run("export", tmp_path / "b")
    assert ran.code == 1
    assert ran.err.startswith(f"whorl: left out {entries[0].key}: ")
    assert ran.err.count("\n") == 1
    assert ran.out.startswith("exported 5 entries of 2 programs to ")
    told = run("export", tmp_path / "c", "--json")
    assert (told.code, len(told.json["left_out"])) == (1, 1)
    assert run("import", tmp_path / "b", cache_dir=other.root).code == 0
    assert [holds(other, entry) for entry in entries] == [False, True, True, True]


def test_a_pickled_value_that_is_left_out_is_nothing_wrong(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    store.put(artifact_of("m.step", payload=pickle.dumps([1, 2])))
    store.put(artifact_of("m.f"))
    ran = run("export", tmp_path / "b", "--json")
    assert (ran.code, len(ran.json["left_out"])) == (0, 1)
    assert ran.json["programs"] == ["m.f"]  # what is in the bundle


def test_a_bundle_of_nothing_but_what_is_left_out_is_not_written(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    entry = artifact_of("m.step", payload=pickle.dumps([1, 2]))
    store.put(entry)
    ran = run("export", tmp_path / "b")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"whorl: left out {entry.key}: it holds a pickled value (--allow-pickles)\n"
        "whorl: nothing is left to export.\n"
    )
    damaged(store, entry, 0)
    ran = run("export", tmp_path / "b", "--key", entry.key)
    assert (ran.code, ran.err.count(str(entry.key))) == (1, 1)
    assert not (tmp_path / "b").exists()


def test_a_key_that_is_none_or_that_nothing_has_is_code_2(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    entry = filled(store)[0]
    for key, said in (("zz", "'zz' is not a key"), ("0" * 32, "has a key that begins with '000")):
        for more in ((), ("--key", entry.key)):
            ran = run("export", tmp_path / "b", "--key", key, *more)
            assert (ran.code, ran.err.count("\n")) == (2, 1)
            assert said in ran.err
    assert not (tmp_path / "b").exists()


def test_a_key_can_be_named_with_its_group(run: Run, store: DirectoryStore, tmp_path: Path) -> None:
    entry = filled(store)[0]
    words = ["export", tmp_path / "b", "--json", "--key"]
    assert run(*words, f"{entry.under}/{str(entry.key)[:8].upper()}").json["programs"] == ["m.f"]
    assert run(*words, f"{'0' * 32}/{entry.key}", "--force").code == 2


def test_an_entry_whose_label_makes_no_sense_is_left_out_by_name(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    filled(store)
    odd = unlabelled()
    store.put(odd)
    ran = run("export", tmp_path / "b", "--json")
    (left_out,) = ran.json["left_out"]
    assert (ran.code, ran.json["entries"], left_out.partition(":")[0]) == (1, 6, str(odd.key))
