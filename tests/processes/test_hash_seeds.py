"""The digest of a value is the same in every process."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.processes import zoo
from tests.processes.programs import ROOT, differing, printed

Digests = dict[str, str]

_IMPORTED = "import json; from tests.processes import zoo; print(json.dumps(zoo.digests()))"


@functools.cache
def imported() -> Digests:
    """The digests in a process that imports the module."""
    found: Digests = printed("-c", _IMPORTED)
    return found


def test_every_value_has_a_fingerprint_and_no_two_have_the_same() -> None:
    found = imported()
    assert {name: digest for name, digest in found.items() if len(digest) != 32} == {}
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("seed", [1, 2, 4_294_967_295])
def test_digests_do_not_depend_on_the_hash_seed(seed: int) -> None:
    assert differing(printed("-c", _IMPORTED, seed=seed), imported()) == set()


def test_a_second_walk_in_one_process_gives_the_digests_of_the_first() -> None:
    first = zoo.digests()
    assert differing(zoo.digests(), first) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "tests.processes.zoo"),
        ("tests/processes/zoo.py",),
        ("tests/processes/zoo.py", "moved"),
        ("tests/processes/zoo.py", "spawn"),
        ("-m", "tests.processes.zoo", "spawn"),
    ],
    ids=[
        "as a module",
        "as a script",
        "as a script that changes its directory",
        "as a script whose child is spawned",
        "as a module whose child is spawned",
    ],
)
def test_a_module_run_as_a_program_gives_the_digests_of_the_imported_one(
    arguments: tuple[Any, ...],
) -> None:
    assert differing(printed(*arguments, path=[ROOT]), imported()) == set()


def test_a_checkout_in_another_directory_gives_the_same_digests(tmp_path: Path) -> None:
    package = tmp_path / "another place" / "tests" / "processes"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    shutil.copy(zoo.__file__, package / "zoo.py")
    moved = printed("-c", _IMPORTED, cwd=package.parents[1])
    assert differing(moved, imported()) == set()


@pytest.mark.parametrize(
    "options",
    [("-X", "dev", "-bb"), ("-OO",), ("-I", "-B")],
    ids=["development", "without docstrings", "isolated, without pyc files"],
)
def test_the_interpreters_options_do_not_show(options: tuple[str, ...]) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {_IMPORTED}"
    assert differing(printed(*options, "-W", "error", "-c", program), imported()) == set()
