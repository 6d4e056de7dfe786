"""What a kernel raises comes to the caller as the source says it, from the lines of the source.

PYTEST_DONT_REWRITE: kernels here have assertions.
"""

from __future__ import annotations

import resource
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing


class Failure(Exception):
    """An exception of the user's."""


def root(x: float, i: int) -> Any:
    if x < 0:
        raise ValueError(f"{x} at {i:>3} of {(i, 2)}: {x!r} {{}}")
    if x > 10:
        raise Failure("large", x, i)
    return x**0.5


@whorl.kernel
def roots(a: Any, b: Any, n: int) -> Any:
    scratch = np.zeros(n + 3)
    for i in range(a.shape[0]):
        b[i] = root(a[i], i) + scratch[0]
    assert n >= 0, f"n is {n}"
    if n == 7:
        raise RuntimeError
    if n == 8:
        raise KeyError("text", 3) from None
    if n == 9:
        assert n < 5
    return b * 2


def caught(call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


CASES = [(-1.5, 3), (20.0, 3), (2.0, -1), (2.0, 7), (2.0, 8), (2.0, 9), (2.0, 1)]


@pytest.mark.parametrize("case", CASES[:-1])
def test_an_exception_has_the_class_the_arguments_and_the_frames_of_plain_python(
    case: tuple[float, int],
) -> None:
    value, n = case
    for _ in range(5):  # in Python, and natively
        errors, arrays = [], []
        for function in (roots, roots.interpret):
            a, b = np.arange(4.0), np.zeros(4)
            a[2] = value
            errors.append(caught(lambda f=function, a=a, b=b: f(a, b, n)))  # type: ignore[misc]  # the defaults are what it is called with
            arrays.append(b)
        found, expected = errors
        assert type(found) is type(expected)
        assert found.args == expected.args
        assert [type(each) for each in found.args] == [type(each) for each in expected.args]
        np.testing.assert_array_equal(arrays[0], arrays[1])
        entries = traceback.extract_tb(found.__traceback__)[2:]
        others = traceback.extract_tb(expected.__traceback__)[-len(entries) :]
        assert [(e.filename, e.lineno, e.name) for e in entries] == [
            (e.filename, e.lineno, e.name) for e in others
        ]
        assert entries[0].name == "roots"
        assert entries[0].line == others[0].line


def test_after_an_exception_the_kernel_runs_again_and_nothing_is_left_behind() -> None:
    a, bad, b = np.arange(4.0), -np.ones(4), np.zeros(4)
    for _ in range(5):
        np.testing.assert_array_equal(roots(a, b, 1), np.sqrt(a) * 2)
        assert isinstance(caught(lambda: roots(bad, b, 1)), ValueError)
    for _ in range(300):  # 120 MB of memory, if none of it were freed
        caught(lambda: roots(bad, b, 50_000))
        if _ == 100:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_one_iteration_of_prange_raises_for_all() -> None:
    @whorl.kernel
    def checked(a: Any) -> None:
        for i in whorl.prange(a.shape[0]):
            if a[i] < 0:
                raise IndexError(f"a[{i}] is {a[i]}", i)
            assert a[i] < 100, "too large"
            a[i] = 0

    a = np.ones(1000)
    a[[17, 400, 900]] = -1
    for _ in range(5):
        error = caught(lambda: checked(a))
        assert isinstance(error, IndexError)
        assert error.args[1] in (17, 400, 900)
        assert error.args[0] == f"a[{error.args[1]}] is -1.0"
    a[:] = 200
    with pytest.raises(AssertionError, match=r"^too large$"):
        checked(a)


def test_an_exception_of_a_kernel_from_the_store_is_the_same() -> None:
    def guarded(n: int) -> int:
        if n > 2:
            raise Failure(f"{n} is too much")
        return n

    first = caught(lambda: whorl.kernel(guarded)(3))
    with whorl.testing.forbid_compile():
        again = caught(lambda: whorl.kernel(guarded)(3))
    assert (type(again), again.args) == (type(first), ("3 is too much",))
    assert traceback.extract_tb(again.__traceback__)[-1].name == "guarded"


def test_a_branch_that_raises_leaves_names_as_they_are_in_the_others() -> None:
    @whorl.kernel
    def chosen(mode: int, x: Any) -> Any:
        if mode == 0:
            y = x * 2
        elif mode == 1:
            y = x + 1
        else:
            raise NotImplementedError("mode")
        while True:
            if y.sum() > 10:
                return y
            if mode < 0:
                raise ValueError
            y = y + 1

    x = np.arange(3.0)
    np.testing.assert_array_equal(chosen(0, x), chosen.interpret(0, x))
    np.testing.assert_array_equal(chosen(1, x), chosen.interpret(1, x))
    with pytest.raises(NotImplementedError, match="mode"):
        chosen(5, x)


def test_what_cannot_be_raised_is_an_error_at_its_place() -> None:
    class Local(Exception):
        pass

    def local(x: Any) -> None:
        raise Local("x")

    def shown(x: Any) -> None:
        raise ValueError(f"{x}")

    def bare(x: Any) -> None:
        raise  # noqa: PLE0704  # that is what is refused

    def number(x: Any) -> None:
        raise np.float64(3)  # type: ignore[misc]  # that is what is refused

    for function, words in (
        (local, "is not found under its name.*\n.*\n.*\n.*top of a module"),
        (shown, "cannot be shown"),
        (bare, "a bare raise"),
        (number, "no class of exceptions"),
    ):
        with pytest.raises(whorl.KernelError, match=words):
            whorl.kernel(function)(np.zeros(2))
