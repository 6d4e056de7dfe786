"""The statistics of a directory in, how well the cache works out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from whorl.late import dataclass
from whorl.store import DirectoryStore, ProgramTotals, Totals
from whorl.store.catalogue import Listed, catalogue

from . import words
from .given import NAME
from .opened import opened, said_to_be_empty
from .output import Column, common, facts, heading, line, say, table
from .selection import is_of

__all__ = ["Summary", "command", "summary_of_rows"]

USUAL_LIMIT: Final = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a program now."""

    entries: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """What a directory holds, and what its processes have counted."""

    totals: Totals
    kinds: dict[str, Kept]
    programs: dict[str, Kept]

    @property
    def entries(self) -> int:
        """How many entries there are, of all kinds."""
        return sum(kept.entries for kept in self.kinds.values())

    @property
    def size(self) -> int:
        """How many bytes these have."""
        return sum(kept.size for kept in self.kinds.values())

    def rows(self) -> list[tuple[str, Kept, ProgramTotals]]:
        """Every program that is kept or was used, those first that saved most."""
        nothing, unused = Kept(), ProgramTotals()
        names = {**self.programs, **self.totals.programs}
        rows = [
            (name, self.programs.get(name, nothing), self.totals.programs.get(name, unused))
            for name in names
            if name
        ]
        return sorted(rows, key=lambda row: (-row[2].saved, -row[1].size, row[0]))


def summary_of_rows(store: DirectoryStore, rows: Iterable[Listed]) -> Summary:
    """What the entries of a store and its statistics come to."""
    by_kind: defaultdict[str, list[int]] = defaultdict(list)
    by_program: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row.size)
        if not row.is_bookkeeping:
            by_program[row.program].append(row.size)
    totals = Totals.of(store.root / "statistics")
    return Summary(totals, _kept(by_kind), _kept(by_program))


def _kept(sizes: dict[str, list[int]]) -> dict[str, Kept]:
    return {name: Kept(len(found), sum(found)) for name, found in sizes.items()}


@click.command("stats")
@click.argument("program", type=NAME, required=False)
@click.option("-n", "--limit", type=click.IntRange(0), default=None,
              help="Show so many programs; 0 for all.  [default: 20, all as JSON]")  # fmt: skip
@common
def command(program: str | None, limit: int | None, as_json: bool, cache_dir: str | None) -> None:
    """Hits, misses by reason, time saved and size: of the whole cache, and per program.

    PROGRAM narrows the table to some programs: a name, the end of one, or with * and ?.

    \b
    Example:
      whorl stats
      whorl stats 'solver.*' --json
    """  # \b is click's
    store = opened(cache_dir)
    summary = summary_of_rows(store, catalogue(store))
    rows = [row for row in summary.rows() if program is None or is_of(row[0], program)]
    if limit is None:
        limit = 0 if as_json else USUAL_LIMIT
    shown = rows[:limit] if limit else rows
    if as_json:
        say(_plain(store, summary, shown))
        return
    if said_to_be_empty(store):
        return
    _print_totals(store, summary)
    _print_tiers(summary.totals)
    if program is not None and not rows:
        click.echo(f"whorl: no program is called {words.printable(program)}.", err=True)
    _print_programs(shown)
    if len(shown) < len(rows):
        line(f"and {len(rows) - len(shown)} more; --limit 0 shows all", "dim")


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
                "program": name, "entries": kept.entries, "size": kept.size, "found": sums.found,
                "made": sums.made, "seconds_saved": sums.saved, "seconds_spent": sums.spent,
            }
            for name, kept, sums in rows
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
    heading(str(store.root))
    kinds = ", ".join(f"{kept.entries} {kind}" for kind, kept in sorted(summary.kinds.items()))
    full = words.share(summary.size / store.max_size)
    facts(
        [
            ("size", f"{words.size(summary.size)}, {full} of {words.size(store.max_size)}"),
            ("entries", f"{summary.entries}" + (f" ({kinds})" if kinds else "")),
            ("hits", f"{totals.hits}"),
            *((name, str(n)) for name, n in _most_first(misses)),
            *((f"made: {cause}", str(n)) for cause, n in _most_first(totals.causes)),
            *((name, str(n)) for name, n in others.items()),
            ("time saved", words.duration(totals.seconds_saved)),
            ("time spent", words.duration(totals.seconds_spent)),
            ("read", words.size(totals.bytes_read)),
            ("written", words.size(totals.bytes_written)),
        ],
        "  ",
    )


def _print_tiers(totals: Totals) -> None:
    """What each shared cache has done for the processes of this machine."""
    for name, row in sorted(totals.tiers.items()):
        line()
        heading(name)
        requests = row.get("requests", 0)
        each = f", {row.get('seconds', 0.0) / requests * 1000:.1f} ms each" if requests else ""
        facts(
            [
                ("hits", f"{row.get('hits', 0):.0f}"),
                ("misses", f"{row.get('misses', 0):.0f}"),
                *((what, f"{row[what]:.0f}") for what in sorted(row) if ": " in what),
                *((what, f"{row[what]:.0f}") for what in ("dropped", "rests") if row.get(what)),
                ("stored", f"{row.get('stored', 0):.0f}"),
                ("requests", f"{requests:.0f}{each}"),
                ("received", words.size(row.get("bytes_in", 0))),
                ("sent", words.size(row.get("bytes_out", 0))),
                ("time saved", words.duration(row.get("seconds_saved", 0.0))),
            ],
            "  ",
        )


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _print_programs(rows: list[tuple[str, Kept, ProgramTotals]]) -> None:
    if not rows:
        return
    line()
    columns = [
        Column("program", can_fold=True), Column("found", True), Column("made", True),
        Column("saved", True, "green"), Column("spent", True), Column("kept", True),
        Column("size", True),
    ]  # fmt: skip
    table(
        columns,
        [
            (name, str(sums.found), str(sums.made), words.duration(sums.saved),
             words.duration(sums.spent), str(kept.entries), words.size(kept.size))
            for name, kept, sums in rows
        ],
    )  # fmt: skip
