"""Tests whether kernels are launched natively: calls one until its launch is native, and checks it.

`whorl doctor` runs this in a new process: if the launcher crashes on an unknown interpreter, only
that process ends.
"""

from __future__ import annotations

import json
import tempfile
from typing import Any

import numpy as np

from whorl import settings
from whorl.kernels import kernel
from whorl.launch import failure
from whorl.launch.native_tables import native_classes
from whorl.launch.stored_routine import origins

CALLS = 8


class _Sample:
    """An object with attributes of the usual kinds."""

    def __init__(self) -> None:
        self.values = np.arange(5.0)
        self.count = 5


def _scaled(sample: Any, factor: float, shift: int) -> float:
    total = 0.0
    for i in range(sample.count):
        total += sample.values[i] * factor + shift
    return total


def rehearse() -> str:
    """Why kernels are not launched natively in this process; nothing if they are."""
    before = settings.current()
    with tempfile.TemporaryDirectory(prefix="whorl-doctor-") as folder:
        try:
            settings.configure(
                cache_dir=folder,
                cache="on",
                remote=(),
                require_hit=False,
                interpret=False,
                log="off",
            )
            rehearsed: Any = kernel(_scaled)
            sample = _Sample()
            for number in range(CALLS):
                result, expected = rehearsed(sample, 0.5, number), 5.0 + 5 * number
                if result != expected:
                    return f"call {number + 1} gave {result} and not {expected}"
        finally:
            settings.restore(before)
    classes = native_classes(type(rehearsed).family)
    if classes is not None and isinstance(rehearsed, classes.native):
        return ""
    return "; ".join(failure.reasons()) or "no table was created for a small kernel"


def main() -> None:
    """Print the reason and where the launcher is from, for the process that asks."""
    print(json.dumps([rehearse(), origins.get("launcher", "")]))


if __name__ == "__main__":
    main()
