"""Programs over whole arrays in, their time in NumPy, whorl and Numba out."""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import harness
import numpy as np
from array_programs import PROGRAMS
from harness import (
    SUBJECT,
    Contender,
    Failed,
    Failure,
    Fed,
    Goal,
    Measured,
    Outcome,
    Result,
    Results,
    Settings,
    Timed,
    TimedOut,
)

import whorl
import whorl.testing

NUMPY, NUMBA = "numpy", "numba"
OWN = {NUMPY: "NumPy's", NUMBA: "Numba's"}
ONE, TWO, COLD, COLD_TWO, MEMORY = "one", "two", "cold", "cold-parallel", "memory"
THREADS = {ONE: 1, TWO: 2}
TITLES = {
    ONE: "A call of a program over whole arrays, one thread, ms",
    TWO: "A call of a program over whole arrays, two threads, parallel=True, ms",
    COLD: "The first calls of four programs on small arrays in a new process, ms",
    COLD_TWO: "The same with parallel=True, ms",
    MEMORY: "Places in whorl's program that allocate an array, copies for overlap included",
}
COMPILED = ("2-D stencil", "horizontal diffusion", "softmax", "n-body by matrices")
"""The programs of `cold`: Numba needs some seconds for each."""
REST_SECONDS = 0.02
"""Between turns on two threads: those of OpenMP and OpenBLAS spin for a while after a loop."""
TOLERANCE = 1e-8

Compile = Callable[[Callable[..., Any], bool], Callable[..., Any]]


def load_whorl() -> Compile:
    return lambda function, parallel: whorl.kernel(parallel=parallel)(function)


def load_numba() -> Compile:
    njit: Any = import_module("numba").njit
    # Dividing by zero gives infinity, as in NumPy: the default is a branch that raises.
    return lambda function, parallel: njit(error_model="numpy", parallel=parallel)(function)


SIDES: Sequence[Contender[Compile]] = (
    Contender(SUBJECT, ("whorl",), load_whorl),
    Contender(NUMPY, ("numpy",), lambda: lambda function, parallel: function),
    Contender(NUMBA, ("numba",), load_numba),
)
Sides = Mapping[str, Compile | Failure]


# -- Throughput --------------------------------------------------------------------------------


def set_blas_threads(threads: int) -> None:
    """Limit every OpenBLAS of this process; each of NumPy and SciPy has one."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return
    for path in {line.split()[-1] for line in maps.splitlines() if "openblas" in line}:
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
            if hasattr(library, name):
                getattr(library, name)(threads)


def copies(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)


def outcome_of(function: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    """What a call returns, and what it leaves in its arguments."""
    own = copies(args)
    result = function(*own)
    returned = result if isinstance(result, tuple) else (result,)
    return [each for each in (*returned, *own) if isinstance(each, np.ndarray | float)]


def are_alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.allclose(*pair, rtol=TOLERANCE, atol=TOLERANCE) for pair in pairs)


def task_of(function: Callable[..., Any], args: Sequence[Any]) -> harness.Task:
    """A call with arrays of its own, which are copied before the clock starts."""
    return Fed(partial(copies, args), lambda own: function(*own))


def measure_throughput(key: str, sides: Sides, settings: Settings) -> Iterator[Result]:
    """Every program of all sides, alternating, each with copies of the same arrays."""
    threads = THREADS[key]
    tasks: dict[tuple[str, str], harness.Task] = {}
    ended: dict[tuple[str, str], Outcome] = {}
    allocations: dict[str, int] = {}
    with ExitStack() as stack:
        stack.enter_context(whorl.testing.fresh_cache())
        stack.callback(whorl.settings.restore, whorl.configure())
        whorl.configure(threads=threads)
        if not isinstance(sides[NUMBA], Failure):
            import_module("numba").set_num_threads(threads)
        for program in PROGRAMS:
            args = program.arguments(program.size)
            expected = outcome_of(program.function, args)
            for name, compile in sides.items():
                if not callable(compile):
                    ended[program.name, name] = compile
                    continue
                function = compile(program.function, threads > 1)
                try:
                    found = outcome_of(function, args)
                except Exception as error:  # what a side cannot do is its result
                    ended[program.name, name] = Failed(type(error).__name__)
                    continue
                if are_alike(found, expected):
                    tasks[program.name, name] = task_of(function, args)
                else:
                    ended[program.name, name] = Failed("another result")
                if name == SUBJECT:
                    allocations[program.name] = function.inspect().count("= allocate")  # type: ignore[attr-defined]  # a kernel of whorl's
        set_blas_threads(threads)
        rest = partial(time.sleep, REST_SECONDS if threads > 1 else 0.0)
        ended.update(harness.alternate(tasks, settings, trusted=True, settle=rest))
    for program in PROGRAMS:
        outcomes = {name: ended[program.name, name] for name in sides}
        yield Result(key, TITLES[key], "ms", program.name, 1, outcomes)
    if key == ONE:
        for program in PROGRAMS:
            count = Measured(float(allocations.get(program.name, 0)))
            yield Result(MEMORY, TITLES[MEMORY], "times", program.name, 1, {SUBJECT: count})


# -- Compiling ---------------------------------------------------------------------------------


def first_calls(side: str, parallel: bool) -> None:
    """In a new process: compile and call some programs, and print how long that took."""
    compile = {SUBJECT: load_whorl, NUMBA: load_numba}[side]()
    total = 0.0
    for program in PROGRAMS:
        if program.name in COMPILED:
            args = program.arguments(program.small)
            start = time.perf_counter()
            compile(program.function, parallel)(*args)
            total += time.perf_counter() - start
    print(json.dumps(total))


def cold(side: str, *, parallel: bool) -> float | Failure:
    """Seconds of the first calls in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **{name: value for name, value in os.environ.items() if "WHORL" not in name},
            "WHORL_CACHE_DIR": directory,
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--first-calls", side, str(int(parallel))],
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=True,
            )
        except subprocess.TimeoutExpired as error:
            return TimedOut(error.timeout)
        except subprocess.CalledProcessError as error:
            print(error.stderr, file=sys.stderr)
            return Failed(f"exit status {error.returncode}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure_compiles(key: str, sides: Sides, settings: Settings) -> Iterator[Result]:
    """A process of each side in turn."""
    names = [name for name in (SUBJECT, NUMBA) if callable(sides[name])]
    taken: dict[str, list[float]] = {name: [] for name in names}
    failed: dict[str, Failure] = {}
    for _ in range(max(1, settings.rounds // 10)):
        for name in names:
            seconds = cold(name, parallel=key == COLD_TWO)
            if isinstance(seconds, float):
                taken[name].append(seconds)
            else:
                failed[name] = seconds
    outcomes: dict[str, Outcome] = {
        name: failed.get(name) or Timed(tuple(taken[name])) for name in names
    }
    yield Result(key, TITLES[key], "ms", ", ".join(COMPILED), 1, outcomes)


# -- Goals -------------------------------------------------------------------------------------

WANTED = {NUMBA: (1.3, 0.85), NUMPY: (3.0, 0.95)}
"""The geometric mean of all programs, and the lowest of them."""


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises beside its peers, judged by this run's cases."""
    for name, (mean, lowest) in WANTED.items():
        for key, words in ((ONE, "one thread"), (TWO, "two threads")):
            if name == NUMBA or key == ONE:
                text = f"{OWN[name]} time over whorl's, {words}"
                yield from throughput_goals(results.of(key), name, text, mean, lowest)
    for key, words, wanted in ((COLD, "", 5.0), (COLD_TWO, " with parallel=True", 10.0)):
        for result in results.of(key):
            text = f"Cold compile{words}: Numba's time over whorl's"
            yield Goal(text, "at least", wanted, "x", result.ratio(NUMBA), result.failure)


def throughput_goals(
    family: Results, name: str, text: str, mean: float, lowest: float
) -> Iterator[Goal]:
    """All programs together, and the one that is best for the peer."""
    if not family:
        return
    ratios = {result.case: result.ratio(name) for result in family}
    known = {case: ratio for case, ratio in ratios.items() if ratio is not None}
    failure = next((result.failure for result in family if result.failure), None)
    # Numba does not compile some of the programs with parallel=True: those are left out, and that
    # is said; a program that whorl cannot run is a goal that is not met.
    several = f" of {len(known)} of {len(ratios)}" if len(known) < len(ratios) else ""
    is_known = bool(known) and failure is None
    all_of_them = statistics.geometric_mean(known.values()) if is_known else None
    yield Goal(f"{text}: geometric mean{several}", "at least", mean, "x", all_of_them, failure)
    case = min(known, key=known.__getitem__) if is_known else ""
    worst = known[case] if case else None
    yield Goal(f"{text}: the lowest{several} ({case})", "at least", lowest, "x", worst, failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Compare programs over whole arrays in whorl with NumPy and Numba: one run, alternating.",
        (ONE, TWO, COLD, COLD_TWO),
        "few rounds, one process of each side: rough figures in two minutes",
    )
    run = harness.Run(options, ["whorl", "numpy", "llvmlite", "numba", "scipy"])
    sides = harness.load(SIDES)
    names = [name for name, side in sides.items() if callable(side)]
    results = Results()
    for key in (ONE, TWO):
        if key in options.cases:
            run.begins(TITLES[key])
            results.extend(measure_throughput(key, sides, run.settings))
    for key in (COLD, COLD_TWO):
        if key in options.cases:
            run.begins(TITLES[key])
            results.extend(measure_compiles(key, sides, run.settings))
    tables = [harness.results_table(results, names)]
    absent = [f"{name}, {why}" for name, why in sides.items() if name not in names]
    if absent:
        tables.append(f"Left out: {'; '.join(absent)}.")
    run.publish("Programs over whole arrays", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first-calls"]:
        first_calls(sys.argv[2], sys.argv[3] == "1")
    else:
        main()
