"""Named tasks in; outcomes, paired ratios, goals, a plain table, a JSON record and a plot out.

How time is taken, so that a ratio means something on a machine that does other things too:

- Every task first runs once in a forked child with a time and a memory limit. What raises, is too
  slow or needs too much memory ends there, under its name, and is not measured further. Tasks
  that cannot go through a fork, such as those with a database open, are trusted instead.
- The others alternate in this process: A, B, C, A, B, C, ... A sample repeats the call until it
  is long enough for the clock; before a short one the call runs once untimed, so that nobody pays
  for the caches the one before left behind. A task leaves the rounds when its time budget is used
  up; one whose single call takes very long is timed by the call in the child alone. What a task
  is fed is made before the clock starts. A task may be performed elsewhere, by a process that is
  asked for some calls, times them itself, and waits until it is asked again (`workers.py`).
- The garbage collector runs before each sample and is off inside it (or on, when asked for), and
  everything that was alive before the rounds is frozen, so it costs nobody anything.
- A ratio is the median of the ratios of one round's two samples: drift hits both sides alike.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import platform
import resource
import signal
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Task: TypeAlias = Callable[[], object]

SUBJECT = "whorl"
"""The contender that the others are compared with."""


@dataclass(frozen=True, slots=True)
class Fed(Generic[T]):
    """A task that takes something new at each call, such as a key nobody has put yet."""

    make: Callable[[], T]
    act: Callable[[T], object]

    def __call__(self) -> object:
        """One call, what it takes included."""
        return self.act(self.make())


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A task that another process performs and times: a number of calls in, their seconds out."""

    perform: Callable[[int], float]

    def __call__(self) -> object:
        """One call."""
        return self.perform(1)


class NoAnswer(Exception):
    """A task elsewhere that does not say how long it took: what it raised, how it ended."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how often to measure."""

    rounds: int
    least_rounds: int
    sample_seconds: float
    budget_seconds: float
    once_seconds: float
    timeout_seconds: float
    memory_bytes: int
    collector_on: bool = False


FULL = Settings(
    rounds=31,
    least_rounds=3,
    sample_seconds=0.01,
    budget_seconds=2.0,
    once_seconds=2.0,
    timeout_seconds=10.0,
    memory_bytes=4 << 30,
)
QUICK = Settings(
    rounds=5,
    least_rounds=1,
    sample_seconds=0.001,
    budget_seconds=0.04,
    once_seconds=0.1,
    timeout_seconds=0.3,
    memory_bytes=4 << 30,
)


# -- Endings -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Returned(Generic[T]):
    """The work ended by itself."""

    value: T


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds per call, one sample for each round taken part in."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(frozen=True, slots=True)
class Measured:
    """A quantity that needs no rounds, such as bytes."""

    value: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The work raised, or the system ended it."""

    reason: str

    def __str__(self) -> str:
        """The exception's or signal's name."""
        return self.reason


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The work was still going on when its time was over."""

    seconds: float

    def __str__(self) -> str:
        """The limit that was passed."""
        return f"timeout > {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class NotInstalled:
    """There is nothing to measure, and that is said."""

    def __str__(self) -> str:
        """The words of the table."""
        return "not installed"


Failure: TypeAlias = Failed | TimedOut | NotInstalled
Outcome: TypeAlias = Timed | Measured | Failure


# -- Contenders --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contender(Generic[T]):
    """One side of a comparison: a name, the distributions behind it, how to get its function."""

    name: str
    distributions: tuple[str, ...]
    load: Callable[[], T]


def load(contenders: Sequence[Contender[T]]) -> dict[str, T | Failure]:
    """Each contender's function, or why there is none."""
    loaded: dict[str, T | Failure] = {}
    for contender in contenders:
        try:
            loaded[contender.name] = contender.load()
        except ModuleNotFoundError:
            loaded[contender.name] = NotInstalled()
        except Exception as error:  # a broken peer is a result, not the end of the run
            loaded[contender.name] = Failed(type(error).__name__)
    return loaded


def installed(name: str) -> str:
    """The name of a module that can be imported, and is not: its processes will do that."""
    if importlib.util.find_spec(name) is None:
        raise ModuleNotFoundError(name)
    return name


# -- One call in a child -----------------------------------------------------------------------


def _mapped_bytes() -> int:
    """Address space in use, where the system tells; a limit is set beyond it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _report(work: Callable[[], T], sender: Connection, memory_bytes: int) -> None:
    gc.freeze()  # a collection must not copy the parent's pages into the child
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    ceiling = _mapped_bytes() + memory_bytes
    ending: Returned[T] | Failure
    try:
        if hard == resource.RLIM_INFINITY or ceiling < hard:
            resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
        ending = Returned(work())
    except MemoryError:
        ending = Failed("out of memory")
    except BaseException as error:  # whatever a contender raises is its result
        ending = Failed(type(error).__name__)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    sender.send(ending)


def ending_of(code: int) -> str:
    """The name of what ended a process, by its exit status."""
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def isolated(work: Callable[[], T], settings: Settings) -> Returned[T] | Failure:
    """What `work` returns in a forked child under limits, or the name of what ended it."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_report, args=(work, sender, settings.memory_bytes), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(settings.timeout_seconds):
            return TimedOut(settings.timeout_seconds)
        ending: Returned[T] | Failure = receiver.recv()
        return ending
    except EOFError:
        child.join()
        return Failed(ending_of(child.exitcode or 0))
    finally:
        child.kill()
        child.join()
        receiver.close()


def seconds_of_one(task: Task) -> float:
    if isinstance(task, Elsewhere):
        return task.perform(1)
    if isinstance(task, Fed):
        task = partial(task.act, task.make())
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def peak_bytes(task: Task, settings: Settings) -> Outcome:
    """Python memory one warm call needs at its peak, beyond what was there before."""

    def work() -> float:
        task()
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        task()
        _, peak = tracemalloc.get_traced_memory()
        return float(peak - before)

    # Tracing slows a call down several times, and how long it takes is not the question here.
    match isolated(work, replace(settings, timeout_seconds=4 * settings.timeout_seconds)):
        case Returned(value):
            return Measured(value)
        case failure:
            return failure


# -- Alternating rounds ------------------------------------------------------------------------


def _sample(task: Task, calls: int, *, warm: bool, collector_on: bool) -> float:
    """Seconds per call over `calls` calls, the collector in the state that was asked for."""
    if warm:
        task()
    if isinstance(task, Elsewhere):
        return task.perform(calls) / calls
    meals = [task.make() for _ in range(calls)] if isinstance(task, Fed) else None
    act: Callable[..., object] = task.act if isinstance(task, Fed) else task
    gc.collect()
    if not collector_on:
        gc.disable()
    try:
        start = time.perf_counter()
        if meals is None:
            for _ in range(calls):
                act()
        else:
            for meal in meals:
                act(meal)
        return (time.perf_counter() - start) / calls
    finally:
        gc.enable()


def _seconds_in_child(task: Task, settings: Settings) -> Returned[float] | Failure:
    return isolated(partial(seconds_of_one, task), settings)


def _seconds_here(task: Task, settings: Settings) -> Returned[float]:
    return Returned(seconds_of_one(task))


def _calls_of(
    task: Task, once: Callable[[Task, Settings], Returned[float] | Failure], settings: Settings
) -> int | Timed | Failure:
    """How many calls make a sample; or how the task ended when it was called for the first time."""
    try:
        match once(task, settings):
            case Returned(seconds) if seconds > settings.once_seconds:
                return Timed((seconds,))
            case Returned(seconds):
                if seconds < settings.budget_seconds:
                    task()  # what is built once, such as a class's plan, is built here
                warm = seconds_of_one(task)
                if warm < settings.sample_seconds:
                    warm = min(seconds_of_one(task) for _ in range(3))
                return max(1, round(settings.sample_seconds / max(warm, 1e-9)))
            case failure:
                return failure
    except NoAnswer as error:
        return Failed(str(error))


def alternate(
    tasks: Mapping[K, Task],
    settings: Settings,
    *,
    trusted: bool = False,
    settle: Callable[[], object] = lambda: None,
) -> dict[K, Timed | Failure]:
    """Time every task in turn, round after round; a task that cannot finish says why.

    Trusted tasks are known to finish, and are never called in a child. `settle` runs before
    each sample: it waits for what the one before has left to the system.
    """
    once = _seconds_here if trusted else _seconds_in_child
    endings: dict[K, Timed | Failure] = {}
    gc.collect()
    gc.freeze()  # and never thawed: what is freed by its last reference is freed all the same
    calls: dict[K, int] = {}
    for key, task in tasks.items():
        match _calls_of(task, once, settings):
            case int(repeat):
                calls[key] = repeat
            case ending:
                endings[key] = ending

    samples: dict[K, list[float]] = {key: [] for key in calls}
    spent = dict.fromkeys(calls, 0.0)
    for _ in range(settings.rounds):
        for key, repeat in calls.items():
            taken = samples[key]
            over = spent[key] >= settings.budget_seconds and len(taken) >= settings.least_rounds
            if over or key in endings:
                continue
            settle()
            short = not taken or taken[-1] < 10 * settings.sample_seconds
            try:
                seconds = _sample(
                    tasks[key], repeat, warm=short, collector_on=settings.collector_on
                )
            except NoAnswer as error:
                endings[key] = Failed(str(error))
                continue
            taken.append(seconds)
            spent[key] += seconds * repeat
    timed = {key: Timed(tuple(taken)) for key, taken in samples.items() if key not in endings}
    endings.update(timed)
    return {key: endings[key] for key in tasks}


def ratio(over: Outcome | None, under: Outcome | None) -> float | None:
    """How many times `under` goes into `over`.

    The median over the rounds both took part in; with too few of these, the medians' ratio.
    """
    match over, under:
        case Timed(a), Timed(b) if min(len(a), len(b)) >= 5:
            return statistics.median(x / y for x, y in zip(a, b, strict=False))
        case Timed(), Timed():
            return over.median / under.median
        case Measured(a), Measured(b) if b > 0:
            return a / b
        case _:
            return None


# -- Many processes at once --------------------------------------------------------------------


def together(works: Sequence[Task], settings: Settings) -> Returned[float] | Failure:
    """Seconds from the common start of one forked process for each work to the last one's end."""
    fork = multiprocessing.get_context("fork")
    barrier = fork.Barrier(len(works) + 1)

    def child(work: Task, sender: Connection) -> None:
        barrier.wait(settings.timeout_seconds)
        try:
            work()
            sender.send(Returned(time.monotonic()))  # the same clock in all processes
        except Exception as error:  # whatever a contender raises is its result
            sender.send(Failed(type(error).__name__))

    pipes = [fork.Pipe(duplex=False) for _ in works]
    children = [
        fork.Process(target=child, args=(work, sender), daemon=True)
        for work, (_, sender) in zip(works, pipes, strict=True)
    ]
    try:
        for process in children:
            process.start()
        barrier.wait(settings.timeout_seconds)
        start = last = time.monotonic()
        for receiver, _ in pipes:
            if not receiver.poll(max(0.0, start + settings.timeout_seconds - time.monotonic())):
                return TimedOut(settings.timeout_seconds)
            ending: Returned[float] | Failed = receiver.recv()
            if isinstance(ending, Failed):
                return ending
            last = max(last, ending.value)
        return Returned(last - start)
    finally:
        for process in children:
            process.join(1.0)
            process.kill()
            process.join()
        for pipe in pipes:
            for end in pipe:
                end.close()


# -- Results -----------------------------------------------------------------------------------


Unit: TypeAlias = Literal["µs", "ms", "GB/s", "bytes", "MB", "times"]


@dataclass(frozen=True, slots=True)
class Result:
    """What each contender made of one case of a family; costs are divided by `size`."""

    key: str
    title: str
    unit: Unit
    case: str
    size: int
    outcomes: dict[str, Outcome]

    def figure(self, name: str) -> float | None:
        """The contender's figure in the family's unit."""
        match self.outcomes.get(name), self.unit:
            case Timed() as timed, "GB/s":
                return self.size / timed.median / 1e9
            case Timed() as timed, "ms":
                return timed.median / self.size * 1e3
            case Timed() as timed, _:
                return timed.median / self.size * 1e6
            case Measured(value), "MB":
                return value / 1e6
            case Measured(value), _:
                return value / self.size
            case _:
                return None

    @property
    def failure(self) -> Failure | None:
        """Why whorl has no figure, if it has none."""
        match self.outcomes[SUBJECT]:
            case Timed() | Measured():
                return None
            case failure:
                return failure

    def ratio(self, name: str) -> float | None:
        """How many times more `name` costs than whorl, measured round by round."""
        return ratio(self.outcomes.get(name), self.outcomes.get(SUBJECT))

    def cell(self, name: str) -> str:
        """A figure with its ratio to whorl, or the name of the failure; nothing if not asked."""
        if name not in self.outcomes:
            return ""
        figure = self.figure(name)
        if figure is None:
            return str(self.outcomes[name])
        times = self.ratio(name) if name != SUBJECT and self.unit != "MB" else None
        shown = number_in(self.unit, figure)
        return shown if times is None else f"{shown} ({number(times, 2)}x)"


class Results(list[Result]):
    """Every result of a run, found by the names of its family and case."""

    def of(self, *keys: str) -> Results:
        return Results(result for result in self if result.key in keys)

    def find(self, key: str, case: str) -> Result | None:
        return next((result for result in self.of(key) if result.case == case), None)


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that was promised, the figure that was measured, or why whorl has none."""

    text: str
    bound: Literal["at least", "at most", "exactly"]
    wanted: float
    unit: str
    measured: float | None
    failure: Failure | None = None

    @property
    def verdict(self) -> str:
        if self.measured is None:
            failed = not isinstance(self.failure, NotInstalled | None)
            return "NOT met" if failed else "not measured"
        match self.bound:
            case "at least":
                met = self.measured >= self.wanted
            case "at most":
                met = self.measured <= self.wanted
            case "exactly":
                met = self.measured == self.wanted
        return "met" if met else "NOT met"

    @property
    def found(self) -> str:
        if self.measured is not None:
            return f"{number_in(self.unit, self.measured)} {self.unit}"
        return "-" if self.failure is None else str(self.failure)


# -- What is shown and kept --------------------------------------------------------------------


def number(value: float, digits: int = 3) -> str:
    """`digits` significant digits, thousands separated, no exponent for what is large."""
    if value == 0:
        return "0"
    if abs(value) < 0.1:
        return f"{value:#.{digits}g}"
    before_point = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(0, digits - before_point)}f}"


def number_in(unit: str, value: float) -> str:
    """A figure as it is shown: what was counted is whole."""
    return f"{value:,.0f}" if unit == "times" else number(value)


Row: TypeAlias = Sequence[str]


def table(header: Row, rows: Sequence[Row | str]) -> str:
    """Plain text in columns, the first one to the left; a row that is a string is a heading."""
    cells = [header, *(row for row in rows if not isinstance(row, str))]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row: Row) -> str:
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join([first, *rest]).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [line(header), rule]
    for row in rows:
        lines.extend(["", row] if isinstance(row, str) else [line(row)])
    return "\n".join(lines)


def results_table(
    results: Iterable[Result], names: Sequence[str], notes: Mapping[str, str] | None = None
) -> str:
    """One row for each case, one column for each name; a note is a row of its own below."""
    rows: list[Row | str] = []
    shown = ""
    for result in results:
        if result.title != shown:
            shown = result.title
            rows.append(shown)
        rows.append([f"  {result.case}", *(result.cell(name) for name in names)])
        for name, about in (notes or {}).items():
            figure = result.figure(name)
            if figure is not None:
                note = f"  ({name}, {about})"
                rows.append([note, number(figure), *[""] * (len(names) - 1)])
    return table(["", *names], rows)


def goals_table(judged: Sequence[Goal]) -> str:
    rows = [
        [
            goal.text,
            f"{goal.bound} {goal.wanted:.3g} {goal.unit}",
            goal.found,
            goal.verdict,
        ]
        for goal in judged
    ]
    return table(["Goal", "wanted", "measured", ""], rows)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def machine() -> dict[str, Any]:
    """What the figures depend on and nothing that says whose machine it is."""
    return {
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load_average": round(os.getloadavg()[0], 1),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def versions(distributions: Sequence[str]) -> dict[str, str]:
    """The version of each distribution, `not installed` where there is none."""
    found: dict[str, str] = {}
    for name in sorted(set(distributions)):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            importable = importlib.util.find_spec(name) is not None
            found[name] = "unknown" if importable else str(NotInstalled())
    return found


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON: seconds with quartiles, a quantity, or the name of the failure."""
    match outcome:
        case Timed(samples):
            low, high = min(samples), max(samples)
            if len(samples) > 1:
                low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
            return {
                "seconds": outcome.median,
                "quartiles": [low, high],
                "rounds": len(samples),
            }
        case Measured(value):
            return {"value": value}
        case failure:
            return {"failure": str(failure)}


def record(
    results: Iterable[Result], judged: Sequence[Goal], about: Mapping[str, Any]
) -> dict[str, Any]:
    """The run as JSON: machine and versions, every outcome, every goal."""
    return {
        **about,
        "cases": [
            {
                "family": result.key,
                "title": result.title,
                "case": result.case,
                "size": result.size,
                "unit": result.unit,
                "contenders": {
                    name: {
                        **outcome_record(outcome),
                        "figure": result.figure(name),
                        "cost_relative_to_whorl": result.ratio(name),
                    }
                    for name, outcome in result.outcomes.items()
                },
            }
            for result in results
        ],
        "goals": [
            {
                "goal": goal.text,
                "wanted": f"{goal.bound} {goal.wanted:g} {goal.unit}",
                "measured": goal.measured,
                "failure": None if goal.failure is None else str(goal.failure),
                "verdict": goal.verdict,
            }
            for goal in judged
        ],
    }


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plot_rows(results: Iterable[Result], names: Sequence[str]) -> dict[str, dict[str, float | str]]:
    """Per case the cost of each peer relative to whorl, or the name of its failure."""
    rows: dict[str, dict[str, float | str]] = {}
    for result in results:
        if result.unit == "MB" or result.figure(SUBJECT) is None:
            continue
        cells: dict[str, float | str] = {}
        for name in names:
            if name == SUBJECT or name not in result.outcomes:
                continue
            times = result.ratio(name)
            cells[name] = result.cell(name) if times is None else times
        if cells:
            rows[f"{result.key}: {result.case}"] = cells
    return rows


def plot_ratios(
    path: Path, title: str, rows: Mapping[str, Mapping[str, float | str]], subject: str
) -> str:
    """Draw each case's cost relative to `subject`, on a log axis; say what was done.

    A string instead of a number is a failure and stands at the right edge.
    """
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        return "No plot: matplotlib is not installed."
    if not rows:
        return "No plot: no case was compared."
    names = list(dict.fromkeys(name for cells in rows.values() for name in cells))
    numbers = [c for cells in rows.values() for c in cells.values() if not isinstance(c, str)]
    edge = 3 * max([10.0, *numbers])
    height = 1.6 + 0.34 * len(rows)
    figure, axes = pyplot.subplots(figsize=(10, height), layout="constrained")
    for index, name in enumerate(names):
        color, marker = f"C{index}", "osD^vPX"[index % 7]
        done = {y: cells[name] for y, cells in enumerate(rows.values()) if name in cells}
        timed = {y: cell for y, cell in done.items() if not isinstance(cell, str)}
        failed = [y for y, cell in done.items() if isinstance(cell, str)]
        spread = 0.11 * (index - (len(names) - 1) / 2)
        axes.scatter(
            list(timed.values()), list(timed), color=color, marker=marker, label=name, zorder=3
        )
        axes.scatter([edge] * len(failed), [y + spread for y in failed], color=color, marker="x")
    axes.axvline(1, color="black", linewidth=1)
    if any(isinstance(c, str) for cells in rows.values() for c in cells.values()):
        axes.axvline(edge / 1.6, color="grey", linewidth=0.6, linestyle=":")
        axes.text(edge, -1, "fails", ha="center", va="center", color="grey", fontsize=8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -1.4)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_xlabel(f"cost relative to {subject} (right of 1: {subject} is cheaper)")
    axes.set_title(title, fontsize=10)
    figure.legend(fontsize=8, loc="outside upper center", ncols=min(len(names), 6))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return f"Plot: {path.name}"


# -- The command -------------------------------------------------------------------------------


def arguments(script: str, description: str, keys: Sequence[str], quick: str) -> argparse.Namespace:
    """What the command line asks of a benchmark; `quick` says what is left out then."""
    name = Path(script).stem
    parser = argparse.ArgumentParser(
        description=description,
        epilog="The exit status is 0 whether or not the goals are met: this is a measurement.",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        default=Path(script).parent / "results" / f"{name}.json",
        help="where the record goes; the plot goes beside it as .png "
        f"(default: results/{name}.json beside this script)",
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--cases",
        default=",".join(keys),
        metavar="A,B",
        help=f"which cases to run, separated by commas, out of: {', '.join(keys)} (default: all)",
    )
    parser.add_argument(
        "--gc",
        choices=("off", "on"),
        default="off",
        help="the garbage collector inside a timed sample (default: off, as in timeit)",
    )
    parsed = parser.parse_args()
    parsed.cases = [key.strip() for key in parsed.cases.split(",") if key.strip()]
    unknown = [key for key in parsed.cases if key not in keys]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(keys)}")
    return parsed


class Run:
    """One run of a benchmark: how it measures, what it depends on, what becomes of the results."""

    def __init__(self, options: argparse.Namespace, distributions: Sequence[str]) -> None:
        self.options = options
        chosen = QUICK if options.quick else FULL
        self.settings = replace(chosen, collector_on=options.gc == "on")
        self._start = time.perf_counter()
        self._about: dict[str, Any] = {
            "machine": machine(),
            "versions": versions(distributions),
            "settings": {
                "mode": "quick" if options.quick else "full",
                "rounds": self.settings.rounds,
                "timeout_seconds": self.settings.timeout_seconds,
                "memory_limit_bytes": self.settings.memory_bytes,
                "collector": options.gc,
            },
        }

    def begins(self, title: str) -> None:
        """Say what is measured next."""
        print(f"{time.perf_counter() - self._start:6.1f} s  {title}", file=sys.stderr)

    def publish(
        self,
        title: str,
        results: Results,
        judged: Sequence[Goal],
        tables: Sequence[str],
        names: Sequence[str],
    ) -> None:
        """Print the tables and the goals; write the record, and the plot of `names` beside it."""
        for part, held in self._about.items():
            print(f"{part}: " + ", ".join(f"{name} {value}" for name, value in held.items()))
        print("\nIn brackets: the cost divided by that of whorl, median over paired rounds.\n")
        for shown in [*tables, *([goals_table(judged)] if judged else [])]:
            print(shown, end="\n\n")
        path = self.options.json
        write_json(path, record(results, judged, self._about))
        print(f"Record: {path.name}")
        title = f"{title}, {self._about['machine']['python']}"
        print(plot_ratios(path.with_suffix(".png"), title, plot_rows(results, names), SUBJECT))
        print(f"Took {time.perf_counter() - self._start:.0f} s.")
