"""Programs with the names of Numba run with one changed import."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from whorl.compat import numba
from whorl.compat.numba import float64, int64, njit, prange


@njit
def square(x: Any) -> Any:
    return x * x


@njit(cache=True, fastmath=False, nogil=True, error_model="numpy", inline="always")
def norm(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += square(x[i])
    return math.sqrt(total)


@njit(parallel=True)
def histogram(x: Any, counts: Any) -> None:
    for i in prange(x.size):
        counts[x[i]] += 1


@numba.jit(nopython=True)
def smoothed(a: Any) -> Any:
    b = np.zeros_like(a)
    b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
    return b


def test_functions_call_each_other_and_give_numpys_results() -> None:
    x = np.arange(5.0)
    assert norm(x) == np.linalg.norm(x)
    counts = np.zeros(4, np.int64)
    histogram(np.arange(1000) % 4, counts)
    assert counts.tolist() == [250] * 4
    expected = np.zeros(5)
    expected[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    assert np.array_equal(smoothed(x), expected)


def test_signatures_are_compiled_ahead() -> None:
    @njit("float64(float64[:], int64)")
    def power_sum(x: Any, n: Any) -> Any:
        total = 0.0
        for value in x:
            total += value**n
        return total

    @njit([float64(float64[:, ::1]), float64(float64[:])])
    def largest(x: Any) -> Any:
        return x.max()

    assert len(power_sum.specializations()) == 1
    assert power_sum(np.arange(4.0), 2) == 14.0
    assert len(power_sum.specializations()) == 1
    assert len(largest.specializations()) == 2
    assert largest(np.eye(2)) == 1.0


def test_a_signature_with_another_result_is_refused() -> None:
    with pytest.raises(TypeError, match="says that it returns int64, and it returns float64"):

        @njit(int64(float64))
        def half(x: Any) -> Any:
            return x / 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"forceobj": True}, numba.NotInWhorl, "leave the decorator out"),
        ({"nopython": False}, numba.NotInWhorl, "nopython=False"),
        ({"locals": {"x": float64}}, numba.NotInWhorl, "Convert the values"),
        ({"error_model": "c"}, ValueError, "'python' or 'numpy'"),
        ({"no_such": 1}, TypeError, "no option 'no_such'"),
    ],
)
def test_options_that_could_change_a_result_are_refused_with_a_reason(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        njit(**options)


def test_bounds_are_checked_on_request() -> None:
    @njit(boundscheck=True)
    def pick(x: Any, i: Any) -> Any:
        return x[i]

    with pytest.raises(IndexError):
        pick(np.zeros(3), 7)


def test_types_are_written_as_numba_writes_them() -> None:
    assert str(float64[:, ::1]) == "float64[:, ::1]"
    assert str(numba.types.int64(float64[:], numba.f4)) == "int64(float64[:], float32)"
    assert numba.typeof(np.zeros((2, 3), np.float32)) == numba.float32[:, ::1]
    assert numba.typeof(3) == int64
    with pytest.raises(TypeError, match=r"float64\[:\]"):
        float64[3]


def test_vectorized_functions_are_ufuncs() -> None:
    @numba.vectorize([float64(float64, float64)], target="parallel")
    def plus(a: Any, b: Any) -> Any:
        return a + b

    @numba.guvectorize([(float64[:], float64[:])], "(n)->()")
    def total(x: Any, out: Any) -> None:
        out[0] = x.sum()

    @numba.vectorize(["i8(i8)"])
    def negated(a: Any) -> Any:
        return -a

    assert negated.types == ["l->l"]
    assert type(plus) is np.ufunc
    assert plus.reduce(np.arange(5.0)) == 10
    assert total(np.ones((2, 3))).tolist() == [3, 3]
    with pytest.raises(numba.NotInWhorl, match="processors"):
        numba.vectorize([float64(float64)], target="cuda")


def test_what_is_missing_says_what_to_write_instead() -> None:
    with pytest.raises(numba.NotInWhorl, match="Use an array"):
        numba.typed.List()
    with pytest.raises(numba.NotInWhorl, match="sorted keys"):
        numba.typed.Dict.empty(int64, float64)
    with pytest.raises(numba.NotInWhorl, match="Remove the decorator"):
        numba.experimental.jitclass([("x", float64)])
    with pytest.raises(numba.NotInWhorl, match="before or after the kernel"), numba.objmode():
        pass
    with pytest.raises(numba.NotInWhorl, match="slices"):
        numba.stencil(lambda a: a[0])


def test_the_number_of_threads_can_be_set() -> None:
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert numba.get_num_threads() == 1
        with pytest.raises(ValueError, match="from 1 on"):
            numba.set_num_threads(0)
    finally:
        numba.set_num_threads(before)
    assert numba.get_num_threads() == before


def test_tuples_are_unrolled() -> None:
    @njit
    def total(arrays: Any) -> Any:
        s = 0.0
        for a in numba.literal_unroll(arrays):
            s += a[0]
        return s

    assert total((np.ones(2), np.full(3, 2, np.int64))) == 3.0


def test_the_plain_function_is_there_by_its_name_in_numba() -> None:
    assert square.py_func(3) == 9
    assert square.py_func is square.function


def test_functions_without_a_body_of_their_own_are_refused_where_they_are_called() -> None:
    def stub(x: Any) -> Any:
        pass

    @numba.extending.overload(stub)
    def stub_overload(x: Any) -> Any:
        return lambda x: x + 1

    @numba.extending.intrinsic
    def low_level(context: Any, x: Any) -> Any:
        return None

    @numba.cuda.jit(device=True)  # type: ignore[untyped-decorator]  # a module made at run time
    def on_a_card(x: Any) -> None:
        pass

    @njit
    def calls_it(function: Any, x: Any) -> Any:
        return function(x)

    assert not numba.cuda.is_available()
    with pytest.raises(numba.TypingError, match="does not use overloads"):
        calls_it(stub, 1)
    with pytest.raises(numba.TypingError, match="intrinsic"):
        calls_it(low_level, 1)
    with pytest.raises(numba.NotInWhorl, match="compiles for processors"):
        on_a_card(1)


def test_an_overload_of_a_function_with_a_body_is_the_body() -> None:
    def double(x: Any) -> Any:
        return 2 * x

    numba.extending.overload(double)(lambda x: None)

    @njit
    def calls_it(x: Any) -> Any:
        return double(x)

    assert calls_it(4) == 8


def test_submodules_of_numba_can_be_imported() -> None:
    from whorl.compat.numba.errors import (  # type: ignore[import-not-found]  # made at run time
        NumbaPerformanceWarning,
    )
    from whorl.compat.numba.types import Array  # type: ignore[import-not-found]  # made at run time

    assert issubclass(NumbaPerformanceWarning, UserWarning)
    assert str(Array(float64, 1, "A", readonly=True)) == "const float64[:]"
    assert numba.config.NUMBA_NUM_THREADS >= 1


def test_a_signature_of_what_may_be_none_is_compiled_when_it_is_called() -> None:
    @njit(int64(int64, numba.optional(int64)))
    def plus(a: Any, b: Any) -> Any:
        return a if b is None else a + b

    assert not plus.specializations()
    assert (plus(1, None), plus(1, 2)) == (1, 3)


def test_a_layout_of_inputs_alone_changes_them() -> None:
    @numba.guvectorize([(float64[:], float64[:])], "(n), (n)")
    def add(x: Any, total: Any) -> None:
        for i in range(x.size):
            total[i] += x[i]

    total = np.zeros((2, 3))
    add(np.arange(3.0), total)
    assert total.tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(ValueError, match="fewer dimensions"):
        add(1.0, total)
