"""A cache directory in, one HTML page about it out, which needs nothing but a browser."""

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

from whorl.late import replace
from whorl.store import DirectoryStore, Totals
from whorl.store.catalogue import Listed, catalogue
from whorl.store.journal import Difference, Journal, Miss

from . import words
from .chart import Bar, area, bars, ranking
from .destination import Destination
from .given import Place
from .opened import opened
from .output import common, say
from .stats import Summary, summary_of_rows

__all__ = ["command", "page"]

ROWS: Final = 5000  # entries in the table: those made last
MISSES: Final = 200
DAYS: Final = 30
POINTS: Final = 400  # of a line


@click.command("report")
@click.option(
    "-o",
    "--output",
    type=Place(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write; one that is there is replaced.",
)
@common
def command(output: Path, as_json: bool, cache_dir: str | None) -> None:
    """Write one HTML page: what is cached, size over time, time saved, misses by reason.

    The page needs no server and no network. It names programs, paths of reads and lines of
    source: look at it before you give it to others.

    \b
    Example:
      whorl report -o report.html
    """  # \b is click's
    destination = Destination.of(output, as_json=as_json)
    data = page(opened(cache_dir)).encode()
    with destination.put() as made:
        made.write_bytes(data)
    if as_json:
        say({"report": str(output), "size": len(data)})
    else:
        destination.tell(f"wrote {output}, {words.size(len(data))}")


def page(store: DirectoryStore) -> str:
    """The page about a store."""
    rows = sorted(catalogue(store), key=lambda row: -row.made)
    summary = summary_of_rows(store, rows)
    template = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        directory=escape(words.printable(str(store.root))),
        when=escape(words.moment(time.time())),
        version=escape(str(_version())),
        tiles=_tiles(store, summary),
        growth=area(_growth(rows), words.size),
        saved=bars(_days(store), words.duration, ("saved", "spent")),
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
        ("size", words.size(summary.size), f"of {words.size(store.max_size)}"),
        ("entries", f"{summary.entries:,}", f"{len(summary.programs)} programs"),
        ("hits", f"{totals.hits:,}", words.share(totals.hits / lookups) if lookups else "none yet"),
        ("compiled", f"{made:,}", f"in {words.duration(totals.seconds_spent)}"),
        ("time saved", words.duration(totals.seconds_saved), "of compiling"),
    ]
    return "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b>'
        f"<small>{escape(note)}</small></div>"
        for name, value, note in tiles
    )


def _growth(rows: list[Listed]) -> list[tuple[float, float]]:
    """How much of what is kept now was there at which time."""
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
    """Time saved and spent on the last days on which there was any."""
    days = Totals.by_day(store.root / "statistics")
    return [
        Bar(time.strftime("%Y-%m-%d", time.gmtime(day * 86400)), sums.seconds_saved,
            sums.seconds_spent)
        for day, sums in sorted(days.items())
        if day and (sums.seconds_saved or sums.seconds_spent)
    ][-DAYS:]  # fmt: skip


def _causes(summary: Summary) -> list[Bar]:
    """Why things were made, and lookups that failed because of the medium."""
    counted = Counter(summary.totals.causes)
    for ending, n in summary.totals.misses.items():
        name = ending.value.removeprefix("miss: ")
        if name != "absent":  # which is what all of the others begin with
            counted[f"entry {name}"] += n
    most = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    return [Bar(name[:50], n) for name, n in most[:8] if n > 0]


def _data(store: DirectoryStore, rows: list[Listed], summary: Summary) -> dict[str, Any]:
    """What the tables of the page show."""
    return {
        "entries": [
            [str(row.name.key), words.printable(row.kind),
             words.printable(row.program or row.trouble or row.toolchain), row.size,
             row.seconds, row.made, row.used, int(row.is_bookkeeping)]
            for row in rows[:ROWS]
        ],
        "total": len(rows),
        "programs": [
            [words.printable(name), sums.found, sums.made, sums.saved, sums.spent, kept.entries,
             kept.size]
            for name, kept, sums in summary.rows()[:ROWS]
        ],
        "misses": [_shown(miss) for miss in Journal(store.root).misses()[-MISSES:]][::-1],
    }  # fmt: skip


def _shown(miss: Miss) -> dict[str, Any]:
    texts = [Difference(*map(words.printable, each)) for each in miss.differences]
    program, reason = words.printable(miss.program), words.printable(miss.reason)
    return replace(miss, program=program, reason=reason, differences=tuple(texts)).as_plain()


def _embedded(data: object) -> str:
    """JSON that can stand in a page: no text in it can end the element that it stands in."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
