"""Numbers in a kernel are those of Python and NumPy: constants, widths, powers, reductions."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same


@whorl.kernel
def compared(x, n):
    return x[0] > -1, x[0] < 1000, x[0] == -1, x[0] != 300, n < x[0], x[0] >= n, -1 < x[0] < 999


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("n", [-1, 5, 300])
def test_python_ints_are_compared_by_value_with_every_dtype(dtype: str, n: int) -> None:
    same(compared, np.array([5], dtype), n)


@whorl.kernel
def large(x):
    return x[0] * 0x8000000000000000, x[0] / 0xFFFFFFFFFFFFFFFF, x[0] < 0xFFFFFFFFFFFFFFFF


@pytest.mark.parametrize("dtype", ["f8", "f4", "u8"])
def test_a_constant_of_64_unsigned_bits_is_not_negative(dtype: str) -> None:
    same(large, np.array([3], dtype))


@whorl.kernel
def best(x):
    found = -1
    for i in range(x.size):
        if x[i] > 3:
            found = x[i]
    return found


@whorl.kernel
def either(x, flag):
    a = 300 if flag else x[0]
    return a, min(300, x[0]), max(x[0], 300), max(-1, x[0])


def test_a_constant_that_does_not_fit_makes_a_variable_wider() -> None:
    assert same(best, np.zeros(3, np.uint8)) == -1
    assert same(best, np.full(3, 9, np.uint8)) == 9
    same(either, np.array([7], np.uint8), True)
    same(either, np.array([7], np.uint8), False)


@whorl.kernel
def powers(a, b):
    return a**b


def test_whole_powers_of_unsigned_numbers_have_no_sign() -> None:
    same(powers, np.uint8(3), np.uint8(200))
    same(powers, np.uint64(3), np.uint64(2**63))


@whorl.kernel
def whole(x):
    return np.floor(x), np.ceil(x), np.trunc(x), np.fmod(x, 3), np.square(x)


@pytest.mark.parametrize("x", [7, -7, np.int16(-7), np.uint8(7), 7.5, np.float32(-7.5), np.True_])
def test_numpy_keeps_integers_whole(x: Any) -> None:
    same(whole, x)


@whorl.kernel
def signed(x):
    return math.copysign(1.0, np.sign(x)), np.sign(x)


@pytest.mark.parametrize("x", [-0.0, 0.0, 2.5, -2.5, np.nan, np.float32(-0.0)])
def test_the_sign_of_minus_zero_is_zero(x: float) -> None:
    same(signed, x)


@whorl.kernel
def rooted(x):
    return np.sqrt(x) * 1.0


def test_numpy_functions_of_16_bit_integers_are_float32() -> None:
    assert rooted(np.int16(2)) == rooted.interpret(np.int16(2)) == float(np.sqrt(np.float32(2)))


@whorl.kernel
def lowest(x):
    return -np.int8(-128), x


def test_constants_wrap_silently() -> None:
    assert lowest(1) == (-128, 1)


@whorl.kernel
def power(i, j):
    return i**j


@pytest.mark.parametrize("kind", [int, np.int8, np.int64])
def test_a_negative_power_of_an_integer_is_said_under_debug(kind: Any) -> None:
    checked = power.with_options(debug=True)
    assert checked(kind(2), kind(3)) == 8
    assert checked(kind(5), kind(0)) == 1
    with pytest.raises(ValueError, match="integers have no negative powers") as caught:
        checked(kind(2), kind(-1))
    assert "return i**j" in str(caught.value)


@whorl.kernel
def raised_by_pow(i, j):
    return pow(i, j)


@whorl.kernel
def raised_by_numpy(i, j):
    return np.power(i, j)


@pytest.mark.parametrize("kernel", [raised_by_pow, raised_by_numpy])
def test_functions_say_it_too(kernel: Any) -> None:
    checked = kernel.with_options(debug=True)
    assert (checked(2, 3), checked(2.0, -1.0)) == (8, 0.5)
    with pytest.raises(ValueError, match="integers have no negative powers"):
        checked(2, -3)


def test_numbers_without_a_sign_and_floats_have_all_their_powers() -> None:
    checked = power.with_options(debug=True)
    assert checked(np.uint8(2), np.uint8(3)) == 8
    assert checked(2.0, -1.0) == 0.5
    assert checked(np.float32(2), np.float32(-2)) == 0.25


INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


@whorl.kernel
def greatest(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = max(s, x[i])
    return s


@whorl.kernel
def least(start, x):
    s = start
    for i in whorl.prange(x.size):
        s = min(s, x[i])
    return s


@whorl.kernel
def added(start, x):
    s = start
    for i in whorl.prange(x.size):
        s += x[i]
    return s


@whorl.kernel
def multiplied(start, x):
    s = start
    for i in whorl.prange(x.size):
        s *= x[i]
    return s


REDUCTIONS = [greatest, least, added, multiplied]


def several_bools() -> list[Any]:
    rows = [np.zeros(200, bool), np.ones(200, bool), np.arange(200) % 2 == 0]
    rows += [np.arange(200) == place for place in (0, 77, 199)]
    return [each for row in rows for each in (row, ~row)] + [np.zeros(0, bool), np.ones(3, bool)]


@pytest.mark.parametrize("kernel", REDUCTIONS)
@pytest.mark.parametrize("kind", [bool, np.bool_])
@pytest.mark.parametrize("threads", [1, 2])
def test_bools_are_reduced_as_python_does_it(kernel: Any, kind: Any, threads: int) -> None:
    whorl.configure(threads=threads)
    for start in (kind(False), kind(True)):
        for x in several_bools():
            assert kernel(start, x) == kernel.interpret(start, x), (start, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_integer_types_are_found_by_reductions(dtype: Any) -> None:
    info = np.iinfo(dtype)
    for value in (info.min, info.min + 1, 0, info.max - 1, info.max):
        x = np.full(100, value, dtype)
        for start in (dtype.type(info.min), dtype.type(info.max)):
            assert greatest(start, x) == max(int(start), value)
            assert least(start, x) == min(int(start), value)


@whorl.kernel
def remainder(a, b):
    return np.fmod(a, b)


@whorl.kernel
def remainder_of_seven(a):
    return np.fmod(a, 7)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_remainders_are_numpys_at_the_ends_of_integer_types(dtype: Any) -> None:
    info = np.iinfo(dtype)
    values = {info.min, info.min + 1, -100, -7, -1, 0, 1, 7, 100, info.max - 1, info.max}
    numbers = [dtype.type(value) for value in sorted(values) if info.min <= value <= info.max]
    for a in numbers:
        with np.errstate(all="ignore"):
            assert remainder_of_seven(a) == np.fmod(a, dtype.type(7)), a
            for b in numbers:
                assert remainder(a, b) == np.fmod(a, b), (a, b)


HUGE, LOST = 1e300, np.float64(1e300)


@whorl.kernel
def times_huge(x):
    return x[0] * 1e300


@whorl.kernel
def as_single(x):
    return np.float32(1e300) + np.float32(HUGE) + x[0]


@whorl.kernel
def as_integer(x):
    return np.int32(LOST) * 0 + np.int32(np.float32(np.inf)) * 0 + x[0]


@whorl.kernel
def less_than_huge(x):
    return max(np.float32(1), x[0]) < HUGE, min(x[0], 1e300), x[0] == 1e300


ONE = np.float32(1)


@whorl.kernel
def known_beside_huge(x):
    return ONE < HUGE, ONE in (HUGE, 1e301), max(ONE, HUGE) == HUGE, min(ONE, 1e300) * x[0]


@whorl.kernel
def vector_of_huge(x):
    v = whorl.vec(x[0], 1e300)
    v += 1e300
    return v[0]


@whorl.kernel
def declared(x, by: np.float32):
    y: np.float32 = 1e300  # type: ignore[assignment] # what is tested
    return x[0] * y + by


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "kernel",
    [
        times_huge,
        as_single,
        as_integer,
        less_than_huge,
        known_beside_huge,
        vector_of_huge,
        declared,
    ],
)
def test_numbers_that_do_not_fit_warn_nobody_while_a_kernel_is_compiled(kernel: Any) -> None:
    x, more = np.ones(2, np.float32), (1e300,) if kernel is declared else ()
    with np.errstate(all="ignore"):
        expected = kernel.interpret(x, *more)
    found = kernel(x, *more)
    if kernel is not declared:  # annotations convert nothing where it is interpreted
        assert found == expected
    else:
        assert found == np.inf


class Count(int):
    pass


class Length(float):
    pass


@whorl.kernel
def doubled(x):
    return x * 2


@whorl.kernel
def converted(x):
    return float(x)


@whorl.kernel
def below_two(x):
    return x < 2


@whorl.kernel
def wanted(x: int):
    return x


@pytest.mark.parametrize("kernel", [doubled, converted, below_two, wanted])
@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (Count(3), "Pass a plain int"),
        (Length(3.0), "Pass a plain float"),
        (None, "Pass a number, or ask `is None` before."),
    ],
)
def test_what_is_nearly_a_number_is_refused_with_a_remedy(
    kernel: Any, value: Any, remedy: str
) -> None:
    if kernel is wanted and value is None:
        remedy = "Pass such a value, or change the annotation."
    with pytest.raises(whorl.KernelError) as caught:
        kernel(value)
    assert remedy in caught.value.remedy


@whorl.kernel
def kinds(n: Any, x: Any) -> Any:
    y = x[0]
    m = n + 1
    return (
        isinstance(m, int),
        isinstance(m, float),
        isinstance(y, float),
        isinstance(y, np.floating),
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("n", [2, 2.5, True])
def test_isinstance_of_a_number_of_the_run_is_that_of_python(n: object, dtype: str) -> None:
    x = np.ones(2, dtype)
    assert kinds(n, x) == kinds.interpret(n, x)
