"""Values in, the cost of their fingerprints out: whorl beside its peers, in one run."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import harness
import values
from harness import SUBJECT, Contender, Goal, Outcome, Result, Results, Settings, Unit

Fingerprint: TypeAlias = Callable[[Any], object]

PICKLE = "pickle+xxh3"
JOBLIB = "joblib"
GT4PY = "gt4py"
FLOOR = "xxh3 alone"

PICKLE_REFERENCE = 1.6
"""Microseconds per node of pickle + xxh3 on the machine the absolute goal is stated for."""

LINEAR = 1.5
"""Time per node may grow by this factor from the small size to the large one."""

LINEAR_CHAIN = 1.2
"""The same for a chain, from 5,000 objects to 100,000."""

FASTER = {"Node(kind, value, children)": 10, "IR of 7 classes": 10, "IR, enum and dicts": 6}
"""How many times faster than pickle and xxh3 a tree is."""

NO_COPY_BYTES = 1 << 20
"""Fingerprinting a contiguous array may need this much memory, whatever its size."""


# -- The contenders ----------------------------------------------------------------------------


def load_whorl() -> Fingerprint:
    """As in a process that has taken fingerprints for a while: by then it walks natively."""
    import_module("whorl.fingerprint.walk_choice").NATIVE.prepare(compiles=True)
    function: Fingerprint = import_module("whorl").fingerprint
    return function


def load_pickle() -> Fingerprint:
    digest = import_module("xxhash").xxh3_128_hexdigest
    return lambda value: digest(pickle.dumps(value, protocol=5))


def load_cloudpickle() -> Fingerprint:
    digest = import_module("xxhash").xxh3_128_hexdigest
    dumps = import_module("cloudpickle").dumps
    return lambda value: digest(dumps(value, protocol=5))


def load_joblib() -> Fingerprint:
    function: Fingerprint = import_module("joblib").hash
    return function


def load_dask() -> Fingerprint:
    function: Fingerprint = import_module("dask.base").tokenize
    return function


def load_gt4py() -> Fingerprint:
    """The hasher that keys gt4py's persistent caches."""
    function: Fingerprint = import_module("gt4py.next.fingerprinting").strict_fingerprinter
    return function


def load_floor() -> Fingerprint:
    """The hash alone over bytes that lie in order: what the memory allows."""
    digest: Fingerprint = import_module("xxhash").xxh3_128_hexdigest
    return digest


CONTENDERS: Sequence[Contender[Fingerprint]] = (
    Contender(SUBJECT, ("whorl",), load_whorl),
    Contender(PICKLE, ("xxhash",), load_pickle),
    Contender("cloudpickle+xxh3", ("cloudpickle", "xxhash"), load_cloudpickle),
    Contender(JOBLIB, ("joblib",), load_joblib),
    Contender("dask", ("dask",), load_dask),
    Contender(GT4PY, ("gt4py",), load_gt4py),
)
FLOOR_CONTENDER = Contender(FLOOR, ("xxhash",), load_floor)


# -- The cases ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One value; `size` is what its cost is divided by, found from the value when `None`."""

    name: str
    build: Callable[[], Any]
    size: int | None = 1
    in_quick: bool = True

    def size_of(self, value: object) -> int:
        return values.count_nodes(value) if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that alternate in the same rounds, so that they can be compared with each other."""

    key: str
    title: str
    unit: Unit
    cases: Sequence[Case]
    floor: bool = False


UNIFORM, SYNTAX, OPERATIONS = "Node(kind, value, children)", "IR of 7 classes", "IR, enum and dicts"
CHAIN_SMALL, CHAIN_LARGE, CHAIN_HUGE = "depth 5,000", "depth 10,000", "depth 100,000"
FLAT, DEEP = "100 sections x 100", "4 levels x 10 keys"
CONTIGUOUS = "C order"

TREES: Sequence[Case] = (
    Case(UNIFORM, values.uniform_tree, None),
    Case(SYNTAX, values.syntax_tree, None),
    Case(OPERATIONS, values.operation_tree, None),
)


TRACED = [replace(case, in_quick=case.name == UNIFORM) for case in TREES]

DAGS: dict[str, Callable[[int], Any]] = {
    "list pairs": values.list_dag,
    "dataclass pairs": values.dataclass_dag,
    "pairs beside a cycle": values.dag_beside_cycle,
    "pairs in a cycle": values.dag_in_cycle,
}


def dag_name(shape: str, levels: int) -> str:
    return f"{shape}, 2^{levels} paths"


# Each family frees its values before the next is built.
FAMILIES: Sequence[Family] = (
    Family("trees", "Trees of 2,400 slotted dataclass nodes, µs per node", "µs", TREES),
    Family("memory", "Memory beyond the tree at a call's peak, bytes per node", "bytes", TRACED),
    Family(
        "chains",
        "Chain of dataclass nodes, µs per node",
        "µs",
        [
            Case(CHAIN_SMALL, partial(values.chain, 5_000), 5_000),
            Case(CHAIN_LARGE, partial(values.chain, 10_000), 10_000),
            Case(CHAIN_HUGE, partial(values.chain, 100_000), 100_000),
        ],
    ),
    Family(
        "dags",
        "DAGs, µs per level",
        "µs",
        [
            Case(dag_name(shape, levels), partial(build, levels), levels)
            for shape, build in DAGS.items()
            for levels in (40, 400)
        ],
    ),
    Family(
        "configs",
        "Configuration dictionary of 10,000 leaves, µs per leaf",
        "µs",
        [
            Case(FLAT, values.flat_config, 10_000),
            Case(DEEP, values.deep_config, 10_000),
        ],
    ),
    Family(
        "arrays",
        "100 MB of float64, GB/s",
        "GB/s",
        [
            Case(CONTIGUOUS, values.contiguous_array, 100_000_000),
            Case("Fortran order", values.fortran_array, 100_000_000, in_quick=False),
            Case("strided", values.strided_array, 100_000_000, in_quick=False),
        ],
        floor=True,
    ),
    Family(
        "arrays",
        "Memory beyond the array at a call's peak, MB",
        "MB",
        [
            Case(CONTIGUOUS, values.contiguous_array),
            Case("Fortran order", values.fortran_array, in_quick=False),
            Case("strided", values.strided_array, in_quick=False),
        ],
    ),
    Family(
        "cycles",
        "Cycles, µs per node",
        "µs",
        [
            Case("ring of 10,000 equal nodes", partial(values.ring, 10_000), 10_000),
            Case("doubly linked, 10,000 equal", partial(values.doubly_linked, 10_000), 10_000),
            Case("parent pointers, 2,400", partial(values.parent_pointer_tree, 2_400), 2_400),
        ],
    ),
    Family(
        "small",
        "Small values, µs per call",
        "µs",
        [
            Case("int", lambda: 42),
            Case("dataclass of 5 fields", values.options),
            Case("dict of 10 keys", values.small_dict),
        ],
    ),
)
KEYS = tuple(dict.fromkeys(family.key for family in FAMILIES))


# -- Measuring ---------------------------------------------------------------------------------


Functions: TypeAlias = dict[str, Fingerprint | harness.Failure]


def measure(family: Family, functions: Functions, settings: Settings) -> Iterator[Result]:
    """All cases of a family against all contenders, alternating."""
    built = [case.build() for case in family.cases]
    tasks: dict[tuple[int, str], harness.Task] = {}
    endings: dict[tuple[int, str], Outcome] = {}
    for index, value in enumerate(built):
        for name, function in functions.items():
            if not callable(function):
                endings[index, name] = function
                continue
            if name == FLOOR and not (family.floor and index == 0):
                continue
            tasks[index, name] = partial(function, value)
    if family.unit in ("bytes", "MB"):
        endings.update({key: harness.peak_bytes(task, settings) for key, task in tasks.items()})
    else:
        endings.update(harness.alternate(tasks, settings))
    for index, (case, value) in enumerate(zip(family.cases, built, strict=True)):
        outcomes = {name: endings[index, name] for name in functions if (index, name) in endings}
        yield Result(
            family.key, family.title, family.unit, case.name, case.size_of(value), outcomes
        )


def per_node_growth(small: Result, large: Result) -> float | None:
    """whorl's time per node at the large size over that at the small size: 1 when linear."""
    grown = harness.ratio(large.outcomes.get(SUBJECT), small.outcomes.get(SUBJECT))
    return None if grown is None else grown * small.size / large.size


# -- Goals -------------------------------------------------------------------------------------


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises about fingerprints, judged by this run's cases."""

    def times(result: Result, peer: str, wanted: float) -> Goal:
        text = f"{result.case}: faster than {peer}"
        return Goal(text, "at least", wanted, "x", result.ratio(peer), result.failure)

    def linear(text: str, key: str, small: str, large: str, most: float = LINEAR) -> Iterator[Goal]:
        a, b = results.find(key, small), results.find(key, large)
        if a and b:
            grown = per_node_growth(a, b)
            yield Goal(text, "at most", most, "x", grown, a.failure or b.failure)

    for result in results.of("trees"):
        yield times(result, PICKLE, FASTER[result.case])
        yield times(result, GT4PY, 25)
        yield times(result, JOBLIB, 25)
        ratio = result.ratio(PICKLE)
        scaled = PICKLE_REFERENCE / ratio if ratio else None
        text = f"{result.case}: per node, where {PICKLE} takes {PICKLE_REFERENCE}"
        yield Goal(text, "at most", 0.3, "µs", scaled, result.failure)

    for result in results.of("memory"):
        text = f"{result.case}: memory per node"
        yield Goal(text, "at most", 64, "bytes", result.figure(SUBJECT), result.failure)

    for small, large in ((CHAIN_SMALL, CHAIN_LARGE), (CHAIN_SMALL, CHAIN_HUGE)):
        text = f"Chain: per node, {large} / {small}"
        yield from linear(text, "chains", small, large, LINEAR_CHAIN)
    for shape in DAGS:
        text = f"DAG of {shape}: per level, 400 / 40 levels"
        yield from linear(text, "dags", dag_name(shape, 40), dag_name(shape, 400))

    for result in results.of("configs"):
        ratio = result.ratio(PICKLE)
        text = f"Config, {result.case}: time over {PICKLE}"
        yield Goal(text, "at most", 1, "x", 1 / ratio if ratio else None, result.failure)

    for result in results.of("arrays"):
        if result.case == CONTIGUOUS:
            text, figure = f"Array in {CONTIGUOUS}", result.figure(SUBJECT)
            if result.unit == "GB/s":
                yield Goal(f"{text}: throughput", "at least", 8, "GB/s", figure, result.failure)
            else:
                most = NO_COPY_BYTES / 1e6
                yield Goal(f"{text}: no copy", "at most", most, "MB", figure, result.failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Compare whorl.fingerprint with its peers: one run, alternating rounds.",
        KEYS,
        "few rounds, short limits, some large cases left out: rough figures in 20 seconds",
    )
    needed = [distribution for c in CONTENDERS for distribution in c.distributions]
    run = harness.Run(options, [*needed, "numpy"])

    functions = harness.load([*CONTENDERS, FLOOR_CONTENDER])
    names = [contender.name for contender in CONTENDERS]
    results = Results()
    for family in FAMILIES:
        if family.key in options.cases:
            if options.quick:
                family = replace(family, cases=[case for case in family.cases if case.in_quick])
            run.begins(family.title)
            results.extend(measure(family, functions, run.settings))

    tables = [harness.results_table(results, names, {FLOOR: "same bytes"})]
    judged = list(goals(results))
    run.publish("whorl.fingerprint and its peers", results, judged, tables, names)


if __name__ == "__main__":
    main()
