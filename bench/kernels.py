"""Programs in, the time of their kernels and of compiling one beside its peers' out."""

from __future__ import annotations

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
import medium
import numpy as np
import workers
from harness import (
    SUBJECT,
    Contender,
    Failed,
    Failure,
    Goal,
    NoAnswer,
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

from examples.programs import PROGRAMS, Program  # noqa: E402  # found by the line before

NUMBA, TAICHI, QUADRANTS = "numba", "taichi", "quadrants"
OWN = {NUMBA: "Numba's", TAICHI: "Taichi's", QUADRANTS: "Quadrants'"}

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

REST_SECONDS = 0.02
"""Between turns: the threads of OpenMP, whorl's and Numba's, spin for 4 to 10 ms after a loop."""

ONE, TWO, COLD = "one", "two", "cold"
THREADS = {ONE: 1, TWO: 2}
TITLES = {
    ONE: "A call of a compiled program, one thread, ms",
    TWO: "A call of a compiled program, two threads, ms",
    COLD: "Compiling a kernel of 3 loops, 60 statements, 5 functions in a new process, ms",
}


# -- Throughput --------------------------------------------------------------------------------

Twins = Mapping[str, Callable[..., Any]]
Peers = Mapping[str, Callable[[int], Any] | Failure]


def load_twins() -> Callable[[int], Twins]:
    import_module("numba")
    twins: Callable[[int], Twins] = import_module("twins").twins
    return twins


def load_worker(name: str) -> Callable[[int], Any]:
    """Starts a worker for a number of threads; nothing of the peer is imported here."""
    script = Path(__file__).with_name("fields.py")
    harness.installed(name)
    return lambda threads: workers.started(script, [name, str(threads)])


PEERS: Sequence[Contender[Callable[[int], Any]]] = (
    Contender(NUMBA, ("numba",), load_twins),
    Contender(TAICHI, ("taichi",), partial(load_worker, TAICHI)),
    Contender(QUADRANTS, ("quadrants",), partial(load_worker, QUADRANTS)),
)


class Sides:
    """The sides of a comparison for one number of threads: tasks, and who cannot take part."""

    def __init__(self, peers: Peers, threads: int, stack: ExitStack) -> None:
        self.tasks: dict[tuple[str, str], harness.Task] = {}
        self.failed: dict[tuple[str, str], Failure] = {}
        twins = peers[NUMBA]
        self._twins: Twins = twins(threads) if callable(twins) else {}
        self._workers: dict[str, workers.Worker] = {
            name: stack.enter_context(start(threads))
            for name, start in peers.items()
            if name != NUMBA and callable(start)
        }

    def add(self, program: Program, args: tuple[Any, ...]) -> None:
        """Every side's task for a program; all compute the same, and all are compiled then."""
        name, out = program.name, args[-1]
        for worker in self._workers.values():
            worker.tell("load", name, SIZES[name])  # all compile at the same time
        task = self.tasks[name, SUBJECT] = partial(program.kernel, *args)
        task()
        expected = out.copy()
        if self._twins:
            twin = self.tasks[name, NUMBA] = partial(self._twins[name], *args)
            twin()
            if not np.allclose(out, expected):
                raise AssertionError(f"{name}: the two sides do not compute the same")
        for peer, worker in self._workers.items():
            try:
                worker.answer()
                if np.allclose(worker.ask("result", name), expected):
                    self.tasks[name, peer] = worker.task(name)
                else:
                    self.failed[name, peer] = Failed("another result")
            except NoAnswer as error:
                self.failed[name, peer] = Failed(str(error))

    def check_idle(self) -> None:
        """A worker that does not rest between its turns would slow down the others' ones."""
        for peer, worker in self._workers.items():
            try:
                spins = not worker.idles()
            except NoAnswer:
                continue  # it has ended, and its tasks will say how
            for key in [key for key in self.tasks if spins and key[1] == peer]:
                del self.tasks[key]
                self.failed[key] = Failed("not idle")


def measure_throughput(key: str, peers: Peers, settings: Settings) -> Iterator[Result]:
    """Every program of all sides, alternating, on the same arrays or copies of them."""
    threads = THREADS[key]
    with ExitStack() as stack:
        stack.enter_context(whorl.testing.fresh_cache())
        stack.callback(whorl.settings.restore, whorl.configure())
        whorl.configure(threads=threads)
        sides = Sides(peers, threads, stack)
        for program in PROGRAMS:
            sides.add(program, program.problem(SIZES[program.name]))
        sides.check_idle()
        ended: dict[tuple[str, str], Outcome] = {**sides.failed}
        rest = partial(time.sleep, REST_SECONDS if threads > 1 else 0.0)
        ended.update(harness.alternate(sides.tasks, settings, trusted=True, settle=rest))
    for program in PROGRAMS:
        outcomes: dict[str, Outcome] = {SUBJECT: ended[program.name, SUBJECT]}
        for name, peer in peers.items():
            outcomes[name] = ended[program.name, name] if callable(peer) else peer
        yield Result(key, TITLES[key], "ms", program.name, 1, outcomes)


# -- Compiling ---------------------------------------------------------------------------------

FIRST, WHOLE = "decorator to first result", "whole process, imports included"


def compiled(compiler: str) -> tuple[float, float, Any] | Failure:
    """Seconds from decorator to first result and of the whole process, and the result."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / f"{medium.MODULE}.py").write_text(
            medium.text_for(compiler), encoding="utf-8"
        )
        environment = {
            **{name: value for name, value in os.environ.items() if "WHORL" not in name},
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parent), directory, *filter(None, [os.getenv("PYTHONPATH")])]
            ),
            "WHORL_CACHE_DIR": str(Path(directory) / "empty"),
        }
        # Where bytecode is not kept, a process would compile the text of what no installer has.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-c", f"import medium; medium.first_call({compiler!r})"],
                env=environment,
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
    told = json.loads(done.stdout.splitlines()[-1])  # some compilers greet first
    return told["seconds"], whole, told["found"]


def measure_compiles(names: Sequence[str], settings: Settings) -> Iterator[Result]:
    """A process of each side in turn, round after round, nothing kept from one to the next."""
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
        raise AssertionError(f"the sides do not compute the same: {results}")
    for column, case in enumerate((FIRST, WHOLE)):
        outcomes: dict[str, Outcome] = {
            name: failed.get(name) or Timed(tuple(pair[column] for pair in pairs))
            for name, pairs in taken.items()
        }
        yield Result(COLD, TITLES[COLD], "ms", case, 1, outcomes)


# -- Goals -------------------------------------------------------------------------------------


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises beside its peers, judged by this run's cases."""
    for name, own in OWN.items():
        for key, words in ((ONE, "one thread"), (TWO, "two threads")):
            text = f"{own} time over whorl's, {words}"
            yield from throughput_goals(results.of(key), name, text)
    # Taichi and Quadrants start LLVM in `init`, whorl when it compiles: what a user waits for is
    # the whole process.
    for name, case, wanted in ((NUMBA, FIRST, 3.0), (TAICHI, WHOLE, 1.0), (QUADRANTS, WHOLE, 1.0)):
        cold = results.find(COLD, case)
        if cold:
            text = f"Cold compile, {case}: {OWN[name]} time over whorl's"
            yield Goal(text, "at least", wanted, "x", cold.ratio(name), cold.failure)


def throughput_goals(family: Results, name: str, text: str) -> Iterator[Goal]:
    """All programs together, and the one that is best for the peer."""
    if not family:
        return
    ratios = {result.case: result.ratio(name) for result in family}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    failure = next((result.failure for result in family if result.failure), None)
    is_whole = len(known) == len(ratios)
    mean = statistics.geometric_mean(known) if is_whole else None
    yield Goal(f"{text}: geometric mean", "at least", 1.0, "x", mean, failure)
    worst = min(known) if is_whole else None
    case = "".join(f" ({case})" for case, ratio in ratios.items() if is_whole and ratio == worst)
    yield Goal(f"{text}: the lowest{case}", "at least", 0.9, "x", worst, failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Compare whorl's kernels with Numba's, Taichi's and Quadrants': one run, alternating.",
        (ONE, TWO, COLD),
        "few rounds, three processes of each side: rough figures in half a minute",
    )
    distributions = [name for peer in PEERS for name in peer.distributions]
    run = harness.Run(options, ["whorl", "numpy", "llvmlite", *distributions])
    peers = harness.load(PEERS)
    names = [SUBJECT, *(name for name, peer in peers.items() if callable(peer))]
    results = Results()
    for key in (ONE, TWO):
        if key in options.cases:
            run.begins(TITLES[key])
            results.extend(measure_throughput(key, peers, run.settings))
    if COLD in options.cases:
        run.begins(TITLES[COLD])
        results.extend(measure_compiles(names, run.settings))
    tables = [harness.results_table(results, names)]
    absent = [f"{name}, {why}" for name, why in peers.items() if name not in names]
    if absent:
        tables.append(f"Left out: {'; '.join(absent)}.")
    run.publish("whorl's kernels and their peers", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    main()
