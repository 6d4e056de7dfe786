"""Kernels of Quadrants are found again exactly when nothing that they read has changed.

Real programs in processes of their own. Each edit is made in a copy of the program and of its
caches in another directory, so every kernel that is still found has also moved.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("quadrants", reason="needs Quadrants: make test-adapters")

MODES = """
import enum

import quadrants as qd


class Mode(enum.IntEnum):
    SLOW = 1
    FAST = 2


class Config:
    gain = 2


WIDE = True
REPEAT = 3
OFFSET = 4
FACTOR = 5
KIND = qd.f32
FLOAT = qd.f32
config = Config()
"""

PARTS = """
import quadrants as qd

import modes


@qd.func
def tenfold(x: qd.i32):
    return x * 10


@qd.func
def shifted(x: qd.i32):
    return x + qd.static(modes.OFFSET)


@qd.func
def halves(x: qd.i32):
    half: modes.KIND = 0.5
    return qd.i32(half * x * 2)


chosen = tenfold


@qd.data_oriented
class Body:
    LEGS = 4

    def __init__(self, operation=None):
        self.arms = 2
        self.operation = operation

    @qd.func
    def limbs(self):
        return self.arms + qd.static(self.LEGS)

    @qd.kernel(fastcache=True)
    def count(self, a: qd.types.NDArray[qd.i32, 1]):
        for i in range(a.shape[0]):
            a[i] = self.limbs()
"""

SIMULATION = """
import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
if "exact" in sys.argv:
    import whorl.adapters.quadrants

    whorl.adapters.quadrants.install(ignores=["IGNORED"])

import quadrants as qd

import modes
import parts
from modes import FACTOR, Mode

qd.init(arch=qd.cpu, offline_cache_file_path=os.path.abspath("compiled"), log_level=qd.ERROR)
Array = qd.types.NDArray[qd.i32, 1]
IGNORED = object()


@qd.kernel(fastcache=True)
def enum_member(a: Array):
    for i in range(a.shape[0]):
        a[i] = Mode.FAST


@qd.kernel(fastcache=True)
def module_constant(a: Array):
    for i in range(a.shape[0]):
        a[i] = 1
        if qd.static(modes.WIDE):
            a[i] = 2


@qd.kernel(fastcache=True)
def unrolled(a: Array):
    for i in range(a.shape[0]):
        a[i] = 0
        for k in qd.static(range(modes.REPEAT)):
            a[i] += k


@qd.kernel(fastcache=True)
def imported_constant(a: Array):
    for i in range(a.shape[0]):
        a[i] = 0 + qd.static(FACTOR)


@qd.kernel(fastcache=True)
def attribute(a: Array):
    for i in range(a.shape[0]):
        a[i] = 0 + qd.static(modes.config.gain)


@qd.kernel(fastcache=True)
def callee(a: Array):
    for i in range(a.shape[0]):
        a[i] = parts.tenfold(1)


@qd.kernel(fastcache=True)
def what_a_callee_reads(a: Array):
    for i in range(a.shape[0]):
        a[i] = parts.shifted(1)


@qd.kernel(fastcache=True)
def chosen_callee(a: Array):
    for i in range(a.shape[0]):
        a[i] = parts.chosen(1)


@qd.kernel(fastcache=True)
def local_annotation(a: Array):
    for i in range(a.shape[0]):
        a[i] = parts.halves(1)


@qd.kernel(fastcache=True)
def annotation(a: Array, x: modes.FLOAT):
    for i in range(a.shape[0]):
        a[i] = qd.i32((x - 1.0) * 1e9)


def make(n):
    @qd.kernel(fastcache=True)
    def captured(a: Array):
        for i in range(a.shape[0]):
            a[i] = 0 + qd.static(n)

    return captured


captured = make(modes.REPEAT)


@qd.kernel(fastcache=True)
def own_body(a: Array):
    for i in range(a.shape[0]):
        a[i] = 7


a = qd.ndarray(qd.i32, (2,))
body = parts.Body()
answers = {}
for kernel, *rest in [
    (enum_member, a), (module_constant, a), (unrolled, a), (imported_constant, a), (attribute, a),
    (callee, a), (what_a_callee_reads, a), (chosen_callee, a), (local_annotation, a),
    (annotation, a, 1 + 2.5e-9), (captured, a), (own_body, a), (parts.Body.count, body, a),
]:
    kernel(*rest)
    found = kernel._primal.src_ll_cache_observations.cache_loaded
    answers[kernel.__name__] = [int(a[0]), found]
print(json.dumps(answers))
"""

RIGHT = {
    "enum_member": 2, "module_constant": 2, "unrolled": 3, "imported_constant": 5, "attribute": 2,
    "callee": 10, "what_a_callee_reads": 5, "chosen_callee": 10, "local_annotation": 1,
    "annotation": 0, "captured": 3, "own_body": 7, "count": 6,
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """A replacement in a file, and the kernels that it changes, with what they compute then."""

    name: str
    file: str
    before: str
    after: str
    changed: dict[str, int]


EDITS = [
    Edit("an enum of another file", "modes.py", "FAST = 2", "FAST = 9", {"enum_member": 9}),
    Edit(
        "a constant of a module", "modes.py", "WIDE = True", "WIDE = False", {"module_constant": 1}
    ),
    Edit(
        "the length of an unrolled loop", "modes.py", "REPEAT = 3", "REPEAT = 5",
        {"unrolled": 10, "captured": 5},
    ),
    Edit("an imported constant", "modes.py", "FACTOR = 5", "FACTOR = 8", {"imported_constant": 8}),
    Edit("an attribute of an object", "modes.py", "gain = 2", "gain = 6", {"attribute": 6}),
    Edit("a callee", "parts.py", "x * 10", "x * 20", {"callee": 20, "chosen_callee": 20}),
    Edit("what a callee reads", "modes.py", "OFFSET = 4", "OFFSET = 7", {"what_a_callee_reads": 8}),
    Edit("which callee", "parts.py", "chosen = tenfold", "chosen = shifted", {"chosen_callee": 5}),
    Edit(
        "the type of a variable", "modes.py", "KIND = qd.f32", "KIND = qd.i32",
        {"local_annotation": 0},
    ),
    Edit(
        "the type of a parameter", "modes.py", "FLOAT = qd.f32", "FLOAT = qd.f64", {"annotation": 2}
    ),
    Edit("an attribute of a class", "parts.py", "LEGS = 4", "LEGS = 8", {"count": 10}),
    Edit(
        "a method", "parts.py", "return self.arms + qd", "return 2 * self.arms + qd", {"count": 8}
    ),
    Edit("what an instance holds", "parts.py", "self.arms = 2", "self.arms = 3", {"count": 7}),
    Edit("the kernel itself", "simulation.py", "a[i] = 7", "a[i] = 17", {"own_body": 17}),
    Edit(
        "a captured value", "simulation.py", "make(modes.REPEAT)", "make(11)", {"captured": 11}
    ),
    Edit("an operator", "parts.py", "return x + qd", "return x - qd", {"what_a_callee_reads": -3}),
    # What changes nothing.
    Edit("nothing", "modes.py", "", "", {}),
    Edit("a comment", "parts.py", "    return x * 10", "    # ten\n    return x * 10", {}),
    Edit("lines above a kernel", "simulation.py", "a = qd.nd", "\n\n# here\na = qd.nd", {}),
    Edit("a comment above all", "parts.py", "import modes", "import modes\n# more\n\n", {}),
    Edit("the layout of a line", "parts.py", "x * 10", "(x\n        * 10)", {}),
    Edit("what no kernel reads", "modes.py", "FACTOR = 5\n", "FACTOR = 5\nUNUSED = 1\n", {}),
    Edit("what the user leaves out", "simulation.py", "object()", "[]", {}),
]  # fmt: skip


def run(directory: Path, *arguments: str, errors: list[str] | None = None) -> Any:
    """What the kernels of a program compute, and which were found; caches are in its directory."""
    done = subprocess.run(
        [sys.executable, "simulation.py", *arguments],
        cwd=directory,
        env={**os.environ, "WHORL_CACHE_DIR": str(directory / "whorl"), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if errors is not None:
        errors.append(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])  # Quadrants greets before


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and caches that hold its kernels under exact keys."""
    directory = tmp_path_factory.mktemp("filled")
    write(directory, modes=MODES, parts=PARTS, simulation=SIMULATION)
    assert run(directory, "exact") == {name: [value, False] for name, value in RIGHT.items()}
    return directory


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_exactly_the_kernels_that_an_edit_changes_are_compiled(
    edit: Edit, filled: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(filled, moved)
    text = (moved / edit.file).read_text()
    assert edit.before in text
    (moved / edit.file).write_text(text.replace(edit.before, edit.after, 1))
    expected = {name: [value, True] for name, value in RIGHT.items()}
    expected |= {name: [value, False] for name, value in edit.changed.items()}
    assert run(moved, "exact") == expected


def test_quadrants_alone_launches_old_kernels(tmp_path: Path) -> None:
    write(tmp_path, modes=MODES, parts=PARTS, simulation=SIMULATION)
    run(tmp_path)
    edited = MODES.replace("FAST = 2", "FAST = 9").replace("WIDE = True", "WIDE = False")
    write(tmp_path, modes=edited)
    answers = run(tmp_path)
    assert answers["enum_member"] == [RIGHT["enum_member"], True]
    assert answers["module_constant"] == [RIGHT["module_constant"], True]


# -- what is not cached ----------------------------------------------------------------

REFUSED = """
import os
import threading
import warnings

warnings.simplefilter("ignore")
import quadrants as qd

import whorl.adapters.quadrants

whorl.adapters.quadrants.install()
qd.init(arch=qd.cpu, offline_cache_file_path=os.path.abspath("compiled"), log_level=qd.ERROR)


class Choice:
    def __init__(self):
        self.lock = threading.Lock()
        self.wide = True


choice = Choice()


def level():
    return int(os.environ.get("LEVEL", "1"))


@qd.kernel(fastcache=True)
def locked(a: qd.types.NDArray[qd.i32, 1]):
    for i in range(a.shape[0]):
        if qd.static(choice.wide):
            a[i] = 3


@qd.kernel(fastcache=True)
def impure(a: qd.types.NDArray[qd.i32, 1], x: qd.template()):
    for i in range(a.shape[0]):
        a[i] = 0 + qd.static(level())


a, b = qd.ndarray(qd.i32, (2,)), qd.ndarray(qd.i32, (2, 2))
answers = {}
for kernel, *rest in [(locked, a), (impure, a, 1), (impure, a, 2)]:
    kernel(*rest)
    found = kernel._primal.src_ll_cache_observations.cache_loaded
    answers[kernel.__name__] = [int(a[0]), found]
import json
print(json.dumps(answers))
"""


def test_what_has_no_exact_key_is_compiled_each_time_and_said_once(tmp_path: Path) -> None:
    write(tmp_path, simulation=REFUSED)
    errors: list[str] = []
    for _ in range(2):
        assert run(tmp_path, errors=errors) == {"locked": [3, False], "impure": [1, False]}
    for said in errors:
        assert said.count("simulation.locked is not cached") == 1
        assert said.count("simulation.impure is not cached") == 1
        assert "whorl.adapters.quadrants.install(ignores=[" in said


def test_a_miss_is_explained(filled: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(filled, moved)
    write(moved, modes=MODES.replace("WIDE = True", "WIDE = False"))
    run(moved, "exact")
    command = [sys.executable, "-m", "whorl", "why", "--limit", "1"]
    variables = {**os.environ, "WHORL_CACHE_DIR": str(moved / "whorl")}
    said = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    assert "simulation.module_constant: 1 part differs from the nearest entry" in said
    assert "modes.WIDE: True -> False" in said
    assert "simulation.py:34: `if qd.static(modes.WIDE):`" in said


def test_lines_count_where_kernels_print_them(tmp_path: Path) -> None:
    debugged = SIMULATION.replace("qd.init(", "qd.init(debug=True, ")
    write(tmp_path, modes=MODES, parts=PARTS, simulation=debugged)
    run(tmp_path, "exact")
    answers = run(tmp_path, "exact")
    assert answers == {name: [value, True] for name, value in RIGHT.items()}
    write(tmp_path, simulation=debugged.replace("def own_body", "\n# own\ndef own_body"))
    assert not run(tmp_path, "exact")["own_body"][1]
