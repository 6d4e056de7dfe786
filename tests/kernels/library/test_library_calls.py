# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-overload"
# Kernels take their types from the arguments; bad calls are what is tested.
"""Calls of NumPy's functions are followed into the library; errors are about the user's call."""

from __future__ import annotations

import numpy as np
import pytest

import whorl
from tests.properties.test_kernels import loaded


@whorl.kernel
def with_bad_axis(a):
    return np.diff(a, axis=5)


@whorl.kernel
def with_unknown_keyword(a):
    return np.diff(a, until=3)


@whorl.kernel
def with_axis_of_the_run(a, n):
    m = n + 1
    return np.flip(a, axis=m)


@pytest.mark.parametrize(
    ("kernel", "args", "message", "line"),
    [
        (with_bad_axis, (), "no axis 5", "np.diff(a, axis=5)"),
        (with_unknown_keyword, (), "There are a, n, axis", "np.diff(a, until=3)"),
        (with_axis_of_the_run, (0,), "known at compile time", "np.flip(a, axis=m)"),
    ],
)
def test_a_bad_call_is_an_error_at_the_users_line(kernel, args, message, line) -> None:
    with pytest.raises(whorl.KernelError, match=message) as caught:
        kernel(np.arange(4.0), *args)
    assert "test_library_calls.py" in str(caught.value)
    assert line in str(caught.value)
    assert "library/" not in str(caught.value)


@whorl.kernel
def differences(a):
    return np.diff(a)


def test_what_the_library_reads_is_no_read_of_the_kernel() -> None:
    differences(np.arange(4.0))
    (specialization,) = differences.specializations()
    paths = {str(seen.read.path) for seen in specialization.trace.seen}
    assert {path for path in paths if path.startswith(("arg:", "global:"))} == {
        "arg:a",
        "global:tests.kernels.library.test_library_calls.np.diff",
    }


WRONG_VALUES = {
    "np.take(a, 9)": IndexError,
    "np.take(a, np.array([1, -8]))": IndexError,
    "np.concatenate((m, m[:, 1:]))": ValueError,
    "np.stack((a, a[1:]))": ValueError,
    "np.bincount(np.array([1, -1]))": ValueError,
    "np.bincount(np.array([1, 1]), weights=a)": ValueError,
    "np.histogram(a, 3, (2.0, 1.0))": ValueError,
    "np.histogram(a, -np.sort(a))": ValueError,
    "np.interp(a, a, m[0])": ValueError,
    "np.split(a, 2)": ValueError,
    "np.percentile(a, 101)": ValueError,
    "np.quantile(a, -0.5)": ValueError,
    "np.average(a, weights=a * 0)": ZeroDivisionError,
    "np.nanargmin(a * np.nan)": ValueError,
    "np.repeat(a, -1)": ValueError,
    "np.digitize(a, np.array([1.0, 3.0, 2.0]))": ValueError,
    "np.partition(a, 9)": ValueError,
    "np.gradient(a[:1])": ValueError,
    "np.convolve(a[:0], a)": ValueError,
    "np.unravel_index(12, (3, 4))": ValueError,
    "np.squeeze(m, 0)": ValueError,
    "np.delete(a, 7)": IndexError,
    "np.insert(a, 9, 1.0)": IndexError,
    "np.cross(m, m)": ValueError,
    "np.add.at(a, np.array([9]), 1.0)": IndexError,
    "np.min(a[:0])": ValueError,
    "np.argmax(a[:0])": ValueError,
    "np.select([a > 1], [m], 0.0)": ValueError,
}


@pytest.mark.parametrize("call", WRONG_VALUES)
def test_wrong_values_raise_what_numpy_raises_and_name_the_line(call, tmp_path) -> None:
    source = f"import numpy as np\n\n\ndef program(a, m):\n    return {call}\n"
    program = loaded(source, tmp_path).program
    a, m = np.arange(7.0), np.arange(12.0).reshape(3, 4)
    with pytest.raises(WRONG_VALUES[call]):
        program(a.copy(), m.copy())
    kernel = whorl.kernel(program)
    with pytest.raises(WRONG_VALUES[call]) as caught:
        kernel(a.copy(), m.copy())
    words = f"{caught.value} {getattr(caught.value, '__notes__', '')}"
    assert "library" not in words


@whorl.kernel(parallel=True)
def bits(w):
    return np.bitwise_or.reduce(w), np.bitwise_xor.reduce(w), np.bitwise_and.reduce(w)


def test_reductions_of_bits_are_right_on_several_threads() -> None:
    w = np.arange(1, 100_000)
    assert bits(w) == (np.bitwise_or.reduce(w), np.bitwise_xor.reduce(w), np.bitwise_and.reduce(w))


def twice(a):
    b = np.concatenate((a, a))
    return b


@whorl.kernel
def through_functions(a):
    total = 0.0
    for _ in range(3):
        total += twice(a).sum()
    return twice(a * total), np.stack((a, a))


def test_what_a_followed_function_makes_to_be_returned_is_not_copied() -> None:
    a = np.arange(4.0)
    one, other = through_functions(a)
    np.testing.assert_array_equal(one, np.concatenate((a, a)) * 36)
    np.testing.assert_array_equal(other, [a, a])
    assert one.base is None
    text = through_functions.inspect("ir")
    assert "for array 0" in text
    assert "for array 1" in text
