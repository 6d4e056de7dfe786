"""Calls in, the cost of finding what they were compiled to out: in this process and in new ones."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import repeat
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias

import harness
import numpy as np
from first_use import MODULE, PAYLOAD, Look, Reading, arrays, launched, look_at_all
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
from whorl.jit.compiler import target_of
from whorl.reads import CodeView
from whorl.reads.replay import plain_replay
from whorl.store import Cache, MemoryStore

PLAIN = "plain replay"
EMPTY = "empty function"
NUMBA = "numba"

CALLS = 100
"""Calls of one task: the loop around them then costs little beside an empty function."""

LINES = 640
"""Of the file that the function is in."""

Recall: TypeAlias = Callable[[tuple[Any, ...], Any], object]


# -- What is called ----------------------------------------------------------------------------

KERNEL = """
import numpy as np

OMEGA = 1.5
HALO = 2
SCHEME = "jacobi"
LIMITS = (0.0, 1.0)


def clip(value):
    return min(max(value, LIMITS[0]), LIMITS[1])


def relax(x, y, z, n, tile=64, order="upwind"):
    for _ in range(n):
        if SCHEME == "jacobi":
            z[HALO:-HALO] = clip(OMEGA) * (x[HALO:-HALO] + y[HALO:-HALO]) / 2
    return z
"""

FILLER = """

def another_{number}(a, b=({number}, "text")):
    total = [a * i + {number} for i in range(10)]
    if a > b[0]:
        return {{name: (lambda q: q + a)(i) for i, name in enumerate(total)}}
    return sorted(total, key=lambda q: -q)
"""

SET = {"BENCH_RELAX_0": "1", "BENCH_RELAX_3": "fast"}
"""Of the five variables, those that are set; the others are their defaults."""


def text_of_the_file(edit: object = "") -> str:
    """The kernel behind half of the other functions; an edit is in the last line's comment."""
    number = (LINES - KERNEL.count("\n") - 1) // FILLER.count("\n")
    others = [FILLER.format(number=i) for i in range(number)]
    text = "".join([*others[: number // 2], KERNEL, *others[number // 2 :]])
    return text + "\n" * (LINES - 1 - text.count("\n")) + f"# {edit}\n"


def empty(x: object, y: object, z: object, n: object) -> None:
    """What a call costs at least."""


# -- Warm --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Warm:
    """A kernel that was called with these arguments often enough to be at its quickest."""

    kernel: whorl.Kernel
    values: tuple[Any, ...]
    target: whorl.Target

    @classmethod
    def of(cls, function: FunctionType, compiler: Reading, args: Sequence[Any]) -> Warm:
        kernel = whorl.jit(compiler, store=Cache(MemoryStore()))(function)
        for _ in range(10):
            kernel(*args)
        if kernel.stats()["compiled"] != 1:
            raise AssertionError(f"not compiled once: {kernel.stats()}")
        return cls(kernel, kernel.lookup.binding.bind(*args), target_of(compiler))

    def finding(self) -> dict[str, harness.Task]:
        """Finding the specialization, as it is done and by the plain replay."""
        recalls: dict[str, Recall] = {
            SUBJECT: self.kernel.lookup.table.recall,
            PLAIN: self._plainly(),
        }
        if len({id(recall(self.values, self.target)) for recall in recalls.values()}) != 1:
            raise AssertionError("the replays do not find the same")
        return {name: calls(recall, self.values, self.target) for name, recall in recalls.items()}

    def _plainly(self) -> Recall:
        kernel = self.kernel
        (known,) = kernel.lookup.table.young[self.target.architecture]
        plain = plain_replay(known.shape, kernel.lookup.replay_setup)
        by_facts = known.by_facts

        def recall(values: tuple[Any, ...], target: whorl.Target) -> object:
            found = by_facts.get(plain(values, target.properties))
            return None if found is None else found[0]

        return recall


def calls(function: Callable[[Any, Any], object], a: object, b: object) -> harness.Task:
    def task() -> None:
        for _ in repeat(None, CALLS):
            function(a, b)

    return task


def calls_of_four(
    function: Callable[..., object], a: object, b: object, c: object, d: object
) -> harness.Task:
    def task() -> None:
        for _ in repeat(None, CALLS):
            function(a, b, c, d)

    return task


def load_numba() -> Callable[..., object]:
    njit = import_module("numba").njit
    compiled: Callable[..., object] = njit(lambda x, y, z, n: None)
    compiled(*arrays(), 3)
    return compiled


FUNCTIONS: Sequence[Contender[Callable[..., object]]] = (
    Contender(SUBJECT, ("whorl", "numpy"), lambda: launched),
    Contender(EMPTY, (), lambda: empty),
    Contender(NUMBA, ("numba",), load_numba),
)

WARM, REACH, PROCESS = "warm", "reach", "process"
WARM_TITLE = (
    "Warm, 3 float32 arrays, an int, 2 constants, 5 globals, 5 environment variables, µs\n"
    f"({EMPTY}: a call with 4 arguments; {NUMBA}: a call with 3 arrays and an int)"
)
FIND, WHOLE = "finding the specialization", "a whole call"


def measure_warm(
    functions: Mapping[str, Callable[..., object] | Failure], settings: Settings
) -> Iterator[Result]:
    """Finding and calling in the same rounds as the peers' calls."""
    os.environ.update(SET)
    with tempfile.TemporaryDirectory() as directory:
        args = (*arrays(), 3)
        warm = Warm.of(imported(Path(directory)), Reading(look_at_all, launched), args)
        tasks = {(FIND, name): task for name, task in warm.finding().items()}
        tasks[WHOLE, SUBJECT] = calls_of_four(warm.kernel, *args)
        peers = {name: found for name, found in functions.items() if name != SUBJECT}
        for name, function in peers.items():
            if callable(function):
                tasks[WHOLE, name] = calls_of_four(function, *args)
        endings: dict[tuple[str, str], Outcome] = dict(
            harness.alternate(tasks, settings, trusted=True)
        )
    for name, function in peers.items():
        if not callable(function):
            endings[WHOLE, name] = function
        endings[FIND, name] = endings[WHOLE, name]
    for case in (FIND, WHOLE):
        outcomes = {name: ending for (of, name), ending in endings.items() if of == case}
        yield Result(WARM, WARM_TITLE, "µs", case, CALLS, outcomes)


def imported(directory: Path) -> FunctionType:
    """The function, from a file of its own."""
    path = directory / f"{MODULE}.py"
    path.write_text(text_of_the_file(), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise AssertionError("a file cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    relax: FunctionType = module.relax
    return relax


# -- What is read and what can be reached ------------------------------------------------------

FEW, MANY, MORE = 3, 120, 300
"""Members that are read: few and many. Members of an object of which few are read."""

REACH_TITLE = "Finding the specialization of a call with an object, its array members read, µs"


class State:
    """Arrays that are read, and whatever else there is."""


def member(number: int) -> str:
    return f"member_{number}"


def state(members: int, read: int) -> State:
    """Those that are read lie between the others."""
    made = State()
    others: tuple[Callable[[], object], ...] = (
        lambda: np.zeros(8),
        lambda: [0.5] * 100,
        lambda: {f"key {i}": (i, State()) for i in range(20)},
        lambda: "text",
    )
    for number in range(members):
        is_read = number in places(members, read)
        setattr(made, member(number), np.zeros(8) if is_read else others[number % 4]())
    return made


def places(members: int, read: int) -> range:
    return range(0, members, members // read)[:read]


def look_at_members(members: int, read: int) -> Look:
    def look(code: CodeView, inputs: whorl.Inputs) -> None:
        held = inputs.arg("state")
        for number in places(members, read):
            held.attr(member(number)).array()

    return look


def reach_case(members: int, read: int) -> str:
    return f"{read} read of {members} members"


def step(state: State) -> None:
    """The function that is compiled."""


def measure_reach(settings: Settings) -> Iterator[Result]:
    """Objects of different sizes in the same rounds."""
    pairs = ((FEW, FEW), (MORE, FEW), (MANY, MANY), (MANY + MORE, MANY))
    tasks: dict[tuple[str, str], harness.Task] = {}
    for members, read in pairs:
        compiler = Reading(look_at_members(members, read), lambda state: None)
        warm = Warm.of(step, compiler, (state(members, read),))
        for name, task in warm.finding().items():
            tasks[reach_case(members, read), name] = task
    endings = harness.alternate(tasks, settings, trusted=True)
    for members, read in pairs:
        case = reach_case(members, read)
        outcomes: dict[str, Outcome] = {name: endings[case, name] for name in (SUBJECT, PLAIN)}
        yield Result(REACH, REACH_TITLE, "µs", case, CALLS, outcomes)


# -- New processes -----------------------------------------------------------------------------

PROCESS_TITLE = (
    f"The first in a new process that has imported what it needs; the file has {LINES} lines, "
    f"the artifact {PAYLOAD // 1000} KB, µs"
)
LOOKUP = "lookup, file unchanged"
CROWDED = "  the same beside the harness, after a garbage collection"
MAKING = "  making the kernel before: its file and the hint are read, the cache is opened"
FILES = "  the file, the hint and the artifact opened, read and hashed, and nothing else"
CALL = "call, file unchanged"
SECOND = "  the second call"
GENERATING = "  the slowest of the next eight, which generates the replay"
NO_TOOLCHAIN = "call, file unchanged, no toolchain declared"
CHANGED = "call, another line of the file changed: parsed, found"
COLD = "call, store empty: parsed, compiled, stored"


@dataclass(frozen=True, slots=True)
class Start:
    """A kind of first use in a new process: what is timed, and what it should come to."""

    rows: tuple[str, ...]
    way: str = "call"
    toolchain: str = "none"
    edited: bool = False
    empty: bool = False

    @property
    def ending(self) -> str:
        return "compiled" if self.empty else "found"


STARTS = (
    Start((LOOKUP,), "lookup"),
    Start((CROWDED,), "crowded"),
    Start((MAKING,), "making"),
    Start((FILES,), "files"),
    Start((CALL, SECOND, GENERATING)),
    Start((NO_TOOLCHAIN,), toolchain=""),
    Start((CHANGED,), edited=True),
    Start((COLD,), empty=True),
)


def started(
    start: Start, directory: Path, number: int, modules: Sequence[str]
) -> dict[str, Any] | Failure:
    """What a child has told."""
    file = directory / ("edited" if start.edited else "modules") / f"{MODULE}.py"
    if start.edited or not file.exists():  # what nobody edits has its bytecode
        text = text_of_the_file(f"edit {number:6}" if start.edited else "")
        file.write_text(text, encoding="utf-8")
    store = directory / (f"empty {number}" if start.empty else "store")
    here = Path(__file__).parent
    before = filter(None, [os.environ.get("PYTHONPATH")])
    command = "import sys, first_use; first_use.child(*sys.argv[1:])"
    try:
        done = subprocess.run(
            [sys.executable, "-c", command, start.way, start.toolchain, *modules],
            env={
                **{
                    name: value
                    for name, value in os.environ.items()
                    if "WHORL" not in name
                    and name != "PYTHONDONTWRITEBYTECODE"  # as programs have it
                },
                **SET,
                "PYTHONPATH": os.pathsep.join([str(here), str(file.parent), *before]),
                "WHORL_CACHE_DIR": str(store),
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
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def measure_processes(settings: Settings) -> Iterator[Result]:
    """One process of each kind in turn, round after round."""
    taken: dict[str, list[float]] = {row: [] for start in STARTS for row in start.rows}
    failed: dict[str, list[Failure]] = {row: [] for row in taken}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for folder in ("edited", "modules"):
            (directory / folder).mkdir()
        # Fill the store and the caches of bytecode; what each kind then still imports while the
        # clock runs is imported before.
        late: dict[Start, Sequence[str]] = {}
        for number in (-1, 0):
            for start in STARTS:
                told = started(start, directory, number, ())
                late[start] = told["late"] if isinstance(told, dict) else ()
        for number in range(1, settings.rounds + 1):
            for start in STARTS:
                told = started(start, directory, number, late[start])
                if isinstance(told, dict) and not told["stats"].get(start.ending):
                    told = Failed(f"not {start.ending}")
                for i, row in enumerate(start.rows):
                    if isinstance(told, dict):
                        taken[row].append(told["seconds"][i])
                    else:
                        failed[row].append(told)
    for row, seconds in taken.items():
        outcome: Outcome = Timed(tuple(seconds))
        if failed[row]:
            outcome = Failed(f"{len(failed[row])} of {settings.rounds}: {failed[row][0]}")
        yield Result(PROCESS, PROCESS_TITLE, "µs", row, 1, {SUBJECT: outcome})


# -- Goals -------------------------------------------------------------------------------------


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises about warm calls and first ones, judged by this run's cases."""
    found = results.find(WARM, FIND)
    if found:
        text = "Finding a warm specialization, 3 arrays, int, 2 constants, 5 globals, 5 variables"
        yield Goal(text, "at most", 1.5, "µs", found.figure(SUBJECT), found.failure)

    for members, read in ((MORE, FEW), (MANY + MORE, MANY)):
        much = results.find(REACH, reach_case(members, read))
        less = results.find(REACH, reach_case(read, read))
        if much and less:
            times = harness.ratio(much.outcomes[SUBJECT], less.outcomes[SUBJECT])
            text = f"{much.case} / {less.case}"
            yield Goal(text, "at most", 1.1, "x", times, much.failure)
    many = results.find(REACH, reach_case(MANY, MANY))
    few = results.find(REACH, reach_case(FEW, FEW))
    if many and few:
        times = harness.ratio(many.outcomes[SUBJECT], few.outcomes[SUBJECT])
        per_member = None if times is None else times * FEW / MANY
        text = f"Per member that is read: {many.case} / {few.case}"
        yield Goal(text, "at most", 1.1, "x", per_member, many.failure)

    first = results.find(PROCESS, LOOKUP)
    if first:
        text = f"First lookup in a new process, the {LINES}-line file unchanged"
        yield Goal(text, "at most", 300, "µs", first.figure(SUBJECT), first.failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Measure how whorl finds what a call was compiled to: one run, alternating rounds.",
        (WARM, REACH, PROCESS),
        "few rounds, five processes of each kind: rough figures in 10 seconds",
    )
    run = harness.Run(options, [name for c in FUNCTIONS for name in c.distributions])
    functions = harness.load(FUNCTIONS)
    results = Results()
    if WARM in options.cases:
        run.begins(WARM_TITLE.partition("\n")[0])
        results.extend(measure_warm(functions, run.settings))
    if REACH in options.cases:
        run.begins(REACH_TITLE)
        results.extend(measure_reach(run.settings))
    if PROCESS in options.cases:
        run.begins(PROCESS_TITLE)
        results.extend(measure_processes(run.settings))

    there = [name for name, found in functions.items() if not isinstance(found, NotInstalled)]
    tables = [
        harness.results_table(chosen, names)
        for chosen, names in (
            (results.of(WARM), [SUBJECT, PLAIN, *(name for name in there if name != SUBJECT)]),
            (results.of(REACH), [SUBJECT, PLAIN]),
            (results.of(PROCESS), [SUBJECT]),
        )
        if chosen
    ]
    missing = [name for name in functions if name not in there]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    judged = list(goals(results))
    run.publish(
        "Finding what a call was compiled to", results, judged, tables, [PLAIN, EMPTY, NUMBA]
    )


if __name__ == "__main__":
    main()
