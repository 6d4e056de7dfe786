"""Cached functions in, what a hit costs out: in memory and on disk, beside who does the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import cached_work
import harness
import values
from harness import (
    SUBJECT,
    Contender,
    Failure,
    Goal,
    NotInstalled,
    Outcome,
    Result,
    Results,
    Settings,
)

import whorl
from whorl.store import Cache, DirectoryStore

JOBLIB, GT4PY, GT4PY_DISK, LRU = "joblib", "gt4py", "gt4py on disk", "lru_cache"
NODES = 2_400
CALLS = 100
"""Calls of one task, where a call is too short for the clock."""

Hit: TypeAlias = Callable[..., object]
Wrap: TypeAlias = Callable[[Callable[..., Any], Path], Hit]


def load_whorl() -> Wrap:
    def wrap(function: Callable[..., Any], place: Path) -> Hit:
        return whorl.cached(store=Cache(DirectoryStore(place / "whorl")))(function)

    return wrap


def load_joblib() -> Wrap:
    joblib = import_module("joblib")

    def wrap(function: Callable[..., Any], place: Path) -> Hit:
        made: Hit = joblib.Memory(place / "joblib", verbose=0).cache(function)
        return made

    return wrap


def _gt4py() -> tuple[Any, Any]:
    fingerprinting: ModuleType = import_module("gt4py.next.fingerprinting")
    return (
        import_module("gt4py.next.otf.workflow").CachedStep,
        fingerprinting.strict_fingerprinter,
    )


def load_gt4py() -> Wrap:
    step, fingerprint = _gt4py()

    def wrap(function: Callable[..., Any], place: Path) -> Hit:
        made: Hit = step.in_memory(function, input_fingerprinter=fingerprint)
        return made

    return wrap


def load_gt4py_on_disk() -> Wrap:
    step, fingerprint = _gt4py()

    def wrap(function: Callable[..., Any], place: Path) -> Hit:
        made: Hit = step.persistent(
            function, input_fingerprinter=fingerprint, cache=place / "gt4py"
        )
        return made

    return wrap


CONTENDERS: Sequence[Contender[Wrap]] = (
    Contender(SUBJECT, ("whorl", "numpy"), load_whorl),
    Contender(JOBLIB, ("joblib",), load_joblib),
    Contender(GT4PY, ("gt4py",), load_gt4py),
    Contender(GT4PY_DISK, ("gt4py",), load_gt4py_on_disk),
    Contender(LRU, (), lambda: lambda function, place: lru_cache(function)),
)

TREES, SMALL, DISK = "trees", "small", "disk"
TITLES = {
    TREES: f"A hit for an argument of about {NODES:,} nodes, ms",
    SMALL: "A hit for small arguments, the result in memory, µs",
    DISK: "A hit for small arguments, the result read from the disk, ms",
}
IN_MEMORY, FIRST = "result in memory", "first hit of a process: classes and keys anew, from disk"


def forgetful(hit: Any) -> Callable[..., object]:
    """A hit that finds nothing in memory, as the first of a process."""

    def call(*args: object) -> object:
        hit._results.reset()
        return hit(*args)

    return call


def often(hit: Hit, *args: object) -> harness.Task:
    def task() -> None:
        for _ in repeat(None, CALLS):
            hit(*args)

    return task


Wraps: TypeAlias = Mapping[str, Wrap | Failure]


def timed(
    tasks: dict[str, harness.Task], wraps: Wraps, names: Sequence[str], settings: Settings
) -> dict[str, Outcome]:
    endings: dict[str, Outcome] = dict(harness.alternate(tasks, settings, trusted=True))
    for name in names:
        found = wraps[name]
        if name not in endings and not callable(found):
            endings[name] = found
    return endings


def measure_trees(wraps: Wraps, place: Path, settings: Settings) -> Iterator[Result]:
    """The same tree to everybody; what is measured is knowing it again."""
    names = [SUBJECT, JOBLIB, GT4PY, GT4PY_DISK]
    shapes = {
        "one class": values.uniform_tree(NODES),
        "seven classes": values.syntax_tree(NODES),
    }
    for shape, tree in shapes.items():
        hits = {name: wraps[name] for name in names if callable(wraps[name])}
        made = {name: wrap(cached_work.count, place / shape) for name, wrap in hits.items()}
        expected = cached_work.count(tree)
        for name, hit in made.items():
            if [hit(tree), hit(tree)] != [expected] * 2:
                raise AssertionError(f"{name} does not count")
        tasks: dict[str, harness.Task] = {name: partial(hit, tree) for name, hit in made.items()}
        outcomes = timed(tasks, wraps, names, settings)
        yield Result(TREES, TITLES[TREES], "ms", f"{shape}, {IN_MEMORY}", 1, outcomes)
        tasks[SUBJECT] = partial(forgetful(made[SUBJECT]), tree)
        outcomes = timed(tasks, wraps, names, settings)
        yield Result(TREES, TITLES[TREES], "ms", f"{shape}, {FIRST}", 1, outcomes)


def measure_small(wraps: Wraps, place: Path, settings: Settings) -> Iterator[Result]:
    """Three small arguments; gt4py's steps have one, which is a tuple of them."""
    args = (3, 2.5, "left")
    names = [SUBJECT, LRU, JOBLIB, GT4PY]
    tasks: dict[str, harness.Task] = {}
    for name in names:
        wrap = wraps[name]
        if not callable(wrap):
            continue
        if name == GT4PY:
            step = wrap(of_tuple, place)
            step(args)
            tasks[name] = often(step, args)
        else:
            hit = wrap(cached_work.small, place)
            hit(*args)
            tasks[name] = often(hit, *args)
    outcomes = timed(tasks, wraps, names, settings)
    yield Result(SMALL, TITLES[SMALL], "µs", "an int, a float and a text", CALLS, outcomes)


def of_tuple(args: tuple[int, float, str]) -> float:
    return cached_work.small(*args)


def measure_disk(wraps: Wraps, place: Path, settings: Settings) -> Iterator[Result]:
    """What it costs to read results of several kinds."""
    names = [SUBJECT, JOBLIB, GT4PY_DISK]
    cases: dict[str, tuple[Callable[[int], Any], int]] = {
        "an array of 8 KB": (cached_work.table, 1_000),
        "an array of 80 MB": (cached_work.table, 10_000_000),
        "plain data of 6,000 leaves": (cached_work.plain, 6_000),
    }
    for case, (function, size) in cases.items():
        tasks: dict[str, harness.Task] = {}
        for name in names:
            wrap = wraps[name]
            if callable(wrap):
                hit = wrap(function, place)
                hit(size)
                tasks[name] = partial(forgetful(hit) if name == SUBJECT else hit, size)
        outcomes = timed(tasks, wraps, names, settings)
        yield Result(DISK, TITLES[DISK], "ms", case, 1, outcomes)


def goals(results: Results) -> Iterator[Goal]:
    """What was promised."""
    for result in results.of(TREES):
        if not result.case.endswith(IN_MEMORY):
            continue
        for peer in (GT4PY, JOBLIB):
            text = f"{peer} / whorl, a hit for {NODES:,} nodes of {result.case}"
            yield Goal(text, "at least", 10, "x", result.ratio(peer), result.failure)
    small = next(iter(results.of(SMALL)), None)
    if small:
        text = "A memory hit with small arguments"
        yield Goal(text, "at most", 3, "µs", small.figure(SUBJECT), small.failure)


def main() -> None:
    options = harness.arguments(
        __file__,
        "Measure what a hit of a cached function costs: one run, alternating rounds.",
        (TREES, SMALL, DISK),
        "few rounds: rough figures in 10 seconds",
    )
    run = harness.Run(options, [name for c in CONTENDERS for name in c.distributions])
    wraps = harness.load(CONTENDERS)
    measures = {TREES: measure_trees, SMALL: measure_small, DISK: measure_disk}
    results = Results()
    with tempfile.TemporaryDirectory() as place:
        for key in options.cases:
            run.begins(TITLES[key])
            results.extend(measures[key](wraps, Path(place), run.settings))
    there = [name for name, found in wraps.items() if not isinstance(found, NotInstalled)]
    tables = [harness.results_table(results, there)]
    missing = [name for name in wraps if name not in there]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    names = [name for name in there if name != SUBJECT]
    run.publish("What a hit costs", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    main()
