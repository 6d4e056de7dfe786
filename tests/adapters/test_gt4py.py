"""What GT4Py's steps have made is found again exactly when nothing that it depends on has changed.

Real programs in processes of their own. Each edit is made in a copy of the program and of whorl's
cache in another directory, so everything that is still found has also moved.
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

pytest.importorskip("gt4py", reason="needs GT4Py: make test-adapters")

CONSTANTS = """
import numpy as np
from gt4py.eve.utils import FrozenNamespace

SCALE = 3
TABLE = [1, 2]
Float = np.float64
weights = FrozenNamespace(second=Float(2.0))


def helper(x):
    return x + 100
"""

STEPS = """
import dataclasses
import functools

import constants
from constants import helper
from gt4py.next.otf import workflow


def body(x):
    return x * 7


def callee(x):
    return helper(x)


def constant(x):
    return x * constants.SCALE


def default(x, by=5):
    return x * by


def table(x):
    return x + sum(constants.TABLE)


def make(n):
    return lambda x: x + n


closure = make(11)
partial = functools.partial(default, by=6)


class Base:
    def offset(self):
        return 1000


@dataclasses.dataclass(frozen=True)
class Method(Base):
    by: int = 2

    def __call__(self, x):
        return x * self.by + self.offset()


def first(x):
    return x + 1


@dataclasses.dataclass(frozen=True)
class Nested(workflow.NamedStepSequence):
    one: workflow.Workflow
    two: workflow.Workflow


STEPS = {
    "body": body,
    "callee": callee,
    "constant": constant,
    "default": default,
    "table": table,
    "closure": closure,
    "partial": partial,
    "method": Method(),
    "sequence": workflow.StepSequence.start(first).chain(body),
    "nested": Nested(one=first, two=Method()),
}
"""

RUN_STEPS = """
import json

import steps
import whorl.adapters.gt4py

answers = {}
for name, step in steps.STEPS.items():
    cached = whorl.adapters.gt4py.cached_step(step)
    was_there = cached.cache_key(2) in cached.cache
    answers[name] = [cached(2), was_there]
print(json.dumps(answers))
"""

PROGRAM = """
import json
import sys

import gt4py.next as gtx
import numpy as np
from gt4py.next import backend, config
from gt4py.next.program_processors.runners import gtfn

import whorl.adapters.gt4py
from constants import Float, weights

config.BUILD_JOBS = 0
E = gtx.Dimension("E")
V = gtx.Dimension("V")
N = gtx.Dimension("N", kind=gtx.DimensionKind.LOCAL)
First = gtx.FieldOffset("First", source=V, target=(E, N))
Second = gtx.FieldOffset("Second", source=V, target=(E, N))


@gtx.field_operator
def weighted(v: gtx.Field[[V], Float]) -> gtx.Field[[E], Float]:
    return v(First[0]) + weights.second * v(Second[0])


@gtx.program
def edges(v: gtx.Field[[V], Float], out: gtx.Field[[E], Float]):
    weighted(v, out=out)


def table(*rows):
    data = np.array(rows, dtype=np.int32)
    return gtx.as_connectivity([E, N], codomain=V, data=data)


provider = {"First": table([0], [1]), "Second": table([1], [0])}


class Translated(Exception):
    pass


translation = gtfn.run_gtfn.executor.translation.step
exact = whorl.adapters.gt4py.cached_step(translation)


def translate(inp):
    was_there = exact.cache_key(inp) in exact.cache
    exact(inp)
    raise Translated(was_there)


only = backend.Backend("only", translate, gtfn.run_gtfn.allocator, gtfn.run_gtfn.transforms)
v = gtx.as_field([V], np.ones(2, Float))
out = gtx.as_field([E], np.zeros(2, Float))
try:
    edges.with_backend(only)(v, out, offset_provider=provider)
except Translated as done:
    print(json.dumps({"found": done.args[0]}))
"""


@dataclass(frozen=True)
class Edit:
    """A replacement in a file, and the steps that it changes, with what they return then."""

    name: str
    file: str
    before: str
    after: str
    changed: dict[str, int]


RIGHT = {
    "body": 14, "callee": 102, "constant": 6, "default": 10, "table": 5, "closure": 13,
    "partial": 12, "method": 1004, "sequence": 21, "nested": 1006,
}  # fmt: skip

EDITS = [
    Edit("the body of a step", "steps.py", "x * 7", "x * 8", {"body": 16, "sequence": 24}),
    Edit("a callee in another file", "constants.py", "x + 100", "x - 100", {"callee": -98}),
    Edit("a constant of a module", "constants.py", "SCALE = 3", "SCALE = 4", {"constant": 8}),
    Edit("a default", "steps.py", "by=5", "by=7", {"default": 14, "partial": 12}),
    Edit("a list", "constants.py", "[1, 2]", "[1, 3]", {"table": 6}),
    Edit("a captured value", "steps.py", "make(11)", "make(12)", {"closure": 14}),
    Edit("an argument of a partial", "steps.py", "by=6", "by=8", {"partial": 16}),
    Edit("a field", "steps.py", "by: int = 2", "by: int = 3", {"method": 1006, "nested": 1009}),
    Edit("a method", "steps.py", "self.by +", "self.by -", {"method": -996, "nested": -994}),
    Edit("a base class", "steps.py", "1000", "2000", {"method": 2004, "nested": 2006}),
    Edit("a step of a chain", "steps.py", "x + 1\n", "x + 2\n", {"sequence": 28, "nested": 1008}),
    Edit("a lambda", "steps.py", "lambda x: x + n", "lambda x: x - n", {"closure": -9}),
    # What changes nothing.
    Edit("nothing", "steps.py", "", "", {}),
    Edit("a comment", "steps.py", "    return x * 7", "    # seven\n    return x * 7", {}),
    Edit("lines above", "steps.py", "import dataclasses", "\n\n\nimport dataclasses", {}),
    Edit("the layout of a line", "steps.py", "x * 7", "(x\n        * 7)", {}),
    Edit("what no step reads", "constants.py", "SCALE = 3", "SCALE = 3\nUNUSED = 4", {}),
]  # fmt: skip

PROGRAM_EDITS = [
    ("an operator", "program.py", "v(First[0]) +", "v(First[0]) -", False),
    ("a constant of a module", "constants.py", "Float(2.0)", "Float(3.0)", False),
    ("the order of connectivities", "program.py", "= {", "= {'Second': 0, ", False),
    ("a neighbour", "program.py", "table([1], [0])", "table([1], [1])", False),
    ("the type of a neighbour", "program.py", "dtype=np.int32", "dtype=np.int64", False),
    ("the types of fields", "constants.py", "np.float64", "np.float32", False),
    ("an option of the backend", "program.py", "translation.step\n",
     "translation.step.replace(use_imperative_backend=True)\n", False),
    ("nothing", "program.py", "", "", True),
    ("a comment", "program.py", "@gtx.field_operator", "# here\n@gtx.field_operator", True),
    ("a comment inside", "program.py", "    return v(", "    # sum\n    return v(", True),
    ("the layout of a line", "program.py", "v(First[0]) +", "v(First[0])  +", True),
]  # fmt: skip


FORKS = """
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

import gt4py.next
import whorl
import whorl.adapters.gt4py
from gt4py.next.program_processors.runners import gtfn

for directory, program in json.load(sys.stdin):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        continue
    try:
        os.chdir(directory)
        sys.path.insert(0, directory)
        whorl.configure(cache_dir=Path(directory, "whorl"))
        with open(f"{program}.json", "w") as sys.stdout:
            runpy.run_path(f"{program}.py", run_name="__main__")
    except BaseException:
        traceback.print_exc()
    os._exit(0)
"""


def python(*arguments: str, cwd: Path, text: str = "", **environment: str) -> str:
    """What a process prints; whorl's cache is in its directory."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "WHORL_CACHE_DIR": str(cwd / "whorl"),
            "GT4PY_BUILD_CACHE_LIFETIME": "session",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": "",
            **environment,
        },
        input=text,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stdout


def run(*jobs: tuple[Path, str]) -> list[Any]:
    """What programs print, each in a process of its own, which is forked to import GT4Py once."""
    text = json.dumps([(str(directory), program) for directory, program in jobs])
    python("-c", FORKS, cwd=jobs[0][0], text=text)
    return [json.loads((directory / f"{program}.json").read_text()) for directory, program in jobs]


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        (directory / f"{name}.py").write_text(text)


def edited(source: Path, target: Path, file: str, before: str, after: str) -> None:
    """A copy of a directory with a replacement in one file."""
    shutil.copytree(source, target)
    text = (target / file).read_text()
    assert before in text
    (target / file).write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is computed and found after each edit, in copies of a directory with a filled cache."""
    root = tmp_path_factory.mktemp("edits")
    filled = root / "filled"
    filled.mkdir()
    write(filled, constants=CONSTANTS, steps=STEPS, run_steps=RUN_STEPS, program=PROGRAM)
    (steps, program), jobs = run((filled, "run_steps"), (filled, "program")), {}
    assert steps == {name: [value, False] for name, value in RIGHT.items()}
    assert program == {"found": False}
    for edit in EDITS:
        jobs[f"steps: {edit.name}"] = root / f"steps {edit.name}", "run_steps"
        edited(filled, root / f"steps {edit.name}", edit.file, edit.before, edit.after)
    for name, file, before, after, _ in PROGRAM_EDITS:
        jobs[f"program: {name}"] = root / f"program {name}", "program"
        edited(filled, root / f"program {name}", file, before, after)
    return dict(zip(jobs, run(*jobs.values()), strict=True))


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_exactly_the_steps_that_an_edit_changes_run_again(
    edit: Edit, answers: dict[str, Any]
) -> None:
    expected = {name: [value, True] for name, value in RIGHT.items()}
    expected |= {name: [value, False] for name, value in edit.changed.items()}
    assert answers[f"steps: {edit.name}"] == expected


@pytest.mark.parametrize(("name", "found"), [(row[0], row[-1]) for row in PROGRAM_EDITS], ids=str)
def test_a_program_is_translated_again_exactly_if_its_translation_can_differ(
    name: str, found: bool, answers: dict[str, Any]
) -> None:
    assert answers[f"program: {name}"] == {"found": found}


# -- compiled programs -----------------------------------------------------------------

COMPILED = """
import json
import sys

import gt4py.next as gtx
import numpy as np
from gt4py.next import where
from gt4py.next.program_processors.runners.gtfn import run_gtfn

if "exact" in sys.argv:
    import whorl.adapters.gt4py

    assert whorl.adapters.gt4py.install()

E = gtx.Dimension("E")
V = gtx.Dimension("V")
N = gtx.Dimension("N", kind=gtx.DimensionKind.LOCAL)
First = gtx.FieldOffset("First", source=V, target=(E, N))
Second = gtx.FieldOffset("Second", source=V, target=(E, N))


@gtx.field_operator
def weighted(v: gtx.Field[[V], gtx.float64]) -> gtx.Field[[E], gtx.float64]:
    return v(First[0]) + 10.0 * v(Second[0])


@gtx.program(backend=run_gtfn)
def edges(v: gtx.Field[[V], gtx.float64], out: gtx.Field[[E], gtx.float64]):
    weighted(v, out=out)


@gtx.field_operator
def missing(v: gtx.Field[[V], gtx.float64]) -> gtx.Field[[V], gtx.float64]:
    return where(v != v, 1.0, 0.0)


@gtx.program(backend=run_gtfn)
def gaps(v: gtx.Field[[V], gtx.float64], out: gtx.Field[[V], gtx.float64]):
    missing(v, out=out)


def table(*rows):
    return gtx.as_connectivity([E, N], codomain=V, data=np.array(rows, dtype=np.int32))


if __name__ == "__main__":  # GT4Py compiles in processes that import this again
    provider = {"First": table([0], [1]), "Second": table([1], [1])}
    if "reversed" in sys.argv:
        provider = dict(reversed(provider.items()))
    v = gtx.as_field([V], np.array([1.0, 2.0]))
    on_edges = gtx.as_field([E], np.zeros(2))
    on_vertices = gtx.as_field([V], np.zeros(2))
    edges(v, on_edges, offset_provider=provider)
    gaps(gtx.as_field([V], np.array([1.0, np.nan])), on_vertices, offset_provider={})
    print(json.dumps([on_edges.asnumpy().tolist(), on_vertices.asnumpy().tolist()]))
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_compiled_programs_are_found_by_other_processes_but_not_for_other_flags(
    tmp_path: Path,
) -> None:
    def compiled(cwd: Path, *arguments: str, **environment: str) -> Any:
        quick = {"GT4PY_CMAKE_BUILD_TYPE": "debug", **environment}
        return json.loads(python("compiled.py", "exact", *arguments, cwd=cwd, **quick))

    def misses(cwd: Path) -> int:
        return python("-m", "whorl", "why", "--limit", "0", cwd=cwd).count("made in")

    here, moved = tmp_path / "here", tmp_path / "moved"
    here.mkdir()
    write(here, compiled=COMPILED)
    assert compiled(here) == [[21.0, 22.0], [0.0, 1.0]]
    made = misses(here)

    edited(here, moved, "compiled.py", "@gtx.program(", "# a comment\n@gtx.program(")
    assert compiled(moved) == [[21.0, 22.0], [0.0, 1.0]]
    assert misses(moved) == made

    answer = compiled(moved, "reversed", CXXFLAGS="-O1 -ffast-math")
    assert answer == [[21.0, 22.0], [0.0, 0.0]]  # no NaN is looked for with these flags
    why = python("-m", "whorl", "why", "--limit", "0", cwd=moved)
    assert "input:order of connectivities: First, Second -> Second, First" in why
    assert "toolchain:CXXFLAGS" in why


# -- what is not cached, and one process -----------------------------------------------

ONE_PROCESS = """
import dataclasses
import json
import os
import pickle
import threading

import whorl.adapters.gt4py as adapter
from gt4py.next import config

SCALE = 2
LOCK = threading.Lock()
ran = []


def scaled(x):
    ran.append("scaled")
    return x * SCALE


def locked(x):
    with LOCK:
        return x + 1


def impure(x):
    return x + len(os.environ.get("WORD", ""))


def wrong(x):
    raise ValueError("no")


step = adapter.cached_step(scaled, ignores=["ran"])
values = [step(3), step(3)]
SCALE = 5
values += [step(3), pickle.loads(pickle.dumps(step))(3)]
for function in (locked, impure):
    for cached in (adapter.cached_step(function), adapter.cached_step(function)):
        values.append(cached(1))
values.append(adapter.cached_step(locked, ignores=["LOCK"])(1))
key = adapter.cached_step(locked, ignores=["LOCK"])
values.append(key.cache_key(1) in key.cache)
try:
    adapter.cached_step(wrong)(1)
except ValueError as error:
    values.append(str(error))
values.append(adapter.cached_step(lambda value: list(value))({"a": 1, "b": 2}))
values.append(adapter.cached_step(lambda value: list(value))({"b": 2, "a": 1}))
own = dataclasses.replace(step, input_fingerprinter=str)
values += [own(3), dataclasses.replace(own, step=lambda x: x - 1)(3)]
values.append(dataclasses.replace(step, step=lambda x: x - 2)(3))
print(json.dumps([values, len(ran)]))
"""


def test_a_process_notices_what_changes_and_says_once_what_is_not_cached(tmp_path: Path) -> None:
    write(tmp_path, steps=ONE_PROCESS)
    for first_time in (True, False):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", "import steps"],
            cwd=tmp_path,
            env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "whorl")},
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        values, ran = json.loads(done.stdout.splitlines()[-1])
        assert values[:4] == [6, 6, 15, 15]
        assert values[4:9] == [2, 2, 1, 1, 2]
        assert values[9:] == [True, "no", ["a", "b"], ["b", "a"], 15, 2, 1]
        assert ran == (3 if first_time else 1)  # `own` counts `ran`, which was longer then
        assert done.stderr.count("locked is not cached") == 1
        assert done.stderr.count("impure is not cached") == 1
        assert "whorl.adapters.gt4py.install(ignores=[" in done.stderr


def test_another_version_of_gt4py_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    import whorl.adapters.gt4py as adapter  # after the check whether GT4Py is here
    from whorl.adapters.host_library import HostLibrary

    known = adapter._GT4PY
    adapter._GT4PY = HostLibrary("gt4py", (9, 0), (9, 1))  # type: ignore[misc]  # it is final
    try:
        backend = object()
        assert not adapter.install()
        assert adapter.exact(backend) is backend
        assert adapter.cached_step(len)("abc") == 3
    finally:
        adapter._GT4PY = known  # type: ignore[misc]  # it is final
    assert len(caplog.messages) == 1
    assert "it knows the versions from 9.0 to those before 9.1" in caplog.text
