# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Statements over whole arrays leave what NumPy leaves, running the same source."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from whorl.errors import KernelError

DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def numbers(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Numbers of a type, some of them negative where there are such."""
    random = np.random.default_rng([seed, *shape])
    if dtype == "?":
        return random.integers(0, 2, shape).astype("?")
    if dtype.startswith("f"):
        return random.normal(0, 3, shape).astype(dtype)
    low = 0 if dtype.startswith("u") else -9
    return random.integers(low, 10, shape).astype(dtype)


# -- slices and stencils ----------------------------------------------------------------


def stencil(a, b):
    b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3


def stencil_2d(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 17, 1000])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_stencil_by_slices_is_numpys(size: int, dtype: str) -> None:
    agree(stencil, lambda: (numbers(dtype, size), np.full(size, 7.0, dtype)))


@pytest.mark.parametrize("shape", [(0, 0), (2, 5), (3, 3), (8, 1), (31, 47)])
def test_a_stencil_in_two_dimensions_is_numpys(shape: tuple[int, int]) -> None:
    agree(stencil_2d, lambda: (numbers("f8", *shape), numbers("f8", *shape, seed=1)))


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::2, ::-1]])
def test_layouts_and_strides_make_no_difference(turn: Callable[[Any], Any]) -> None:
    agree(stencil_2d, lambda: (turn(numbers("f8", 20, 20)), turn(np.zeros((20, 20)))))
    agree(stencil_2d, lambda: (turn(numbers("f8", 20, 20)), turn(np.zeros((20, 20))).copy()))


def every_slice(a, b, i, j, k):
    c = a[i:j:k]
    b[: len(c)] = c * 2
    b[-1] = len(c)


def test_bounds_and_steps_of_the_run_are_clamped_as_pythons() -> None:
    kernel = whorl.kernel(every_slice)
    bounds = [-9, -5, -3, -1, 0, 1, 4, 5, 9]
    for begin, end, step in product(bounds, bounds, [-7, -2, -1, 1, 2, 7]):
        a, b, expected = numbers("f8", 5), np.zeros(10), np.zeros(10)
        kernel(a, b, begin, end, step)
        every_slice(a, expected, begin, end, step)
        np.testing.assert_array_equal(b, expected)
    with pytest.raises(ValueError, match="the step of a slice is zero"):
        kernel(numbers("f8", 5), np.zeros(10), 0, 5, 0)


def constant_slices(a, b):
    b[0, :] = len(a[::2]), len(a[::-1]), len(a[3:1]), len(a[-3:]), len(a[:-3]), len(a[5:2:-1])
    b[1, :] = len(a[-2::-1]), len(a[:2:-2]), len(a[1:-1:3]), len(a[7:]), len(a[:7]), len(a[-7:-1])
    b[2, 0:2] = a[::-1][:2]
    c = a[::2]
    c[...] = c + 1
    d = a[1:][1:]
    d[:] = d * 3


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 8, 20])
def test_slices_with_known_bounds_are_clamped_as_pythons(size: int) -> None:
    agree(constant_slices, lambda: (numbers("f8", size), np.zeros((3, 6))))


def parts(a, b):
    b[0] = a[1]
    b[1] = a[-1] + a[0] * 2
    b[:, 0] = a[:, 1] - 1
    b[2, ...] = a[..., 0][:, None][1]
    b[-1] = b[-1][::-1] * a[0, 0]


def test_rows_columns_and_ellipsis_are_numpys() -> None:
    agree(parts, lambda: (numbers("f8", 4, 4), numbers("f4", 4, 4)))


def outer(a, b, c):
    c[:] = a[:, None] * b[None, :] + a[:, np.newaxis]


@pytest.mark.parametrize("sizes", [(3, 4), (1, 5), (5, 1), (0, 3), (7, 7)])
def test_new_axes_stretch_what_they_stand_for(sizes: tuple[int, int]) -> None:
    n, m = sizes
    agree(outer, lambda: (numbers("f8", n), numbers("i4", m), np.zeros((n, m))))


# -- operators --------------------------------------------------------------------------


def arithmetic(a, b, c):
    c[0] = a + b
    c[1] = a * b
    c[2] = a / b
    c[3] = a // b
    c[4] = a % b
    c[5] = a * 2 + 1
    c[6] = 3 - a
    c[7] = a + 0.5
    c[8] = 7 // b


@pytest.mark.parametrize(
    ("left", "right"),
    [(a, b) for i, a in enumerate(DTYPES) for j, b in enumerate(DTYPES) if (i + 2 * j) % 5 == 0],
)
def test_arithmetic_of_mixed_types_is_numpys(left: str, right: str) -> None:
    agree(arithmetic, lambda: (numbers(left, 40), numbers(right, 40, seed=1), np.zeros((9, 40))))


def bits(a, b, c):
    c[0] = a & b
    c[1] = a | b
    c[2] = a ^ b
    c[3] = ~a
    c[4] = a & 3
    c[5] = (a > 2) & (b < 5) | (a == b)
    c[6] = ~(a >= b)


@pytest.mark.parametrize("dtype", DTYPES[:-2])
def test_bitwise_operators_and_comparisons_are_numpys(dtype: str) -> None:
    agree(bits, lambda: (numbers(dtype, 40), numbers(dtype, 40, seed=1), np.zeros((7, 40), "i8")))


def compared(a, b, c):
    c[0] = a < b
    c[1] = a <= b
    c[2] = a == b
    c[3] = a != b
    c[4] = a > b
    c[5] = a >= 2
    c[6] = a != 1


@pytest.mark.parametrize("left", ["?", "i1", "u4", "u8", "f4"])
@pytest.mark.parametrize("right", ["i1", "u8", "i8", "f8"])
def test_comparisons_of_mixed_types_are_numpys(left: str, right: str) -> None:
    def make() -> tuple[Any, ...]:
        return numbers(left, 40), numbers(right, 40, seed=1), np.zeros((7, 40), "?")

    agree(compared, make)


def powers(a, b, c):
    c[0] = a**2
    c[1] = a**1
    c[2] = a**0
    c[3] = abs(a) ** 0.5
    c[4] = a**3
    c[5] = -a
    c[6] = +a


@pytest.mark.parametrize("dtype", ["i4", "i8", "u2", "f4", "f8"])
def test_powers_and_signs_are_numpys(dtype: str) -> None:
    into = "f4" if dtype == "f4" else "f8"
    agree(powers, lambda: (numbers(dtype, 40), 0, np.zeros((7, 40), into)), ulps=4)


def functions(a, b, c):
    c[0] = np.sqrt(np.abs(a))
    c[1] = np.minimum(a, b)
    c[2] = np.maximum(a, 1)
    c[3] = np.where(a > b, a, b)
    c[4] = np.where(a > 0, 1, 2.5)
    c[5] = np.clip(a, -1, 2)
    c[6] = np.floor(a) + np.ceil(b)
    c[7] = np.sign(a) * np.square(b)
    c[8] = abs(a)
    c[9] = np.isnan(a) | np.isfinite(b)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_functions_of_elements_are_numpys(dtype: str) -> None:
    agree(functions, lambda: (numbers(dtype, 40), numbers(dtype, 40, seed=1), np.zeros((10, 40))))


def transcendental(a, c):
    c[0] = np.exp(a)
    c[1] = np.sin(a) * np.cos(a)
    c[2] = np.log(np.abs(a) + 1)
    c[3] = np.arctan2(a, 2.0)
    c[4] = np.tanh(a)
    c[5] = np.abs(a) ** 1.7


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_transcendental_functions_are_within_a_few_units_of_numpys(dtype: str) -> None:
    agree(transcendental, lambda: (numbers(dtype, 40), np.zeros((6, 40), dtype)), ulps=8)


# -- in place ---------------------------------------------------------------------------


def in_place(a, b):
    a += b
    a[1:] *= 2
    a[::2] -= a[::2] / 4
    a[:-1] += a[1:]
    a /= 3


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_operators_in_place_change_the_array_itself(dtype: str) -> None:
    agree(in_place, lambda: (numbers(dtype, 9), numbers("f4", 9, seed=1)))


def counted(a, b):
    a += 1
    a //= 2
    a |= b
    a[3:5] = 9
    a[...] = a - b


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8"])
def test_operators_in_place_keep_the_type_of_integers(dtype: str) -> None:
    agree(counted, lambda: (numbers(dtype, 9), numbers(dtype, 9, seed=1)))


def refused(a):
    a += 0.5


def test_an_operator_in_place_refuses_to_lose_a_fraction() -> None:
    with pytest.raises(KernelError, match="would put f64 into i64, as NumPy refuses to"):
        whorl.kernel(refused)(np.arange(3))


# -- overlap ----------------------------------------------------------------------------


def shifted(a):
    a[1:] = a[:-1]
    a[:-2] = a[2:] + a[1:-1]
    a[:] = a[::-1]
    a[::2] = a[::2][::-1] * 2


def turned(a):
    a += a.T
    a[:] = a.T - a
    a[1:, 1:] = a[:-1, :-1]


def copied(a, b):
    a[:] = b + 1
    a *= b


def gathered(a, b, c):
    a[:] = b[0] + c


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 100])
def test_a_statement_reads_everything_before_it_sets_anything(size: int) -> None:
    agree(shifted, lambda: (numbers("f8", size),))
    agree(turned, lambda: (numbers("f8", size, size),))
    agree(turned, lambda: (numbers("i4", size, size),))


@pytest.mark.parametrize("shift", [-5, -1, 0, 1, 5])
@pytest.mark.parametrize("steps", [(1, 1), (1, -1), (-1, 1), (2, 2), (2, 1)])
def test_arguments_that_share_memory_are_known_at_launch(
    shift: int, steps: tuple[int, int]
) -> None:
    def make() -> tuple[Any, ...]:
        base = numbers("f8", 100)
        first = base[20 : 20 + 15 * abs(steps[0]) : abs(steps[0])][:: 1 if steps[0] > 0 else -1]
        begin = 20 + shift
        second = base[begin : begin + 15 * abs(steps[1]) : abs(steps[1])]
        return first, second[:: 1 if steps[1] > 0 else -1]

    agree(copied, make)


def test_an_argument_that_is_an_element_of_the_target_is_read_first() -> None:
    def make() -> tuple[Any, ...]:
        base = numbers("f8", 10)
        return base, base[3:4].reshape(1, 1), base[:]

    agree(gathered, make)


# -- shapes -----------------------------------------------------------------------------


def added(a, b, c):
    c[...] = a + b


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((3, 4), (3, 4), (3, 4)), ((3, 4), (4,), (3, 4)), ((3, 1), (1, 4), (3, 4)),
    ((3, 1), (4,), (3, 4)), ((1,), (1,), (5,)), ((2, 3, 4), (3, 1), (2, 3, 4)),
    ((1, 1), (1, 1), (1, 1)), ((0, 4), (1, 4), (0, 4)), ((4,), (4,), (2, 4)),
    ((1, 4), (1, 4), (4,)), ((3,), (4,), (4,)), ((3, 4), (3,), (3, 4)), ((5,), (5,), (4,)),
    ((5,), (1,), (6,)), ((2, 4), (2, 4), (4,)), ((0,), (0,), (3,)), ((0,), (1,), (0,)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_fit_or_do_not_as_numpys(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b, c = shapes
    agree(added, lambda: (numbers("f8", *a), numbers("f8", *b, seed=1), np.full(c, 7.0)))


def test_one_compile_serves_shapes_that_fit_and_shapes_that_are_stretched() -> None:
    kernel = whorl.kernel(added)
    for a, b, c in ((3, 4), (3, 4), (3, 4)), ((3, 1), (1, 4), (3, 4)), ((1, 4), (3, 4), (3, 4)):
        x, y, z = numbers("f8", *a), numbers("f8", *b, seed=1), np.zeros(c)
        kernel(x, y, z)
        np.testing.assert_array_equal(z, x + y)
    assert len(kernel.specializations()) == 1


def test_shapes_that_do_not_fit_are_named_with_expression_and_line() -> None:
    with pytest.raises(ValueError, match="do not fit together") as caught:
        whorl.kernel(added)(np.zeros((3, 4)), np.zeros((5, 4)), np.zeros((3, 4)))
    assert str(caught.value).startswith(
        "the shapes (3, 4) and (5, 4) do not fit together in `a + b`\n"
    )
    assert "c[...] = a + b" in str(caught.value)
    with pytest.raises(ValueError, match="does not fit into") as caught:
        whorl.kernel(added)(np.zeros((3, 4)), np.zeros((3, 4)), np.zeros((2, 4)))
    first = "an array of shape (3, 4) does not fit into shape (2, 4) in `c[...] = a + b`\n"
    assert str(caught.value).startswith(first)


def zero_dimensional(a, b, c):
    b[:] = b * a + a
    a[...] = a + 1
    c[()] = a[()] * 2


def test_arrays_without_dimensions_are_numbers_to_others() -> None:
    agree(zero_dimensional, lambda: (np.array(2.5), numbers("f4", 5), np.array(1, "f4")))


# -- order of evaluation ----------------------------------------------------------------


def bump(a):
    a[0] += 10
    return a[0]


def ordered(a, b):
    b[:] = (a + 1) + bump(a)
    b[:] = b * (a + bump(a)) + (a * 2 if b[0] > 1 else a)


def test_an_expression_is_what_it_was_when_it_was_evaluated() -> None:
    agree(ordered, lambda: (numbers("f8", 5), np.zeros(5)))


def truth(a):
    if a > 1:
        a[0] = 1


def chained(a):
    a[:] = 0 < a < 2


def both(a):
    a[:] = a and a


@pytest.mark.parametrize("function", [truth, chained, both])
def test_an_array_is_no_truth_value(function: Callable[..., Any]) -> None:
    with pytest.raises(KernelError, match="an array is used as a truth value, which NumPy refuses"):
        whorl.kernel(function)(np.arange(3.0))


# -- loops ------------------------------------------------------------------------------


def swept(a, b, n):
    for i in range(n):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] = b[1:-1]
        a[i % len(a)] += 1
    while n > 0:
        a[n:] -= 1
        n -= 1


def test_statements_over_arrays_in_loops_are_numpys() -> None:
    agree(swept, lambda: (numbers("f8", 9), np.zeros(9), 5))


def spread(a, b):
    for i in whorl.prange(a.shape[0]):
        b[i] = a[i] * 2 + 1
        b[i, 1:] += a[i, :-1]


def gather(a, b):
    for i in whorl.prange(a.shape[0]):
        b += a[i]


@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_iterations_lose_no_update_of_an_array(threads: int) -> None:
    whorl.configure(threads=threads)
    agree(spread, lambda: (numbers("i8", 50, 7), np.zeros((50, 7), "i8")))
    agree(gather, lambda: (numbers("i8", 20000, 3), np.zeros(3, "i8")))
