"""Warm calls of compiled kernels that do almost nothing in, what it costs to launch them out."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, make_dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

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
    Settings,
)

import whorl
import whorl.testing

IN_PYTHON = "whorl in Python"
BY_KEYWORD = "whorl by keyword"
EMPTY = "empty function"
NUMBA = "numba"
TAICHI, QUADRANTS = "taichi", "quadrants"
DATA, STABLE = "quadrants data_oriented", "quadrants stable_members"
Q_FROZEN, Q_MUTABLE = "quadrants frozen dataclass", "quadrants mutable dataclass"

CALLS = 100
"""Calls of one task, written one after the other: no loop is part of a figure."""

ALL, FIELDS, FEW, MORE = 120, 100, 3, 300
"""Members of an object that are all read, also of a dataclass; few that are read, of many."""

SUMS = 8
"""Independent sums in a kernel that reads many members: one sum would wait for each addition."""


# -- What is called ----------------------------------------------------------------------------


def member(number: int) -> str:
    return f"m{number}"


def places(members: int, read: int) -> range:
    """Which members are read: they lie between the others."""
    return range(0, members, members // read)[:read]


def reading(held: str, members: int, read: int) -> list[str]:
    """Statements that load the first element of each member that is read, and store the sum."""
    loads = [f"{held}.{member(number)}[0]" for number in places(members, read)]
    sums = [" + ".join(loads[i::SUMS]) for i in range(min(SUMS, len(loads)))]
    lines = [f"s{i} = {text}" for i, text in enumerate(sums)]
    return [*lines, f"{loads[0]} = " + " + ".join(f"s{i}" for i in range(len(sums)))]


def reader(name: str, members: int, read: int) -> str:
    """A kernel of an object."""
    return "\n    ".join([f"\n\n@kernel\ndef {name}(o):", *reading("o", members, read)])


TEXT = """

@kernel
def add(x, y, z, n):
    z[n] = x[n] + y[n]


@kernel
def scale(x, a, n):
    x[n] = a


@kernel
def first(x, y, out, n):
    out[n] = x.size + y.size


@kernel
def last(out, n, x, y):
    out[n] = x.size + y.size


@kernel
def member(o, out, n):
    out[n] = o.x.size
""" + "".join(
    [
        reader("all_of_many", ALL, ALL),
        reader("all_fields", FIELDS, FIELDS),
        reader("few_of_many", MORE, FEW),
        reader("few_of_few", FEW, FEW),
    ]
)
HEADS = {
    SUBJECT: "from whorl import kernel",
    NUMBA: "from numba import njit as kernel",
}

ANNOTATED = """
import {module} as compiler

compiler.init(arch=compiler.cpu, log_level=compiler.ERROR)
array = compiler.types.ndarray(dtype=compiler.f32, ndim=1)


def arrays(count):
    return [compiler.ndarray(compiler.f32, 8) for _ in range(count)]


@compiler.kernel
def add(x: array, y: array, z: array, n: compiler.i32):
    z[n] = x[n] + y[n]
"""
ORIENTED = """

@compiler.data_oriented(stable_members={stable})
class {name}:
    def __init__(self, *values):
        {members} = values

    @compiler.kernel
    def read(self):
        {lines}
"""
FIELDED = """

@dataclasses.dataclass(frozen={frozen})
class {name}:
    {members}


@compiler.kernel
def read_{name}(o: {name}):
    {lines}
"""


def text_for_quadrants() -> str:
    """The kernel of arrays, and the kinds of objects that Quadrants has."""
    made = ["import dataclasses", ANNOTATED.format(module=QUADRANTS)]
    for name, stable in (("Oriented", False), ("Stable", True)):
        members = ", ".join(f"self.{member(i)}" for i in range(ALL))
        lines = "\n        ".join(reading("self", ALL, ALL))
        made.append(ORIENTED.format(name=name, stable=stable, members=members, lines=lines))
    for name, frozen, count in (("Frozen", True, ALL), ("Mutable", False, FIELDS)):
        members = "\n    ".join(f"{member(i)}: array" for i in range(count))
        lines = "\n    ".join(reading("o", count, count))
        made.append(FIELDED.format(name=name, frozen=frozen, members=members, lines=lines))
    return "".join(made)


class Texts:
    """Files that are imported anew each time: each kernel has specializations of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def imported(self, text: str) -> ModuleType:
        self._count += 1
        name = f"launched_{self._count}"
        path = self._directory / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise AssertionError("a file cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # where whorl looks for what a kernel's globals are
        spec.loader.exec_module(module)
        return module

    def of(self, compiler: str) -> ModuleType:
        return self.imported(HEADS[compiler] + TEXT)


def empty(x: object, y: object, z: object, n: object) -> None:
    """What a call costs at least."""


def arrays(count: int) -> list[Any]:
    return [np.zeros(8, np.float32) for _ in range(count)]


# -- Objects -----------------------------------------------------------------------------------

Filled: TypeAlias = Callable[[int, int], object]
"""An object with so many members of which so many are arrays that are read."""


def contents(members: int, read: int) -> dict[str, object]:
    """By name: arrays that are read, and between them whatever else there is."""
    others: tuple[Callable[[], object], ...] = (
        lambda: np.zeros(8),
        lambda: [0.5] * 100,
        lambda: {f"key {i}": (i, object()) for i in range(20)},
        lambda: "text",
    )
    chosen = places(members, read)
    return {
        member(i): arrays(1)[0] if i in chosen else others[i % len(others)]()
        for i in range(members)
    }


def with_slots(members: int, read: int) -> object:
    held = contents(members, read)
    return filled(type("Slotted", (), {"__slots__": tuple(held)})(), held)


def with_dict(members: int, read: int) -> object:
    return filled(type("Plain", (), {})(), contents(members, read))


def filled(made: object, held: Mapping[str, object]) -> object:
    for name, value in held.items():
        setattr(made, name, value)
    return made


def as_dataclass(*, frozen: bool, slots: bool) -> Filled:
    def made(members: int, read: int) -> object:
        held = contents(members, read)
        fields = [(name, object) for name in held]
        return make_dataclass("Fields", fields, frozen=frozen, slots=slots)(**held)

    return made


def as_tuple(members: int, read: int) -> object:
    held = contents(members, read)
    return namedtuple("Members", list(held))(**held)


# -- Tasks -------------------------------------------------------------------------------------

Row: TypeAlias = Sequence[Any]
Tasks: TypeAlias = dict[tuple[str, str], harness.Task]
"""By case and contender."""


def calls(
    function: Callable[..., object], *rows: Row, keywords: Sequence[str] = ()
) -> harness.Task:
    """A task of `CALLS` calls in a straight line, with each row of arguments in turn.

    The last arguments are given by keyword, if there are any.
    """
    names: dict[str, Any] = {"call": function}
    written = []
    for i, row in enumerate(rows):
        row_names = [f"a{i}_{j}" for j in range(len(row))]
        names.update(zip(row_names, row, strict=True))
        first = len(row) - len(keywords)
        named = [f"{key}={name}" for key, name in zip(keywords, row_names[first:], strict=True)]
        written.append(f"call({', '.join([*row_names[:first], *named])})")
    lines = [written[i % len(written)] for i in range(CALLS)]
    # As parameters with defaults, everything is a local variable: the cheapest there is.
    parameters = ", ".join(f"{name}={name}" for name in names)
    text = "\n    ".join([f"def task({parameters}):", *lines])
    exec(text, names)  # the text is from here
    task: harness.Task = names["task"]
    return task


def warmed(function: Callable[..., object], *rows: Row) -> harness.Task:
    """Calls of what compiles when it is first called."""
    function(*rows[0])
    return calls(function, *rows)


@dataclass(frozen=True, slots=True)
class NotNative:
    """A kernel's calls still go through Python when they should not."""

    def __call__(self) -> object:
        raise RuntimeError("not launched natively")


def native(
    kernel: Any, *rows: Row, others: Iterable[Row] = (), keywords: Sequence[str] = ()
) -> harness.Task:
    """Calls of a kernel that enters native code with all of these rows."""
    for row in (*others, *rows):
        for _ in range(5):
            kernel(*row)
    before = kernel.python_calls
    for row in (*others, *rows):
        kernel(*row)
    if kernel.python_calls != before:
        return NotNative()
    return calls(kernel, *rows, keywords=keywords)


def in_python(kernel: Any, row: Row) -> harness.Task:
    """Calls that are checked and launched in Python: all there is without a native launcher."""
    for _ in range(50):
        kernel.call_in_python(*row)
    return calls(kernel.call_in_python, row)


def timed(tasks: Tasks, settings: Settings) -> dict[tuple[str, str], Outcome]:
    """Every task in turn; never in a child, because a fork drops what is native."""
    slow = [key for key, task in tasks.items() if isinstance(task, NotNative)]
    able = {key: task for key, task in tasks.items() if key not in slow}
    ended: dict[tuple[str, str], Outcome] = dict(harness.alternate(able, settings, trusted=True))
    ended.update((key, Failed("not native")) for key in slow)
    return ended


# -- Contenders --------------------------------------------------------------------------------

Load: TypeAlias = Callable[[Texts], ModuleType]


def load_text(module: str, text: Callable[[], str]) -> Callable[[], Load]:
    def load() -> Load:
        import_module(module)
        return lambda texts: texts.imported(text())

    return load


CONTENDERS: Sequence[Contender[Load]] = (
    Contender(SUBJECT, ("whorl", "numpy", "llvmlite"), lambda: lambda texts: texts.of(SUBJECT)),
    Contender(NUMBA, ("numba",), load_text("numba", lambda: HEADS[NUMBA] + TEXT)),
    Contender(TAICHI, ("taichi",), load_text("taichi", lambda: ANNOTATED.format(module=TAICHI))),
    Contender(QUADRANTS, ("quadrants",), load_text("quadrants", text_for_quadrants)),
)

Modules: TypeAlias = Mapping[str, ModuleType | Failure]


def loaded(texts: Texts) -> Modules:
    """Each contender's kernels, or why there are none."""
    modules: dict[str, ModuleType | Failure] = {}
    for name, load in harness.load(CONTENDERS).items():
        try:
            modules[name] = load(texts) if callable(load) else load
        except Exception as error:  # a broken peer is a result, not the end of the run
            modules[name] = Failed(type(error).__name__)
    return modules


@contextmanager
def workplace() -> Iterator[tuple[Texts, Modules]]:
    """An empty cache, and files that last as long as they are called."""
    with tempfile.TemporaryDirectory() as directory, whorl.testing.fresh_cache():
        texts = Texts(Path(directory))
        yield texts, loaded(texts)


# -- Arrays ------------------------------------------------------------------------------------

ARRAYS, MEMBERS, DATACLASSES, SCALARS, SPECIALIZATIONS = (
    "arrays",
    "members",
    "dataclasses",
    "scalars",
    "specializations",
)
TITLES = {
    ARRAYS: "A warm call with 3 float32 arrays and an int, µs",
    MEMBERS: f"A warm call with one object, its array members read, µs ({NUMBA}: a named tuple)",
    DATACLASSES: f"A warm call with a dataclass of {FIELDS} arrays, all read, µs",
    SCALARS: "A warm call with an array, a float and an int, µs",
    SPECIALIZATIONS: "A warm call of a kernel with several specializations, µs",
}
THREE = "3 arrays and an int"


def measure_arrays(texts: Texts, modules: Modules, settings: Settings) -> Iterator[Result]:
    """The same call of every contender."""
    row = (*arrays(3), 3)
    tasks: Tasks = {(THREE, SUBJECT): native(texts.of(SUBJECT).add, row)}
    tasks[THREE, EMPTY] = calls(empty, row)
    tasks[THREE, BY_KEYWORD] = native(texts.of(SUBJECT).add, row, keywords=("z", "n"))
    tasks[THREE, IN_PYTHON] = in_python(texts.of(SUBJECT).add, row)
    absent: dict[str, Outcome] = {}
    for name in (NUMBA, TAICHI, QUADRANTS):
        module = modules[name]
        if isinstance(module, ModuleType):
            own = row if name == NUMBA else (*module.arrays(3), 3)
            tasks[THREE, name] = warmed(module.add, own)
        else:
            absent[name] = module
    ended = timed(tasks, settings)
    outcomes = {name: outcome for (_, name), outcome in ended.items()}
    yield Result(ARRAYS, TITLES[ARRAYS], "µs", THREE, CALLS, {**outcomes, **absent})


# -- Members -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of object that is launched with: how many members it has, how many are read."""

    kind: str
    made: Filled
    members: int
    read: int
    kernel: str
    peers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.read} read of {self.members}, {self.kind}"

    def task(self, texts: Texts) -> harness.Task:
        """Of a kernel of its own: it has this object's table and no other."""
        kernel = getattr(texts.of(SUBJECT), self.kernel)
        return native(kernel, (self.made(self.members, self.read),))


SLOTS, DICT = "slots", "instance dictionary"
ALL_SLOTS, ALL_DICT = (
    Case(kind, made, ALL, ALL, "all_of_many", (NUMBA, DATA, STABLE, Q_FROZEN))
    for kind, made in ((SLOTS, with_slots), (DICT, with_dict))
)
FEW_OF_FEW, FEW_OF_MORE = (
    [
        Case(kind, made, members, FEW, kernel)
        for kind, made in ((SLOTS, with_slots), (DICT, with_dict))
    ]
    for members, kernel in ((FEW, "few_of_few"), (MORE, "few_of_many"))
)
FROZEN, MUTABLE = (
    [
        Case(
            f"{word}{', slots' if slots else ''}",
            as_dataclass(frozen=word == "frozen", slots=slots),
            FIELDS,
            FIELDS,
            "all_fields",
            (NUMBA, Q_MUTABLE) if word == "mutable" else (NUMBA,),
        )
        for slots in (False, True)
    ]
    for word in ("frozen", "mutable")
)


def peer_task(name: str, case: Case, module: Any) -> harness.Task:
    """A peer's way to read all the members that a case reads."""
    match name:
        case "numba":
            return warmed(getattr(module, case.kernel), (as_tuple(case.members, case.read),))
        case "quadrants data_oriented":
            return warmed(module.Oriented(*module.arrays(ALL)).read, ())
        case "quadrants stable_members":
            return warmed(module.Stable(*module.arrays(ALL)).read, ())
        case "quadrants frozen dataclass":
            return warmed(module.read_Frozen, (module.Frozen(*module.arrays(ALL)),))
        case _:
            return warmed(module.read_Mutable, (module.Mutable(*module.arrays(FIELDS)),))


def measure_objects(
    key: str, cases: Sequence[Case], texts: Texts, modules: Modules, settings: Settings
) -> Iterator[Result]:
    """All kinds in the same rounds, beside an empty function and the peers' objects."""
    tasks: Tasks = {(case.name, SUBJECT): case.task(texts) for case in cases}
    tasks["", EMPTY] = calls(empty, (*arrays(3), 3))
    absent: dict[str, Failure] = {}
    for case in cases:
        for peer in case.peers:
            module = modules[peer.partition(" ")[0]]
            if not isinstance(module, ModuleType):
                absent[peer] = module
            elif (case.kernel, peer) not in tasks:
                tasks[case.kernel, peer] = peer_task(peer, case, module)
    ended = timed(tasks, settings)
    for case in cases:
        outcomes = {SUBJECT: ended[case.name, SUBJECT], EMPTY: ended["", EMPTY]}
        for peer in case.peers:
            outcomes[peer] = absent[peer] if peer in absent else ended[case.kernel, peer]
        yield Result(key, TITLES[key], "µs", case.name, CALLS, outcomes)


def failure_of(module: object) -> Failure:
    return module if isinstance(module, Failed | NotInstalled) else Failed("unknown")


# -- Scalars -----------------------------------------------------------------------------------

SAME, CHANGING = "the same values", "changing values"
SCALAR_ROWS: Mapping[str, Callable[[Any], list[Row]]] = {
    SAME: lambda x: [(x, 2.5, 3)] * CALLS,
    CHANGING: lambda x: [(x, 0.5 + i, i) for i in range(CALLS)],
}


def measure_scalars(texts: Texts, modules: Modules, settings: Settings) -> Iterator[Result]:
    """A hundred floats and ints in turn beside one of each."""
    x = np.zeros(CALLS, np.float32)
    tasks: Tasks = {}
    module = modules[NUMBA]
    for case, rows in SCALAR_ROWS.items():
        tasks[case, SUBJECT] = native(texts.of(SUBJECT).scale, *rows(x))
        if isinstance(module, ModuleType):
            tasks[case, NUMBA] = warmed(module.scale, *rows(x))
    ended = timed(tasks, settings)
    for case in SCALAR_ROWS:
        outcomes = {SUBJECT: ended[case, SUBJECT]}
        outcomes[NUMBA] = ended.get((case, NUMBA)) or failure_of(module)
        yield Result(SCALARS, TITLES[SCALARS], "µs", case, CALLS, outcomes)


# -- Specializations ---------------------------------------------------------------------------

KINDS = [
    np.zeros((2,) * dimensions, dtype)
    for dimensions, dtype in product((1, 2), ("f4", "f8", "i4", "i8", "u1"))
]
"""Arrays of ten types: each is a specialization."""


@dataclass
class Holder:
    """An object with an array."""

    x: Any


MEMBER = "member"
ORDERS: Mapping[str, Callable[[Any], Row]] = {
    "first": lambda a: (a, a, np.zeros(8, np.int64), 3),
    "last": lambda a: (np.zeros(8, np.int64), 3, a, a),
    MEMBER: lambda a: (Holder(a), np.zeros(8, np.int64), 3),
}
"""By kernel: whether what differs are the first arguments, the last ones or a member of one."""


TURNS = "all in turn"


def known_case(order: str, known: int, called: str) -> str:
    differs = "members differ" if order == MEMBER else f"{order} arguments differ"
    return f"{differs}: {known} known{called and f', {called} called'}"


def measure_specializations(texts: Texts, modules: Modules, settings: Settings) -> Iterator[Result]:
    """The first, the last and all of ten in turn, and the only one."""
    tasks: Tasks = {}
    for order, row in ORDERS.items():
        every = [row(array) for array in KINDS]
        kernel = getattr(texts.of(SUBJECT), order)
        tasks[known_case(order, len(every), TURNS), SUBJECT] = native(kernel, *every)
        for place, called in ((0, "the first"), (-1, "the last")):
            rows = [row(array) for array in KINDS]
            alone, among = (getattr(texts.of(SUBJECT), order) for _ in range(2))
            tasks[known_case(order, 1, called), SUBJECT] = native(alone, rows[place])
            task = native(among, rows[place], others=rows)
            tasks[known_case(order, len(rows), called), SUBJECT] = task
    module = modules[NUMBA]
    if isinstance(module, ModuleType):
        for order, row in ORDERS.items():
            if order == MEMBER:  # it takes no such object
                continue
            rows = [row(array) for array in KINDS]
            kernel = getattr(module, order)
            for each in rows:
                kernel(*each)
            for place, called in ((0, "the first"), (-1, "the last")):
                case = known_case(order, len(rows), called)
                tasks[case, NUMBA] = calls(kernel, rows[place])
    ended = timed(tasks, settings)
    for case in dict.fromkeys(case for case, _ in tasks):
        outcomes = {name: outcome for (of, name), outcome in ended.items() if of == case}
        yield Result(SPECIALIZATIONS, TITLES[SPECIALIZATIONS], "µs", case, CALLS, outcomes)


# -- Goals -------------------------------------------------------------------------------------


def inverse(times: float | None) -> float | None:
    return None if times is None else 1 / times


def goals(results: Results) -> Iterator[Goal]:
    """What the library promises about launches, judged by this run's cases."""
    three = results.find(ARRAYS, THREE)
    if three:
        for name, wanted in ((NUMBA, 0.35), (EMPTY, 2.0)):
            text = f"{three.case}: whorl's time over that of {name}"
            yield Goal(text, "at most", wanted, "x", inverse(three.ratio(name)), three.failure)
        text = f"{three.case}: time of {BY_KEYWORD} over that by position"
        yield Goal(text, "at most", 2.0, "x", three.ratio(BY_KEYWORD), three.failure)
        yield Goal(f"{three.case}: {IN_PYTHON}", "at most", 5.0, "µs", three.figure(IN_PYTHON))
    for case, wanted in ((ALL_SLOTS, 12.0), (ALL_DICT, 24.0)):
        found = results.find(MEMBERS, case.name)
        if found:
            text = f"{found.case}: whorl's time over that of {EMPTY}"
            yield Goal(text, "at most", wanted, "x", inverse(found.ratio(EMPTY)), found.failure)
            text = f"{found.case}: time of {NUMBA}, a named tuple, over whorl's"
            yield Goal(text, "at least", 15.0, "x", found.ratio(NUMBA), found.failure)
            for name, least in ((DATA, 100.0), (STABLE, 40.0), (Q_FROZEN, 40.0)):
                text = f"{found.case}: time of {name} over whorl's"
                yield Goal(text, "at least", least, "x", found.ratio(name), found.failure)
    for case in MUTABLE:
        found = results.find(DATACLASSES, case.name)
        if found:
            text = f"{found.case}: time of {Q_MUTABLE} over whorl's"
            yield Goal(text, "at least", 150.0, "x", found.ratio(Q_MUTABLE), found.failure)
    yield from pair_goals(results)


def pair_goals(results: Results) -> Iterator[Goal]:
    """Whorl beside itself: what should make no difference, or little."""
    pairs = [
        *((MEMBERS, a.name, b.name, 1.2) for a, b in zip(FEW_OF_MORE, FEW_OF_FEW, strict=True)),
        *((DATACLASSES, a.name, b.name, 1.2) for a, b in zip(MUTABLE, FROZEN, strict=True)),
        # No difference is wanted, and two equal tasks come out within a few percent.
        (SCALARS, CHANGING, SAME, 1.1),
    ]
    for order, called in product(ORDERS, ("the first", "the last", TURNS)):
        many = known_case(order, len(KINDS), called)
        one = known_case(order, 1, "the last" if called == TURNS else called)
        pairs.append((SPECIALIZATIONS, many, one, 1.5))
    for key, much, less, wanted in pairs:
        over, under = results.find(key, much), results.find(key, less)
        if over and under:
            times = harness.ratio(over.outcomes[SUBJECT], under.outcomes[SUBJECT])
            text = f"{much} / {less}"
            yield Goal(text, "at most", wanted, "x", times, over.failure or under.failure)


def shown(results: Results) -> list[str]:
    """Whorl first, and whoever has a figure or has failed in one of these cases."""
    found = {
        name: None
        for result in results
        for name, outcome in result.outcomes.items()
        if not isinstance(outcome, NotInstalled)
    }
    return [SUBJECT, *(name for name in found if name != SUBJECT)]


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Measure what launching a warm kernel costs: one run, alternating rounds.",
        tuple(TITLES),
        "few rounds: rough figures in 15 seconds, most of it Numba's compiling",
    )
    run = harness.Run(options, [name for c in CONTENDERS for name in c.distributions])
    objects = {
        MEMBERS: [ALL_SLOTS, ALL_DICT, *FEW_OF_FEW, *FEW_OF_MORE],
        DATACLASSES: [*FROZEN, *MUTABLE],
    }
    measures = {
        ARRAYS: measure_arrays,
        SCALARS: measure_scalars,
        SPECIALIZATIONS: measure_specializations,
    }
    results = Results()
    with workplace() as (texts, modules):
        for key, title in TITLES.items():
            if key not in options.cases:
                continue
            run.begins(title)
            if key in objects:
                results.extend(measure_objects(key, objects[key], texts, modules, run.settings))
            else:
                results.extend(measures[key](texts, modules, run.settings))
    there = [name for name, found in modules.items() if not isinstance(found, NotInstalled)]
    tables = [
        harness.results_table(results.of(key), shown(results.of(key))) for key in options.cases
    ]
    missing = [name for name in modules if name not in there]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    run.publish("Launching a warm kernel", results, list(goals(results)), tables, shown(results))


if __name__ == "__main__":
    main()
