"""Vectors: assignments to their components, changes in place, rows and slices, wrong indices."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same


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


@whorl.kernel
def turned(x):
    v = whorl.vec(x, x + 1, x + 2)
    v[1], v[2], v[0] = v
    return v[0], v[1], v[2]


@whorl.kernel
def turned_in_part(x):
    v = whorl.vec(x, x + 1, x + 2, x + 3)
    v[3], *rest, v[0] = v
    v[1], (v[2], a) = v[0], v[:2]
    return v[0], v[1], v[2], v[3], rest[0], rest[1], a


@whorl.kernel
def rows_turned(x):
    m = whorl.vec((x, x + 1), (x + 2, x + 3))
    m[1], m[0] = m
    return m[0, 0], m[0, 1], m[1, 0], m[1, 1]


@pytest.mark.parametrize("kernel", [turned, turned_in_part, rows_turned])
def test_a_vector_is_taken_apart_before_its_components_are_set(kernel: Any) -> None:
    assert kernel(10.0) == kernel.interpret(10.0)


@whorl.kernel
def halved(v0):
    v = whorl.vec(v0, 2)
    v /= v0 + 1
    return v[0]


@whorl.kernel
def halved_in_part(v0):
    v = whorl.vec(v0, 2, 3)
    v[1:] += 0.5
    return v[1]


@whorl.kernel
def halved_row(v0):
    m = whorl.vec((v0, 2), (3, 4))
    m[0] *= 0.5
    return m[0, 0]


@whorl.kernel
def halved_without_dimensions(total):
    total += 0.5


@pytest.mark.parametrize(
    ("kernel", "argument", "sign", "written"),
    [
        (halved, 1, "/=", "v = v / (v0 + 1)"),
        (halved_in_part, 1, "+=", "v[1:] = v[1:] + 0.5"),
        (halved_row, 1, "*=", "m[0] = m[0] * 0.5"),
        (halved_without_dimensions, np.zeros((), np.int64), "+=", "total[()] = total + 0.5"),
    ],
)
def test_what_numpy_does_not_put_into_integers_in_place_is_refused(
    kernel: Any, argument: Any, sign: str, written: str
) -> None:
    with pytest.raises(TypeError):
        kernel.interpret(argument)
    with pytest.raises(whorl.KernelError, match="as NumPy refuses to") as caught:
        kernel(argument)
    assert f"`{sign}` in place would put f64 into i64" in str(caught.value)
    assert written in caught.value.remedy


@whorl.kernel
def changed_in_place(x, y):
    v = whorl.vec(x, x)
    v += y
    v[:1] -= y
    return v[0], v[1]


KINDS = [np.bool_, np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64, int, float]


@pytest.mark.parametrize("of", KINDS[:-2])
@pytest.mark.parametrize("by", KINDS)
def test_vectors_take_in_place_what_numpy_takes(of: Any, by: Any) -> None:
    with np.errstate(all="ignore"):
        try:
            expected = changed_in_place.interpret(of(1), by(2))
        except TypeError:
            with pytest.raises(whorl.KernelError):
                changed_in_place(of(1), by(2))
            return
    assert changed_in_place(of(1), by(2)) == expected


ROW, STEP, FAR = 1, 2, 7


PAIR = (1.0, 2.0)


@whorl.kernel
def step_of_nothing(x):
    v = whorl.vec(x, x, x)
    return v[::0][0]


@whorl.kernel
def step_of_half(x):
    v = whorl.vec(x, x, x)
    return v[::0.5][0]


@whorl.kernel
def begin_of_text(x):
    v = whorl.vec(x, x, x)
    return v["a":][0]


@whorl.kernel
def row_too_far(x):
    m = whorl.vec((x, x), (x, x))
    return m[FAR][0]


@whorl.kernel
def row_of_float(x):
    m = whorl.vec((x, x), (x, x))
    return m[0.0][0]


@whorl.kernel
def row_of_bool(x):
    m = whorl.vec((x, x), (x, x))
    return m[True][0, 0, 0]


@whorl.kernel
def row_of_none(x):
    m = whorl.vec((x, x), (x, x))
    return m[None][0, 0, 0]


@whorl.kernel
def tuple_by_nothing(x):
    pair = (x, x)
    return pair[::0][0]  # type: ignore[misc] # what is tested


@whorl.kernel
def global_by_nothing(x):
    return PAIR[::0][0] * x  # type: ignore[misc] # what is tested


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (step_of_nothing, "the step of a slice is an int that is known at compile time, not 0"),
        (step_of_half, "an index is an int, not float (0.5)"),
        (begin_of_text, "an index is an int, not str"),
        (row_too_far, "index 7 is out of bounds for axis 0 of f64[2, 2]"),
        (row_of_float, "an index is an int, not float"),
        (row_of_bool, "an index is an int, not bool"),
        (row_of_none, "an index is an int, not None"),
        (tuple_by_nothing, "slice step cannot be zero"),
        (global_by_nothing, "slice step cannot be zero"),
    ],
)
def test_wrong_indices_of_small_things_are_said_with_their_place(kernel: Any, words: str) -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kernel(1.0)
    assert words in str(caught.value)
    assert caught.value.text.strip().startswith("return ")
    assert "^" in str(caught.value)


@whorl.kernel
def by_globals(x):
    m = whorl.vec((x, x + 1), (x + 2, x + 3))
    return m[ROW][0], m[:ROW][0, 1], m[0][::STEP][0], m[-ROW, -1]


def test_rows_and_slices_of_vectors_are_taken_by_globals_too() -> None:
    assert by_globals(1.0) == by_globals.interpret(1.0)
