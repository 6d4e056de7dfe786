"""Cached functions and the processes of multiprocessing, by whatever method these are started.

From Python 3.14 on a fork server is the usual one on Linux: a worker imports the program anew,
under another name, and has none of what the program has set since.
"""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from tests.processes.programs import printed, written

PROGRAM = """
import concurrent.futures
import json
import multiprocessing
import sys

import whorl

RATE = 3


def square(x):
    return RATE * x * x


@whorl.cached
def kept(x):
    return square(x)


@whorl.cached
def total(n):
    with multiprocessing.Pool(2) as pool:
        return sum(pool.map(square, range(n)))


@whorl.cached
def mapped(n):
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        return list(pool.map(square, range(n)))


def in_worker(x):
    return kept(x), kept.stats()["ran"]


if __name__ == "__main__":
    if sys.argv[1]:
        multiprocessing.set_start_method(sys.argv[1])
    found = [in_worker(2)]
    with multiprocessing.Pool(1) as pool:
        found += pool.map(in_worker, [2, 5])
    found.append((kept(5), kept.stats()["ran"]))
    results = [total(4), total(4), mapped(3), mapped(3)]
    print(json.dumps([found, results, total.stats()["ran"], mapped.stats()["ran"]]))
"""


@pytest.mark.parametrize("method", ["", *multiprocessing.get_all_start_methods()])
def test_workers_and_the_program_find_each_others_results(tmp_path: Path, method: str) -> None:
    written(tmp_path, {"program.py": PROGRAM})
    environment = {"WHORL_CACHE_DIR": str(tmp_path / "cache")}
    found, results, *ran = printed("program.py", method, cwd=tmp_path, environment=environment)
    values = [value for value, _ in found]
    assert values == [12, 12, 75, 75]
    runs_here, *runs_in_worker, runs_at_last = [count for _, count in found]
    inherited = runs_here if runs_in_worker[0] else 0  # a forked worker goes on counting
    assert [count - inherited for count in runs_in_worker] == [0, 1]
    assert runs_at_last == runs_here == 1  # what a worker has made is not made again
    assert results == [42, 42, [0, 3, 12], [0, 3, 12]]
    assert ran == [1, 1]
    *_, again_total, again_mapped = printed(
        "program.py", method, cwd=tmp_path, environment=environment
    )
    assert (again_total, again_mapped) == (0, 0)


def test_an_edit_is_noticed_by_the_workers_of_the_usual_method(tmp_path: Path) -> None:
    environment = {"WHORL_CACHE_DIR": str(tmp_path / "cache")}
    answers = []
    for rate in (3, 4, 3):
        text = PROGRAM.replace("RATE = 3", f"RATE = {rate}")
        written(tmp_path, {"program.py": text})
        _, results, *_ = printed("program.py", "", cwd=tmp_path, environment=environment)
        answers.append(results[0])
    assert answers == [42, 56, 42]
