"""Measures what an iteration of a loop inside a launch costs, and yielding and resuming."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import harness
import numpy as np
from harness import (
    SUBJECT,
    Contender,
    Failed,
    Failure,
    Goal,
    NotInstalled,
    Outcome,
    Result,
    Results,
)

import whorl
import whorl.testing

QUADRANTS = "quadrants"
LAUNCHES = "whorl, a launch per iteration"
ITERATIONS = 2000
CELLS = 1000
CALLS = 100

BARE, SMALL, LARGE = "a bare statement", "`for _ in range(1)`", f"a loop over {CELLS} cells"
"""The bodies of the loops, beside the one statement that counts."""

NAMES = {BARE: "bare", SMALL: "small", LARGE: "large"}
BODIES = {
    BARE: ["x[0] += 1.0"],
    SMALL: ["for _ in range(1):", "    x[0] += 1.0"],
    LARGE: ["for i in range(x.shape[0]):", "    x[i] = 0.5 * x[i] + 1.0"],
}

KERNEL = """

@kernel
def {name}(x{array}, left{flag}):
    while {do_while}(left):
        {body}
        left[()] -= 1
"""
ITERATION = """

@kernel
def {name}_iteration(x, left):
    {body}
    left[()] -= 1
"""
HEADS = {
    SUBJECT: "from whorl import kernel\nfrom whorl.graph import do_while\n",
    QUADRANTS: """\
import quadrants as qd
qd.init(arch=qd.cpu, log_level=qd.ERROR)
kernel = qd.kernel(graph=True)
ARRAY, FLAG = qd.types.ndarray(qd.f64, 1), qd.types.ndarray(qd.i32, 0)
""",
}


def text_for(name: str) -> str:
    """The module with the kernels of a contender."""
    # Quadrants knows its loops by how they are written.
    types = {"array": ": ARRAY", "flag": ": FLAG", "do_while": "qd.graph.do_while"}
    if name == SUBJECT:
        types = {"array": "", "flag": "", "do_while": "do_while"}
    made = [HEADS[name]]
    for case, lines in BODIES.items():
        body = "\n        ".join(lines)
        made.append(KERNEL.format(name=NAMES[case], body=body, **types))
        if name == SUBJECT:
            made.append(ITERATION.format(name=NAMES[case], body="\n    ".join(lines)))
    return "".join(made)


def imported(name: str, text: str, directory: Path) -> ModuleType:
    path = directory / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AssertionError("a file cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONTENDERS = (
    Contender(SUBJECT, ("whorl", "numpy", "llvmlite"), lambda: import_module("whorl")),
    Contender(QUADRANTS, ("quadrants",), lambda: import_module("quadrants")),
)


def loaded(directory: Path) -> dict[str, ModuleType | Failure]:
    """Each contender's kernels, or why there are none."""
    modules: dict[str, ModuleType | Failure] = {}
    for name, found in harness.load(CONTENDERS).items():
        try:
            is_there = isinstance(found, ModuleType)
            text = text_for(name) if is_there else ""
            modules[name] = imported(f"graphs_{name}", text, directory) if is_there else found
        except Exception as error:  # a broken peer is a result, not the end of the run
            modules[name] = Failed(type(error).__name__)
    return modules


# -- Loops -------------------------------------------------------------------------------------


def loop_of(name: str, module: ModuleType, case: str) -> harness.Task:
    """One launch of `ITERATIONS` iterations, after a check that all of them run."""
    kernel = getattr(module, NAMES[case])
    size = CELLS if case == LARGE else 1
    x: Any = np.zeros(size)
    left: Any = np.zeros((), np.int32)
    if name == QUADRANTS:
        x, left = module.qd.ndarray(module.qd.f64, size), module.qd.ndarray(module.qd.i32, ())
        x.fill(0.0)

    def task() -> None:
        left.fill(ITERATIONS)
        kernel(x, left)

    task()
    if case != LARGE and float(x[0]) != ITERATIONS:
        raise AssertionError(f"{name} ran {float(x[0])} iterations")
    return task


def launches_of(module: ModuleType, case: str) -> harness.Task:
    """The same iterations, each as a launch of its own."""
    kernel = getattr(module, f"{NAMES[case]}_iteration")
    x, left = np.zeros(CELLS if case == LARGE else 1), np.zeros((), np.int32)
    for _ in range(5):
        kernel(x, left)

    def task() -> None:
        left.fill(ITERATIONS)
        for _ in range(ITERATIONS):
            kernel(x, left)

    return task


def measure_loops(
    modules: Mapping[str, ModuleType | Failure], settings: harness.Settings
) -> Iterator[Result]:
    for case in BODIES:
        tasks: dict[str, harness.Task] = {}
        ended: dict[str, Outcome] = {}
        for name, module in modules.items():
            if not isinstance(module, ModuleType):
                ended[name] = module
                continue
            try:
                tasks[name] = loop_of(name, module, case)
            except Exception as error:  # as above
                ended[name] = Failed(type(error).__name__)
        own = modules[SUBJECT]
        if isinstance(own, ModuleType):
            tasks[LAUNCHES] = launches_of(own, case)
        ended.update(harness.alternate(tasks, settings, trusted=True))
        yield Result(LOOPS, TITLES[LOOPS], "µs", case, ITERATIONS, ended)


# -- Statuses ----------------------------------------------------------------------------------


class Stage(IntEnum):
    """A label."""

    SIM = 1


@whorl.kernel
def plain(x, stop):  # type: ignore[no-untyped-def] # kernels take their types from the arguments
    x[0] += 1
    x[1] += stop[()]
    x[2] += 1


@whorl.kernel
def labelled(x, stop):  # type: ignore[no-untyped-def] # as above
    x[0] += 1
    with whorl.checkpoint(7, yield_on=stop):
        x[1] += 1
    x[2] += 1


class Solver:
    """The same as methods, with a member of an enum as the label."""

    def __init__(self) -> None:
        self.x, self.stop = np.zeros(3), np.zeros((), np.int32)

    @whorl.kernel
    def plain(self):  # type: ignore[no-untyped-def] # as above
        self.x[0] += 1
        self.x[1] += self.stop[()]
        self.x[2] += 1

    @whorl.kernel
    def labelled(self):  # type: ignore[no-untyped-def] # as above
        self.x[0] += 1
        with whorl.checkpoint(Stage.SIM, yield_on=self.stop):
            self.x[1] += 1
        self.x[2] += 1


PLAIN, PASSED, YIELDS, RESUMES = "plain", "no yield", "yields", "resumed"


def written(line: str, **names: Any) -> harness.Task:
    """A task of `CALLS` times one line, in a straight line."""
    parameters = ", ".join(f"{name}={name}" for name in names)
    exec(f"def task({parameters}):" + f"\n    {line}" * CALLS, names)  # the text is from here
    task: harness.Task = names["task"]
    for _ in range(5):
        task()
    return task


def functions() -> dict[str, Callable[[], harness.Task]]:
    x, on, off = np.zeros(3), np.ones((), np.int32), np.zeros((), np.int32)
    return {
        PLAIN: lambda: written("kernel(x, off)", kernel=plain, x=x, off=off),
        PASSED: lambda: written("kernel(x, off)", kernel=labelled, x=x, off=off),
        YIELDS: lambda: written("kernel(x, on)", kernel=labelled, x=x, on=on),
        RESUMES: lambda: written(
            "kernel.resume(x, off, from_checkpoint=7)", kernel=labelled, x=x, off=off
        ),
    }


def methods() -> dict[str, Callable[[], harness.Task]]:
    off, on = Solver(), Solver()
    on.stop[()] = 1
    return {
        PLAIN: lambda: written("off.plain()", off=off),
        PASSED: lambda: written("off.labelled()", off=off),
        YIELDS: lambda: written("on.labelled()", on=on),
        RESUMES: lambda: written(
            "off.labelled.resume(from_checkpoint=label)", off=off, label=Stage.SIM
        ),
    }


def measure_statuses(settings: harness.Settings) -> Iterator[Result]:
    made = {FUNCTION: functions(), METHOD: methods()}
    tasks = {(case, kind): make() for case, row in made.items() for kind, make in row.items()}
    ended = harness.alternate(tasks, settings, trusted=True)
    for case in made:
        for kind in (PLAIN, PASSED, YIELDS, RESUMES):
            outcomes: dict[str, Outcome] = {SUBJECT: ended[case, kind]}
            yield Result(STATUSES, TITLES[STATUSES], "µs", f"{case}: {kind}", CALLS, outcomes)


FUNCTION, METHOD = "a function, an int", "a method, an IntEnum"
MOST = {
    (FUNCTION, YIELDS): 2.0,
    (FUNCTION, RESUMES): 4.0,
    (METHOD, YIELDS): 2.0,
    (METHOD, RESUMES): 10.0,  # `solver.step`, and its `resume`, are made in Python
}
"""How much longer than a plain launch each may take."""
LOOPS, STATUSES = "loops", "statuses"
TITLES = {
    LOOPS: f"One iteration of a do_while, of {ITERATIONS} in one launch, µs",
    STATUSES: "A warm launch, µs",
}


def goals(results: Results) -> Iterator[Goal]:
    bare, small = results.find(LOOPS, BARE), results.find(LOOPS, SMALL)
    if bare:
        text = f"{bare.case}: whorl's time of an iteration"
        yield Goal(text, "at most", 0.1, "µs", bare.figure(SUBJECT), bare.failure)
    if small:
        text = f"{small.case}: time of {QUADRANTS} over whorl's"
        yield Goal(text, "at least", 50.0, "x", small.ratio(QUADRANTS), small.failure)
    for case in (FUNCTION, METHOD):
        under = results.find(STATUSES, f"{case}: {PLAIN}")
        for kind in (YIELDS, RESUMES):
            over = results.find(STATUSES, f"{case}: {kind}")
            if over and under:
                times = harness.ratio(over.outcomes[SUBJECT], under.outcomes[SUBJECT])
                text = f"{case}: a launch that {'is ' * (kind == RESUMES)}{kind} / a plain one"
                yield Goal(text, "at most", MOST[case, kind], "x", times, over.failure)


def main() -> None:
    options = harness.arguments(
        __file__,
        "Measure what loops inside a launch cost, and yielding and resuming.",
        tuple(TITLES),
        "few rounds: rough figures in some seconds",
    )
    run = harness.Run(options, [name for c in CONTENDERS for name in c.distributions])
    results = Results()
    with tempfile.TemporaryDirectory() as directory, whorl.testing.fresh_cache():
        modules = loaded(Path(directory))
        if LOOPS in options.cases:
            run.begins(TITLES[LOOPS])
            results.extend(measure_loops(modules, run.settings))
        if STATUSES in options.cases:
            run.begins(TITLES[STATUSES])
            results.extend(measure_statuses(run.settings))
    there = [name for name, found in modules.items() if not isinstance(found, NotInstalled)]
    names = [*there, *([LAUNCHES] if LOOPS in options.cases else [])]
    tables = [
        harness.results_table(results.of(key), names if key == LOOPS else [SUBJECT])
        for key in options.cases
    ]
    missing = [name for name in modules if name not in there]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    run.publish("Loops inside a launch", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    main()
