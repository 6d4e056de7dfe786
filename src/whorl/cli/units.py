"""Formats sizes, durations, times and untrusted text for people, and parses ages and sizes."""

from __future__ import annotations

import math
import re
import time
from typing import Final

import click

from whorl.errors import BadSetting
from whorl.options import size_of

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_AGE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])", re.ASCII)


def printable(text: str) -> str:
    """Escape the characters of an untrusted text that could control a terminal.

    >>> printable("step\\x1b[31m\\u202e")
    'step\\\\x1b[31m\\\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def size(number: float) -> str:
    """Format a number of bytes.

    >>> size(0), size(1023), size(1536), size(5 << 30)
    ('0 B', '1023 B', '1.5 KiB', '5.0 GiB')
    """
    if number < 1024:
        return f"{number:.0f} B"
    power = 1
    while number >= 1024 ** (power + 1) and power < 4:
        power += 1
    return f"{number / 1024**power:.1f} {' KMGT'[power]}iB"


def entries(number: int) -> str:
    """Format a number of entries.

    >>> entries(1), entries(2)
    ('1 entry', '2 entries')
    """
    return f"{number} {'entry' if number == 1 else 'entries'}"


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(0.000012), duration(0.0421), duration(3.21), duration(754), duration(90_000)
    ('12 µs', '42 ms', '3.2 s', '12 min 34 s', '25 h 0 min')
    """
    if not seconds:
        return "0 s"
    if seconds < 0.000_9995:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def ago(then: float, now: float | None = None) -> str:
    """Format the time since a moment.

    >>> ago(100, 130), ago(100, 4000), ago(100, 300_000), ago(0)
    ('30 s ago', '65 min ago', '3 d ago', 'unknown')
    """
    if then <= 0:
        return "unknown"
    passed = (time.time() if now is None else now) - then
    for limit, unit, word in ((100, 1, "s"), (6000, 60, "min"), (172_800, 3600, "h")):
        if passed < limit:
            return f"{max(0, passed) // unit:.0f} {word} ago"
    return f"{passed // 86400:.0f} d ago"


def moment(then: float) -> str:
    """Format a moment in local time.

    >>> moment(0)
    'unknown'
    """
    if then <= 0:
        return "unknown"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(then))
    except (OverflowError, ValueError, OSError):
        return "unknown"


def share(part: float) -> str:
    """Format a ratio as a percentage.

    >>> share(0.5), share(0.999), share(1), share(0.00001)
    ('50 %', '99.9 %', '100 %', 'less than 0.1 %')
    """
    if 0 < part < 0.001:
        return "less than 0.1 %"
    text = f"{100 * part:.1f}".removesuffix(".0")
    return f"{text} %"


def age(text: str) -> float:
    """Parse a duration such as 12h or 7d, in seconds, for an option.

    >>> age("1.5h"), age("2 d")
    (5400.0, 172800.0)
    """
    match = _AGE.fullmatch(text.strip().lower())
    seconds = math.inf if match is None else float(match[1]) * _UNITS[match[2]]
    if math.isinf(seconds):
        raise click.BadParameter(f"{text!r} is not a duration; write 90s, 30m, 12h, 7d or 2w.")
    return seconds


def byte_count(text: str) -> int:
    """Parse a size such as 500M, in bytes, for an option.

    >>> byte_count("2K"), byte_count("0")
    (2048, 0)
    """
    if text.strip() == "0":
        return 0
    try:
        return size_of("size", text)
    except BadSetting as error:
        raise click.BadParameter(f"{text!r} should be {error.expected}.") from None
