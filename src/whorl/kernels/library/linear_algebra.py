"""Linear algebra: equations, factorizations, eigenvalues and norms, by LAPACK.

LAPACK has matrices by columns: `a.T` in order is what it takes for `a`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.linalg import LinAlgError

from whorl.kernels.language import static

from .conditions import refuse, require, require_ndim
from .lapack import integer_bytes, lapack
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


# -- types and shapes -------------------------------------------------------------------


def _real(dtype):
    """The type of norms, eigenvalues and singular values."""
    return np.float32 if dtype in (np.float32, np.complex64) else np.float64


def _inexact(dtype):
    """The type in which NumPy calculates: that of the elements, or float64."""
    is_known = dtype in (np.float32, np.complex64, np.complex128)
    return dtype if is_known else np.dtype(np.float64)


def _named(dtype, name):
    """The name of a routine for a type."""
    if dtype == np.float32:
        return "s" + name
    if dtype == np.complex64:
        return "c" + name
    return ("z" if dtype == np.complex128 else "d") + name


def _is_complex(dtype):
    return dtype in (np.complex64, np.complex128)


def _require_square(a, name):
    if a.ndim < 2:
        refuse("{} is for matrices, not for arrays with {} dimensions", name, a.ndim)
    text = "Last 2 dimensions of the array must be square"
    require(a.shape[-2] == a.shape[-1], LinAlgError, text)


def _stacked(a):
    """A stack of matrices, however many axes it has, as one with three."""
    count, ndim = 1, a.ndim
    for extent in a.shape[: ndim - 2]:
        count = count * extent
    return np.reshape(a, (count, a.shape[-2], a.shape[-1]))


def _by_columns(a, kind):
    """A matrix as LAPACK takes it: the rows of the result are its columns."""
    result = np.empty((a.shape[1], a.shape[0]), kind)
    result[:] = a.T
    return result


# -- equations --------------------------------------------------------------------------


def solve(a, b):
    """The solution of linear equations, or of those of each matrix in a stack."""
    _require_square(a, "np.linalg.solve")
    if a.ndim > 2:
        return _solve_each(a, b)
    return _solution(a, b)


def _solution(a, b):
    if b.ndim not in (1, 2):
        refuse("np.linalg.solve of one matrix has a right side with one or two dimensions here")
    n = a.shape[0]
    require(b.shape[0] == n, ValueError, "{} equations and a right side of {} rows", n, b.shape[0])
    together = np.result_type(a, b)
    kind = static(_inexact(together))
    factors = _by_columns(a, kind)
    pivots = np.empty(n, np.int64)
    count = 1 if b.ndim == 1 else b.shape[1]
    x = np.empty((count, n), kind)
    if b.ndim == 1:
        x[0] = b
    else:
        x[:] = b.T
    if n > 0 and count > 0:
        name = static(_named(kind, "gesv"))
        info = lapack(name, n, count, factors, n, pivots, x, n)
        require(info == 0, LinAlgError, "Singular matrix")
    if b.ndim == 1:
        return x[0]
    return np.ascontiguousarray(x.T)


def _solve_each(a, b):
    """The solutions for each matrix of a stack: with one right side for all, or one for each."""
    n, given = a.ndim, np.result_type(a, b)
    if b.ndim not in (1, n):
        refuse("np.linalg.solve of a stack has one vector for all, or a stack of the same shape")
    matrices = _stacked(a)
    columns = 1 if b.ndim == 1 else b.shape[-1]
    result = np.empty((matrices.shape[0], a.shape[-1], columns), static(_inexact(given)))
    if b.ndim == 1:
        for i in range(matrices.shape[0]):
            result[i, :, 0] = _solution(matrices[i], b)
        return np.reshape(result, a.shape[:-1])
    for axis in static(range(n - 2)):
        require(a.shape[axis] == b.shape[axis], ValueError,
                "stacks with {} and {} matrices", a.shape[axis], b.shape[axis])  # fmt: skip
    sides = _stacked(b)
    for i in range(matrices.shape[0]):
        result[i] = _solution(matrices[i], sides[i])
    return np.reshape(result, (*a.shape[:-1], columns))


def inv(a):
    """The inverse of a matrix, or of each in a stack."""
    _require_square(a, "np.linalg.inv")
    given = a.dtype
    if a.ndim > 2:
        matrices = _stacked(a)
        result = np.empty(matrices.shape, static(_inexact(given)))
        for i in range(matrices.shape[0]):
            result[i] = _inverse(matrices[i])
        return np.reshape(result, a.shape)
    return _inverse(a)


def _inverse(a):
    given = a.dtype
    return _solution(a, np.eye(a.shape[0], dtype=static(_inexact(given))))


def _pivot(pivots, i):
    """A number that LAPACK has written: of 4 bytes, or of 8."""
    if integer_bytes() == 8:
        return pivots[i]
    return (pivots[i // 2] >> (32 * (i % 2))) & 0xFFFFFFFF


def _factors(a):
    """The triangular factors of a matrix, and the sign of the permutation of its rows."""
    n = a.shape[0]
    given = a.dtype
    kind = static(_inexact(given))
    factors = np.empty((n, n), kind)
    factors[:] = a  # by columns it is the transposed matrix, which has the same determinant
    pivots = np.zeros(n, np.int64)
    sign = 1
    if n > 0:
        lapack(static(_named(kind, "getrf")), n, n, factors, n, pivots)
    for i in range(n):
        if _pivot(pivots, i) != i + 1:
            sign = -sign
    return factors, sign


def det(a):
    """The determinant of a matrix, or of each in a stack."""
    _require_square(a, "np.linalg.det")
    if a.ndim > 2:
        matrices, given = _stacked(a), a.dtype
        results = np.empty(matrices.shape[0], static(_inexact(given)))
        for i in range(matrices.shape[0]):
            results[i] = _determinant(matrices[i])
        return np.reshape(results, a.shape[:-2])
    return _determinant(a)


def _determinant(a):
    factors, sign = _factors(a)
    result = factors.dtype.type(sign)
    for i in range(a.shape[0]):
        result *= factors[i, i]
    return result


def slogdet(a):
    """The sign of the determinant of a matrix, and the logarithm of its size."""
    require_ndim(a, 2, "np.linalg.slogdet")
    _require_square(a, "np.linalg.slogdet")
    factors, swaps = _factors(a)
    kind = factors.dtype
    real = static(_real(kind))
    sign = kind.type(swaps)
    size = real(0)
    for i in range(a.shape[0]):
        here = np.abs(factors[i, i])
        if here == 0:
            sign = kind.type(0)
            size = real(-np.inf)
        else:
            sign *= factors[i, i] / here
            size += np.log(here)
    return sign, size


def matrix_power(a, n):
    """A matrix times itself; with a negative power, its inverse."""
    require_ndim(a, 2, "np.linalg.matrix_power")
    _require_square(a, "np.linalg.matrix_power")
    kind = a.dtype
    if a.dtype.kind in ("f", "c"):
        factor = np.array(a) if n >= 0 else inv(a)
    else:
        require(n >= 0, ValueError, "a negative power of a matrix of integers")
        factor = np.array(a)
    left = abs(n)
    result = np.eye(a.shape[0], dtype=kind)
    while left > 0:
        if left % 2 == 1:
            result = result @ factor
        left //= 2
        if left > 0:
            factor = factor @ factor
    return result


# -- factorizations ---------------------------------------------------------------------


def cholesky(a):
    """The lower triangular matrix whose product with its own transposed matrix is `a`."""
    _require_square(a, "np.linalg.cholesky")
    given = a.dtype
    kind = static(_inexact(given))
    if a.ndim > 2:
        matrices = _stacked(a)
        results = np.empty(matrices.shape, kind)
        for i in range(matrices.shape[0]):
            results[i] = _lower(matrices[i], kind)
        return np.reshape(results, a.shape)
    return _lower(a, kind)


def _lower(a, kind):
    n = a.shape[0]
    work = _by_columns(a, kind)
    if n > 0:
        info = lapack(static(_named(kind, "potrf")), "L", n, work, n)
        require(info == 0, LinAlgError, "Matrix is not positive definite")
    result = np.zeros((n, n), kind)
    for i in range(n):
        result[i, : i + 1] = work[: i + 1, i]
    return result


def qr(a, mode="reduced"):
    """A matrix of orthogonal columns, and an upper triangular one, whose product is `a`."""
    require_ndim(a, 2, "np.linalg.qr")
    mode = static(mode)
    if mode not in ("reduced", "complete", "r"):
        refuse("the modes of np.linalg.qr are reduced, complete and r here, not {}", mode)
    m, n = a.shape
    k = min(m, n)
    given = a.dtype
    kind = static(_inexact(given))
    columns = m if mode == "complete" else k
    work = np.zeros((max(n, columns), m), kind)
    work[:n] = a.T
    tau = np.empty(max(k, 1), kind)
    size = 64 * max(n, columns, 1)
    space = np.empty(size, kind)
    if k > 0:
        lapack(static(_named(kind, "geqrf")), m, n, work, m, tau, space, size)
    r = np.zeros((columns, n), kind)
    for i in range(min(columns, n)):
        r[i, i:] = work[i:n, i]
    if mode == "r":
        return r
    if m > 0 and columns > 0:
        name = static(_named(kind, "ungqr" if _is_complex(kind) else "orgqr"))
        lapack(name, m, columns, k, work, m, tau, space, size)
    return np.ascontiguousarray(work[:columns].T), r


def _eigen(a, uplo, vectors):
    """Eigenvalues of a symmetric matrix, and what its rows hold afterwards: eigenvectors."""
    if uplo not in ("L", "U"):
        refuse("UPLO of np.linalg.eigh is 'L' or 'U', not {}", uplo)
    n = a.shape[0]
    given = a.dtype
    kind = static(_inexact(given))
    real = static(_real(kind))
    work = _by_columns(a, kind)
    values = np.empty(n, real)
    size = 1 + 6 * n + 2 * n * n
    space, numbers = np.empty(size, kind), np.empty(3 + 5 * n, np.int64)
    job = "V" if vectors else "N"
    info = 0
    if n > 0:
        if static(_is_complex(kind)):
            more = np.empty(1 + 5 * n + 2 * n * n, real)
            name = static(_named(kind, "heevd"))
            info = lapack(
                name, job, uplo, n, work, n, values, space, size, more, more.size, numbers,
                numbers.size,
            )  # fmt: skip
        else:
            name = static(_named(kind, "syevd"))
            info = lapack(name, job, uplo, n, work, n, values, space, size, numbers, numbers.size)
    require(info == 0, LinAlgError, "Eigenvalues did not converge")
    return values, work


def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    require_ndim(a, 2, "np.linalg.eigh")
    _require_square(a, "np.linalg.eigh")
    values, vectors = _eigen(a, static(UPLO), True)
    return values, np.ascontiguousarray(vectors.T)


def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix."""
    require_ndim(a, 2, "np.linalg.eigvalsh")
    _require_square(a, "np.linalg.eigvalsh")
    return _eigen(a, static(UPLO), False)[0]


def _singular(a, job):
    """Singular values and vectors, as the rows of the left side and the columns of the right one:
    by columns, as LAPACK leaves them."""
    require_ndim(a, 2, "np.linalg.svd")
    m, n = a.shape
    k = min(m, n)
    given = a.dtype
    kind = static(_inexact(given))
    real = static(_real(kind))
    work = _by_columns(a, kind)
    values = np.empty(k, real)
    rows = m if job == "A" else k
    columns = n if job == "A" else k
    left, right = np.zeros((rows, m), kind), np.zeros((n, columns), kind)
    if k == 0:
        for i in range(rows):
            left[i, i] = 1
        for i in range(columns):
            right[i, i] = 1
        return left, values, right
    most = max(m, n)
    size = 4 * k * k + 8 * k + 65 * most
    space, numbers = np.empty(size, kind), np.empty(8 * k, np.int64)
    name = static(_named(kind, "gesdd"))
    if static(_is_complex(kind)):
        more = np.empty(max(5 * k * k + 7 * k, 2 * most * k + 2 * k * k + k), real)
        info = lapack(
            name, job, m, n, work, m, values, left, m, right, columns, space, size, more, numbers
        )
    else:
        info = lapack(
            name, job, m, n, work, m, values, left, m, right, columns, space, size, numbers
        )
    require(info == 0, LinAlgError, "SVD did not converge")
    return left, values, right


def svd(a, full_matrices=True, compute_uv=True):
    """Singular values of a matrix, with the vectors on its left and right."""
    if not static(compute_uv):
        return svdvals(a)
    left, values, right = _singular(a, static("A" if full_matrices else "S"))
    return np.ascontiguousarray(left.T), values, np.ascontiguousarray(right.T)


def svdvals(a):
    """Singular values of a matrix."""
    return _singular(a, "N")[1]


def cond(x, p=None):
    """The condition number of a matrix: the norm of it times that of its inverse."""
    p = static(p)
    if p is None or p in (2, -2):
        values = svdvals(x)
        return values[-1] / values[0] if p == -2 else values[0] / values[-1]
    return norm(x, p) * norm(inv(x), p)


def multi_dot(arrays):
    """The product of several matrices, from left to right."""
    result, n = arrays[0], len(arrays)
    for i in static(range(1, n)):
        result = result @ arrays[i]
    return result


def _eigen_of_any(a, job):
    """Eigenvalues of a matrix, and the eigenvectors as rows."""
    require_ndim(a, 2, "np.linalg.eig")
    _require_square(a, "np.linalg.eig")
    n = a.shape[0]
    given = a.dtype
    kind = static(_inexact(given))
    work, vectors = _by_columns(a, kind), np.empty((n if job == "V" else 1, n), kind)
    values, spare = np.empty(n, kind), np.empty((1, 1), kind)
    size = 68 * n + 1
    space, more = np.empty(size, kind), np.zeros(2 * n, static(_real(kind)))
    name = static(_named(kind, "geev"))
    info = 0
    if n > 0:
        if static(_is_complex(kind)):
            info = lapack(
                name, "N", job, n, work, n, values, spare, 1, vectors, n, space, size, more
            )
        else:
            info = lapack(
                name, "N", job, n, work, n, values, more, spare, 1, vectors, n, space, size
            )
            require(np.all(more[:n] == 0), ValueError,
                    "some eigenvalues are complex: pass a.astype(np.complex128)")  # fmt: skip
    require(info == 0, LinAlgError, "Eigenvalues did not converge")
    return values, vectors


def eig(a):
    """Eigenvalues and eigenvectors of a matrix."""
    values, vectors = _eigen_of_any(a, "V")
    return values, np.ascontiguousarray(vectors.T)


def eigvals(a):
    """Eigenvalues of a matrix."""
    return _eigen_of_any(a, "N")[0]


def matrix_rank(A, tol=None):
    """How many singular values are larger than a tolerance."""
    values = svdvals(A)
    real = values.dtype.type
    most = np.max(values) if values.size > 0 else real(0)
    limit = most * max(A.shape[0], A.shape[1]) * np.finfo(real).eps if tol is None else tol
    return np.count_nonzero(values > limit)


def pinv(a, rcond=None):
    """The pseudo-inverse of a matrix."""
    left, values, right = svd(a, False)
    real = values.dtype.type
    cut = max(a.shape[0], a.shape[1]) * np.finfo(real).eps if rcond is None else rcond
    most = np.max(values) if values.size > 0 else real(0)
    scaled = np.empty((right.shape[1], right.shape[0]), right.dtype)
    for i in range(values.size):
        factor = real(0)
        if values[i] > cut * most:
            factor = real(1) / values[i]
        scaled[:, i] = np.conj(right[i]) * factor
    return scaled @ np.conj(left).T


def lstsq(a, b, rcond=None):
    """The least squares solution of linear equations."""
    require_ndim(a, 2, "np.linalg.lstsq")
    if b.ndim not in (1, 2):
        refuse("np.linalg.lstsq is for a right side with one or two dimensions here")
    m, n = a.shape
    require(b.shape[0] == m, LinAlgError, "Incompatible dimensions")
    together = np.result_type(a, b)
    kind = static(_inexact(together))
    left, values, right = svd(np.asarray(a, kind), False)
    real = values.dtype.type
    cut = max(m, n) * np.finfo(real).eps if rcond is None else rcond
    most = np.max(values) if values.size > 0 else real(0)
    rank = 0
    for i in range(values.size):
        if values[i] > cut * most:
            rank += 1
    count = 1 if b.ndim == 1 else b.shape[1]
    sides = np.empty((m, count), kind)
    if b.ndim == 1:
        sides[:, 0] = b
    else:
        sides[:] = b
    parts = np.conj(left[:, :rank]).T @ sides
    for i in range(rank):
        parts[i] /= values[i]
    x = np.conj(right[:rank]).T @ parts
    has_rest = rank == n and m > n
    rest = np.zeros(count if has_rest else 0, static(_real(kind)))
    if has_rest:
        apart = sides - a @ x
        for j in range(count):
            rest[j] = np.sum(np.abs(apart[:, j]) ** 2)
    if b.ndim == 1:
        return np.ascontiguousarray(x[:, 0]), rest, rank, values
    return x, rest, rank, values


# -- norms ------------------------------------------------------------------------------


def _squares(x):
    """The squares of the sizes of numbers."""
    if x.dtype.kind == "c":
        return x.real * x.real + x.imag * x.imag
    if x.dtype.kind == "f":
        return x * x
    return x.astype(np.float64) * x.astype(np.float64)


def _sizes(x):
    """The sizes of numbers, as floats."""
    if x.dtype.kind in ("f", "c"):
        return np.abs(x)
    return np.abs(x.astype(np.float64))


def _vector_norm(x, ord, axis, keepdims):
    if ord is None or ord == 2:
        return np.sqrt(np.sum(_squares(x), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(_sizes(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(_sizes(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.where(x != 0, _sizes(x) * 0 + 1, 0), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(_sizes(x), axis=axis, keepdims=keepdims)
    return np.sum(_sizes(x) ** ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def _matrix_norm(x, ord):
    if ord == 1:
        return np.max(np.sum(_sizes(x), axis=0))
    if ord == -1:
        return np.min(np.sum(_sizes(x), axis=0))
    if ord == np.inf:
        return np.max(np.sum(_sizes(x), axis=1))
    if ord == -np.inf:
        return np.min(np.sum(_sizes(x), axis=1))
    if ord == 2:
        return np.max(svdvals(x))
    if ord == -2:
        return np.min(svdvals(x))
    if ord == "nuc":
        return np.sum(svdvals(x))
    refuse("a norm of matrices is fro, nuc, inf, -inf, 1, -1, 2 or -2, not {}", ord)


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of a vector or of a matrix; of all elements, or along axes."""
    ord, axis, keepdims = static(ord), static(axis), static(keepdims)
    is_of_axes = isinstance(axis, tuple)
    is_of_matrix = (axis is None and x.ndim == 2) or (is_of_axes and static(len(axis) == 2))
    if is_of_axes and static(len(axis) > 2):
        refuse("a norm is along one axis or two, not {}", axis)
    if ord is None or (is_of_matrix and ord == "fro"):
        return np.sqrt(np.sum(_squares(x), axis=axis, keepdims=keepdims))
    if isinstance(ord, str) and not is_of_matrix:
        refuse("a norm of vectors is a number, not {}", ord)
    if not is_of_matrix:
        if axis is None and x.ndim != 1:
            refuse("a norm of an array with {} dimensions needs an axis", x.ndim)
        return _vector_norm(x, ord, axis, keepdims)
    if is_of_axes or keepdims:
        refuse(
            "the norm {} of matrices has neither axis nor keepdims here",
            ord,
            remedy="Loop over the matrices.",
        )
    return _matrix_norm(x, ord)


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(solve, "linalg.solve", limits="Of a stack: one vector, or a stack as large."),
    row(inv, "linalg.inv"),
    row(det, "linalg.det"),
    row(slogdet, "linalg.slogdet", limits="No stacks of matrices; the result is a tuple."),
    row(matrix_power, "linalg.matrix_power", limits="No stacks of matrices."),
    row(cholesky, "linalg.cholesky", limits="No `upper`."),
    row(qr, "linalg.qr", limits="No stacks of matrices, no mode `raw`; the result is a tuple."),
    row(eigh, "linalg.eigh", limits="No stacks of matrices; the result is a tuple."),
    row(eigvalsh, "linalg.eigvalsh", limits="No stacks of matrices."),
    row(
        eig,
        "linalg.eig",
        limits="No stacks. Of real matrices real numbers, or a ValueError.",
    ),
    row(eigvals, "linalg.eigvals", limits="As `np.linalg.eig`."),
    row(cond, "linalg.cond", limits="No stacks of matrices."),
    row(multi_dot, "linalg.multi_dot", limits="From left to right; no `out`."),
    row(svd, "linalg.svd", limits="No stacks, no `hermitian`; the result is a tuple."),
    row(svdvals, "linalg.svdvals", limits="No stacks of matrices."),
    row(matrix_rank, "linalg.matrix_rank", limits="No stacks, no `hermitian` and `rtol`."),
    row(pinv, "linalg.pinv", limits="No stacks, no `hermitian` and `rtol`."),
    row(lstsq, "linalg.lstsq"),
    row(norm, "linalg.norm", limits="No `axis` with norms of matrices other than fro."),
)
