"""Decompositions of small matrices, of two or three rows: functions in the kernel language.

A kernel follows them, and plain Python runs them. They are methods of Jacobi, and for matrices that
are not symmetric the QR algorithm; no one calls LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .language import static
from .small_vectors import cross, dot, mat, norm, vec, zeros

__all__ = ["eig", "eigh", "polar", "svd"]


def svd(matrix: Any) -> Any:
    """`u, s, vh` of a matrix of two or three rows: it is `u @ diag(s) @ vh`, as with NumPy's svd.

    >>> u, s, vh = svd(mat((0.0, 2.0), (1.0, 0.0)))
    >>> s, np.allclose((u * s) @ vh, [[0, 2], [1, 0]])
    (vec([2., 1.]), True)
    """
    n = _size(matrix)
    _check_real(matrix)
    scale = abs(matrix).max() * 1.0
    if scale == 0.0:
        scale = scale + 1.0
    w = mat(matrix.T) / scale  # its rows are the columns of the matrix, then those of u * s
    vh = _identity(w)
    eps = np.finfo(w.dtype).eps
    for _ in range(30):
        is_done = True
        for p, q in static(_PAIRS[n]):
            a, b, c = dot(w[p], w[p]), dot(w[q], w[q]), dot(w[p], w[q])
            if abs(c) > eps * np.sqrt(a) * np.sqrt(b):
                is_done = False
                cosine, sine = _rotation((b - a) / (2 * c))
                _turn(w, p, q, cosine, sine)
                _turn(vh, p, q, cosine, sine)
        if is_done:
            break
    s = zeros(n, w.dtype)
    for i in static(range(n)):
        s[i] = norm(w[i])
    for i, j in static(_PAIRS[n]):
        if s[i] < s[j]:
            first, row, other = s[i], w[i].copy(), vh[i].copy()
            s[i], w[i], vh[i] = s[j], w[j], vh[j]
            s[j], w[j], vh[j] = first, row, other
    u = _unit_rows(w, s)
    return u.T, s * scale, vh


def polar(matrix: Any) -> Any:
    """`r, p` of a matrix of two or three rows: it is `r @ p`, where r only turns or mirrors, and p
    is symmetric and stretches.

    >>> r, p = polar(mat((0.0, -2.0), (2.0, 0.0)))
    >>> np.allclose(r, [[0, -1], [1, 0]]), np.allclose(p, 2 * np.eye(2))
    (True, True)
    """
    u, s, vh = svd(matrix)
    return u @ vh, (vh.T * s) @ vh


def eigh(matrix: Any) -> Any:
    """Eigenvalues in ascending order, and eigenvectors as columns, of a symmetric matrix of two or
    three rows, of which the lower triangle is read.

    >>> values, vectors = eigh(mat((2.0, 1.0), (1.0, 2.0)))
    >>> np.allclose(values, [1, 3]), np.allclose(abs(vectors), np.sqrt(0.5))
    (True, True)
    """
    n = _size(matrix)
    _check_real(matrix)
    a = mat(matrix) * 1.0
    eps = np.finfo(a.dtype).eps
    for i, j in static(_PAIRS[n]):
        a[i, j] = a[j, i]
    vectors = _identity(a)  # as rows
    turned = a.T  # the same memory
    for _ in range(30):
        is_done = True
        for p, q in static(_PAIRS[n]):
            if abs(a[p, q]) > 0.125 * eps * (abs(a[p, p]) + abs(a[q, q])):
                is_done = False
                cosine, sine = _rotation((a[q, q] - a[p, p]) / (2 * a[p, q]))
                _turn(a, p, q, cosine, sine)
                _turn(turned, p, q, cosine, sine)
                _turn(vectors, p, q, cosine, sine)
        if is_done:
            break
    values = zeros(n, a.dtype)
    for i in static(range(n)):
        values[i] = a[i, i]
    for i, j in static(_PAIRS[n]):
        if values[i] > values[j]:
            first, row = values[i], vectors[i].copy()
            values[i], vectors[i] = values[j], vectors[j]
            values[j], vectors[j] = first, row
    return values, vectors.T


def eig(matrix: Any) -> Any:
    """Eigenvalues in no order, and eigenvectors of length 1 as columns, of any matrix of two or
    three rows: always complex, because their type is known before their values are.

    >>> values, vectors = eig(mat((0.0, -1.0), (1.0, 0.0)))
    >>> sorted(np.round(values.imag, 12).tolist())
    [-1.0, 1.0]
    """
    n, dtype = _size(matrix), matrix.dtype
    kind = static(_complex_of(dtype))
    scale = abs(matrix).max() * 1.0
    if scale == 0.0:
        scale = scale + 1.0
    a = mat(mat(matrix) / scale, dtype=kind)
    q = mat(_identity(a).T)  # its columns are those of the basis in which a is a triangle
    if n == 3:
        c, s = _complex_rotation(a[1, 0], a[2, 0])
        _turn_rows(a, 1, c, s)
        _turn_columns(a, 1, c, s)
        _turn_columns(q, 1, c, s)
    for last in static(range(n - 1, 0, -1)):
        _deflate(a, q, last)
    largest = abs(a).max()
    least = np.finfo(a.dtype).eps * largest + np.finfo(a.dtype).tiny
    columns: tuple[Any, ...] = ()
    values = zeros(n, a.dtype)
    for j in static(range(n)):
        values[j] = a[j, j]
        x = zeros(n, a.dtype)
        x[j] = 1.0
        for i in static(range(j - 1, -1, -1)):
            apart = a[i, i] - a[j, j]
            if abs(apart) < least:
                apart = apart * 0.0 + least
            x[i] = -dot(a[i, i + 1 :], x[i + 1 :]) / apart
        column = q @ x
        columns = (*columns, column / np.sqrt(_square(column)))
    return values * scale, mat(*columns).T


# -- what they share --------------------------------------------------------------------

_PAIRS = {2: ((0, 1),), 3: ((0, 1), (0, 2), (1, 2))}


def _size(matrix: Any) -> Any:
    """How many rows a matrix has: two or three, and as many columns."""
    n = len(matrix)
    if n not in (2, 3) or matrix.ndim != 2 or matrix.shape[1] != n:
        raise TypeError("decompositions are for matrices of 2 or 3 rows and columns")
    return n


def _check_real(matrix: Any) -> None:
    if matrix.dtype.kind == "c":
        raise TypeError("only eig is for matrices of complex numbers")


def _identity(like: Any) -> Any:
    n = len(like)
    result = zeros((n, n), like.dtype)
    for i in static(range(n)):
        result[i, i] = 1
    return result


def _rotation(cotangent: Any) -> Any:
    """Cosine and sine of the smaller angle, by the cotangent of twice the angle."""
    size = abs(cotangent)
    tangent = 1 / (size + np.hypot(cotangent, 1))
    if cotangent < 0:
        tangent = -tangent
    cosine = 1 / np.sqrt(tangent * tangent + 1)
    return cosine, tangent * cosine


def _turn(rows: Any, p: Any, q: Any, cosine: Any, sine: Any) -> None:
    """Turn two rows of a matrix against each other, in place."""
    first = rows[p] * cosine - rows[q] * sine
    rows[q] = rows[p] * sine + rows[q] * cosine
    rows[p] = first


def _unit_rows(w: Any, s: Any) -> Any:
    """Rows that are orthogonal, of known lengths in descending order, as rows of length 1. Those of
    length 0 get a direction that is left."""
    n = len(s)
    least = np.sqrt(np.finfo(s.dtype).tiny)
    u = _identity(w)
    if s[0] > least:
        u[0] = w[0] / s[0]
    if n == 2:
        u[1] = vec(-u[0, 1], u[0, 0])
        if s[1] > least:
            u[1] = w[1] / s[1]
        return u
    if s[1] > least:
        u[1] = w[1] / s[1]
    else:
        other = _least_axis(u[0])
        across = cross(u[0], other)
        u[1] = across / norm(across)
    if s[2] > least:
        u[2] = w[2] / s[2]
    else:
        u[2] = cross(u[0], u[1])
    return u


def _least_axis(v: Any) -> Any:
    """The axis to which a vector is most nearly at right angles."""
    x, y, z = abs(v)
    axis = zeros(3, v.dtype)
    if x <= y and x <= z:
        axis[0] = 1
    elif y <= z:
        axis[1] = 1
    else:
        axis[2] = 1
    return axis


# -- matrices that are not symmetric ----------------------------------------------------


def _complex_of(dtype: Any) -> Any:
    return np.complex64 if dtype in (np.float32, np.complex64) else np.complex128


def _square(v: Any) -> Any:
    """The sum of the squares of the absolute values."""
    total = v[0].real * v[0].real + v[0].imag * v[0].imag
    n = len(v)
    for i in static(range(1, n)):
        total = total + (v[i].real * v[i].real + v[i].imag * v[i].imag)
    return total


def _complex_rotation(x: Any, y: Any) -> Any:
    """The rotation that makes the second of two numbers 0."""
    length = np.hypot(abs(x), abs(y))
    if length == 0:
        return x * 0 + 1, y * 0
    return x / length, y / length


def _turn_rows(a: Any, k: Any, c: Any, s: Any) -> None:
    first = a[k] * np.conj(c) + a[k + 1] * np.conj(s)
    a[k + 1] = a[k + 1] * c - a[k] * s
    a[k] = first


def _turn_columns(a: Any, k: Any, c: Any, s: Any) -> None:
    columns = a.T
    first = columns[k] * c + columns[k + 1] * s
    columns[k + 1] = columns[k + 1] * np.conj(c) - columns[k] * np.conj(s)
    columns[k] = first


def _deflate(a: Any, q: Any, last: Any) -> None:
    """Turn a basis until the matrix has a 0 left of the diagonal in its row `last`."""
    eps = np.finfo(a.dtype).eps
    n = len(a)
    for step in range(60):
        below = abs(a[last, last - 1])
        if below <= eps * (abs(a[last - 1, last - 1]) + abs(a[last, last])):
            a[last, last - 1] = 0
            break
        shift = _shift(a, last)
        if step % 10 == 9:  # it goes in circles
            shift = shift + below
        for i in static(range(n)):
            a[i, i] -= shift
        c, s = _complex_rotation(a[0, 0], a[1, 0])
        _turn_rows(a, 0, c, s)
        if last == 2:
            d, t = _complex_rotation(a[1, 1], a[2, 1])
            _turn_rows(a, 1, d, t)
            _turn_columns(a, 0, c, s)
            _turn_columns(q, 0, c, s)
            _turn_columns(a, 1, d, t)
            _turn_columns(q, 1, d, t)
        else:
            _turn_columns(a, 0, c, s)
            _turn_columns(q, 0, c, s)
        for i in static(range(n)):
            a[i, i] += shift


def _shift(a: Any, last: Any) -> Any:
    """The eigenvalue of the last two rows that is nearer to the last element of the diagonal."""
    p, q = a[last - 1, last - 1], a[last, last]
    half = (p - q) * 0.5
    root = np.sqrt(half * half + a[last - 1, last] * a[last, last - 1])
    if abs(half + root) < abs(half - root):
        root = -root
    if half + root == 0:
        return q
    return q - a[last - 1, last] * a[last, last - 1] / (half + root)
