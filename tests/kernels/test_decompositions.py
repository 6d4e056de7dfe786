"""Decompositions of small matrices: those of NumPy, also of singular and badly scaled ones."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import whorl


@whorl.kernel
def singular_values(matrices, u, s, vh):
    for k in range(len(matrices)):
        u[k], s[k], vh[k] = whorl.svd(matrices[k])


@whorl.kernel
def polar_parts(matrices, r, p):
    for k in range(len(matrices)):
        r[k], p[k] = whorl.polar(matrices[k])


@whorl.kernel
def symmetric(matrices, values, vectors):
    for k in range(len(matrices)):
        values[k], vectors[k] = whorl.eigh(matrices[k])


@whorl.kernel
def general(matrices, values, vectors):
    for k in range(len(matrices)):
        values[k], vectors[k] = whorl.eig(matrices[k])


def matrices_of(n: int) -> Any:
    """Matrices of all kinds: of full rank, singular, defective, large, tiny, orthogonal."""

    def each() -> Iterator[Any]:
        random = np.random.default_rng(n)
        yield from random.normal(size=(200, n, n))
        yield from random.integers(-2, 3, (100, n, n)).astype(float)
        yield from (np.zeros((n, n)), np.eye(n), np.ones((n, n)), np.triu(np.ones((n, n))))
        yield from (np.eye(n, k=1), -np.eye(n), np.diag([1, 1e-17, 1e-30][:n]))
        yield from (1e200 * random.normal(size=(n, n)), 1e-200 * random.normal(size=(n, n)))
        yield np.diag([1e-160, 1.0, 1e160][:n])

    return np.array(list(each()))


def off(left: Any, right: Any, scale: Any = 1.0) -> Any:
    return np.abs(left - right).max(initial=0.0, axis=tuple(range(1, left.ndim))) / scale


def scales(matrices: Any) -> Any:
    largest = np.abs(matrices).max(axis=(1, 2))
    return np.where(largest == 0, 1.0, largest)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_singular_values_and_polar_parts(n: int, dtype: Any) -> None:
    m = matrices_of(n) if dtype == np.float64 else matrices_of(n)[:300].astype(dtype)
    eps, eye, scale = 100 * np.finfo(dtype).eps, np.eye(n), scales(m)
    u, s, vh = np.zeros_like(m), np.zeros(m.shape[:2], dtype), np.zeros_like(m)
    singular_values(m, u, s, vh)
    assert (
        off((u / 1 * s[:, None, :]) @ vh / scale[:, None, None], m / scale[:, None, None]) < eps
    ).all()
    assert (off(u.swapaxes(1, 2) @ u, eye) < eps).all()
    assert (off(vh @ vh.swapaxes(1, 2), eye) < eps).all()
    assert (off(s, np.linalg.svd(m)[1], scale) < eps).all()
    r, p = np.zeros_like(m), np.zeros_like(m)
    polar_parts(m, r, p)
    assert (off(r @ (p / scale[:, None, None]), m / scale[:, None, None]) < eps).all()
    assert (off(r.swapaxes(1, 2) @ r, eye) < eps).all()
    assert (off(p, p.swapaxes(1, 2), scale) < eps).all()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_eigenvalues_of_symmetric_matrices(n: int, dtype: Any) -> None:
    m = matrices_of(n) if dtype == np.float64 else matrices_of(n)[:300].astype(dtype)
    m = m + m.swapaxes(1, 2)
    eps, scale = 100 * np.finfo(dtype).eps, scales(m)
    values, vectors = np.zeros(m.shape[:2], dtype), np.zeros_like(m)
    symmetric(m, values, vectors)
    assert (off(values, np.linalg.eigh(m)[0], scale) < eps).all()
    assert (off(vectors.swapaxes(1, 2) @ vectors, np.eye(n)) < eps).all()
    assert (off(m @ vectors, vectors * values[:, None, :], scale) < eps).all()
    lower = np.tril(m) + 7 * np.triu(m, 1)  # the upper triangle is not read
    again = values.copy()
    symmetric(lower, again, vectors)
    assert np.array_equal(again, values)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_eigenvalues_of_any_matrix(n: int, dtype: Any) -> None:
    m = matrices_of(n) if dtype != np.float32 else matrices_of(n)[:300].astype(dtype)
    if dtype == np.complex128:
        m = m[:200] + 1j * m[100:300]
    kind = np.complex64 if dtype == np.float32 else np.complex128
    eps, scale = 200 * np.finfo(kind).eps, scales(m)
    values, vectors = np.zeros(m.shape[:2], kind), np.zeros(m.shape, kind)
    general(m, values, vectors)
    unit = m / scale[:, None, None]
    assert (off(unit @ vectors, vectors * (values / scale[:, None])[:, None, :]) < eps).all()
    assert (off(np.linalg.norm(vectors, axis=1), 1) < eps).all()
    assert (off(values.sum(axis=1), np.trace(m, axis1=1, axis2=2), scale) < eps).all()


@whorl.kernel
def all_of_them(m):
    return whorl.svd(m), whorl.polar(m), whorl.eigh(m), whorl.eig(m)


@pytest.mark.parametrize("n", [2, 3])
def test_plain_python_has_the_same_numbers(n: int) -> None:
    m = matrices_of(n)[:3]
    for matrix in m:
        for found, expected in zip(all_of_them(matrix), all_of_them.interpret(matrix), strict=True):
            for one, other in zip(found, expected, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, atol=1e-14)


@pytest.mark.parametrize("function", [whorl.svd, whorl.polar, whorl.eigh, whorl.eig])
def test_other_shapes_are_refused(function: Callable[..., Any]) -> None:
    @whorl.kernel
    def decomposed(m):
        return function(whorl.mat(m))[0]

    for shape in ((4, 4), (2, 3)):
        with pytest.raises(whorl.KernelError, match="is for matrices of 2 x 2 and 3 x 3"):
            decomposed(np.zeros(shape))
        with pytest.raises(TypeError, match="2 or 3 rows"):
            function(np.zeros(shape))
    if function is not whorl.eig:
        with pytest.raises(whorl.KernelError, match="is for real matrices"):
            decomposed(np.zeros((2, 2), complex))
        with pytest.raises(TypeError, match="only eig"):
            function(np.zeros((2, 2), complex))
