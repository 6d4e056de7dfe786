"""gc and verify: what goes, what stays, what is set aside."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import Run, artifact_of, unlabelled
from whorl.artifacts import Entry
from whorl.store import DirectoryStore, Found


def aged(store: DirectoryStore, entry: Entry, seconds: float) -> Path:
    """Put an entry that was last used so long ago."""
    store.put(entry)
    path = Path(store.path(entry.key, entry.under))
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def test_gc_removes_what_was_not_used_for_long(run: Run, store: DirectoryStore) -> None:
    old, new = artifact_of("f", 1), artifact_of("f", 2)
    gone, kept = aged(store, old, 8 * 86400), aged(store, new, 60)
    before = kept.stat().st_size
    rehearsed = run("gc", "--older-than", "7d", "--dry-run", "--json").json
    assert (rehearsed["removed"], rehearsed["left"], gone.exists()) == (1, before, True)
    done = run("gc", "--older-than", "7d", "--json").json
    assert (done["removed"], done["left"]) == (1, before)
    assert (gone.exists(), kept.exists()) == (False, True)


def test_gc_brings_the_cache_within_a_size_the_least_recently_used_first(
    run: Run, store: DirectoryStore
) -> None:
    paths = [aged(store, artifact_of("f", i, size=4000), 1000 * (9 - i)) for i in range(10)]
    size = paths[0].stat().st_size
    ran = run("gc", "--max-size", str(5 * size))
    assert ran.out.startswith("removed 6 entries")  # it leaves some room, so that it lasts
    assert [path.exists() for path in paths] == [False] * 6 + [True] * 4
    assert run("gc", "--max-size", "0").out.endswith("0 B left\n")
    assert not any(path.exists() for path in paths)


def test_gc_without_options_keeps_what_fits(run: Run, store: DirectoryStore) -> None:
    path = aged(store, artifact_of("f"), 400 * 86400)
    assert run("gc").out.startswith("removed 0 entries")
    assert path.exists()


def test_a_rehearsal_changes_nothing_at_all(run: Run, store: DirectoryStore) -> None:
    aged(store, artifact_of("f"), 100)
    before = sorted(store.root.rglob("*"))
    run("gc", "--dry-run", "--max-size", "0")
    assert sorted(store.root.rglob("*")) == before


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_gc_of_a_directory_that_is_read_only_is_one_line(run: Run, store: DirectoryStore) -> None:
    store.put(artifact_of("f"))
    store.root.chmod(0o500)
    try:
        ran = run("gc", "--max-size", "0")
    finally:
        store.root.chmod(0o700)
    assert (ran.code, ran.err.count("\n")) == (1, 1)


def damage(store: DirectoryStore, entry: Entry) -> None:
    with Path(store.path(entry.key, entry.under)).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")


def test_verify_of_whole_entries_is_code_0_and_no_use_of_them(
    run: Run, store: DirectoryStore
) -> None:
    path = aged(store, artifact_of("f"), 50_000)
    before = path.stat().st_mtime
    ran = run("verify", "--json")
    assert (ran.code, ran.json["checked"], ran.json["damaged"]) == (0, 1, [])
    assert path.stat().st_mtime == before


def test_verify_sets_damaged_entries_aside_and_is_code_1(run: Run, store: DirectoryStore) -> None:
    good, bad = artifact_of("f", 1), artifact_of("f", 2)
    for entry in (good, bad):
        store.put(entry)
    damage(store, bad)
    rehearsed = run("verify", "--dry-run", "--json")
    assert (rehearsed.code, rehearsed.json["damaged"][0]["set_aside"]) == (1, False)
    ran = run("verify")
    assert ran.code == 1
    reason = "its bytes are not those that were written"
    assert f"{bad.key} is damaged: {reason}; quarantined" in ran.out
    assert "checked 2 entries" in ran.out
    assert len(list((store.root / "quarantine").iterdir())) == 1
    assert run("verify").code == 0
    assert isinstance(store.get(good.key, good.under), Found)


def test_verify_finds_labels_that_make_no_sense(run: Run, store: DirectoryStore) -> None:
    entry = unlabelled()
    store.put(entry)
    ran = run("verify", "--json")
    assert ran.code == 1
    (row,) = ran.json["damaged"]
    assert (row["key"], row["set_aside"]) == (str(entry.key), True)
