"""Vectorized functions are ufuncs: NumPy broadcasts, reduces and casts; the loops are native."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl

SCALE = 2.0


def _plus(a: Any, b: Any) -> Any:
    return a + b


@cache
def plus() -> np.ufunc:
    both = ["int64(int64, int64)", "float64(float64, float64)"]
    return whorl.vectorize(both, identity=0)(_plus)


@cache
def parallel_plus() -> np.ufunc:
    return whorl.vectorize(["float64(float64, float64)"], parallel=True)(_plus)


@whorl.vectorize
def share(a: Any, b: Any) -> Any:
    return a / (a + b) if b > 0 else a * SCALE


def test_a_vectorized_function_is_a_ufunc_of_numpy() -> None:
    assert type(plus()) is np.ufunc
    assert plus().types == ["ll->l", "dd->d"]
    assert (plus().nin, plus().nout, plus().identity, plus().__name__) == (2, 1, 0, "_plus")


shapes = st.sampled_from([(), (0,), (1,), (5,), (40,), (3, 1), (1, 4), (2, 3, 4), (0, 3)])
steps = st.sampled_from([1, 2, -1, -3])


@given(shapes, shapes, steps, steps, st.integers(0, 100))
def test_the_ufunc_gives_what_numpys_gives(
    left: tuple[int, ...], right: tuple[int, ...], step: int, other: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((*left, 3))[..., 1], rng.random((*right, 2))[..., 0]
    if a.ndim:
        a = a[::step]
    if b.ndim:
        b = b[::other]
    try:
        expected = np.add(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            plus()(a, b)
        return
    for ufunc in (plus(), parallel_plus()):
        result = ufunc(a, b)
        assert result.dtype == expected.dtype
        assert np.array_equal(result, expected)
    assert np.array_equal(plus().outer(a, b), np.add.outer(a, b))
    if a.ndim and a.size:
        assert np.array_equal(plus().accumulate(a), np.add.accumulate(a))
        assert np.allclose(plus().reduce(a), np.add.reduce(a), rtol=1e-13)


def test_outputs_masks_and_places_are_numpys() -> None:
    x = np.arange(8.0)
    for ufunc in (plus(), parallel_plus()):
        out = np.zeros(8)
        assert ufunc(x, 1.0, out=out, where=x > 3) is out
        assert out.tolist() == [0, 0, 0, 0, 5, 6, 7, 8]
        ufunc.at(out, [0, 0, 7], 2.0)
        assert out.tolist() == [4, 0, 0, 0, 5, 6, 7, 10]
        ufunc(x[1:], x[:-1], out=x[1:])  # what is written overlaps what is read
        assert x.tolist() == [0, 1, 3, 5, 7, 9, 11, 13]
        x = np.arange(8.0)


def test_threads_neither_change_a_running_sum_nor_a_large_result() -> None:
    x = np.random.default_rng(1).random(300_000)
    assert np.array_equal(parallel_plus()(x, x), x + x)
    assert np.array_equal(parallel_plus().accumulate(x), np.add.accumulate(x))
    assert parallel_plus().reduce(x) == plus().reduce(x)


def test_what_the_function_raises_reaches_the_caller_and_the_next_call_works() -> None:
    @whorl.vectorize(["int64(int64, int64)"])
    def quotient(a: Any, b: Any) -> Any:
        if b == 0:
            raise ValueError("nobody divides by zero")
        return a // b

    with pytest.raises(ValueError, match="nobody divides by zero"):
        quotient(7, np.array([1, 0, 2]))
    assert quotient(7, [1, 2]).tolist() == [7, 3]


def test_loops_for_new_types_come_with_the_first_operands_of_these_types() -> None:
    assert share(np.float32(1), np.float32(3)).dtype == np.float32
    assert share(np.ones(2, np.float32), 3.0).dtype == np.float32  # a number of Python is weak
    assert float(share(1.0, 3.0)) == 0.25
    assert float(share(1, 3)) == 0.25
    assert np.array_equal(share([2.0, 4.0], [2.0, -1.0]), [0.5, 8.0])
    assert {"ff->f", "dd->d", "ll->d"} <= set(share.types)
    assert type(share.ufunc) is np.ufunc
    assert np.array_equal(share.outer([1.0], [1.0, 3.0]), [[0.5, 0.25]])


def test_complex_numbers_and_booleans_have_loops_too() -> None:
    @whorl.vectorize
    def negated(x: Any) -> Any:
        return -x

    @whorl.vectorize(["bool(float64, float64)"])
    def is_less(a: Any, b: Any) -> Any:
        return a < b

    assert negated(np.array([1 + 2j]))[0] == -1 - 2j
    assert is_less([1.0, 3.0], 2.0).tolist() == [True, False]
    assert is_less([1.0, 3.0], 2.0).dtype == np.bool_


@pytest.mark.parametrize(
    ("signatures", "message"),
    [
        ("float64(float64)", "2 parameters, and the signature 1"),
        ("float64 float64", "is no signature"),
        ("float64(decimal, float64)", "no type of numbers that kernels know"),
        ("i8(i8, i8)", "Write int8 or int64"),
        (3, "is no signature"),
        ("float64()", "has no arguments"),
    ],
)
def test_a_bad_signature_is_refused_with_what_to_write(signatures: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        whorl.vectorize(signatures)(lambda a, b: a)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="identity is 0, 1"):
        whorl.vectorize("float64(float64)", identity=7)
    with pytest.raises(TypeError, match="takes a function"):
        whorl.vectorize("float64(float64)")(3)  # type: ignore[arg-type]  # the bad call
    with pytest.raises(TypeError, match="no loop for operands of dtype object"):
        share(np.array([None]), 1.0)
    with pytest.raises(TypeError, match="takes 2 operands"):
        share(1.0)
    with pytest.raises(TypeError, match="one at least"):
        whorl.vectorize(lambda: 1)
    with pytest.raises(TypeError, match="at most"):
        whorl.vectorize("f64(f64)")(lambda a, b, c, d, e, f, g, h, i: a)


TABLE = np.arange(4.0)


def test_a_function_that_reads_a_global_array_is_refused() -> None:
    def looked_up(i: Any) -> Any:
        return TABLE[i]

    with pytest.raises(TypeError, match="TABLE"):
        whorl.vectorize(["float64(int64)"])(looked_up)


def test_threads_share_a_growing_ufunc() -> None:
    @whorl.vectorize
    def square(x: Any) -> Any:
        return x * x

    results: list[Any] = []

    def work(dtype: str) -> None:
        results.append(square(np.arange(5, dtype=dtype)).tolist())

    threads = [threading.Thread(target=work, args=(t,)) for t in ("i4", "f8", "f4", "i8") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0, 1, 4, 9, 16]] * 12


PROGRAM = """
import numpy as np, whorl, whorl.testing

@whorl.vectorize(["float64(float64)"])
def scaled(x):
    return x * {factor}

@whorl.vectorize
def shifted(x):
    return x + {factor}

print(scaled(np.arange(3.0)).tolist(), shifted(2.0))
"""


def test_a_second_process_finds_the_loops_and_an_edit_is_noticed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"

    def run(factor: int, require: str) -> str:
        program.write_text(PROGRAM.format(factor=factor))
        environment = {
            "WHORL_CACHE_DIR": str(tmp_path / "cache"),
            "WHORL_REQUIRE_HIT": require,
            "PATH": "",
        }
        ended = subprocess.run(
            [sys.executable, str(program)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not ended.returncode, ended.stderr
        return ended.stdout.strip()

    assert run(2, "0") == "[0.0, 2.0, 4.0] 4.0"
    assert run(2, "1") == "[0.0, 2.0, 4.0] 4.0"
    assert run(3, "0") == "[0.0, 3.0, 6.0] 5.0"
