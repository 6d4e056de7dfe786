"""A function of a library that was replaced before the first compile is what a kernel calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.processes.programs import forked, written

_PROGRAM = """
import json, os, sys, whorl
with open(os.path.join(sys.path[0], "job.json")) as file:
    cache = json.load(file)
whorl.configure(cache="on", cache_dir=cache)
import kernels
result = kernels.answers()
"""

_KERNELS = """
import builtins, functools, math
import random  # which computes with what is replaced here when it is imported
import numpy as np
import whorl

def mine(x):
    return x * 0 + 7

REPLACED

@whorl.kernel
def root(x): return math.sqrt(x)

@whorl.kernel
def sine(x): return np.sin(x)

@whorl.kernel
def clipped(x): return np.clip(x, 0.0, 1.0)

@whorl.kernel
def size(x): return abs(x)

@whorl.kernel
def known(x): return x * whorl.static(math.sqrt(9.0))

def answers():
    found = []
    for call in (root, 4.0), (sine, 1.0), (clipped, 4.0), (size, -3.0), (known, 1.0):
        try:
            found.append(round(float(call[0](call[1])), 6))
        except whorl.WhorlError as error:
            found.append(str(error))
    return found
"""

TRUE = [2.0, 0.841471, 1.0, 3.0, 3.0]


def _answers(root: Path, *replaced: str) -> list[Any]:
    """What the kernels answer with each of these replacements, in one process each, one cache."""
    places = []
    for number, lines in enumerate(replaced):
        texts = {"kernels.py": _KERNELS.replace("REPLACED", lines), "job.json": f'"{root}/cache"'}
        places.append(written(root / str(number), texts))
    return forked(_PROGRAM, places)


def test_a_function_of_the_users_in_the_place_of_a_librarys_is_compiled(tmp_path: Path) -> None:
    replaced = "math.sqrt = np.sin = np.clip = builtins.abs = mine"
    clipped = replaced.replace("np.clip", "np.clip_of_nobody")
    first, second, then = _answers(tmp_path, clipped, "", clipped)
    assert first == then == [7.0, 7.0, 1.0, 7.0, 7.0]
    assert second == TRUE


def test_what_takes_other_arguments_is_refused_at_its_line(tmp_path: Path) -> None:
    (answers,) = _answers(tmp_path, "np.clip = mine")
    assert "kernels.py" in answers[2]
    assert "np.clip(x, 0.0, 1.0)" in answers[2]


def test_a_librarys_function_in_the_place_of_another_is_what_is_called(tmp_path: Path) -> None:
    swapped = "math.sqrt, math.exp = math.exp, math.sqrt; np.sin = np.cos"
    twice = "math.exp = math.sqrt; np.cos = np.sin"
    first, second, third = _answers(tmp_path, twice, "", swapped)
    assert first == second == TRUE
    assert third == [54.59815, 0.540302, 1.0, 3.0, 8103.083928]


def test_what_cannot_be_followed_in_the_place_of_a_function_is_refused(tmp_path: Path) -> None:
    given = "math.sqrt = functools.partial(pow, 2.0); np.sin = object()"
    first, second = _answers(tmp_path, given, "")
    assert "math.sqrt" in first[0]
    assert "np.sin" in first[1]
    assert second == TRUE


def test_a_number_that_was_changed_does_not_change_what_whorl_computes(tmp_path: Path) -> None:
    text = _KERNELS.replace("return math.sqrt(x)", "return math.radians(x)")
    places = []
    for number, lines in enumerate(("math.pi = 3.0", "")):
        texts = {"kernels.py": text.replace("REPLACED", lines), "job.json": f'"{tmp_path}/cache"'}
        places.append(written(tmp_path / str(number), texts))
    first, second = forked(_PROGRAM, places)
    assert first[0] == second[0] == 0.069813
