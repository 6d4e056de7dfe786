"""Programs in, the time of their kernels and of compiling one beside Numba's out."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import harness
import medium
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
    Settings,
    Timed,
    TimedOut,
)

import whorl
import whorl.testing

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))

from examples.programs import PROGRAMS  # noqa: E402  # found by the line before

NUMBA = "numba"

SIZES = {
    "saxpy": 16_000_000,
    "stencil": 3000,
    "n-body": 1500,
    "mandelbrot": 400,
    "sparse matrix-vector": 200_000,
    "matrix multiply": 400,
    "histogram": 10_000_000,
}
"""Of the problems: a call takes 5 to 50 ms, so that what a launch costs matters little."""

ONE, TWO, COLD = "one", "two", "cold"
THREADS = {ONE: 1, TWO: 2}
TITLES = {
    ONE: "A call of a compiled program, one thread, ms",
    TWO: "A call of a compiled program, two threads, ms",
    COLD: "Compiling a kernel of 3 loops, 60 statements, 5 functions in a new process, ms",
}


# -- Throughput --------------------------------------------------------------------------------

Twins = Mapping[str, Callable[..., Any]]


def load_twins() -> Callable[[int], Twins]:
    import_module("numba")
    twins: Callable[[int], Twins] = import_module("twins").twins
    return twins


PEERS = (Contender(NUMBA, ("numba",), load_twins),)


def measure_throughput(
    key: str, twins: Callable[[int], Twins] | Failure, settings: Settings
) -> Iterator[Result]:
    """Every program of both sides, alternating, on the same arrays."""
    threads = THREADS[key]
    tasks: dict[tuple[str, str], harness.Task] = {}
    with ExitStack() as stack:
        stack.enter_context(whorl.testing.fresh_cache())
        stack.callback(whorl.settings.restore, whorl.configure())
        whorl.configure(threads=threads)
        peers = twins(threads) if callable(twins) else {}
        for program in PROGRAMS:
            args = program.problem(SIZES[program.name])
            tasks[program.name, SUBJECT] = partial(program.kernel, *args)
            if peers:
                tasks[program.name, NUMBA] = partial(peers[program.name], *args)
                sides = [tasks[program.name, name] for name in (SUBJECT, NUMBA)]
                agree(program.name, args[-1], *sides)
        endings = harness.alternate(tasks, settings, trusted=True)
    for program in PROGRAMS:
        outcomes: dict[str, Outcome] = {SUBJECT: endings[program.name, SUBJECT]}
        outcomes[NUMBA] = endings[program.name, NUMBA] if peers else failure_of(twins)
        yield Result(key, TITLES[key], "ms", program.name, 1, outcomes)


def agree(name: str, out: Any, *tasks: harness.Task) -> None:
    """Both sides compute the same; and both are compiled when the rounds begin."""
    found = []
    for task in tasks:
        task()
        found.append(out.copy())
    if not np.allclose(*found):
        raise AssertionError(f"{name}: the two sides do not compute the same")


def failure_of(twins: object) -> Failure:
    return twins if isinstance(twins, Failed | TimedOut | NotInstalled) else Failed("unknown")


# -- Compiling ---------------------------------------------------------------------------------

FIRST, WHOLE = "decorator to first result", "whole process, imports included"


def compiled(compiler: str) -> tuple[float, float, Any] | Failure:
    """Seconds from decorator to first result and of the whole process, and the result."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / f"{medium.MODULE}.py").write_text(
            medium.text_for(compiler), encoding="utf-8"
        )
        here = [str(Path(__file__).parent), directory, *filter(None, [os.getenv("PYTHONPATH")])]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"import medium; medium.first_call({compiler!r})"],
                env={
                    **{name: value for name, value in os.environ.items() if "WHORL" not in name},
                    "PYTHONPATH": os.pathsep.join(here),
                    "WHORL_CACHE_DIR": str(Path(directory) / "empty"),
                },
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
        except subprocess.TimeoutExpired as error:
            return TimedOut(error.timeout)
        except subprocess.CalledProcessError as error:
            print(error.stderr, file=sys.stderr)
            return Failed(f"exit status {error.returncode}")
        whole = time.perf_counter() - start
    told = json.loads(done.stdout)
    return told["seconds"], whole, told["found"]


def measure_compiles(has_numba: bool, settings: Settings) -> Iterator[Result]:
    """A process of each side in turn, round after round, nothing kept from one to the next."""
    names = (SUBJECT, NUMBA) if has_numba else (SUBJECT,)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    failed: dict[str, Failure] = {}
    results = set()
    for name in names:
        compiled(name)  # the bytecode of what is imported is there from now on
    for _ in range(max(3, settings.rounds // 3)):
        for name in names:
            ending = compiled(name)
            if isinstance(ending, tuple):
                taken[name].append(ending[:2])
                results.add(tuple(round(number, 9) for number in ending[2]))
            else:
                failed[name] = ending
    if len(results) > 1:
        raise AssertionError(f"the two sides do not compute the same: {results}")
    for column, case in enumerate((FIRST, WHOLE)):
        outcomes: dict[str, Outcome] = {
            name: failed.get(name) or Timed(tuple(pair[column] for pair in pairs))
            for name, pairs in taken.items()
        }
        yield Result(COLD, TITLES[COLD], "ms", case, 1, {NUMBA: NotInstalled(), **outcomes})


# -- Goals -------------------------------------------------------------------------------------


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises beside Numba, judged by this run's cases."""
    for key, words in ((ONE, "one thread"), (TWO, "two threads")):
        family = results.of(key)
        if not family:
            continue
        ratios = {result.case: result.ratio(NUMBA) for result in family}
        known = [ratio for ratio in ratios.values() if ratio is not None]
        failure = next((result.failure for result in family if result.failure), None)
        is_whole = len(known) == len(ratios)
        mean = statistics.geometric_mean(known) if is_whole else None
        text = f"Numba's time over whorl's, {words}: geometric mean"
        yield Goal(text, "at least", 1.0, "x", mean, failure)
        worst = min(known) if is_whole else None
        name = next((case for case, ratio in ratios.items() if ratio == worst), "")
        text = f"Numba's time over whorl's, {words}: the lowest ({name})"
        yield Goal(text, "at least", 0.9, "x", worst, failure)
    cold = results.find(COLD, FIRST)
    if cold:
        text = "Cold compile, decorator to first result: Numba's time over whorl's"
        yield Goal(text, "at least", 3.0, "x", cold.ratio(NUMBA), cold.failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Compare whorl's kernels with Numba's: one run, alternating rounds.",
        (ONE, TWO, COLD),
        "few rounds, three processes of each side: a first look in half a minute",
    )
    run = harness.Run(options, ["whorl", "numpy", "llvmlite", "numba"])
    twins = harness.load(PEERS)[NUMBA]
    results = Results()
    for key in (ONE, TWO):
        if key in options.cases:
            run.begins(TITLES[key])
            results.extend(measure_throughput(key, twins, run.settings))
    if COLD in options.cases:
        run.begins(TITLES[COLD])
        results.extend(measure_compiles(callable(twins), run.settings))
    names = [SUBJECT, NUMBA] if callable(twins) else [SUBJECT]
    tables = [harness.results_table(results, names)]
    if not callable(twins):
        tables.append(f"Left out: {NUMBA}, {twins}.")
    run.publish("whorl's kernels and Numba's", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    main()
