"""Which functions and classes count by the name of their library."""

from __future__ import annotations

import functools
import math
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import whorl
from whorl.reads.library import library_name, own_name

INTEGER: Any = getattr(math, "integer", None)


def test_functions_of_python_numpy_and_whorl_are_known_by_name() -> None:
    for value in (len, math.sqrt, range, functools.reduce, np.sin, np.float32, whorl.fingerprint):
        assert library_name(value) is not None, value


def test_every_function_of_math_has_its_name_wherever_its_python_keeps_it() -> None:
    functions = {name: value for name, value in vars(math).items() if callable(value)}
    functions = {n: f for n, f in functions.items() if not n.startswith("_")}
    assert "gcd" in functions
    for name, function in functions.items():
        assert own_name(function) == f"math.{name}"
        assert library_name(function) is not None, name


@pytest.mark.skipif(INTEGER is None, reason="math.integer is new in 3.15")
def test_a_kernel_may_call_the_functions_of_ints_under_their_new_name() -> None:
    @whorl.kernel
    def divisor(n: int, m: int) -> int:
        return int(INTEGER.gcd(n, m))

    for _ in range(5):
        assert divisor(12, 18) == 6


def test_a_function_that_was_put_in_the_place_of_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @functools.wraps(math.sqrt)
    def traced(x: float) -> float:
        return -x

    monkeypatch.setattr(math, "sqrt", traced)
    assert library_name(math.sqrt) is None


def test_a_mock_with_the_signature_of_a_function_is_not() -> None:
    with mock.patch("bisect.bisect", autospec=True) as patched:
        patched.__module__, patched.__qualname__ = "bisect", "bisect"
        assert library_name(patched) is None


def test_a_module_that_takes_the_place_of_a_standard_one_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import colorsys

    assert library_name(colorsys.rgb_to_yiq) is not None
    file = tmp_path / "colorsys.py"
    text = "def rgb_to_yiq(r, g, b): return 0\n"
    file.write_text(text)
    other = types.ModuleType("colorsys")
    other.__file__ = str(file)
    exec(compile(text, file, "exec"), other.__dict__)
    monkeypatch.setitem(sys.modules, "colorsys", other)
    assert library_name(other.rgb_to_yiq) is None


def test_a_kernel_calls_what_was_put_in_the_place_of_a_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @whorl.kernel
    def root(x: float) -> float:
        return math.sqrt(x)

    @functools.wraps(math.sqrt)
    def traced(x: float) -> float:
        return x * 10.0

    for _ in range(5):
        assert root(4.0) == 2.0
    monkeypatch.setattr(math, "sqrt", traced)
    for _ in range(5):
        assert root(4.0) == 40.0
    monkeypatch.undo()
    for _ in range(5):
        assert root(4.0) == 2.0
