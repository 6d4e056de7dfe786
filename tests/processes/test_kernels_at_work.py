"""Kernels in real processes: settings, explanations, many at once, forks, and changing objects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import QUICK_IMPORTS, printed, written


def run(home: Path, *command: str, **variables: str) -> Any:
    """What the program of a folder prints, read as JSON; its cache is beside it."""
    environment = {
        "WHORL_CACHE_DIR": str(home.parent / f"{home.name}-cache"),
        **QUICK_IMPORTS,
        **variables,
    }
    return printed(*(command or ("program.py",)), cwd=home, path=[home], environment=environment)


def program(home: Path, text: str) -> Path:
    """A folder with a program in it."""
    return written(home, {"program.py": textwrap.dedent(text)})


# -- settings ---------------------------------------------------------------------------

SUMMING = """
    import json, logging
    import numpy as np
    import whorl

    @whorl.kernel
    def total(x, i):
        s = 0.0
        for k in whorl.prange(x.size):
            s += x[k]
        return s + x[i]

    def main():
        try:
            found = total(np.ones(4), 0) + total(np.ones(8)[:4], 5)
        except IndexError:
            found = "IndexError"
        print(json.dumps([found, total.stats().get("compiled", 0)]))

    if __name__ == "__main__":
        main()
    """


def test_settings_are_a_compile_exactly_when_they_decide_what_is_made(tmp_path: Path) -> None:
    home = program(tmp_path / "home", SUMMING)
    assert run(home) == [10.0, 1]
    for variables in (
        {},
        {"WHORL_NUM_THREADS": "1"},
        {"WHORL_NUM_THREADS": "2"},
        {"WHORL_DEBUG": "0"},
        {"WHORL_TARGET": "host"},
        {"WHORL_LOG": "why"},
        {"UNRELATED": "1", "OMP_NUM_THREADS": "3"},
    ):
        assert run(home, **variables) == [10.0, 0], variables
    assert run(home, WHORL_DEBUG="1") == ["IndexError", 1]
    assert run(home, WHORL_TARGET="x86-64-v2") == [10.0, 1]
    for variables, answer in (
        ({"WHORL_DEBUG": "1"}, "IndexError"),
        ({"WHORL_TARGET": "x86-64-v2"}, 10.0),
        ({}, 10.0),
    ):
        assert run(home, **variables) == [answer, 0]


def test_the_way_a_program_is_started_does_not_matter(tmp_path: Path) -> None:
    home = program(tmp_path / "home", SUMMING)
    assert run(home) == [10.0, 1]
    for command in (
        ("-m", "program"),
        ("-c", "import program; program.main()"),
        ("-O", "program.py"),
        ("-X", "dev", "program.py"),
    ):
        assert run(home, *command) == [10.0, 0]


def test_code_that_this_machine_cannot_run_is_neither_found_nor_made(tmp_path: Path) -> None:
    home = program(tmp_path / "home", SUMMING)
    lower = """
        import sys
        import whorl.launch.level as level
        host, asked = level.host_level(), sys.argv[1]
        level.host_level = lambda: asked
        import whorl.kernels.kernel_compiler as compiler
        compiler.host_level = level.host_level
        import program
        program.main()
        """
    (home / "lower.py").write_text(textwrap.dedent(lower))
    assert run(home) == [10.0, 1]
    for level in ("x86-64", "x86-64-v2"):
        assert run(home, "lower.py", level) == [10.0, 1]
        assert run(home, "lower.py", level) == [10.0, 0]
    done = subprocess.run(
        [sys.executable, "lower.py", "x86-64"],
        cwd=home,
        env={
            **os.environ,
            "WHORL_CACHE_DIR": str(tmp_path / "home-cache"),
            "WHORL_TARGET": "x86-64-v2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot run code for x86-64-v2" in done.stderr


def test_an_artifact_of_a_higher_level_that_was_put_there_is_refused(tmp_path: Path) -> None:
    home = program(
        tmp_path / "home",
        """
        import json
        import whorl, whorl.launch.level as level

        @whorl.kernel
        def kernel(n): return n + 1

        kernel(1)
        (made,) = kernel.specializations()
        level.host_level = lambda: "x86-64"
        made.artifact.metadata["level"] = "x86-64-v2"
        try:
            kernel.compiler.load(made.artifact, "cpu")
        except RuntimeError as error:
            print(json.dumps(str(error)))
        """,
    )
    assert "cannot run code for x86-64-v2" in run(home)


# -- explanations -----------------------------------------------------------------------

EXPLAINED = """
    import json, sys
    import numpy as np
    import whorl
    import physics

    SCALE = 2.0

    def helper(x, by=3.0):
        return x * by

    class Body:
        def __init__(self):
            self.x = np.ones(4)
            self.tile = 4

        def force(self, i):
            return physics.pull(self.x[i])

        @whorl.kernel
        def step(self, dt: float):
            y = helper(dt)
            s = y * SCALE
            n = whorl.static(self.tile)
            return self.force(0) * s + n

    body = Body()
    if __name__ == "__main__":
        if "explain" in sys.argv:
            told = Body.step.explain(body, 0.5)
            changes = [[each.path, each.old, each.new, each.line] for each in told.changes]
            print(json.dumps([told.outcome, changes]))
        else:
            print(json.dumps(body.step(0.5)))
    """
PHYSICS = """
STIFFNESS = 4.0

def pull(x: float):
    return x * STIFFNESS
"""
# what is edited, the path that is named, both sides, and the line that reads it
CHANGES = [
    ("program.py", "SCALE = 2.0", "SCALE = 5.0",
     "global:program.SCALE", "2.0", "5.0", "program.py:23: `s = y * SCALE`"),
    ("program.py", "by=3.0", "by=4.0",
     "global:program.helper.default('by')", "3.0", "4.0",
     "program.py:10: `return x * by`"),
    ("program.py", "self.tile = 4", "self.tile = 5",
     "arg:self.tile", "4", "5", "program.py:24: `n = whorl.static(self.tile)`"),
    ("program.py", "np.ones(4)", "np.ones((4, 1), 'f4')[:, 0]",
     "arg:self.x", "array of <f8, 1 dimension, C, writeable",
     "array of <f4, 1 dimension, C, writeable",
     "program.py:18: `return physics.pull(self.x[i])`"),
    ("program.py", "dt: float", "dt: whorl.f64",
     "func:Body.step.annotation('dt')", "'float'", "'whorl.f64'",
     "program.py:21: `def step(self, dt: float):`"),
    ("physics.py", "STIFFNESS = 4.0", "STIFFNESS = 6.5",
     "global:physics.STIFFNESS", "4.0", "6.5", "physics.py:5: `return x * STIFFNESS`"),
    ("physics.py", "x: float", "x: object",
     "global:program.physics.pull.annotation('x')", "'float'", "'object'",
     "physics.py:4: `def pull(x: float):`"),
]  # fmt: skip


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program that has run once."""
    home = tmp_path_factory.mktemp("explained") / "home"
    program(home, EXPLAINED)
    written(home, {"physics.py": PHYSICS})
    assert run(home) == 16.0
    return home


@pytest.mark.parametrize("change", CHANGES, ids=[change[3] for change in CHANGES])
def test_an_explanation_names_what_changed_and_the_line_that_reads_it(
    explained: Path, tmp_path: Path, change: tuple[str, ...]
) -> None:
    file, old, new, *told = change
    home = tmp_path / "home"
    for name in ("program.py", "physics.py"):
        text = (explained / name).read_text()
        assert file != name or old in text
        written(home, {name: text.replace(old, new) if name == file else text})
    cache = {"WHORL_CACHE_DIR": str(explained.parent / "home-cache")}
    outcome, changes = run(home, "program.py", "explain", **cache)
    assert outcome == "miss"
    assert told in changes
    assert not any("compiler.py" in line for *_, line in changes)


def test_the_log_says_why_in_the_users_lines(explained: Path, tmp_path: Path) -> None:
    cache = str(explained.parent / "home-cache")
    for variables, words in (
        ({"WHORL_DEBUG": "1"}, "target:debug: False -> True  (read at program.py:20: `@whorl.ker"),
        ({"WHORL_TARGET": "x86-64-v2"}, "target:cpu"),
    ):
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=explained,
            env={
                **os.environ,
                "WHORL_CACHE_DIR": cache,
                "WHORL_CACHE": "readonly",
                "WHORL_LOG": "why",
                **variables,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert words in done.stderr
        assert "compiler.py" not in done.stderr
        assert json.loads(done.stdout) == 16.0


# -- many at once -----------------------------------------------------------------------


def test_eight_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    home = program(tmp_path / "home", SUMMING)
    environment = {**os.environ, **QUICK_IMPORTS, "WHORL_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "program.py"],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    told = [json.loads(process.communicate()[0]) for process in processes]
    assert [answer for answer, _ in told] == [10.0] * 8
    assert sorted(compiles for _, compiles in told) == [0] * 7 + [1]


# -- objects that change ----------------------------------------------------------------

PRELUDE = """
import copy, functools, gc, json, math, os, sys, threading, weakref
import numpy as np
import whorl

def total(x):
    s = 0.0
    for v in x:
        s += v
    return s

class Body:
    def __init__(self, x=None, scale=1.0):
        self.x = np.arange(4.0) if x is None else x
        self.scale = scale
        self.unread = self

    @whorl.kernel
    def sum(self):
        s = 0.0
        if self.x.ndim == 2:
            for i in range(self.x.shape[0]):
                s += total(self.x[i])
        else:
            s += total(self.x)
        return s * self.scale

    @whorl.kernel
    def fill(self, v):
        for i in range(self.x.size):
            self.x[i] = v

    @whorl.kernel
    def spread(self):
        s = 0.0
        for i in whorl.prange(self.x.size):
            s += self.x[i]
        return s

body = Body()
kernels = [Body.sum, Body.fill, Body.spread]
"""
END = """
compiles = sum(kernel.stats().get("compiled", 0) for kernel in kernels)
print(json.dumps([answers, compiles]))
"""

# sentence, program, answers, compiles of the first process
SENTENCES: list[tuple[str, str, object, int]] = [
    ("19 a name that is defined later, changed, and deleted", """
        @whorl.kernel
        def kernel(x):
            return abs(x) * whorl.static(2 if "FAST" in FLAGS else 1)
        FLAGS = {}
        answers = [kernel(-1.0)]
        def abs(x): return x * 10
        answers.append(kernel(-1.0))
        del abs
        answers.append(kernel(-1.0))
        FLAGS["FAST"] = 1
        answers.append(kernel(-1.0))
        del FLAGS
        try:
            kernel(-1.0)
        except whorl.KernelError as error:
            answers.append("FLAGS" in str(error))
        kernels.append(kernel)
     """, [1.0, -10.0, 1.0, 2.0, True], 3),
    ("21 a subclass has its own reads, in any order", """
        class Base:
            n = 2
            def f(self, x): return x + self.n
            @whorl.kernel
            def go(self, x): return self.f(x)
        class Sub(Base):
            m = 5.0
            def f(self, x): return x * self.m
        answers = [cls().go(1.0) for cls in (Base, Sub, Base, Sub, Sub, Base)]
        kernels.append(Base.go)
     """, [3.0, 5.0, 3.0, 5.0, 5.0, 3.0], 2),
    ("22 specializations that read different members never answer for each other", """
        class Thing:
            def __init__(self, **members): vars(self).update(members)
            @whorl.kernel
            def go(self):
                if whorl.static(self.flag): return self.a[0]
                return self.b
        answers = [Thing(flag=True, a=np.ones(1)).go(), Thing(flag=False, b=2).go(),
                   Thing(flag=True, a=np.full(1, 3.0), b="unread").go(),
                   Thing(flag=False, a=open(__file__), b=4).go(), Thing(flag=False, b=0.5).go()]
        kernels.append(Thing.go)
     """, [1.0, 2, 3.0, 4, 0.5], 3),
    ("23 arrays that begin or cease to be one never write into the wrong one", """
        class Pair:
            def __init__(self): self.a, self.b = np.zeros(3), np.zeros(3)
            @whorl.kernel
            def go(self):
                for i in range(self.a.size):
                    self.a[i] = i + 1.0
                    self.b[i] = self.a[i] * 2
                    self.a[i] += 100.0
        pair = Pair()
        answers = []
        for b in (pair.b, pair.a, np.zeros(3), pair.a[::-1]):
            pair.a[:], pair.b = 0.0, b
            pair.go()
            answers.append([pair.a.tolist(), pair.b.tolist()])
        kernels.append(Pair.go)
     """, [[[101.0, 102.0, 103.0], [2.0, 4.0, 6.0]], [[102.0, 104.0, 106.0]] * 2,
           [[101.0, 102.0, 103.0], [2.0, 4.0, 6.0]],
           [[6.0, 104.0, 103.0], [103.0, 104.0, 6.0]]], 2),
    ("25 instances of different make work in both orders", """
        class Thing:
            def __init__(self, **members): vars(self).update(members)
            @whorl.kernel
            def go(self):
                if whorl.static(not hasattr(self, "extra")): return -1.0
                if self.extra is None: return 0.0
                return self.extra[0]
        things = [Thing(extra=np.ones(2)), Thing(), Thing(extra=None), Thing(extra=(7, "x"))]
        answers = [[thing.go() for thing in things], [thing.go() for thing in things[::-1]]]
        kernels.append(Thing.go)
     """, [[1.0, -1.0, 0.0, 7], [7, 0.0, -1.0, 1.0]], 4),
    ("26 constants that compare equal never share, and a NaN is found again", """
        @whorl.kernel
        def kernel(n: whorl.static, x):
            return math.copysign(x, n), n * 1
        answers = []
        for n in (1, True, 1.0, 0.0, -0.0, 0, False, np.float32(1), np.int8(1)):
            answers.append([kernel(n, 3.0)[0], type(kernel(n, 3.0)[1]).__name__])
        answers.append([kernel(float("nan"), 1.0)[0], kernel(np.nan, 1.0)[0]])
        kernels.append(kernel)
     """, [[3.0, "int"], [3.0, "int"], [3.0, "float"], [3.0, "float"], [-3.0, "float"],
           [3.0, "int"], [3.0, "int"], [3.0, "float"], [3.0, "int"], [1.0, 1.0]], 10),
    ("29 a drift is raised with its name and both values, and restoring recovers", """
        SCALE = 2
        @whorl.kernel(on_drift="raise")
        def careful(x): return x * SCALE
        @whorl.kernel
        def following(x): return x * SCALE
        answers = [careful(1.0), following(1.0)]
        SCALE = 3
        try:
            careful(1.0)
        except whorl.Drifted as error:
            answers.append(list(error.changes[0]))
        answers.append(following(1.0))
        SCALE = 2
        answers += [careful(1.0), following(1.0)]
        kernels += (careful, following)
     """, [2.0, 2.0, ["global:program.SCALE", "2", "3"], 3.0, 2.0, 2.0], 3),
    ("33 a member that is rebound", """
        answers = [body.sum()]
        body.x = np.full(100, 2.0)
        answers.append(body.sum())
        body.x = np.zeros(0)
        answers.append(body.sum())
        body.scale, body.x = 3.0, np.ones(2)
        answers.append(body.sum())
     """, [6.0, 200.0, 0.0, 6.0], 1),
    ("33 a member of another dtype, and back", """
        answers = []
        for dtype in ("f8", "f4", "i4", "u1", "f8", "f4"):
            body.x = np.arange(4).astype(dtype)
            answers.append(body.sum())
     """, [6.0] * 6, 4),
    ("33 a scalar member of another type", """
        answers = []
        for scale in (2.0, 2, True, np.float32(2), np.int8(2), 2.0):
            body.scale = scale
            answers.append(body.sum())
     """, [12.0, 12.0, 6.0, 12.0, 12.0, 12.0], 5),
    ("33 another number of dimensions, another layout", """
        x = np.arange(6.0)
        answers = []
        for made in (x, x.reshape(2, 3), x.reshape(3, 2).T, x[::2], x[::-1], x.reshape(6, 1),
                     np.broadcast_to(x[:2], (3, 2)), np.array(x)):
            body.x = made
            answers.append(body.sum())
     """, [15.0, 15.0, 15.0, 6.0, 15.0, 15.0, 3.0, 15.0], 5),
    ("33 reshaped, resized and retyped in place", """
        x = body.x = np.arange(4.0)
        answers = [body.sum()]
        x.shape = (2, 2)
        answers.append(body.sum())
        x.shape = (4,)
        x.resize((6,), refcheck=False)
        x[4:] = 10.0
        answers.append(body.sum())
        x.resize((2, 2), refcheck=False)
        answers.append(body.sum())
        x.resize((4,), refcheck=False)
        x[:] = 1.0
        x.dtype = np.int64
        x[:] = [1, 2, 3, 4]
        answers.append(body.sum())
        x.dtype = np.int32
        answers.append(body.sum())
     """, [6.0, 6.0, 26.0, 6.0, 10.0, 10.0], 4),
    ("33 made read-only in place is an error, and only where it is written", """
        answers = [body.sum()]
        body.fill(1.0)
        body.x.flags.writeable = False
        answers.append(body.sum())
        try:
            body.fill(2.0)
        except whorl.KernelError as error:
            answers.append("read-only" in str(error))
        body.x.flags.writeable = True
        body.fill(3.0)
        answers.append(body.sum())
     """, [6.0, 4.0, True, 12.0], 3),
    ("33 a member taken away, and one that hides a class attribute", """
        class Heavy(Body):
            scale = 5.0
            def __init__(self): self.x = np.ones(2)
        heavy = Heavy()
        answers = [heavy.sum()]
        heavy.scale = 7.0
        answers.append(heavy.sum())
        del heavy.scale
        answers.append(heavy.sum())
        del body.unread
        answers.append(body.sum())
        del body.x
        try:
            body.sum()
        except whorl.KernelError as error:
            answers.append("without an attribute 'x'" in str(error))
     """, [10.0, 14.0, 10.0, 6.0, True], 1),
    ("34 a copy runs on the copy", """
        other = copy.copy(body)
        other.x = np.ones(3)
        method = other.sum
        answers = [body.sum(), other.sum(), method(), copy.deepcopy(body).sum()]
        other.fill(9.0)
        answers += [body.sum(), other.sum()]
        shared = copy.copy(body)
        shared.fill(1.0)
        answers.append(body.sum())
        answers.append([Body(np.full(3, float(n))).sum() for n in range(5)])
     """, [6.0, 3.0, 3.0, 6.0, 6.0, 27.0, 4.0, [0.0, 3.0, 6.0, 9.0, 12.0]], 2),
    ("34 threads call one kernel at once", """
        wrong, begin = [], threading.Barrier(6)
        def work(number):
            begin.wait()
            for n in range(60):
                kind = ("f8", "f4", "i4")[n % 3]
                mine = Body(np.full(n + 1, number).astype(kind), float(number))
                if mine.sum() != (n + 1) * number * number:
                    wrong.append((number, n))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        answers = [wrong, len(Body.sum.specializations())]
     """, [[], 3], 3),
    ("34 a collected instance leaks nothing, not even its arrays", """
        def gone():
            one = Body()
            one.unread = None
            one.sum(), one.spread(), one.fill(1.0)
            return weakref.ref(one), weakref.ref(one.x)
        answers = []
        for _ in range(3):
            refs = gone()
            answers.append([ref() is None for ref in refs])
     """, [[True, True]] * 3, 3),
    ("34 a fork after use, and after a parallel loop", """
        def forked(work):
            read, write = os.pipe()
            pid = os.fork()
            if not pid:
                try:
                    os.write(write, json.dumps(work()).encode())
                finally:
                    os._exit(0)
            os.close(write)
            with open(read) as answer:
                found = json.load(answer)
            os.waitpid(pid, 0)
            return found
        big = Body(np.ones(100_000))
        answers = [body.sum(), forked(body.sum), forked(Body(np.ones(5)).sum)]
        answers += [big.spread(), forked(big.spread), forked(lambda: [big.spread(), big.sum()])]
        answers += [big.spread(), body.sum()]
        body.x = body.x.astype("f4")
        answers += [forked(body.sum), body.sum()]
     """, [6.0, 6.0, 5.0, 1e5, 1e5, [1e5, 1e5], 1e5, 6.0, 6.0, 6.0], 2),
]  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES, ids=[sentence[0] for sentence in SENTENCES])
def test_a_sentence_holds_in_the_first_process_and_in_the_next(
    tmp_path: Path, sentence: tuple[str, str, object, int]
) -> None:
    _, text, answers, compiles = sentence
    home = tmp_path / "home"
    written(home, {"program.py": PRELUDE + textwrap.dedent(text) + END})
    assert run(home, WHORL_NUM_THREADS="2") == [answers, compiles]
    assert run(home, WHORL_NUM_THREADS="2") == [answers, 0]
