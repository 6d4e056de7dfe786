"""What `make help` lists, and which interpreters `make test-all` finds, runs and counts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.every_python import Counts, counts_in, table
from tests.processes.programs import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None, reason="there is no make on this machine"
)


def test_make_help_lists_every_target_in_two_columns() -> None:
    makefile = (ROOT / "Makefile").read_text()
    described = dict(re.findall(r"^([^\s:#]+):.*## (.*)$", makefile, re.MULTILINE))
    words = ["make", "--no-print-directory", "help"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
    assert {row[0]: row[-1] for row in rows} == described
    assert len({line.rindex(row[-1]) for line, row in zip(lines, rows, strict=True)}) == 1


def test_every_target_that_is_declared_or_documented_has_a_recipe() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):(?!=)", makefile, re.MULTILINE))
    declared = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert declared is not None
    pages = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    documented = re.findall(r"`make ([a-z][a-z0-9-]*)", pages)
    assert {*declared[1].split(), *documented} <= targets


class Machine:
    """A machine with interpreters that only say their version, and a make that only counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.program("bin/make", 'echo "make $*" >> "$MADE"\n. "$SUMMARIES"')
        self.made = folder / "made"
        self.summaries = folder / "summaries"
        self.says("7 passed, 2 skipped in 0.12s")

    def program(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/bash\n{text}\n")
        file.chmod(0o755)
        return file

    def python(self, path: str, version: str) -> Path:
        return self.program(path, f"echo {version}")

    def says(self, line: str, status: int = 0, where: str = "") -> None:
        """What a run of the tests ends with; `where` is in the words of make for some only."""
        before = self.summaries.read_text() if where else ""
        condition = f'[[ "$*" == *{where}* ]]' if where else "true"
        lines = f'if {condition}; then echo "{line}"; exit {status}; fi\n'
        self.summaries.write_text(lines + before)

    def test_all(self, *words: str) -> tuple[int, list[str], list[str]]:
        """The status of `make test-all`, the lines of its table, and what it has made."""
        self.made.write_text("")
        tools = os.path.dirname(shutil.which("git") or "/usr/bin/git")  # noqa: PTH120  # a text
        environment = {
            "PATH": f"{self.bin}:{tools}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "PYENV_ROOT": str(self.folder / "pyenv"),
            "MADE": str(self.made),
            "SUMMARIES": str(self.summaries),
        }
        make = shutil.which("make") or "make"
        said = [f"MAKE={self.bin / 'make'}", f"PYTHON={sys.executable}", *words]
        ended = subprocess.run(
            [make, "--no-print-directory", "test-all", *said],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        shown = ended.stdout.splitlines()
        assert "interpreter" in ended.stdout, ended.stderr
        start = next(i for i, line in enumerate(shown) if line.startswith("interpreter"))
        return ended.returncode, shown[start:], self.made.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_interpreters_are_found_on_the_path_and_under_pyenv(machine: Machine) -> None:
    machine.python("bin/python3.11", "3.11.9")
    machine.program("bin/python3.12", "exit 127")  # a shim with nothing behind it
    machine.python("pyenv/versions/3.12.1/bin/python3", "3.12.1")
    machine.python("bin/python3.13", "3.11.9")  # not what its name says
    status, shown, made = machine.test_all("VERSIONS=3.11 3.12 3.13")
    assert shown == [
        "interpreter    passed  failed  skipped",
        "Python 3.11.9       7       0        2",
        "Python 3.12.1       7       0        2",
        "Python 3.13    not found",
    ]
    assert status == 0
    assert [re.findall(r"VENV=(\S+)", line) for line in made] == [[".venv-3.11"], [".venv-3.12"]]


def test_every_version_that_whorl_names_is_looked_for(machine: Machine) -> None:
    _, shown, _ = machine.test_all()
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert named == ["3.11", "3.12", "3.13", "3.14", "3.15"]
    assert [re.findall(r"3\.\d+", line)[0] for line in shown[1:]] == named


def test_interpreters_can_be_named(machine: Machine) -> None:
    machine.python("bin/python3.11", "3.11.9")
    one = machine.python("a/python", "3.14.2")
    other = machine.python("b/python", "3.14.5")
    status, shown, made = machine.test_all(f"PYTHONS={one} {other} /no/python", "ARGS=-k 'a or b'")
    assert [line.split("  ")[0] for line in shown[1:]] == [
        "Python 3.14.2", "Python 3.14.5", "/no/python",
    ]  # fmt: skip
    assert "does not run" in shown[-1]
    assert status != 0
    assert [re.findall(r"PYTHON=(\S+)", line) for line in made] == [[str(one)], [str(other)]]
    assert len({re.findall(r"VENV=(\S+)", line)[0] for line in made}) == 2
    assert all(line.endswith("ARGS=-k 'a or b'") for line in made)


def test_one_that_fails_makes_all_fail_and_the_others_run(machine: Machine) -> None:
    machine.python("bin/python3.11", "3.11.9")
    machine.python("bin/python3.12", "3.12.1")
    machine.says("1 failed, 5 passed, 1 error in 3.00s (0:00:03)", status=2, where="3.11")
    status, shown, made = machine.test_all("VERSIONS=3.11 3.12")
    assert shown[1].split() == ["Python", "3.11.9", "5", "2", "0"]
    assert shown[2].split() == ["Python", "3.12.1", "7", "0", "2"]
    assert status != 0
    assert len(made) == 2


def test_an_environment_that_cannot_be_made_is_not_a_success(machine: Machine) -> None:
    machine.python("bin/python3.11", "3.11.9")
    machine.says("no network", status=2)
    status, shown, _ = machine.test_all("VERSIONS=3.11")
    assert "ended with 2" in shown[1]
    assert status != 0


def test_nothing_found_is_not_a_success(machine: Machine) -> None:
    status, shown, made = machine.test_all("VERSIONS=3.98 3.99")
    assert (status != 0, len(shown), made) == (True, 3, [])


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout: git lists no files")
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")
def test_interpreters_of_a_chroot_run_the_tests_on_a_copy(machine: Machine) -> None:
    # A chroot that only root may enter: the paths of its inside are led there instead.
    machine.program(
        "bin/chroot",
        textwrap.dedent(r"""
            root=$1; shift
            words=()
            for word in "$@"; do
                [[ $word == /var/tmp/* ]] && word=$root$word
                [[ $word == PATH=* ]] && word=PATH=$root/bin:/usr/bin:/bin
                words+=("$word")
            done
            exec "${words[@]}"
        """),
    )
    machine.python("bin/python3.97", "3.97.9")
    root = machine.folder / "sid"
    machine.python("sid/bin/python3.97", "3.97.2")
    machine.python("sid/bin/python3.98", "3.98.0")
    made = machine.folder / "made inside"
    machine.program("sid/bin/make", f'echo "$PWD $*" >> "{made}"\necho "3 passed in 0.10s"')
    status, shown, _ = machine.test_all("VERSIONS=3.97 3.98", f"CHROOT={root}")
    assert shown[1].split() == ["Python", "3.97.9", "7", "0", "2"]
    assert shown[2].split() == ["Python", "3.98.0", "in", str(root), "3", "0", "0"]
    assert status == 0
    (line,) = made.read_text().splitlines()
    folder = Path(line.split(" ")[0])
    assert folder.is_relative_to(root)
    assert (folder / "pyproject.toml").read_text() == (ROOT / "pyproject.toml").read_text()
    (folder / ".venv-3.98").mkdir()
    (folder / "old.py").write_text("")
    machine.test_all("VERSIONS=3.98", f"CHROOT={root}")
    assert (folder / ".venv-3.98").is_dir()
    assert not (folder / "old.py").exists()


def test_counts_are_read_from_the_last_line_of_pytest() -> None:
    assert counts_in("\x1b[32m3 passed\x1b[0m, 1 warning in 0.10s") == Counts(3, 0, 0)
    assert counts_in("1 error in 0.10s") == Counts(0, 1, 0)
    assert counts_in("12 deselected in 0.10s") == Counts(0, 0, 0)
    assert counts_in("..... [ 10%]") is None
    assert "not found" in table([("Python 3.99", "not found")])
