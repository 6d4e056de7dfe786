"""Processes that share a tiered cache: the guide's own directory before a shipped one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from whorl.store import DirectoryStore, Ending, Totals
from whorl.store.catalogue import catalogue
from whorl.store.journal import Journal

PROCESSES = 4

KERNELS = """
from pathlib import Path
import numpy as np
import whorl
from whorl.store import Cache, DirectoryStore, ReadOnly, Tiered

SCALE = 2.0
HERE = Path(__file__).parent

def total(x):
    sum = 0.0
    for i in range(x.size):
        sum += SCALE * x[i]
    return sum

def peak(x):
    most = x[0]
    for i in range(x.size):
        most = max(most, x[i])
    return most

def shipped():
    return DirectoryStore(HERE / "shipped")

def tiers():
    return Cache(Tiered(DirectoryStore(HERE / "own"), ReadOnly(shipped())))
"""

BUILD = """
from kernels import *
whorl.kernel(store=Cache(shipped()))(peak)(np.ones(4))
"""

RUN = """
import json, os, sys, time
from kernels import *
cache = tiers()
kernels = [whorl.kernel(store=cache)(each) for each in (total, peak)]
(HERE / f"ready-{os.getpid()}").touch()
end = time.monotonic() + 30
while len(list(HERE.glob("ready-*"))) < int(sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.001)
results = [kernel(np.ones(4)) for kernel in kernels]
print(json.dumps([results, *(dict(kernel.stats()) for kernel in kernels)]))
"""


def start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "WHORL_CACHE_DIR": str(folder / "default"), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", program, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)


def end(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def files(folder: Path) -> dict[Path, tuple[int, int]]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text(KERNELS)
    end(start(tmp_path, BUILD))
    return tmp_path


def test_four_processes_that_miss_at_once_compile_once_and_write_into_their_own_directory(
    folder: Path,
) -> None:
    before = files(folder / "shipped")
    children = [start(folder, RUN, str(PROCESSES)) for _ in range(PROCESSES)]
    ends: list[Any] = [json.loads(end(child)) for child in children]
    assert [results for results, _, _ in ends] == [[8.0, 1.0]] * PROCESSES
    missed, found = (
        sum((Counter(stats) for stats in column), Counter[str]())
        for column in list(zip(*ends, strict=True))[1:]
    )
    assert missed["compiled"] == 1
    assert found == {"found": PROCESSES}

    own = DirectoryStore(folder / "own")
    totals = Totals.of(own.root / "statistics")
    assert totals.programs["kernels.total"].made == 1
    assert totals.programs["kernels.peak"].found == PROCESSES
    assert totals.endings[Ending.PRODUCED] == 1
    misses = Counter(miss.ending for miss in Journal(own.root).misses())
    assert misses["made"] == 1
    assert set(misses) <= {"made", "waited for another"}
    assert any((own.root / "v1" / "toolchains").iterdir())
    kinds = Counter(row.kind for row in catalogue(own))
    assert kinds["hint"] == 1
    assert kinds["artifact"] >= 2  # what was shipped is kept here too
    assert files(folder / "shipped") == before
    assert not (folder / "default").exists()


def test_a_second_run_finds_everything_in_its_own_directory(folder: Path) -> None:
    end(start(folder, RUN, "1"))
    (folder / "shipped").rename(folder / "elsewhere")
    _, total, peak = json.loads(end(start(folder, RUN, "1")))
    assert (total, peak) == ({"found": 1}, {"found": 1})
