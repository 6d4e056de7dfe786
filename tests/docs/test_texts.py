"""What holds for every text in the repository."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "src" / "whorl").rglob("*.py"))

# Joined from pieces, so that this file does not match. What stands before the slash tells the start
# of an absolute path from the middle of a relative one or of an address.
MACHINE_PATH = re.compile(
    r"(?<![\w.~$)}\]>*-])/(?:" + "|".join(["home", "root", "work", "tmp", "Users"]) + r")/\w"
    r"|[A-Z]:\\+Users\\"
)


def texts() -> Iterator[Path]:
    """The checkout's files, those that git ignores left out, unless they are binary."""
    for path in checkout_files():
        if path.is_file() and b"\0" not in path.read_bytes():
            yield path


def checkout_files() -> list[Path]:
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        if listed.returncode == 0:
            return [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    files = []
    for directory, names, here in os.walk(ROOT):
        names[:] = [n for n in names if n not in {"__pycache__", "build", "dist"} and n[0] != "."]
        files += [Path(directory) / name for name in here]
    return files


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(ROOT).as_posix())
def test_a_module_opens_with_a_docstring(module: Path) -> None:
    assert ast.get_docstring(ast.parse(module.read_bytes()))


def test_no_text_holds_a_path_of_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()[:120]}"
        for path in texts()
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
        )
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("start", ["", " ", '"', "'", "=", "(", "file://", "`", ":"])
def test_an_absolute_path_is_recognised_after(start: str) -> None:
    path = "/".join(["", "home", "someone", "x.py"])
    assert MACHINE_PATH.search(start + path)


@pytest.mark.parametrize("start", ["docs", "..", "~", "$ROOT", "example.org"])
def test_the_middle_of_another_path_is_not_an_absolute_one(start: str) -> None:
    assert not MACHINE_PATH.search(start + "/".join(["", "work", "x.py"]))


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    assert {page for page in pages if f"({page})" not in index} == set()
