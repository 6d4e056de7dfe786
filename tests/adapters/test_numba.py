"""Functions of Numba with `cache=True`: found again exactly when nothing changed."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.adapters.numba_edits import EDITS, FILES, Edit
from tests.adapters.numba_programs import LOCATOR, run, write

pytest.importorskip("numba")

Rounds = dict[str, dict[str, list[Any]]]
GROUPS = {"first": EDITS[::2], "second": EDITS[1::2]}


def edited(edits: tuple[Edit, ...]) -> dict[str, str]:
    files = dict(FILES)
    for edit in edits:
        assert files[edit.file].count(edit.old) == 1, f"{edit.old!r} is not once in {edit.file}"
        files[edit.file] = files[edit.file].replace(edit.old, edit.new)
    return files


def with_comments(files: dict[str, str]) -> dict[str, str]:
    commented = {name: f"# A comment.\n\n{text}" for name, text in files.items()}
    commented["callees.py"] = commented["callees.py"].replace("Adds one.", "Adds 1.")
    return commented


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The program as it is, with each half of the edits, and with comments in another place."""
    base = tmp_path_factory.mktemp("numba")
    cache, home = base / "cache", base / "program"
    found: Rounds = {}
    for name, edits in {"base": (), **GROUPS}.items():
        shutil.rmtree(home, ignore_errors=True)
        found[name], _ = run(write(home, edited(edits)), cache=cache, **LOCATOR)
    moved = write(base / "elsewhere" / "moved", with_comments(FILES))
    found["moved"], said = run(moved, "--install", cache=cache)
    assert said.count("call each other") == 2, "the two that call each other"
    return found


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.function)
def test_an_edit_of_what_a_function_reads_compiles_it_anew(edit: Edit, rounds: Rounds) -> None:
    group = "first" if edit in GROUPS["first"] else "second"
    before, _ = rounds["base"][edit.function]
    result, hits = rounds[group][edit.function]
    assert (result != before) is edit.changes
    assert not hits


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.function)
def test_an_edit_of_something_else_finds_a_function(edit: Edit, rounds: Rounds) -> None:
    group = "second" if edit in GROUPS["first"] else "first"
    result, hits = rounds[group][edit.function]
    assert result == rounds["base"][edit.function][0]
    if edit.counted:
        assert hits == edit.kept


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.function)
def test_a_comment_a_docstring_or_a_moved_checkout_finds_a_function(
    edit: Edit, rounds: Rounds
) -> None:
    result, hits = rounds["moved"][edit.function]
    assert result == rounds["base"][edit.function][0]
    if edit.counted:
        assert hits == edit.kept
