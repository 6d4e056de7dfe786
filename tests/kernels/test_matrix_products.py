"""Products of arrays: what NumPy gives, by BLAS where they are large and there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.launch import blas

RANDOM = np.random.default_rng(0)


@whorl.kernel
def products(a: Any, b: Any, v: Any, w: Any) -> Any:
    return a @ b, a @ v, w @ b, w @ (a * 2.0), (a + a) @ v, np.dot(v, v), a.T @ w, np.matmul(a, b)


def plain(a: Any, b: Any, v: Any, w: Any) -> Any:
    return a @ b, a @ v, w @ b, w @ (a * 2.0), (a + a) @ v, np.dot(v, v), a.T @ w, np.matmul(a, b)


def close(values: Any, expected: Any) -> None:
    for value, other in zip(values, expected, strict=True):
        assert np.shape(value) == np.shape(other)
        if isinstance(other, np.ndarray):
            assert value.dtype == other.dtype
        if other.dtype.kind == "f":
            scale = np.abs(other).max() if other.size else 1.0
            np.testing.assert_allclose(value, other, rtol=0, atol=50 * np.spacing(scale))
        else:
            np.testing.assert_array_equal(value, other)


def square(n: int, dtype: str = "f8") -> Any:
    return (RANDOM.random((n, n)) * 9).astype(dtype)


def line(n: int, dtype: str = "f8") -> Any:
    return (RANDOM.random(n) * 9).astype(dtype)


LAYOUTS: dict[str, Any] = {
    "C": lambda a: a.copy(),
    "F": np.asfortranarray,
    "turned": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2][::-1, ::-1],
    "rows apart": lambda a: np.hstack([a, a])[:, : a.shape[1]],
    "columns apart": lambda a: np.vstack([a, a])[: a.shape[0]].T.copy().T,
}


@pytest.mark.parametrize(("left", "right"), [("C", "F"), ("F", "C"), ("turned", "rows apart")])
def test_products_of_matrices_and_vectors_in_every_layout(left: str, right: str) -> None:
    for n in (0, 1, 2, 7, 70):
        a, b = LAYOUTS[left](square(n)), LAYOUTS[right](square(n))
        args = a, b, np.repeat(line(n), 2)[::2], line(n)[::-1]
        close(products(*args), plain(*args))


@pytest.mark.parametrize(
    ("one", "other"), [("f4", "f4"), ("f4", "f8"), ("i4", "i8"), ("u1", "f4"), ("?", "i2")]
)
def test_products_have_the_dtype_of_numpys(one: str, other: str) -> None:
    def program(a: Any, b: Any, v: Any) -> Any:
        return a @ b, b @ v, v @ a

    kernel = whorl.kernel(program)
    for n in (3, 40):
        args = square(n, one), square(n, other), line(n, one)
        close(kernel(*args), program(*args))


def test_products_of_bools_are_bools() -> None:
    kernel = whorl.kernel(lambda_free)
    a, b = square(5, "i8") > 4, square(5, "i8") > 4
    np.testing.assert_array_equal(kernel(a, b), a @ b)


def lambda_free(a: Any, b: Any) -> Any:
    return a @ b


def test_stacks_of_matrices_are_brought_together() -> None:
    def program(a: Any, b: Any, c: Any, m: Any, v: Any) -> Any:
        return a @ b, a @ c, c @ a, a @ m, m @ b, a @ v, v @ b, np.dot(a, b), np.dot(m, b)

    kernel = whorl.kernel(program)
    for n in (3, 20):
        a, b = RANDOM.random((2, 1, n, n)), RANDOM.random((3, n, n))
        args = a, b, RANDOM.random((1, n, n)), square(n), line(n)
        close(kernel(*args), program(*args))


def test_shapes_that_do_not_fit_are_an_error_with_the_shapes() -> None:
    kernel = whorl.kernel(lambda_free)
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(4, 5\) do not fit together in `a @ b`"):
        kernel(np.ones((2, 3)), np.ones((4, 5)))
    with pytest.raises(ValueError, match="do not fit together"):
        kernel(np.ones((2, 3, 3)), np.ones((4, 3, 3)))


def test_a_number_has_no_matrix_product() -> None:
    @whorl.kernel
    def scaled(a: Any, x: float) -> Any:
        return a @ x

    with pytest.raises(whorl.KernelError, match=r"`@` is for arrays"):
        scaled(np.ones((2, 2)), 2.0)


@pytest.fixture
def _without_blas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    blas.find_library.cache_clear()
    monkeypatch.setattr(blas, "_SEARCHES", ())
    yield
    blas.find_library.cache_clear()


def large(a: Any, b: Any, v: Any) -> Any:
    return a @ b, b @ v, v @ a


@pytest.mark.usefixtures("_without_blas")
def test_without_a_blas_the_same_artifact_has_loops_of_its_own(fresh_cache: object) -> None:
    args = square(150), square(150), line(150)
    kernel = whorl.kernel(large)
    close(kernel(*args), large(*args))
    blas.find_library.cache_clear()
    blas._SEARCHES = (blas._of_numpy,)  # type: ignore[misc]  # put back by the fixture
    other = whorl.kernel(large)
    close(other(*args), large(*args))
    assert other.stats()["found"] == 1
    if blas.find_library() is not None:  # NumPy's very routine
        np.testing.assert_array_equal(other(*args)[0], args[0] @ args[1])


@pytest.mark.skipif(blas._of_scipy() is None, reason="SciPy is not installed")
def test_where_numpys_blas_is_not_found_it_is_scipys(monkeypatch: pytest.MonkeyPatch) -> None:
    blas.find_library.cache_clear()
    monkeypatch.setattr(blas, "_SEARCHES", (blas._of_scipy,))
    try:
        args = square(90), square(90), line(90)
        kernel = whorl.kernel(large)
        close(kernel(*args), large(*args))
        library = blas.find_library()
        assert library is not None
        assert (library.name, library.width) == ("SciPy", 4)
    finally:
        blas.find_library.cache_clear()


def test_large_products_are_routines_and_are_shown() -> None:
    kernel = whorl.kernel(large)
    kernel(square(3), square(3), line(3))
    text = kernel.inspect()
    assert "dgemm(" in text
    assert "dgemv(" in text


def with_itself(a: Any) -> Any:
    return a.T @ a, a @ a.T


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_a_matrix_times_itself_turned_is_symmetric(dtype: str) -> None:
    kernel = whorl.kernel(with_itself)
    for shape in ((3, 2), (50, 40), (40, 50)):
        a = RANDOM.random(shape).astype(dtype) + (2j if dtype == "c16" else 0)
        a = a.astype(dtype)
        for value, expected in zip(kernel(a), with_itself(a), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-4 if dtype == "f4" else 1e-12)
            np.testing.assert_array_equal(value, value.T)


@whorl.kernel
def in_threads(a: Any, out: Any) -> None:
    for i in whorl.prange(a.shape[0]):
        out[i] = a[i] @ a[i]


def test_products_in_prange() -> None:
    a = RANDOM.random((6, 40, 40))
    out = np.zeros_like(a)
    in_threads(a, out)
    np.testing.assert_allclose(out, a @ a)
