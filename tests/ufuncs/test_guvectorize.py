"""Generalized ufuncs: a function of parts, for all other dimensions at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import whorl


@cache
def product() -> np.ufunc:
    @whorl.guvectorize(["void(f64[:,:], f64[:], f64[:])"], "(m,n),(n)->(m)")
    def multiplied(a: Any, x: Any, out: Any) -> None:
        for i in range(a.shape[0]):
            out[i] = 0.0
            for j in range(a.shape[1]):
                out[i] += a[i, j] * x[j]

    return multiplied


@cache
def centred() -> np.ufunc:
    @whorl.guvectorize("void(f64[:], f64[:], f64[:])", "(n)->(n),()")
    def centred(x: Any, out: Any, mean: Any) -> None:
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i]
        mean[0] = total / x.shape[0]
        out[:] = x - mean[0]

    return centred


def test_a_matrix_product_is_broadcast_over_all_other_dimensions() -> None:
    rng = np.random.default_rng(0)
    a, x = rng.random((4, 5, 3, 6)), rng.random((5, 6))
    expected = np.einsum("abmn,bn->abm", a, x)
    assert np.allclose(product()(a, x), expected)
    assert np.allclose(product()(a[:, :, ::-1], x[:, ::-1][:, ::-1]), expected[:, :, ::-1])
    assert np.allclose(product()(np.asfortranarray(a), x), expected)
    out = np.empty_like(expected)
    assert product()(a, x, out=out) is out
    assert product()(np.zeros((0, 2, 3)), np.zeros(3)).shape == (0, 2)
    assert product().signature == "(m,n),(n)->(m)"


def test_numbers_go_in_as_numbers_and_come_out_in_a_place_of_their_own() -> None:
    both = ["void(int64[:], int64, int64[:])", "void(f64[:], f64, f64[:])"]

    @whorl.guvectorize(both, "(n),()->()", parallel=True)
    def count_above(x: Any, bound: Any, out: Any) -> None:
        out[0] = 0
        for i in range(x.shape[0]):
            if x[i] > bound:
                out[0] += 1

    x = np.array([[1, 5, 9], [7, 8, 0]])
    assert count_above(x, 4).tolist() == [2, 2]
    assert count_above(x, np.array([[4], [8]])).tolist() == [[2, 2], [1, 0]]
    assert count_above(x / 2, 2.6).tolist() == [1, 2]
    assert count_above.types == ["ll->l", "dd->d"]


def test_there_may_be_several_outputs() -> None:
    x = np.arange(6.0).reshape(2, 3)
    parts, means = centred()(x)
    assert means.tolist() == [1, 4]
    assert parts.tolist() == [[-1, 0, 1], [-1, 0, 1]]


@pytest.mark.parametrize("extent", [1, 2, 8, 9, 20])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_whole_parts_are_set_however_long_they_are(extent: int, step: int) -> None:
    x = np.arange(6.0 * extent).reshape(3, 2 * extent)[:, ::step][:, :extent]
    parts, means = centred()(x)
    assert means.tolist() == x.mean(axis=1).tolist()
    assert parts.tolist() == (x - x.mean(axis=1)[:, None]).tolist()


def test_extents_that_do_not_fit_are_numpys_error() -> None:
    with pytest.raises(ValueError, match="mismatch in its core dimension"):
        product()(np.zeros((2, 3)), np.zeros(4))


@pytest.mark.parametrize("layout", ["(n)", "(n->(n)", "", "n->n", "(n),(n)->(n"])
def test_a_bad_layout_is_refused_with_what_to_write(layout: str) -> None:
    with pytest.raises(ValueError, match="is no layout"):
        whorl.guvectorize("void(f64[:], f64[:])", layout)


def test_parameters_types_and_operands_have_to_agree() -> None:
    with pytest.raises(ValueError, match="outputs are counted too"):
        whorl.guvectorize("void(f64[:])", "(n)->(n)")(lambda x, out: None)
    with pytest.raises(TypeError, match="needs signatures"):
        whorl.guvectorize([], "(n)->(n)")
