"""Statements over whole arrays on threads: the same results as on one, for every number of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import assert_same


def program(a: Any, b: Any, row: Any, n: Any, out: Any) -> Any:
    out[1:-1, 1:] = a[:-2, 1:] + 2.0 * b[2:, :-1] - row[1:]
    out[0] = np.sqrt(np.abs(row)) + b[0]
    out[:, 1:] += out[:, :-1]
    scaled = np.exp(-a) * n
    long = out[:2] * 3.0
    return (
        np.sum(a),
        np.sum(a * b - row),
        np.sum(out[:, ::2]),
        np.sum(n),
        np.max(b),
        np.min(a),
        np.any(a > 10.0),
        np.all(b < 10.0),
        np.sum(a, axis=0),
        np.mean(b, axis=1),
        np.max(out, axis=0),
        np.std(a),
        scaled,
        long,
    )


def arguments(shape: tuple[int, int], seed: int = 0) -> tuple[Any, ...]:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=shape), random.normal(size=shape)
    n = random.integers(-9, 9, shape).astype(np.int32)
    return a, b, random.normal(size=shape[1]), n, np.zeros(shape)


@pytest.fixture
def _threads() -> Iterator[None]:
    before = whorl.configure()
    yield
    whorl.settings.restore(before)


serial = whorl.kernel(program)
parallel: Any = whorl.kernel(parallel=True)(program)


@pytest.mark.parametrize(
    "shape", [(500, 700), (2, 300_000), (100_001, 3), (3, 5), (4, 0), (130, 129)]
)
@pytest.mark.usefixtures("_threads")
def test_the_results_are_those_of_one_thread_bit_for_bit(shape: tuple[int, int]) -> None:
    expected_args = arguments(shape)
    if 0 in shape:
        with pytest.raises(ValueError, match="no max"):
            parallel(*expected_args)
        return
    expected = serial(*expected_args)
    for threads in (1, 2, 5):
        whorl.configure(threads=threads)
        args = arguments(shape)
        result = parallel(*args)
        assert_same(args, expected_args)
        assert_same(result, expected)


@pytest.mark.usefixtures("_threads")
def test_nan_wins_on_every_thread() -> None:
    whorl.configure(threads=2)
    a, b, row, n, out = arguments((500, 700))
    a[444, 333] = np.nan
    assert np.isnan(parallel(a, b, row, n, out)[5])


def shifted(a: Any, b: Any) -> Any:
    a[1:] = a[:-1] + b[1:]
    b[:] = b[::-1]


@pytest.mark.usefixtures("_threads")
def test_overlap_is_numpys_on_threads() -> None:
    whorl.configure(threads=2)
    kernel: Any = whorl.kernel(parallel=True)(shifted)
    for shares in (False, True):
        a = np.arange(200_000.0)
        b = a if shares else a + 1
        c = a.copy()
        d = c if shares else b.copy()
        kernel(a, b)
        shifted(c, d)
        assert_same((a, b), (c, d))


def test_loops_over_arrays_are_shown_as_parallel_and_small_ones_stay_serial() -> None:
    parallel(*arguments((3, 5)))
    text = parallel.inspect()
    assert "option parallel" in text
    assert ": parallel part in range(" in text
    assert "serial unless" in text
    serial(*arguments((3, 5)))
    assert "parallel" not in serial.inspect()


def in_prange(a: Any, out: Any) -> None:
    for i in whorl.prange(a.shape[0]):
        out[i] = np.exp(a[i]) / np.sum(np.exp(a[i]))


@pytest.mark.usefixtures("_threads")
def test_statements_in_prange_are_not_divided_again() -> None:
    whorl.configure(threads=2)
    kernel: Any = whorl.kernel(parallel=True)(in_prange)
    a = np.random.default_rng(0).random((4, 90_000))
    one, other = np.zeros_like(a), np.zeros_like(a)
    kernel(a, one)
    whorl.kernel(in_prange)(a, other)
    assert_same(one, other)
    assert kernel.inspect().count(": parallel ") == 1
