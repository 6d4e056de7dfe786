"""Linear algebra in kernels: what NumPy gives, its errors, and one that says what to install."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.launch import blas

RANDOM = np.random.default_rng(0)


def close(value: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert isinstance(value, tuple)
        assert len(value) == len(expected)
        for one, other in zip(value, expected, strict=True):
            close(one, other)
        return
    if isinstance(expected, np.ndarray):
        assert value.dtype == expected.dtype
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    is_single = expected.dtype in (np.float32, np.complex64)
    relative, absolute = (2e-4, 1e-4) if is_single else (1e-9, 1e-10)
    np.testing.assert_allclose(value, expected, rtol=relative, atol=absolute)


def equations(a: Any, b: Any, c: Any, s: Any, n: int) -> Any:
    return (
        np.linalg.solve(a, b),
        np.linalg.solve(a, c),
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.slogdet(a),
        np.linalg.cholesky(s),
        np.linalg.matrix_power(a, n),
        np.linalg.eigvalsh(s),
        np.linalg.norm(a, 2),
        np.linalg.norm(a),
    )


def of_stacks(a: Any, b: Any, s: Any) -> Any:
    return (
        np.linalg.solve(a, a * 2 + 1),
        np.linalg.solve(a, b),
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.cholesky(s),
        np.linalg.cond(a[0]),
        np.linalg.cond(a[1], 1),
        np.linalg.multi_dot([a[0], a[1], s[0]]),
        np.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]),
        np.linalg.norm([3.0, 4.0]),
    )


def test_each_matrix_of_a_stack_and_matrices_that_are_written_out() -> None:
    a = np.stack([square(4, "d"), square(4, "d")])
    s = a @ a.transpose(0, 2, 1) + 9 * np.eye(4)
    args = a, a[0, 0].copy(), s
    close(whorl.kernel(of_stacks)(*args), of_stacks(*args))


def eigen(a: Any) -> Any:
    values, vectors = np.linalg.eig(a)
    return values, vectors, np.linalg.eigvals(a)


def test_eigenvalues_of_any_matrix_are_real_or_an_error() -> None:
    s = square(5, "d")
    kernel = whorl.kernel(eigen)
    close(kernel(s + s.T), tuple(map(np.asarray, eigen(s + s.T))))
    close(kernel(s.astype(complex)), tuple(map(np.asarray, eigen(s.astype(complex)))))
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"pass a\.astype"):
        kernel(turn)
    assert np.allclose(kernel(turn.astype(complex))[0] ** 2, -1)


def singular_vectors(a: Any) -> Any:
    return *np.linalg.svd(a), *np.linalg.svd(a, full_matrices=False)


def test_singular_vectors_have_numpys_signs() -> None:
    for shape in ((4, 5), (5, 4)):
        a = RANDOM.random(shape)
        close(whorl.kernel(singular_vectors)(a), singular_vectors(a))


def square(n: int, kind: Any) -> Any:
    values = RANDOM.random((n, n)) + (1j * RANDOM.random((n, n)) if kind in "FD" else 0)
    return (4 * values + 3 * np.eye(n)).astype(kind)


@pytest.mark.parametrize("kind", "dfDl")
def test_equations_determinants_and_powers(kind: str) -> None:
    kernel = whorl.kernel(equations)
    for n, power in ((1, 0), (4, 3), (30, 2)):
        a = square(n, kind)
        s = (a @ np.conj(a).T + 9 * np.eye(n)).astype(kind)
        args = a, a[0].copy(), square(n, kind)[:, :2], s, power
        close(kernel(*args), equations(*args))


def factors(a: Any) -> Any:
    return (
        np.linalg.svd(a, compute_uv=False),
        np.linalg.matrix_rank(a),
        np.linalg.pinv(a),
        np.linalg.lstsq(a, a[:, 0]),
        np.linalg.lstsq(a, a[:, :2]),
        np.linalg.norm(a, "nuc"),
    )


def parts(a: Any, s: Any) -> Any:
    return (
        *np.linalg.qr(a),
        *np.linalg.qr(a, mode="complete"),
        np.linalg.qr(a, mode="r"),
        *np.linalg.svd(a),
        *np.linalg.svd(a, full_matrices=False),
        *np.linalg.eigh(s),
    )


@pytest.mark.parametrize("kind", "dF")
def test_factorizations_multiply_to_the_matrix(kind: str) -> None:
    kernel, whole = whorl.kernel(factors), whorl.kernel(parts)
    tolerance = 1e-4 if kind == "F" else 1e-10
    for m, n in ((6, 4), (4, 6), (5, 5)):
        a = square(6, kind)[:m, :n]
        s = np.conj(a).T @ a
        close(kernel(a), factors(a))
        values = whole(a, s)
        assert [each.shape for each in values] == [each.shape for each in parts(a, s)]
        q, r, q2, r2, r3, u, d, v, u2, d2, v2, w, x = values
        for product in (q @ r, q2 @ r2, u2 * d2 @ v2, u[:, : len(d)] * d @ v[: len(d)]):
            np.testing.assert_allclose(product, a, atol=tolerance)
        np.testing.assert_allclose(r3, r, atol=tolerance)
        np.testing.assert_allclose(s @ x, w * x, atol=100 * tolerance)
        for unit in (q, q2, u, v.T, x):
            eye = np.eye(unit.shape[1])
            np.testing.assert_allclose(np.conj(unit).T @ unit, eye, atol=tolerance)
        close(w, np.linalg.eigh(s)[0])


def norms(v: Any, a: Any) -> Any:
    return (
        np.linalg.norm(v),
        np.linalg.norm(v, 1),
        np.linalg.norm(v, np.inf),
        np.linalg.norm(v, -np.inf),
        np.linalg.norm(v, 0),
        np.linalg.norm(v, 3),
        np.linalg.norm(a, axis=0),
        np.linalg.norm(a, 1, axis=1, keepdims=True),
        np.linalg.norm(a, "fro"),
        np.linalg.norm(a, "fro", (0, 1)),
        np.linalg.norm(a, 1),
        np.linalg.norm(a, np.inf),
        np.linalg.norm(a, -1),
        np.linalg.norm(a - v),
    )


@pytest.mark.parametrize("kind", "dDi")
def test_norms(kind: str) -> None:
    a = square(5, kind) - square(5, kind)
    close(whorl.kernel(norms)(a[0].copy(), a), norms(a[0].copy(), a))


@pytest.mark.parametrize(
    ("function", "matrix", "words"),
    [
        (np.linalg.inv, np.ones((3, 3)), "Singular matrix"),
        (lambda a: np.linalg.solve(a, a), np.zeros((2, 2)), "Singular matrix"),
        (np.linalg.cholesky, -np.eye(2), "Matrix is not positive definite"),
        (np.linalg.det, np.ones((2, 3)), "must be square"),
    ],
)
def test_errors_are_numpys(function: Callable[..., Any], matrix: Any, words: str) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=words):
        function(matrix)

    @whorl.kernel
    def call(a: Any) -> Any:
        return function(a)

    with pytest.raises(np.linalg.LinAlgError, match=words):
        call(matrix)


def test_the_determinant_of_a_singular_matrix_is_zero() -> None:
    @whorl.kernel
    def both(a: Any) -> Any:
        return np.linalg.det(a), np.linalg.slogdet(a)

    assert both(np.zeros((2, 2))) == (0.0, (0.0, -np.inf))


@pytest.fixture
def _without_lapack(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    blas.find_library.cache_clear()
    monkeypatch.setattr(blas, "_SEARCHES", ())
    yield
    blas.find_library.cache_clear()


@pytest.mark.usefixtures("_without_lapack")
def test_without_a_lapack_the_error_says_what_to_install(fresh_cache: object) -> None:
    @whorl.kernel
    def inverse(a: Any) -> Any:
        return np.linalg.inv(a)

    with pytest.raises(RuntimeError, match=r"install NumPy from PyPI.*or SciPy"):
        inverse(np.eye(2))
    blas.find_library.cache_clear()
    blas._SEARCHES = (blas._of_numpy, blas._of_scipy)  # type: ignore[misc]  # as it was
    again = inverse.with_options(nogil=False)
    if blas.find_library() is not None:
        np.testing.assert_array_equal(again(np.eye(2)), np.eye(2))


@pytest.mark.skipif(blas._of_scipy() is None, reason="SciPy is not installed")
def test_scipys_routines_have_small_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    blas.find_library.cache_clear()
    monkeypatch.setattr(blas, "_SEARCHES", (blas._of_scipy,))
    try:
        a = square(7, "d")
        close(whorl.kernel(singular_vectors)(a), singular_vectors(a))
        close(whorl.kernel(determinant)(a), np.linalg.det(a))
    finally:
        blas.find_library.cache_clear()


def determinant(a: Any) -> Any:
    return np.linalg.det(a)
