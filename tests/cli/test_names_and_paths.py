"""Names and paths as they are given: what is empty is refused, what is UTF-8 is read as that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Run, artifact_of
from whorl import settings
from whorl.cli.command import main
from whorl.store import DirectoryStore


@pytest.fixture(autouse=True)
def no_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Should an empty option mean the default again, that is not the cache of who runs this."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "default"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize("is_first", [True, False], ids=["before the command", "after it"])
def test_an_empty_cache_dir_is_refused_and_no_other_cache_emptied(
    store: DirectoryStore, capsys: pytest.CaptureFixture[str], empty: str, is_first: bool
) -> None:
    entry = artifact_of("m.f")
    store.put(entry)
    settings.configure(cache_dir=store.root)
    place, words = ["--cache-dir", empty], ["gc", "--max-size", "0"]
    assert main([*place, *words] if is_first else [*words, *place]) == 2
    assert capsys.readouterr().err == (
        "whorl: --cache-dir is empty; is the variable that it comes from set?\n"
    )
    assert Path(store.path(entry.key, entry.under)).exists()


def test_doctor_refuses_an_empty_cache_dir_too(run: Run) -> None:
    ran = run("doctor", "--cache-dir", "")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("whorl: --cache-dir is empty; ")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["ls", "-p", ""], "--program"),
        (["ls", "--kind", ""], "--kind"),
        (["stats", ""], "PROGRAM"),
        (["why", ""], "PROGRAM"),
        (["why", "--cause", ""], "--cause"),
        (["report", "-o", ""], "--output"),
        (["export", ""], "BUNDLE"),
        (["export", "", "--force"], "BUNDLE"),
        (["export", "b", "--key", ""], "--key"),
        (["export", "b", "--program", "m.f", "--program", ""], "--program"),
        (["import", ""], "BUNDLE"),
        (["warm", ""], "SCRIPT"),
        (["warm", "-m", ""], "SCRIPT"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_an_empty_name_or_path_is_refused_by_its_name(
    run: Run,
    store: DirectoryStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    name: str,
) -> None:
    store.put(artifact_of("m.f"))
    monkeypatch.chdir(tmp_path)
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"whorl: {name} is empty; is the variable that it comes from set?\n"
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_script_may_be_given_empty_arguments(run: Run, tmp_path: Path) -> None:
    (tmp_path / "say.py").write_text("import sys; sys.exit(len(sys.argv))")
    assert run("warm", tmp_path / "say.py", "").code == 2
    assert run("warm", "--with", "", tmp_path / "say.py").code == 1
