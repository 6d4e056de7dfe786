"""Matrices: their triangles and diagonals, products that are no matrix products, grids."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import expand_dims, moveaxis
from .conditions import axis_of, refuse, require, require_ndim
from .library_function import LibraryFunction, row

__all__ = ["ROWS"]


def tri(N, M=None, k=0, dtype=np.float64):
    """Ones on and below a diagonal, zeros above."""
    columns = N if M is None else M
    result = np.zeros((N, columns), dtype)
    for i in range(N):
        for j in range(min(max(i + k + 1, 0), columns)):
            result[i, j] = 1
    return result


def tril(m, k=0):
    """A copy with zeros above a diagonal."""
    if m.ndim < 2:
        refuse("np.tril needs an array with two dimensions or more")
    result = m.copy()
    for i in range(m.shape[-2]):
        result[..., i, min(max(i + k + 1, 0), m.shape[-1]) :] = 0
    return result


def triu(m, k=0):
    """A copy with zeros below a diagonal."""
    if m.ndim < 2:
        refuse("np.triu needs an array with two dimensions or more")
    result = m.copy()
    for i in range(m.shape[-2]):
        result[..., i, : min(max(i + k, 0), m.shape[-1])] = 0
    return result


def tril_indices(n, k=0, m=None):
    """The indices of the elements on and below a diagonal."""
    return np.nonzero(tri(n, m, k, np.bool_))


def triu_indices(n, k=0, m=None):
    """The indices of the elements on and above a diagonal."""
    return np.nonzero(np.logical_not(tri(n, m, k - 1, np.bool_)))


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements on a diagonal, as a new array."""
    if a.ndim < 2:
        refuse("a diagonal needs an array with two dimensions or more")
    first, second = axis_of(a, axis1), axis_of(a, axis2)
    if first == second:
        refuse("a diagonal has two different axes")
    source = moveaxis(a, (first, second), (0, 1))
    row, column = max(0, -offset), max(0, offset)
    length = max(0, min(source.shape[0] - row, source.shape[1] - column))
    result = np.empty((length, *source.shape[2:]), a.dtype)
    for i in range(length):
        result[i] = source[row + i, column + i]
    return moveaxis(result, 0, -1)


def diag(v, k=0):
    """A matrix with these elements on a diagonal, or the diagonal of a matrix."""
    if v.ndim == 2:
        return diagonal(v, k)
    require_ndim(v, 1, "np.diag")
    n = len(v) + abs(k)
    result = np.zeros((n, n), v.dtype)
    for i in range(len(v)):
        result[i + max(0, -k), i + max(0, k)] = v[i]
    return result


def diagflat(v, k=0):
    """A matrix with all elements of an array on a diagonal."""
    return diag(np.ravel(v), k)


def fill_diagonal(a, val):
    """Set the diagonal of an array to a number, or to numbers in turn."""
    if a.ndim == 2:
        for i in range(min(a.shape[0], a.shape[1])):
            a[i, i] = val if np.ndim(val) == 0 else val[i % len(val)]
    elif a.ndim == 3:
        require(a.shape[0] == a.shape[1] and a.shape[1] == a.shape[2], ValueError,
                "All dimensions of input must be of equal length")  # fmt: skip
        for i in range(a.shape[0]):
            a[i, i, i] = val if np.ndim(val) == 0 else val[i % len(val)]
    else:
        refuse("np.fill_diagonal is for two or three dimensions, not {}", a.ndim)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of the elements on a diagonal."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def inner(a, b):
    """The sum of the products along the last axes."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        refuse("np.inner is for up to two dimensions")
    if b.ndim == 1:
        return a @ b
    return a @ b.T


def kron(a, b):
    """An array of the second array times each element of the first."""
    missing, ndim = b.ndim - a.ndim, max(a.ndim, b.ndim)
    for _ in static(range(missing)):
        a = a[np.newaxis]
    for _ in static(range(-missing)):
        b = b[np.newaxis]
    shape = ()
    for axis in static(range(ndim)):
        shape = (*shape, a.shape[axis] * b.shape[axis])
    left = expand_dims(a, static(tuple(range(1, 2 * ndim, 2))))
    right = expand_dims(b, static(tuple(range(0, 2 * ndim, 2))))
    return np.reshape(left * right, shape)


def cross(a, b, axis=-1):
    """The cross products of vectors with 3 components along an axis."""
    x, y = moveaxis(a, axis_of(a, axis), -1), moveaxis(b, axis_of(b, axis), -1)
    require(x.shape[-1] == 3 and y.shape[-1] == 3, ValueError,
            "incompatible dimensions for cross product (dimension must be 3)")  # fmt: skip
    first = x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1]
    second = x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2]
    third = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    place = static(axis) if np.ndim(first) > 0 else 0
    return np.stack((first, second, third), place)


def vander(x, N=None, increasing=False):
    """The powers of numbers as columns."""
    require_ndim(x, 1, "np.vander")
    columns = len(x) if N is None else N
    result = np.empty((len(x), columns), np.promote_types(x.dtype, np.int64))
    for i in range(len(x)):
        power = result.dtype.type(1)
        for j in range(columns):
            result[i, j if static(increasing) else columns - 1 - j] = power
            power = power * x[i]
    return result


def indices(dimensions, dtype=np.int64):
    """The indices of the elements of an array, along each of its axes."""
    ndim = len(dimensions)
    result = np.empty((ndim, *dimensions), dtype)
    for axis in static(range(ndim)):
        target = moveaxis(result[axis], axis, -1)
        target[...] = np.arange(dimensions[axis])
    return result


def meshgrid(*xi, indexing="xy"):
    """Arrays with one dimension as the coordinates of a grid."""
    ndim = len(xi)
    indexing = static(indexing)
    if indexing not in ("xy", "ij"):
        refuse("indexing is 'xy' or 'ij', not {}", indexing)
    order = static((1, 0, *range(2, ndim)) if indexing == "xy" and ndim > 1 else tuple(range(ndim)))
    shape = ()
    for axis in static(range(ndim)):
        shape = (*shape, len(xi[order[axis]]))
    results = ()
    for i in static(range(ndim)):
        result = np.empty(shape, xi[i].dtype)
        place = static(order.index(i))
        target = moveaxis(result, place, -1)
        target[...] = xi[i]
        results = (*results, result)
    return results


_OF_A_NUMBER = "An array with two dimensions or more."
ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(tri),
    row(tril, limits=_OF_A_NUMBER),
    row(triu, limits=_OF_A_NUMBER),
    row(tril_indices),
    row(triu_indices),
    row(diagonal, method=True, limits="A copy, where NumPy gives a view that cannot be written."),
    row(diag, limits="A copy."),
    row(diagflat),
    row(fill_diagonal, limits="Two or three dimensions; no `wrap`."),
    row(trace, method=True),
    row(inner, limits="Up to two dimensions."),
    row(kron),
    row(cross, limits="Vectors with 3 components; no `axisa`, `axisb` and `axisc`."),
    row(vander),
    row(indices, limits="No `sparse`."),
    row(meshgrid, limits="Of arrays with one dimension; a tuple of copies; no `sparse`."),
)
