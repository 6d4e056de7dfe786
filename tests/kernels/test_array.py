# mypy: disable-error-code="no-untyped-def"
# Kernels take their types from the arguments.
"""A grad buffer distinguishes two arrays exactly when a kernel reads it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import same


@whorl.kernel
def blind(x):
    x[0] += 1.0


@whorl.kernel
def accumulate(x):
    if x.grad is not None:
        for i in range(x.size):
            x.grad[i] += x[i]
    return x[0]


def test_a_kernel_that_does_not_read_the_gradient_is_the_same_for_both() -> None:
    blind(whorl.array(3, grad=True))
    blind(whorl.array(3))
    assert blind.stats()["compiled"] == 1


def test_a_kernel_that_reads_the_gradient_has_one_specialization_for_each() -> None:
    x = whorl.array(3, grad=True)
    x[:] = 2.0
    accumulate(x)
    accumulate(whorl.array(3))
    accumulate(x)
    assert accumulate.stats()["compiled"] == 2
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_copies_and_pickles_keep_the_gradient_and_parts_have_none() -> None:
    x = whorl.array(3, np.float32, grad=True)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert isinstance(again, whorl.GradArray)
        assert again.grad is not None
        assert again.grad is not x.grad
    part = x[1:]
    assert isinstance(part, whorl.GradArray)
    assert part.grad is None


@whorl.kernel
def first(x):
    return x[0]


def test_an_array_whose_elements_mean_something_else_is_refused_in_any_order() -> None:
    masked = np.ma.masked_array([7.0, 2.0], mask=[True, False])
    assert first(np.ones(3)) == 1.0
    for _ in range(2):
        with pytest.raises(whorl.KernelError, match="MaskedArray"):
            first(masked)
    assert first(masked.data) == 7.0
    assert first(whorl.array(3)) == 0.0
    assert first.stats()["compiled"] == 1


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
