"""`whorl stats`: prints hits, misses, time saved and size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from whorl.fast_dataclasses import dataclass
from whorl.store import DirectoryStore, ProgramTotals, Totals
from whorl.store.catalogue import Listed, catalogue

from . import units
from .cache_directory import open_store, report_missing_cache
from .failures import NAME
from .output import (
    Column,
    common_options,
    print_facts,
    print_heading,
    print_json,
    print_line,
    print_table,
)
from .selection import matches_program

DEFAULT_LIMIT: Final = 20


@dataclass(frozen=True, slots=True)
class Footprint:
    """The number and the size of stored entries."""

    entries: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """The entries of a cache directory, and the statistics of its processes."""

    totals: Totals
    kinds: dict[str, Footprint]
    programs: dict[str, Footprint]

    @property
    def entries(self) -> int:
        """The number of entries of all kinds."""
        return sum(footprint.entries for footprint in self.kinds.values())

    @property
    def size(self) -> int:
        """The size of these entries in bytes."""
        return sum(footprint.size for footprint in self.kinds.values())

    def rows(self) -> list[tuple[str, Footprint, ProgramTotals]]:
        """Every program that has entries or was used, sorted by the time saved."""
        nothing, unused = Footprint(), ProgramTotals()
        names = {**self.programs, **self.totals.programs}
        rows = [
            (name, self.programs.get(name, nothing), self.totals.programs.get(name, unused))
            for name in names
            if name
        ]
        return sorted(rows, key=lambda row: (-row[2].saved, -row[1].size, row[0]))


def summary_of_rows(store: DirectoryStore, rows: Iterable[Listed]) -> Summary:
    """Summarize the entries and the statistics of a store."""
    by_kind: defaultdict[str, list[int]] = defaultdict(list)
    by_program: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row.size)
        if not row.is_bookkeeping:
            by_program[row.program].append(row.size)
    totals = Totals.of(store.root / "statistics")
    return Summary(totals, _footprints(by_kind), _footprints(by_program))


def _footprints(sizes: dict[str, list[int]]) -> dict[str, Footprint]:
    return {name: Footprint(len(each), sum(each)) for name, each in sizes.items()}


@click.command("stats")
@click.argument("program", type=NAME, required=False)
@click.option("-n", "--limit", type=click.IntRange(0), default=None,
              help="Show at most so many; 0 for all.  [default: 20, all as JSON]")  # fmt: skip
@common_options
def command(program: str | None, limit: int | None, as_json: bool, cache_dir: str | None) -> None:
    """Show hits, misses by reason, time saved and size, in total and per program.

    PROGRAM selects programs: a name, the end of one, or a pattern with * and ?.

    \b
    Example:
      whorl stats
      whorl stats 'solver.*' --json
    """  # \b is click's
    store = open_store(cache_dir)
    summary = summary_of_rows(store, catalogue(store))
    rows = [row for row in summary.rows() if program is None or matches_program(row[0], program)]
    if limit is None:
        limit = 0 if as_json else DEFAULT_LIMIT
    shown = rows[:limit] if limit else rows
    if as_json:
        print_json(_plain(store, summary, shown))
        return
    if report_missing_cache(store):
        return
    _print_totals(store, summary)
    _print_tiers(summary.totals)
    if program is not None and not rows:
        click.echo(f"whorl: no program is called {units.printable(program)}.", err=True)
    _print_programs(shown)
    if len(shown) < len(rows):
        print_line(f"and {len(rows) - len(shown)} more; --limit 0 shows all", "dim")


def _plain(store: DirectoryStore, summary: Summary, rows: list[Any]) -> dict[str, Any]:
    totals = summary.totals
    return {
        "directory": str(store.root),
        "max_size": store.max_size,
        "size": summary.size,
        "entries": summary.entries,
        "kinds": {k: {"entries": v.entries, "size": v.size} for k, v in summary.kinds.items()},
        "hits": totals.hits,
        "hit_rate": totals.hit_rate,
        "misses": {ending.value: n for ending, n in totals.misses.items()},
        "compiled": sum(totals.causes.values()),
        "causes": dict(totals.causes),
        "endings": {ending.value: n for ending, n in totals.endings.items()},
        "seconds_saved": totals.seconds_saved,
        "seconds_spent": totals.seconds_spent,
        "bytes_read": totals.bytes_read,
        "bytes_written": totals.bytes_written,
        "tiers": {name: dict(row) for name, row in sorted(totals.tiers.items())},
        "programs": [
            {
                "program": name, "entries": footprint.entries, "size": footprint.size,
                "found": sums.found, "made": sums.made,
                "seconds_saved": sums.saved, "seconds_spent": sums.spent,
            }
            for name, footprint, sums in rows
        ],
    }  # fmt: skip


def _print_totals(store: DirectoryStore, summary: Summary) -> None:
    totals = summary.totals
    misses = {ending.value: n for ending, n in totals.misses.items()}
    others = {
        ending.value: n
        for ending, n in totals.endings.items()
        if n and not ending.is_miss and ending.value not in ("hit", "stored")
    }
    print_heading(str(store.root))
    kinds = ", ".join(
        f"{footprint.entries} {kind}" for kind, footprint in sorted(summary.kinds.items())
    )
    full = units.share(summary.size / store.max_size)
    print_facts(
        [
            (
                "size",
                f"{units.size(summary.size)}, {full} of {units.size(store.max_size)}",
            ),
            ("entries", f"{summary.entries}" + (f" ({kinds})" if kinds else "")),
            ("hits", f"{totals.hits}"),
            *((name, str(n)) for name, n in _most_first(misses)),
            *((f"made: {cause}", str(n)) for cause, n in _most_first(totals.causes)),
            *((name, str(n)) for name, n in others.items()),
            ("time saved", units.duration(totals.seconds_saved)),
            ("time spent", units.duration(totals.seconds_spent)),
            ("read", units.size(totals.bytes_read)),
            ("written", units.size(totals.bytes_written)),
        ],
        "  ",
    )


def _print_tiers(totals: Totals) -> None:
    """What each shared cache has done for the processes of this machine."""
    for name, row in sorted(totals.tiers.items()):
        print_line()
        print_heading(name)
        print_facts(tier_facts(row), "  ")


def tier_facts(row: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a shared cache has done, in words.

    >>> dict(tier_facts({"hits": 2, "requests": 4, "seconds": 0.02}))["requests"]
    '4, 5.0 ms each'
    """
    counted: Counter[str] = Counter(row)
    requests = counted["requests"]
    each = f", {counted['seconds'] / requests * 1000:.1f} ms each" if requests else ""
    return [
        ("hits", f"{counted['hits']:.0f}"),
        ("misses", f"{counted['misses']:.0f}"),
        *((what, f"{row[what]:.0f}") for what in sorted(row) if ": " in what),
        *([("breaker", _breaker(counted))] if counted["opened"] or counted["rests"] else []),
        *([("dropped", f"{counted['dropped']:.0f}")] if counted["dropped"] else []),
        ("stored", f"{counted['stored']:.0f}"),
        ("requests", f"{requests:.0f}{each}"),
        ("received", units.size(counted["bytes_in"])),
        ("sent", units.size(counted["bytes_out"])),
        ("saved here", units.duration(counted["seconds_saved"])),
        ("given to others", units.duration(counted["seconds_shared"])),
    ]


def _breaker(row: Mapping[str, float]) -> str:
    times = f"opened {row['opened']:.0f} time{'' if row['opened'] == 1 else 's'}"
    return f"{times}, {row['rests']:.0f} requests not made meanwhile"


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _print_programs(rows: list[tuple[str, Footprint, ProgramTotals]]) -> None:
    if not rows:
        return
    print_line()
    columns = [
        Column("program", can_fold=True), Column("found", True), Column("made", True),
        Column("saved", True, "green"), Column("spent", True), Column("kept", True),
        Column("size", True),
    ]  # fmt: skip
    print_table(
        columns,
        [
            (name, str(sums.found), str(sums.made), units.duration(sums.saved),
             units.duration(sums.spent), str(footprint.entries), units.size(footprint.size))
            for name, footprint, sums in rows
        ],
    )  # fmt: skip
