"""`whorl report`: writes one HTML page about the cache, which needs only a browser."""

from __future__ import annotations

import json
import time
from collections import Counter
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Final

import click

from whorl.fast_dataclasses import replace
from whorl.store import DirectoryStore, Totals
from whorl.store.catalogue import Listed, catalogue
from whorl.store.journal import Change, Journal, Miss

from . import units
from .cache_directory import open_store
from .chart import Bar, area, bars, ranking
from .destination import Destination
from .output import common_options, print_json
from .parameter_types import PathParameter
from .stats import Summary, summary_of_rows

__all__ = ["command", "page"]

ROWS: Final = 5000  # entries in the table: the newest ones
MISSES: Final = 200
DAYS: Final = 30
POINTS: Final = 400  # of a line


@click.command("report")
@click.option(
    "-o",
    "--output",
    type=PathParameter(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write; an existing file is replaced.",
)
@common_options
def command(output: Path, as_json: bool, cache_dir: str | None) -> None:
    """Write one HTML page: entries, size over time, time saved, misses by reason.

    The page needs no server and no network. It names programs, paths of reads and lines of
    source: check it before you give it to others.

    \b
    Example:
      whorl report -o report.html
    """  # \b is click's
    destination = Destination.of(output, as_json=as_json)
    data = page(open_store(cache_dir)).encode()
    with destination.put() as file:
        file.write_bytes(data)
    if as_json:
        print_json({"report": str(output), "size": len(data)})
    else:
        destination.report(f"wrote {output}, {units.size(len(data))}")


def page(store: DirectoryStore) -> str:
    """The page about a store."""
    rows = sorted(catalogue(store), key=lambda row: -row.made)
    summary = summary_of_rows(store, rows)
    template = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        directory=escape(units.printable(str(store.root))),
        when=escape(units.moment(time.time())),
        version=escape(str(_version())),
        tiles=_tiles(store, summary),
        growth=area(_growth(rows), units.size),
        saved=bars(_days(store), units.duration, ("saved", "spent")),
        causes=ranking(_causes(summary)),
        data=_embedded(_data(store, rows, summary)),
    )


def _version() -> object:
    import sys

    return vars(sys.modules["whorl"])["__version__"]


def _tiles(store: DirectoryStore, summary: Summary) -> str:
    totals = summary.totals
    made = sum(totals.causes.values())
    lookups = totals.hits + made
    tiles = [
        ("size", units.size(summary.size), f"of {units.size(store.max_size)}"),
        ("entries", f"{summary.entries:,}", f"{len(summary.programs)} programs"),
        (
            "hits",
            f"{totals.hits:,}",
            units.share(totals.hits / lookups) if lookups else "none yet",
        ),
        ("compiled", f"{made:,}", f"in {units.duration(totals.seconds_spent)}"),
        ("time saved", units.duration(totals.seconds_saved), "of compiling"),
    ]
    return "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b>'
        f"<small>{escape(note)}</small></div>"
        for name, value, note in tiles
    )


def _growth(rows: list[Listed]) -> list[tuple[float, float]]:
    """How the total size of the current entries has grown."""
    points = []
    total = 0
    for row in sorted(rows, key=lambda row: row.made or row.used):
        total += row.size
        points.append((row.made or row.used, float(total)))
    if len(points) > POINTS:
        every = len(points) / POINTS
        points = [*(points[int(i * every)] for i in range(POINTS)), points[-1]]
    return points


def _days(store: DirectoryStore) -> list[Bar]:
    """Time saved and spent on the last days with any activity."""
    days = Totals.by_day(store.root / "statistics")
    return [
        Bar(time.strftime("%Y-%m-%d", time.gmtime(day * 86400)), sums.seconds_saved,
            sums.seconds_spent)
        for day, sums in sorted(days.items())
        if day and (sums.seconds_saved or sums.seconds_spent)
    ][-DAYS:]  # fmt: skip


def _causes(summary: Summary) -> list[Bar]:
    """The causes of misses, and lookups that failed because of the store."""
    counted = Counter(summary.totals.causes)
    for ending, n in summary.totals.misses.items():
        name = ending.value.removeprefix("miss: ")
        if name != "absent":  # the other causes count it already
            counted[f"entry {name}"] += n
    most = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    return [Bar(name[:50], n) for name, n in most[:8] if n > 0]


def _data(store: DirectoryStore, rows: list[Listed], summary: Summary) -> dict[str, Any]:
    """The data of the tables on the page."""
    return {
        "entries": [
            [str(row.name.key), units.printable(row.kind),
             units.printable(row.program or row.trouble or row.toolchain), row.size,
             row.seconds, row.made, row.used, int(row.is_bookkeeping)]
            for row in rows[:ROWS]
        ],
        "total": len(rows),
        "programs": [
            [units.printable(name), sums.found, sums.made, sums.saved, sums.spent,
             footprint.entries, footprint.size]
            for name, footprint, sums in summary.rows()[:ROWS]
        ],
        "misses": [_shown(miss) for miss in Journal(store.root).misses()[-MISSES:]][::-1],
    }  # fmt: skip


def _shown(miss: Miss) -> dict[str, Any]:
    texts = []
    for each in miss.differences:
        path, old, new, line = map(units.printable, each[:4])
        texts.append(Change(path, old, new, line))
    program, reason = units.printable(miss.program), units.printable(miss.reason)
    return replace(miss, program=program, reason=reason, differences=tuple(texts)).as_plain()


def _embedded(data: object) -> str:
    """JSON for a script element: no text in it can close the element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
