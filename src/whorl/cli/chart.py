"""Draws small charts as SVG. They take their colours from the page that contains them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

from . import units

__all__ = ["Bar", "area", "bars", "ranking"]

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
