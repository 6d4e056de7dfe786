"""A new process compiles exactly when something that was read has changed since the last one.

A small solver of three modules is run, one edit is made, and it is run again. Its compiler
follows what a compiler would: arrays by type, members by use, constants, functions two calls
away by their code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "solver.py": '''
        """A solver."""
        import enum
        import uuid

        import numpy as np

        import physics
        import settings
        from toy import Toy

        import whorl

        SCALE = 2.0
        UNUSED = 1
        TABLE = {"low": 1, "high": 2}


        class Mode(enum.IntEnum):
            FAST = 1
            SLOW = 2


        class Base:
            gravity = 9.81

            def force(self, x):
                return x + 1


        class Rigid(Base):
            """Has members of many kinds."""

            def __init__(self):
                self.n = 3  # a run-time value
                self.tile = 64
                self.mode = Mode.FAST
                self.x = np.zeros(4, "f4")
                self.unread = np.zeros(4, "f4")
                self.uid = uuid.uuid4()

            def force(self, x):
                return physics.spring(x) * 2

            @property
            def twice(self):
                return 2 * self.tile


        def outer():
            captured = 5

            @whorl.jit(Toy(), options={"unroll": 4})
            def step(self, dt, order=2):
                # a comment
                return captured * SCALE

            return step


        def main():
            step = outer()
            result = step(Rigid(), 0.1)
            print(result, step.stats().get("compiled", 0))


        if __name__ == "__main__":
            main()
        ''',
    "physics.py": '''
        """Springs."""
        STIFFNESS = 4.0
        OTHER = 1


        def spring(x):
            """Pull."""
            return -STIFFNESS * helper(x)


        def helper(x):
            return x * 1.5


        def unrelated(x):
            return OTHER
        ''',
    "settings.py": """
        TILE = 16
        NOT_READ = 3
        """,
    "toy.py": """
        import whorl


        class Toy:
            name, version = "toy", "1"
            toolchain = "none"
            environment = {"TOY_LEVEL": "2"}

            def compile(self, program, inputs):
                me = inputs.arg("self")
                function = inputs.function()
                force = me.attr("force").code()
                spring = force.glob("physics").attr("spring").code()
                return whorl.Artifact(
                    {"code": b"..."},
                    {
                        "made": [
                            me.attr("x").array()[1],
                            me.attr("n").type()[0],
                            me.attr("tile").value(),
                            repr(me.attr("mode").value()),
                            me.attr("gravity").value(),
                            me.attr("twice").value(),
                            me.has("grad"),
                            inputs.arg("dt").type()[0],
                            inputs.arg("order").value(),
                            function.glob("SCALE").value(),
                            function.cell("captured").value(),
                            force.digest[:4],
                            spring.digest[:4],
                            spring.glob("STIFFNESS").value(),
                            spring.glob("helper").code().digest[:4],
                            force.glob("settings").attr("TILE").value(),
                            force.glob("TABLE").item("low").value(),
                            inputs.env("TOY_LEVEL"),
                            inputs.option("unroll"),
                        ]
                    },
                )

            def load(self, artifact, device):
                made = artifact.metadata["made"]
                return lambda *arguments: made
        """,
}

# (what is edited, the file, the old text, the new text, whether that is a compile)
EDITS: list[tuple[str, str, str, str, bool]] = [
    ("nothing", "solver", "", "", False),
    ("a comment", "solver", "# a comment", "# another one\n                # and more", False),
    ("a docstring", "physics", '"""Pull."""', '"""Pull harder."""', False),
    ("a blank line above", "physics", "def spring", "\n\n\ndef spring", False),
    ("an unread global", "solver", "UNUSED = 1", "UNUSED = 2", False),
    ("an unread setting", "settings", "NOT_READ = 3", "NOT_READ = 4", False),
    ("an unrelated function", "physics", "return OTHER", "return -OTHER", False),
    ("an unread member's dtype", "solver", 'unread = np.zeros(4, "f4")', "unread = 3", False),
    ("an unread member taken away", "solver", "self.uid = uuid.uuid4()", "pass", False),
    ("another member", "solver", "self.tile = 64", "self.tile = 64\n        self.more = 1", False),
    ("a run-time value", "solver", "self.n = 3", "self.n = 4", False),
    ("a run-time argument", "solver", "Rigid(), 0.1", "Rigid(), 0.2", False),
    ("the size of an array", "solver", "self.x = np.zeros(4", "self.x = np.zeros(9", False),
    ("an unread entry of a table", "solver", '"high": 2', '"high": 3', False),
    ("another enum member", "solver", "SLOW = 2", "SLOW = 2\n    MEDIUM = 3", False),
    (
        "a member's default spelled differently",
        "solver",
        "self.tile = 64",
        "self.tile = 0x40",
        False,
    ),
    ("a method that is overridden", "solver", "return x + 1", "return x + 2", False),
    ("a global", "solver", "SCALE = 2.0", "SCALE = 3.0", True),
    ("a global's type", "solver", "SCALE = 2.0", "SCALE = 2", True),
    ("a global two modules away", "physics", "STIFFNESS = 4.0", "STIFFNESS = 5.0", True),
    ("a function two calls away", "physics", "return x * 1.5", "return x * 1.25", True),
    ("a method", "solver", "physics.spring(x) * 2", "physics.spring(x) * 3", True),
    ("a class attribute of the base", "solver", "gravity = 9.81", "gravity = 1.62", True),
    ("a class attribute put above it", "solver", "has_more = 1", "gravity = 1.0", True),
    ("a constant member", "solver", "self.tile = 64", "self.tile = 32", True),
    ("a property", "solver", "return 2 * self.tile", "return 3 * self.tile", True),
    ("a dtype that was read", "solver", 'self.x = np.zeros(4, "f4")', "self.x = np.zeros(4)", True),
    ("a type that was read", "solver", "self.n = 3", "self.n = 3.0", True),
    ("the type of an argument", "solver", "Rigid(), 0.1", "Rigid(), 1", True),
    ("an enum value", "solver", "FAST = 1", "FAST = 7", True),
    ("which enum member", "solver", "self.mode = Mode.FAST", "self.mode = Mode.SLOW", True),
    ("a default", "solver", "order=2", "order=3", True),
    ("a closed-over variable", "solver", "captured = 5", "captured = 6", True),
    ("a module attribute", "settings", "TILE = 16", "TILE = 8", True),
    ("an entry of a table", "solver", '"low": 1', '"low": 9', True),
    ("an option", "solver", '"unroll": 4', '"unroll": 8', True),
    ("a member that was absent", "solver", "self.tile = 64", "self.tile = 64; self.grad = 1", True),
    ("the function itself", "solver", "return captured * SCALE", "return captured + SCALE", True),
    ("the compiler's version", "toy", '"toy", "1"', '"toy", "2"', True),
]


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        lines = text.strip("\n").splitlines()
        (folder / name).write_text("\n".join(line[8:] for line in lines) + "\n")
    return folder


def run(folder: Path, cache: Path, *command: str, **variables: str) -> tuple[str, int]:
    """What a process printed: the result of the call and how many compiles there were."""
    env = {
        **os.environ,
        "WHORL_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "random",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, *(command or ("solver.py",))],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result, _, compiles = done.stdout.strip().rpartition(" ")
    return result, int(compiles)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A folder with the program, a cache that knows it, and what it printed."""
    base = tmp_path_factory.mktemp("warm")
    files = {**FILES, "solver.py": FILES["solver.py"].replace("# a run-time value", "# run time")}
    folder = written(base / "program", files)
    result, compiles = run(folder, base / "cache")
    assert compiles == 1
    return folder, base / "cache", result


@pytest.mark.parametrize("edit", EDITS, ids=[edit[0] for edit in EDITS])
def test_an_edit_is_a_compile_exactly_when_something_that_was_read_has_changed(
    warm: tuple[Path, Path, str], tmp_path: Path, edit: tuple[str, str, str, str, bool]
) -> None:
    folder, cache, before = warm
    _, file, old, new, compiles = edit
    mine = tmp_path / "moved"  # the checkout has moved as well
    shutil.copytree(folder, mine)
    path = mine / f"{file}.py"
    text = path.read_text()
    if old == "has_more = 1":  # a class attribute that hides that of the base
        old, new = "    def __init__(self):", f"    {new}\n\n    def __init__(self):"
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text)
    result, count = run(mine, cache)
    assert count == int(compiles)
    assert (result != before) is compiles or file == "toy" or "captured + SCALE" in new
    assert run(mine, cache) == (result, 0)


def test_the_way_a_program_is_started_does_not_matter(warm: tuple[Path, Path, str]) -> None:
    folder, cache, before = warm
    for command in (
        ("solver.py",),
        ("-m", "solver"),
        ("-c", "import solver; solver.main()"),
        ("-O", "solver.py"),
        ("-X", "dev", "solver.py"),
    ):
        assert run(folder, cache, *command) == (before, 0)


def test_a_declared_variable_counts_and_its_default_is_the_same_as_unset(
    warm: tuple[Path, Path, str],
) -> None:
    folder, cache, before = warm
    assert run(folder, cache, TOY_LEVEL="2") == (before, 0)
    result, compiles = run(folder, cache, TOY_LEVEL="3")
    assert (result == before, compiles) == (False, 1)
    assert run(folder, cache, TOY_LEVEL="3") == (result, 0)
    assert run(folder, cache, UNDECLARED="3") == (before, 0)


def test_a_cache_that_is_off_or_read_only_changes_no_result(
    warm: tuple[Path, Path, str], tmp_path: Path
) -> None:
    folder, cache, before = warm
    assert run(folder, cache, WHORL_CACHE="off") == (before, 1)
    assert run(folder, cache, WHORL_CACHE="readonly") == (before, 0)
    assert run(folder, tmp_path / "empty", WHORL_CACHE="readonly") == (before, 1)
    assert not (tmp_path / "empty").exists()


def test_the_log_says_why_by_path_with_both_sides_and_the_line(
    warm: tuple[Path, Path, str], tmp_path: Path
) -> None:
    folder, cache, _ = warm
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    path = mine / "physics.py"
    path.write_text(path.read_text().replace("STIFFNESS = 4.0", "STIFFNESS = 6.5"))
    done = subprocess.run(
        [sys.executable, "solver.py"],
        cwd=mine,
        env={**os.environ, "WHORL_CACHE_DIR": str(cache), "WHORL_LOG": "why"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "1 of its reads differs" in done.stderr
    assert re.search(r"global:physics.STIFFNESS: [45]\.0 -> 6\.5", done.stderr)
    assert "toy.py:" in done.stderr


def test_eight_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    folder = written(tmp_path / "program", FILES)
    toy = folder / "toy.py"
    toy.write_text(
        toy.read_text().replace(
            "    def compile(self, program, inputs):\n",
            "    def compile(self, program, inputs):\n        import time; time.sleep(0.5)\n",
        )
    )
    env = {**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "solver.py"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    counts = [int(process.communicate()[0].rpartition(" ")[2]) for process in processes]
    assert sorted(counts) == [0] * 7 + [1]
