"""A cached function runs again in a new process exactly when something it reads is another."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import forked, written
from tests.processes.step_edits import EDITS, FILES, RUN, Edit, edited

# What is different from process to process lies beside the program.
_PROGRAM = (
    """
import json, os, sys, whorl
with open(os.path.join(sys.path[0], "job.json")) as file:
    job = json.load(file)
os.environ.update(job["environment"])
whorl.configure(cache="on", cache_dir=job["cache"])
"""
    + RUN
)


def _place(root: Path, edit: Edit, cache: Path) -> Path:
    place = written(root, edited(edit))
    job = {"environment": dict(edit.environment), "cache": str(cache)}
    (place / "job.json").write_text(json.dumps(job))
    return place


@functools.cache
def _answers() -> dict[str, Any]:
    """What each edited program says, in a process of its own, with what the first one kept."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (before,) = forked(_PROGRAM, [_place(root / "first", Edit("", True), root / "cache")])
        assert before.get("ran") == 1, before
        answers: dict[str, Any] = {}
        for seed in sorted({edit.seed for edit in EDITS}):
            edits = [edit for edit in EDITS if edit.seed == seed]
            places: list[Path] = []
            for edit in edits:
                own = root / f"{seed}-{len(places)}"
                shutil.copytree(root / "cache", own / "cache")
                places.append(_place(own / "program", edit, own / "cache"))
            said = forked(_PROGRAM, places, seed=seed)
            answers.update(zip((edit.name for edit in edits), said, strict=True))
    return answers


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_an_edit(edit: Edit) -> None:
    answer = _answers()[edit.name]
    assert answer.get("answer") == answer.get("truth"), answer
    assert answer["ran"] == (1 if edit.runs else 0)


def test_every_edit_has_a_name_of_its_own() -> None:
    assert len({edit.name for edit in EDITS}) == len(EDITS) > 50
    assert "mill/main.py" in FILES
