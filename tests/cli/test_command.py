"""What holds for every command: help, codes, one clear line for what cannot be followed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest

from tests.cli.running import Run, artifact_of
from whorl.cli.command import COMMANDS, whorl
from whorl.store import DirectoryStore

LOOKING = ["stats", "ls", "why", "verify --dry-run", "gc --dry-run", "doctor"]


def command_named(name: str) -> click.Command:
    found = whorl.get_command(click.Context(whorl), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert ran.code == 0
    assert "Example:" in ran.out
    assert f"whorl {name}" in ran.out.partition("Example:")[2]
    assert "--json" in ran.out


def test_the_help_of_whorl_names_every_command(run: Run) -> None:
    ran = run("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)


def test_an_unknown_command_is_one_line_with_a_near_name(run: Run) -> None:
    ran = run("stat")
    assert (ran.code, ran.err) == (2, "whorl: there is no command 'stat'; did you mean stats?\n")


def test_an_unknown_option_is_code_2(run: Run) -> None:
    assert run("ls", "--colour").code == 2


@pytest.mark.parametrize("words", LOOKING)
def test_looking_at_no_directory_says_so_and_makes_none(
    run: Run, tmp_path: Path, words: str
) -> None:
    place = tmp_path / "nowhere"
    ran = run(*words.split(), cache_dir=place)
    assert ran.code == 0
    assert words == "doctor" or f"there is no cache in {place} yet" in ran.err
    assert not place.exists()


@pytest.mark.parametrize("words", [*LOOKING, "report -o out.html"])
def test_looking_with_json_prints_json_and_nothing_else(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (None, tmp_path / "nowhere"):
        ran = run(*words.split(), "--json", cache_dir=place)
        assert (ran.code, ran.err) == (0, "")
        json.loads(ran.out)


def test_a_file_in_the_place_of_the_directory_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = run("ls", cache_dir=tmp_path / "file")
    assert ran.code == 2
    assert "there is a file of that name" in ran.err
    assert ran.err.count("\n") == 1
    assert "a file is in its place" in run("doctor", cache_dir=tmp_path / "file").out


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
def test_a_directory_that_others_may_write_to_is_refused_with_a_remedy(
    run: Run, store: DirectoryStore
) -> None:
    store.put(artifact_of("f"))
    store.root.chmod(0o777)
    ran = run("ls")
    assert ran.code == 1
    assert "every user may write to it" in ran.err
    assert "chmod" in ran.err


def test_a_bad_variable_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl import settings

    monkeypatch.setattr(settings, "_current", None)
    monkeypatch.setenv("WHORL_CACHE_MAX_SIZE", "5 bananas")
    ran = run("ls")
    assert ran.code == 2
    assert ran.err.startswith("whorl: WHORL_CACHE_MAX_SIZE is '5 bananas'")


def test_the_directory_can_be_named_on_either_side_of_the_command(
    run: Run, store: DirectoryStore, tmp_path: Path
) -> None:
    store.put(artifact_of("f"))
    assert len(run("ls", "--json").json) == 1
    assert len(run("ls", "--json", "--cache-dir", store.root, cache_dir=tmp_path).json) == 1


def test_names_from_the_cache_are_never_marks_or_commands_of_a_terminal(
    run: Run, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "m.[red]x[/red]\x1b[31m\u202e\n:smile:[/]"
    shown = "m.[red]x[/red]\\x1b[31m\\u202e\\n:smile:[/]"
    entry = artifact_of(name)
    store.put(entry)
    for is_terminal in (False, True):
        monkeypatch.setattr(sys.stdout, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setenv("COLUMNS", "200")
        for words in (["ls"], ["show", entry.key], ["stats"]):
            ran = run(*words)
            assert ran.code == 0
            assert shown in ran.out
            assert "\x1b[31m\u202e" not in ran.out


def test_colours_are_for_terminals_that_want_them(
    run: Run, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(artifact_of("f"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in run("ls").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[36m" in run("ls").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in run("ls").out


def test_an_interrupt_is_quiet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("whorl.cli.ls.catalogue", interrupted)
    ran = run("ls")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "")


def test_every_command_is_in_the_table_of_help() -> None:
    for name in COMMANDS:
        assert command_named(name).name == name


def test_the_program_of_the_demo_is_shown_as_json_too(run: Run) -> None:
    text = run("demo", "--show-program").out
    assert "@whorl.kernel" in text
    assert run("demo", "--show-program", "--json").json == {"program": text}


def test_json_before_the_command_is_told_where_it_stands(run: Run) -> None:
    ran = run("--json", "stats")
    assert (ran.code, ran.err) == (
        2,
        "whorl: --json comes after the command: whorl stats --json\n",
    )
    assert "No such option '--jason'" in run("--jason", "stats").err
