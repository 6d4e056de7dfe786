"""The class of an object is taken by `type`, and a class that an object only claims is refused."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

import numpy as np
import pytest

import whorl


class Sized:
    N = 3

    def __init__(self) -> None:
        self.x = 2.0

    @whorl.kernel
    def read(self):
        return type(self).N * self.x, type(self) is Sized, type(self.x) is float


class Larger(Sized):
    N = 4


class Pretending(Sized):
    @property  # type: ignore[misc] # what is tested
    def __class__(self):
        return Larger


@whorl.kernel
def kinds_of(x):
    return type((x, x)) is tuple, type(x) is tuple, type(whorl.static("a")) is str


@whorl.kernel
def kinds_of_the_run(x, n):
    y = x + 1
    numbers = type(y) is float, type(n * 2) is int, type(n / 2) is float, type(np.exp(x)) is float
    return numbers, type(np.zeros(3) + x) is np.ndarray


@whorl.kernel
def kind_of_a_vector(x):
    return type(whorl.vec(x, x)) is float


def test_the_class_of_an_object_is_asked_for_by_type() -> None:
    for each in (Sized(), Larger()):
        assert each.read() == Sized.read.interpret(each)
    Larger.N = 5
    assert Larger().read()[0] == 10.0
    assert kinds_of(1) == kinds_of.interpret(1) == (True, False, True)


def test_a_class_that_is_not_what_an_object_says_is_refused() -> None:
    with pytest.raises(
        whorl.KernelError, match="is a Pretending, whose __class__ is another class"
    ):
        Pretending().read()


def test_the_type_of_a_number_or_array_of_the_run_is_that_of_python() -> None:
    assert kinds_of_the_run(1.5, 3) == kinds_of_the_run.interpret(1.5, 3)


def test_the_type_of_a_vector_of_the_run_is_refused_with_a_remedy() -> None:
    with pytest.raises(whorl.KernelError) as caught:
        kind_of_a_vector(1.0)
    assert "Ask about a parameter or a member." in str(caught.value)
