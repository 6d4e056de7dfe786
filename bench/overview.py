"""Names of benchmarks in, each run in a process of its own; one table and plot of all goals out.

`make bench` and `make bench-quick` run this. A benchmark that fails does not stop the others; it
is named in the table, and the exit status is 1 in the end. Goals that are not met, and peers that
are not installed, do not change the exit status: this is a measurement.

The records of quick runs go to `results/quick/`, so that a first look does not replace figures
that took long. `--show` runs nothing and shows the records that are there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import number_in, table, write_json

HERE = Path(__file__).parent
MET, MISSED, SILENT = "met", "NOT met", "not measured"
DRAWN = {MET: ("C2", "o"), MISSED: ("C3", "D"), SILENT: ("0.6", "x")}
FURTHEST = 1000.0  # the plot's edges: a figure of nothing is infinitely good


@dataclass(frozen=True, slots=True)
class Judged:
    """One goal of a record: what was promised, what was measured, whether that is enough."""

    text: str
    bound: str
    wanted: float
    unit: str
    measured: float | None
    failure: str | None
    verdict: str

    @classmethod
    def of(cls, goal: dict[str, Any]) -> Judged:
        """From a record; `at most 1.5 x` is how what was wanted is written there."""
        written = re.fullmatch(r"(at most|at least|exactly) (\S+) ?(.*)", goal["wanted"])
        if written is None:
            raise ValueError(f"a goal that wants {goal['wanted']!r}")
        bound, wanted, unit = written.groups()
        return cls(
            goal["goal"],
            bound,
            float(wanted),
            unit,
            goal["measured"],
            goal["failure"],
            goal["verdict"],
        )

    @property
    def row(self) -> list[str]:
        found = "-" if self.failure is None else self.failure
        if self.measured is not None:
            found = f"{number_in(self.unit, self.measured)} {self.unit}"
        wanted = f"{self.bound} {self.wanted:.3g} {self.unit}"
        return [f"  {self.text}", wanted, found, self.verdict]

    @property
    def times_better(self) -> float | None:
        """How many times better than wanted; below 1 it is worse."""
        if self.measured is None:
            return None
        one, other = self.measured, self.wanted
        if self.bound == "at most":
            one, other = other, one
        elif self.bound == "exactly":
            one, other = (1.0, 1.0) if one == other else sorted((one, other))
        better = one / other if other else FURTHEST
        return min(FURTHEST, max(1 / FURTHEST, better))


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark: its goals and how it was run, or why there is nothing to show."""

    name: str
    goals: tuple[Judged, ...] = ()
    about: str = ""
    trouble: str = ""
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        if self.trouble:
            return f"{self.name}: {self.trouble}"
        return f"{self.name} ({self.about})" if self.about else self.name

    @property
    def summary(self) -> dict[str, Any]:
        """The record without its cases, or what is known instead."""
        kept = {name: part for name, part in self.record.items() if name != "cases"}
        return kept or {"trouble": self.trouble}

    @classmethod
    def read(cls, path: Path, *, since: float = 0.0) -> Bench:
        """The goals of a record, if it was written since then."""
        name = path.stem
        try:
            if path.stat().st_mtime < since:
                return cls(name, trouble="it wrote no record")
            record = json.loads(path.read_text(encoding="utf-8"))
            goals = tuple(map(Judged.of, record.get("goals", ())))
        except FileNotFoundError:
            return cls(name, trouble="there is no record")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return cls(name, trouble=f"its record cannot be read: {error!r}")
        return cls(
            name, goals, _about(record) if goals else "its record has no goals", record=record
        )


def _about(record: dict[str, Any]) -> str:
    """How a run was made, as far as its record says."""
    machine = record.get("machine", {})
    load = machine.get("load_average")
    said = (
        record.get("settings", {}).get("mode"),
        machine.get("python"),
        None if load is None else f"load {load}",
    )
    return ", ".join(part for part in said if part)


def run(name: str, script: Path, record: Path, options: Sequence[str]) -> Bench:
    """Run one benchmark, its output as it comes, and read what it wrote."""
    print(f"\n== {name} {' '.join(options)}".rstrip(), flush=True)
    if not script.exists():
        return Bench(name, trouble=f"there is no {script.name}")
    begun = time.time() - 1  # clocks of file systems tick slowly
    chosen = [] if any(option.startswith("--json") for option in options) else ["--json", record]
    ended = subprocess.run([sys.executable, script, *chosen, *options], check=False)
    if ended.returncode:
        how = "exit status" if ended.returncode > 0 else "signal"
        return Bench(name, trouble=f"it failed, {how} {abs(ended.returncode)}")
    if not chosen:
        return Bench(name, about="its record is where --json says")
    return Bench.read(record, since=begun)


def goals_of(benches: Sequence[Bench]) -> str:
    """One table of all goals, and how many are met."""
    rows: list[Sequence[str] | str] = []
    for bench in benches:
        rows.append(bench.heading)
        rows += [goal.row for goal in bench.goals]
    counts = Counter(goal.verdict for bench in benches for goal in bench.goals)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (MET, MISSED, SILENT))
    shown = table(["Goal", "wanted", "measured", ""], rows) if counts else "\n".join(map(str, rows))
    failed = [bench.name for bench in benches if bench.trouble]
    trouble = f"\nWithout figures: {', '.join(failed)}." if failed else ""
    return f"{shown}\n\n{counts.total()} goals: {total}.{trouble}"


def plot(path: Path, benches: Sequence[Bench]) -> str:
    """Draw how far each goal is met or missed, on a log axis; say what was done."""
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        return "No plot: matplotlib is not installed."
    rows = [(bench.name, goal) for bench in benches for goal in bench.goals]
    if not rows:
        return "No plot: no goal was judged."
    figure, axes = pyplot.subplots(figsize=(11, 1.4 + 0.19 * len(rows)), layout="constrained")
    for verdict, (colour, marker) in DRAWN.items():
        here = {y: goal.times_better for y, (_, goal) in enumerate(rows) if goal.verdict == verdict}
        places = [1.0 if better is None else better for better in here.values()]
        label = f"{verdict} ({len(here)})"
        axes.scatter(places, list(here), color=colour, marker=marker, s=22, label=label, zorder=3)
    axes.axvline(1, color="black", linewidth=1)
    for y in range(1, len(rows)):
        if rows[y][0] != rows[y - 1][0]:
            axes.axhline(y - 0.5, color="0.8", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [_short(f"{n}: {goal.text}") for n, goal in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.set_xlabel("times better than wanted (right of 1: met)")
    figure.legend(fontsize=8, loc="outside upper center", ncols=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    return f"Plot: {path.name}"


def _short(text: str) -> str:
    return text if len(text) <= 88 else f"{text[:85]}..."


def arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description="Run benchmarks and show all of their goals in one table and one plot.",
        epilog="Other options, such as --quick, go to each benchmark.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark: NAME.py")
    parser.add_argument("--show", action="store_true", help="run nothing, show the last records")
    parser.add_argument(
        "--benches", type=Path, default=HERE, help="the directory of the benchmarks"
    )
    parser.add_argument("--results", type=Path, help="where records go (default: results/)")
    options, others = parser.parse_known_args()
    if not options.names and not options.show:
        parser.error("which benchmarks? `make bench` names them all; --show needs none")
    if options.results is None:
        quick = "--quick" in others
        options.results = options.benches / "results" / ("quick" if quick else "")
    return options, others


def main() -> int:
    options, others = arguments()
    results: Path = options.results
    if options.show:
        recorded = sorted(path.stem for path in results.glob("*.json") if path.stem != "summary")
        names = options.names or recorded
        benches = [Bench.read(results / f"{name}.json") for name in names]
    else:
        benches = [
            run(name, options.benches / f"{name}.py", results / f"{name}.json", others)
            for name in options.names
        ]
    print(f"\n{goals_of(benches)}\n")
    write_json(results / "summary.json", {bench.name: bench.summary for bench in benches})
    print(f"Record: summary.json\n{plot(results / 'summary.png', benches)}")
    return int(any(bench.trouble for bench in benches))


if __name__ == "__main__":
    sys.exit(main())
