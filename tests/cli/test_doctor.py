"""doctor: what is broken is said, and is code 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.running import Run, artifact_of
from whorl import settings
from whorl.cli.command import main
from whorl.store import DirectoryStore


def states(run: Run, **place: object) -> dict[tuple[str, str], tuple[str, str]]:
    ran = run("doctor", "--json", **place)
    rows = {(row["area"], row["name"]): (row["state"], row["text"]) for row in ran.json}
    assert ran.code == int(any(state == "broken" for state, _ in rows.values()))
    return rows


def test_a_sound_set_up_is_code_0_with_every_setting_and_its_origin(
    run: Run, store: DirectoryStore
) -> None:
    store.put(artifact_of("f"))
    settings.configure(threads=3)
    rows = states(run)
    assert rows["settings", "threads"] == ("ok", "3 (from whorl.configure)")
    assert rows["directory", "writable"] == ("ok", "yes, and files can be locked")
    assert rows["toolchain", "a kernel compiles and runs"][0] == "ok"
    names = {name for area, name in rows if area == "settings"}
    assert names == {*settings.OPTIONS}
    assert rows["launch", "native"][1].startswith(("on", "off: "))
    text = run("doctor").out
    assert text.endswith("all is well\n")


def test_it_leaves_nothing_in_the_cache(run: Run, store: DirectoryStore) -> None:
    store.put(artifact_of("f"))
    before = sorted(store.root.rglob("*"))
    states(run)
    assert sorted(store.root.rglob("*")) == before


def test_it_makes_no_cache_where_there_is_none(run: Run, tmp_path: Path) -> None:
    settings.configure(cache_dir=tmp_path / "none")
    rows = states(run, cache_dir=tmp_path / "none")
    assert rows["toolchain", "a kernel compiles and runs"][0] == "ok"
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_a_directory_that_others_may_write_to_is_broken(run: Run, store: DirectoryStore) -> None:
    store.put(artifact_of("f"))
    store.root.chmod(0o770)
    state, text = states(run)["directory", "safe"]
    assert (state, text) == ("broken", "its group may write to it (mode 0770): it is not used")


def test_a_variable_that_is_no_setting_is_noted_with_what_may_be_meant(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHORL_CACHEDIR", "/somewhere")
    monkeypatch.setenv("WHORL_BANANAS", "5")
    rows = states(run)
    assert rows["settings", "WHORL_CACHEDIR"] == ("note", "not a setting; WHORL_CACHE_DIR is one")
    assert rows["settings", "WHORL_BANANAS"] == ("note", "not a setting of whorl")


def test_a_bad_variable_is_broken_and_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_current", None)
    monkeypatch.setenv("WHORL_CACHE", "maybe")
    assert states(run)["settings", "WHORL_CACHE"][0] == "broken"


def test_a_bad_variable_does_not_hide_the_directory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "_current", None)
    monkeypatch.setenv("WHORL_LOG", "loud")
    monkeypatch.setenv("WHORL_CACHE_DIR", str(tmp_path / "mine"))
    assert main(["doctor"]) == 1
    assert str(tmp_path / "mine") in capsys.readouterr().out


def test_a_place_where_nothing_can_be_is_broken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert states(run, cache_dir=tmp_path / "file" / "below")["directory", "exists"][0] == "broken"


def test_what_differs_from_the_usual_is_noted(run: Run) -> None:
    settings.configure(interpret=True, cache="readonly", require_hit=True)
    rows = states(run)
    assert [rows["settings", name][0] for name in ("interpret", "cache", "require_hit")] == [
        "note"
    ] * 3
    assert rows["toolchain", "a kernel compiles and runs"][0] == "ok"


def test_the_directory_of_the_command_line_is_the_setting_too(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    settings.configure(cache_dir=tmp_path / "another")
    rows = states(run)
    assert rows["settings", "cache_dir"] == ("ok", f"{store.root} (from --cache-dir)")
    assert rows["directory", "path"] == ("ok", str(store.root))


def test_without_an_option_the_directory_has_its_usual_origin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings.configure(cache_dir=tmp_path / "mine")
    assert main(["doctor"]) == 0
    assert f"cache_dir       {tmp_path / 'mine'} (from whorl.configure)" in capsys.readouterr().out
