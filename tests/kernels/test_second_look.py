# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, index"
# Kernels take their types from the arguments.
"""What an attack on the kernel language found: each once wrong, now pinned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same

if TYPE_CHECKING:
    from somewhere import OnlyForTypeCheckers  # type: ignore[import-not-found] # there is none

# -- numbers ----------------------------------------------------------------------------


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


# -- the order of evaluation ------------------------------------------------------------


def set_first(x, value):
    x[0] = 5.0
    return value


@whorl.kernel
def held(x):
    v = whorl.vec(1.0, 2.0)
    pair = set_first(x, (x[0], x[1]))
    return set_first(x, x[1]), set_first(v, v[0]), pair, v[0]


@whorl.kernel
def held_in_targets(x):
    x[int(set_first(x, 1.0))] = x[0]
    for a in (x[0], x[1]):
        x[1] = 9.0
        x[2] += a


def test_arguments_are_what_they_are_at_the_call() -> None:
    same(held, np.array([1.0, 2.0]))
    same(held_in_targets, np.array([1.0, 2.0, 3.0]))


@whorl.kernel
def walrus(x):
    y = z = w = 1
    first = x > 0 and (y := x * 2) > 1
    second = (z := x) if x > 0 else 7
    third = x > 0 or bool(w := 5)
    return y, z, w, first, second, third


def test_names_set_in_an_expression_are_set_only_where_it_is_evaluated() -> None:
    same(walrus, -3)
    same(walrus, 3)


# -- loops ------------------------------------------------------------------------------


@whorl.kernel
def left_by_else(x, n):
    total = 0.5
    for i in range(n):
        total += x[i]
        for _j in range(n, 0):
            break
        else:
            total += 100.0
            break
        total = 7.0
    return total


@whorl.kernel
def left_by_rounds(x):
    s = 0.25
    for k in whorl.static(range(4)):
        s += x[k]
        if x[k] > 1.5:
            break
    else:
        s = -1.0
    for k in (1, 2):
        s *= 2
        return s + k
    return s


def test_ways_out_of_else_and_of_written_out_rounds_keep_what_was_set() -> None:
    same(left_by_else, np.arange(4.0), 3)
    same(left_by_rounds, np.arange(4.0))
    same(left_by_rounds, np.zeros(4))


@whorl.kernel
def counted(x, n):
    s = 0.0
    for i, a in enumerate(x, start=n):
        s += i * a
    for i, a in enumerate((1.0, 2.0), start=3):
        s += i * a
    return s


def test_enumerate_takes_its_start_by_name() -> None:
    same(counted, np.arange(4.0), 10)


# -- indices ----------------------------------------------------------------------------


@whorl.kernel
def wrapping_indices(x, n):
    a = np.int8(0)
    s = 0.0
    for i in range(n):
        a = a + np.int8(50)
        s += x[a] + x[np.int8(i % 100) * np.int8(2)]
    return s


def test_an_index_of_a_narrow_type_may_wrap_to_a_negative_one() -> None:
    same(wrapping_indices, np.arange(200.0), 150)


# -- arrays, classes, annotations -------------------------------------------------------


@whorl.kernel
def in_place(c):
    c += 2
    return c, c[...]


def test_an_array_without_dimensions_is_changed_in_place_and_returned_as_a_number() -> None:
    c = np.array(5)
    assert in_place(c) == (7, 7)
    assert c == 7
    assert type(same(in_place, c)[0]) is int


@whorl.kernel
def of_dtype(x):
    return x.dtype == np.float32, x.dtype == np.dtype("f8"), x.dtype != np.int64


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_a_dtype_is_compared_with_a_class(dtype: str) -> None:
    same(of_dtype, np.zeros(1, dtype))


@whorl.kernel
def annotated(x: OnlyForTypeCheckers, y: whorl.Array, z: np.floating):
    return x + y[0] + z


def test_annotations_that_say_nothing_to_a_kernel_are_ignored() -> None:
    assert annotated(1, np.ones(2), np.float32(3)) == 5.0


@whorl.kernel
def vectors_with_one_name(x, n):
    v = whorl.vec(1.0, 2.0)
    w = whorl.vec(5.0, 6.0)
    for i in range(n):
        v, w = w, v
        v[0] += i
    last = v.copy()
    for i in range(n):
        now = whorl.vec(1.0 * i, x)
        now[0] += last[0]
        last = now
    own = v.copy() if x > 1 else w.copy()
    own[1] = 7.0
    if x > 2:
        v = v * 2
    v[1] = 9.0
    best = v if x > 1 else w
    return v[0], v[1], w[0], last[0], best[0], own[0], own[1]


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5])
def test_vectors_of_which_one_name_is_left_may_be_changed(x: float) -> None:
    same(vectors_with_one_name, x, 3)


# -- debug ------------------------------------------------------------------------------


@whorl.kernel(debug=True)
def asked(x, m, i):
    v = whorl.vec((1.0, 2.0), (3.0, 4.0))
    if i == -9:
        return x[i]
    if i == 8:
        return m[:, i][0]
    return v[0, i]


@pytest.mark.parametrize(
    ("i", "text"),
    [
        (-9, "index -9 is out of bounds for axis 0 of arg:x, of size 4"),
        (8, "index 8 is out of bounds for axis 1 of arg:m, of size 3"),
        (7, r"index 7 is out of bounds for axis 1 of a vector f64\[2, 2\], of size 2"),
    ],
)
def test_debug_names_the_index_as_it_was_asked_for_and_its_axis(i: int, text: str) -> None:
    with pytest.raises(IndexError, match=text):
        asked(np.zeros(4), np.zeros((2, 3)), i)


@whorl.kernel(debug=True)
def quotients(a, b):
    return divmod(a, b)


@whorl.kernel(debug=True)
def steps(n):
    s = 0
    for i in range(0, 5, n):
        s += i
    return s


@whorl.kernel(debug=True)
def too_few(x):
    x[:] = (1.0, 2.0, 3.0)


def test_debug_checks_divmod_ranges_and_the_size_of_parts() -> None:
    assert quotients(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        quotients(7, 0)
    assert steps(2) == 6
    with pytest.raises(ValueError, match="the step of a range is zero"):
        steps(0)
    x = np.zeros(3)
    too_few(x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"f64\[3\] is stored into an axis 0 of size 4"):
        too_few(np.zeros(4))
