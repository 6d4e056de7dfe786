"""What a cached function reads of a module is noticed by whatever route; nothing else of it counts.

Every route of `module_routes` is asked in the program as it was written, in one where the name that
is read is another, and in one where a name that is not read is: each time in a new process.
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.processes.module_routes import FILES, NAMED, WHOLE, main_of
from tests.processes.programs import forked, written

_PROGRAM = """
import json, os, sys, whorl
with open(os.path.join(sys.path[0], "job.json")) as file:
    whorl.configure(cache="on", cache_dir=json.load(file))
import main

result = {}
for name, route in main.ROUTES.items():
    try:
        answer = repr(route(1))
    except whorl.UnsupportedFunction as error:
        answer = str(error)
    result[name] = {"answer": answer, "truth": repr(route.uncached(1)), **route.stats()}
"""


@functools.cache
def _answers() -> dict[str, dict[str, dict[str, Any]]]:
    """Answers by edit and route."""
    edits = {
        "nothing": ("", ""),
        "X": ("X = 1\n", "X = 2\n"),
        "unread": ("UNREAD = 10", "UNREAD = 11"),
    }
    files = {**FILES, "main.py": main_of({**NAMED, **WHOLE})}
    answers = {}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for edit, (old, new) in edits.items():
            changed = {
                name: text.replace(old, new) if old else text for name, text in files.items()
            }
            place = written(root / edit, changed)
            (place / "job.json").write_text(json.dumps(str(root / "cache")))
            (answers[edit],) = forked(_PROGRAM, [place])
    return answers


@pytest.mark.parametrize("route", [*NAMED, *WHOLE])
def test_a_name_that_is_read_is_noticed(route: str) -> None:
    before, after = _answers()["nothing"][route], _answers()["X"][route]
    assert before["ran"] == 1, before["answer"]
    assert before["answer"] == before["truth"] != after["truth"] == after["answer"]


@pytest.mark.parametrize("route", NAMED)
def test_a_name_that_is_not_read_does_not_count(route: str) -> None:
    after = _answers()["unread"][route]
    assert after["answer"] == after["truth"]
    assert (after["found"], after["ran"]) == (1, 0)
