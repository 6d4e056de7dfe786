"""Processes that multiprocessing begins find what the program has compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

APPLIED = """
import whorl

@whorl.kernel
def applied(f, x):
    return f(x)
"""

PROGRAM = """
import multiprocessing
import sys

import numpy as np

import whorl
from applied import applied

RATE = 2.0


def scaled(x):
    return RATE * x


@whorl.kernel
def total(x):
    sum = 0.0
    for i in range(x.size):
        sum += scaled(x[i])
    return sum


def work(rate):
    global RATE
    RATE = rate
    results = [(total(np.ones(3)), applied(scaled, 1.0)) for _ in range(5)]
    assert len(set(results)) == 1
    compiled = total.stats().get("compiled", 0) + applied.stats().get("compiled", 0)
    return (*results[0], compiled)


if __name__ == "__main__":
    print(*work(2.0))
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        for rate in (2.0, 5.0, 2.0):
            print(*pool.apply(work, (rate,)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no fork servers")
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_finds_what_the_program_compiled(tmp_path: Path, method: str) -> None:
    (tmp_path / "applied.py").write_text(APPLIED)
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "program.py", method],
        cwd=tmp_path,
        env=os.environ | {"WHORL_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["6.0 2.0 2", "6.0 2.0 0", "15.0 5.0 2", "6.0 2.0 2"]
