"""`whorl report`: writes one HTML page about the cache, which needs only a browser."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

import click

from whorl.fast_dataclasses import replace
from whorl.store import DirectoryStore, Totals
from whorl.store.catalogue import Listed, catalogue
from whorl.store.journal import Change, Journal, Miss

from . import units
from .cache_directory import open_store
from .failures import PathParameter
from .output import Destination, common_options, print_json
from .stats import Summary, summary_of_rows, tier_facts

# -- charts ----------------------------------------------------------------------------
#
# Draws small charts as SVG. They take their colours from the page that contains them.


WIDTH: Final = 400
HEIGHT: Final = 190
LEFT: Final = 58
RIGHT: Final = 12
TOP: Final = 12
BOTTOM: Final = 26


class Bar(NamedTuple):
    """A label with one or two numbers."""

    label: str
    value: float
    other: float = 0.0


def area(points: Sequence[tuple[float, float]], format: Callable[[float], str]) -> str:
    """Draw a quantity that grows over time, as a filled line.

    >>> "<path" in area([(0.0, 1.0), (10.0, 2.0)], units.size)
    True
    """
    if not points:
        return _nothing()
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1.0)
    ticks = _ticks(max(value for _, value in points), format)
    top = ticks[-1][0]

    def place(at: float, value: float) -> tuple[float, float]:
        x = LEFT + (at - first) / span * (WIDTH - LEFT - RIGHT)
        return x, _height(value, top)

    steps = []
    before = 0.0
    for at, value in points:
        (x, low), (_, high) = place(at, before), place(at, value)
        steps.append(f"{x:.1f},{low:.1f} {x:.1f},{high:.1f}")
        before = value
    end = _height(before, top)
    line = " L".join(steps) + f" L{WIDTH - RIGHT},{end:.1f}"
    floor = HEIGHT - BOTTOM
    body = (
        f'<path class="fill" d="M{LEFT},{floor} L{line} L{WIDTH - RIGHT},{floor} Z"/>'
        f'<path class="stroke" d="M{line}"/>'
    )
    labels = _times(first, first + span)
    return _svg(_grid(ticks) + body + labels)


def bars(rows: Sequence[Bar], format: Callable[[float], str], names: tuple[str, str]) -> str:
    """Draw two numbers for each of a few days, side by side.

    >>> bars([Bar("2026-01-01", 2.0, 1.0)], units.duration, ("saved", "spent")).count("<rect")
    2
    """
    if not rows:
        return _nothing()
    ticks = _ticks(max(max(row.value, row.other) for row in rows), format)
    top = ticks[-1][0]
    slot = (WIDTH - LEFT - RIGHT) / len(rows)
    width = min(slot * 0.4, 28.0)
    parts = []
    for i, row in enumerate(rows):
        middle = LEFT + slot * (i + 0.5)
        for value, x, kind, name in (
            (row.value, middle - width, "one", names[0]), (row.other, middle, "two", names[1]),
        ):  # fmt: skip
            y = _height(value, top)
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" '
                f'height="{HEIGHT - BOTTOM - y:.1f}" rx="2"><title>{escape(row.label)}: '
                f"{escape(name)} {escape(format(value))}</title></rect>"
            )
    every = -(-len(rows) // 4)
    for i in range(0, len(rows), every):
        parts.append(_label(LEFT + slot * (i + 0.5), rows[i].label))
    return _svg(_grid(ticks) + "".join(parts))


def ranking(rows: Sequence[Bar]) -> str:
    """Draw names with numbers as horizontal bars, the largest first.

    >>> "first compile" in ranking([Bar("first compile", 3)])
    True
    """
    if not rows:
        return _nothing()
    step = 36
    top = max(row.value for row in rows) or 1.0
    parts = []
    for i, row in enumerate(rows):
        y = 14 + i * step
        width = max(2.0, row.value / top * (WIDTH - RIGHT))
        parts.append(
            f'<text class="name" x="0" y="{y}">{escape(row.label)}</text>'
            f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{row.value:.0f}</text>'
            f'<rect class="one" x="0" y="{y + 6}" width="{width:.1f}" height="9" rx="3"/>'
        )
    return _svg("".join(parts), max(70, len(rows) * step))


def _svg(body: str, height: int = HEIGHT) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{body}</svg>'


def _nothing() -> str:
    middle = f'x="{WIDTH / 2}" y="36" text-anchor="middle"'
    return _svg(f"<text {middle}>no data yet</text>", 70)


def _height(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)


def _ticks(largest: float, format: Callable[[float], str]) -> list[tuple[float, str]]:
    """A few round values from zero to a little above the largest."""
    base = 1024.0 if format is units.size else 10.0
    power = 1.0
    while power * base <= largest:
        power *= base
    while power > largest > 0 and power > 1e-9:
        power /= base
    steps = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if base > 10 else (1, 2, 5)
    for size in (step * power * scale for scale in (0.25, 0.5, 1, base) for step in steps):
        if size * 4 >= largest:
            break
    count = max(1, -(-largest // size)) if size else 1
    label = _axis_time if format is units.duration else format
    return [(i * size, label(i * size) if i else "0") for i in range(int(count) + 1)]


def _axis_time(seconds: float) -> str:
    """A duration in one unit, short enough for an axis."""
    for least, unit, word in ((7200, 3600, "h"), (180, 60, "min"), (1, 1, "s"), (0, 0.001, "ms")):
        if seconds >= least:
            return f"{seconds / unit:.3g} {word}"
    return "0"


def _grid(ticks: list[tuple[float, str]]) -> str:
    top = ticks[-1][0] or 1.0
    parts = []
    for value, text in ticks:
        y = _height(value, top)
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )
    return "".join(parts)


def _times(first: float, last: float) -> str:
    pattern = "%Y-%m-%d" if last - first > 3 * 86400 else "%d %b %H:%M"
    if last - first < 600:
        pattern = "%H:%M:%S"
    parts = []
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = first + share * (last - first)
        x = LEFT + share * (WIDTH - LEFT - RIGHT)
        parts.append(_label(x, time.strftime(pattern, time.localtime(at)), anchor))
    return "".join(parts)


def _label(x: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{escape(text)}</text>'


# -- the page --------------------------------------------------------------------------


ROWS: Final = 5000  # entries in the table: the newest ones
MISSES: Final = 200
DAYS: Final = 30
POINTS: Final = 400  # of a line
TIER_COLUMNS: Final = (
    "hits", "misses", "stored", "requests", "seconds", "bytes_in", "bytes_out", "seconds_saved",
    "seconds_shared",
)  # fmt: skip
_TIER_TROUBLES: Final = ("breaker", "dropped")


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
        "tiers": [
            [units.printable(name), *row, "; ".join(f"{what} {text}" for what, text in others)]
            for name, row, others in _tiers(summary)
        ],
        "misses": [_shown(miss) for miss in Journal(store.root).misses()[-MISSES:]][::-1],
    }  # fmt: skip


def _tiers(summary: Summary) -> Iterator[tuple[str, list[float], list[tuple[str, str]]]]:
    """Each shared cache: its numbers by column, and the rest of what is known in words."""
    for name, row in sorted(summary.totals.tiers.items()):
        numbers = [row.get(what, 0) for what in TIER_COLUMNS]
        others = [(w, text) for w, text in tier_facts(row) if ": " in w or w in _TIER_TROUBLES]
        yield name, numbers, others


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
