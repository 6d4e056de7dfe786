"""A kernel is compiled again exactly when something that it reads has changed, and is right.

Every program of `kernel_edits` is run, edited in another checkout, run there twice, and run in
the first checkout again. All of them share a process for each of these steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.processes.kernel_edits import CASES, RUNNER, Case
from tests.processes.programs import QUICK_IMPORTS, printed

Told = dict[str, tuple[Any, int, list[str]]]  # answer, compiles, doubts


def run(folder: Path, cache: Path, seed: int, *, is_audited: bool) -> Told:
    """What every program of a folder tells."""
    environment = {"WHORL_CACHE_DIR": str(cache), **QUICK_IMPORTS}
    arguments = [str(int(is_audited)), *(case.package for case in CASES)]
    found: Mapping[str, Any] = printed(
        "-c", RUNNER, *arguments, cwd=folder, path=[folder], seed=seed, environment=environment
    )
    return {name: tuple(told) for name, told in found.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told, Told, Told]:
    """What the programs told: before the edits, after them, once more, and with them undone."""
    base = tmp_path_factory.mktemp("edits")
    old, new = base / "old", base / "a new" / "checkout"
    for case in CASES:
        case.write(old, is_edited=False)
        case.write(new, is_edited=True)
    cache = base / "cache"
    return (
        run(old, cache, 0, is_audited=False),
        run(new, cache, 1, is_audited=False),
        run(new, cache, 2, is_audited=True),
        run(old, cache, 3, is_audited=False),
    )


@pytest.mark.parametrize("case", CASES, ids=[case.what for case in CASES])
def test_an_edit_is_a_compile_exactly_when_something_that_was_read_has_changed(
    runs: tuple[Told, Told, Told, Told], case: Case
) -> None:
    before, after, again, undone = (told[case.package] for told in runs)
    assert before[1] > 0
    assert (before[0], after[0]) == (case.before, case.after)
    assert type(before[0]) is type(case.before)
    assert after[1] == case.is_compile
    assert again == (case.after, 0, [])
    assert undone == (case.before, 0, [])
