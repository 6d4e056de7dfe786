"""How many threads this process may use: affinity, control groups, settings.

A container may see all processors of a machine and be allowed the time of one. Threads beyond that
are stopped in the middle of a loop, and the others wait for them.
"""

from __future__ import annotations

import math
import os


def processors() -> int:
    """How many threads of this process can run at once.

    >>> 1 <= processors() <= (os.cpu_count() or 1)
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    limit = allowed()
    return count if limit is None else max(1, min(count, math.ceil(limit)))


def allowed(root: str = "") -> float | None:
    """How many processors' worth of time the control groups of this process get; None if any.

    The group itself and those around it each have a limit or none: the least counts. A group that
    is not mounted here, as in most containers, is known by the one that is mounted in its place.
    """
    limits: list[float] = []
    for line in _text(f"{root}/proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        home = f"{root}/sys/fs/cgroup"
        if number == "0" and not controllers:
            files = ["cpu.max"]
        elif "cpu" in controllers.split(","):
            both = f"{home}/{controllers}"
            home = both if os.path.isdir(both) else f"{home}/cpu"
            files = ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        parts = path.strip("/").split("/")
        for depth in range(len(parts), -1, -1):
            group = "/".join([home, *parts[:depth]])
            limits += _limit(" ".join(_text(f"{group}/{file}") for file in files))
    return min(limits, default=None)


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError:
        return ""


def _limit(stated: str) -> list[float]:
    """The limit that a group states as quota and period, if it does."""
    try:
        quota, period = map(int, stated.split())
    except ValueError:  # nothing, or "max"
        return []
    return [quota / period] if quota > 0 and period > 0 else []
