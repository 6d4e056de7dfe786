"""Functions whose results are kept, in a module of their own: joblib looks at their source."""

from __future__ import annotations

from typing import Any

import numpy as np

SCALE = 3
OFFSET = 1.5
NAMES = ("left", "right")


def shifted(x: float) -> float:
    return x * SCALE + OFFSET


def small(a: int, b: float, c: str = "left") -> float:
    """What it costs at least: three small arguments, three globals and a function read."""
    return shifted(a * b) + NAMES.index(c)


def count(tree: Any) -> int:
    """The nodes of a tree of slotted dataclasses."""
    pending, found = [tree], 0
    while pending:
        node = pending.pop()
        found += 1
        pending += getattr(node, "children", ())
    return found


def table(n: int) -> dict[str, Any]:
    """An array and something beside it."""
    return {"values": np.arange(n, dtype=np.float64), "names": list(NAMES)}


def plain(n: int) -> dict[str, Any]:
    """Plain data of about `n` leaves."""
    return {f"row {i}": [i, float(i), str(i), None, (i, True)] for i in range(n // 6)}
