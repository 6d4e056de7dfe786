"""Small vectors and matrices as plain Python: NumPy arrays with components and methods by name.

The compiler knows the constructors, and keeps what they make in registers. The methods are written
in the kernel language: a kernel follows the very functions that plain Python runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .language import static

__all__ = [
    "AXES",
    "SmallArray",
    "cross",
    "determinant",
    "dot",
    "inverse",
    "mat",
    "misfit",
    "norm",
    "norm_sqr",
    "normalized",
    "outer",
    "swizzle",
    "trace",
    "vec",
    "zeros",
]

AXES: Final = "xyzw"
"""The names of the first components of a vector."""


def swizzle(name: str) -> tuple[int, ...] | None:
    """The places of the components that a name such as `zyx` names; None if it is no such name.

    >>> swizzle("zyx"), swizzle("xq")
    ((2, 1, 0), None)
    """
    if not 0 < len(name) <= len(AXES) or not set(name) <= set(AXES):
        return None
    return tuple(map(AXES.index, name))


class SmallArray(np.ndarray[Any, np.dtype[Any]]):
    """A vector or matrix as kernels know it. `whorl.vec` and `whorl.mat` make them.

    >>> v = vec(1.0, 2.0, 2.0)
    >>> v.zx, float(v.y), float(v.norm())
    (vec([2., 1.]), 2.0, 3.0)
    """

    __whorl_plain__ = True  # to a kernel, an array like others

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Numbers are NumPy's, as those that any array gives."""
        return array[()] if return_scalar else array.view(type(self))

    def __array_function__(self, function: Any, classes: Any, args: Any, kwargs: Any) -> Any:
        """What NumPy's functions make of such arrays is one, too: `np.where(v > 0, v, w)`."""
        result: Any = super().__array_function__(function, classes, args, kwargs)
        return result.view(SmallArray) if type(result) is np.ndarray else result

    def __repr__(self) -> str:
        """As the call that makes it."""
        name = {1: "vec", 2: "mat"}.get(self.ndim, "array")
        return repr(self.view(np.ndarray)).replace("array(", f"{name}(", 1)

    def __getattr__(self, name: str) -> Any:
        """A component, or several of them as a vector of their own."""
        places = swizzle(name)
        if places is None or self.ndim != 1:
            raise AttributeError(f"{_kind(self)} has no attribute {name!r}")
        if max(places) >= len(self):
            raise AttributeError(f"{_kind(self)} has no component {AXES[max(places)]!r}")
        return self[places[0]] if len(places) == 1 else self[list(places)]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set one component, or an attribute that NumPy's arrays have."""
        places = swizzle(name)
        if places is None:
            super().__setattr__(name, value)
        elif len(places) > 1:
            raise AttributeError(f"{name}: several components are read, and not set; set each")
        else:
            self.__getattr__(name)
            self[places[0]] = value

    def norm(self) -> Any:
        """The length of a vector, or the square root of the sum of all squares."""
        return norm(self)

    def norm_sqr(self) -> Any:
        """The sum of the squares of all components."""
        return norm_sqr(self)

    def normalized(self) -> Any:
        """The vector of length 1 in the same direction."""
        return normalized(self)

    def cross(self, other: Any) -> Any:
        """The cross product with another vector of three components."""
        return cross(self, other)

    def outer(self, other: Any) -> Any:
        """The matrix of all products of two components."""
        return _checked(outer, self, other)

    def cast(self, dtype: Any) -> Any:
        """The same with components of another type."""
        return self.astype(dtype)

    def determinant(self) -> Any:
        """The determinant of a matrix."""
        return _checked(determinant, self)

    def inverse(self) -> Any:
        """The inverse of a matrix."""
        return _checked(inverse, self)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The sum of the diagonal."""
        if args or kwargs:
            return super().trace(*args, **kwargs)
        return _checked(trace, self)


def _kind(array: SmallArray) -> str:
    shape = " x ".join(map(str, array.shape))
    return f"a {'vector' if array.ndim == 1 else 'matrix'} of {shape}"


# -- what makes them --------------------------------------------------------------------


def vec(*components: Any, dtype: Any = None) -> Any:
    """A small vector: a value of its own inside of a kernel, in registers. From one array or
    tuple, a vector of what is in it; from several, a matrix with these rows.

    >>> vec(1.0, 2, 3) + 1
    vec([2., 3., 4.])
    >>> row = np.arange(6.0).reshape(2, 3)[1]
    >>> vec(row).zyx
    vec([5., 4., 3.])
    """
    if len(components) == 1 and np.ndim(components[0]):
        components = tuple(components[0])
    return _made("whorl.vec", components, dtype)


def mat(*rows: Any, dtype: Any = None) -> Any:
    """A small matrix from its rows, or from an array: a value of its own inside of a kernel.

    >>> mat((1.0, 0.0), (0.0, 2.0)) @ vec(3.0, 4.0)
    vec([3., 8.])
    >>> mat(np.eye(2)).determinant().item()
    1.0
    """
    if len(rows) == 1 and np.ndim(rows[0]) == 2:
        rows = tuple(rows[0])
    if not rows or any(np.ndim(row) != 1 for row in rows):
        raise TypeError("whorl.mat takes the rows of a matrix, or a matrix")
    return _made("whorl.mat", rows, dtype)


def _made(name: str, parts: tuple[Any, ...], dtype: Any) -> SmallArray:
    flat = [part for row in parts for part in (row if np.ndim(row) else (row,))]
    if not flat:
        raise TypeError(f"{name} takes at least one component")
    if len({np.shape(part) for part in parts}) != 1:
        raise TypeError(f"{name} takes numbers, or rows of one length")
    if any(np.asarray(part).dtype.kind not in "biufc" for part in flat):
        raise TypeError(f"{name} takes numbers, not {flat!r}")
    return np.array(parts, np.result_type(*flat) if dtype is None else dtype).view(SmallArray)


def zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
    """A small vector or matrix of zeros; its shape is known at compile time.

    >>> zeros(3)
    vec([0., 0., 0.])
    """
    return np.zeros(shape, dtype).view(SmallArray)


# -- functions of vectors ---------------------------------------------------------------


def dot(left: Any, right: Any) -> Any:
    """The product of two vectors, in the order of their components; of matrices as `@`.

    >>> float(dot(vec(1.0, 2.0), vec(3.0, 4.0)))
    11.0
    """
    if np.ndim(left) == 1 and np.ndim(right) == 1:
        total = left[0] * right[0]
        for a, b in zip(left[1:], right[1:], strict=True):
            total = total + a * b
        return total
    return left @ right


def cross(left: Any, right: Any) -> Any:
    """The cross product of two vectors of three components.

    >>> cross(vec(1.0, 0.0, 0.0), vec(0.0, 1.0, 0.0))
    vec([0., 0., 1.])
    """
    return np.cross(left, right).view(SmallArray)


def norm(vector: Any) -> Any:
    """The length of a vector.

    >>> float(norm(vec(3.0, 4.0)))
    5.0
    """
    return np.sqrt(dot(vector.ravel(), vector.ravel()))


def norm_sqr(vector: Any) -> Any:
    """The sum of the squares of all components."""
    if vector.ndim == 1:
        return dot(vector, vector)
    count = len(vector)
    total = dot(vector[0], vector[0])
    for i in static(range(1, count)):
        total = total + dot(vector[i], vector[i])
    return total


def normalized(vector: Any) -> Any:
    """The vector of length 1 in the same direction."""
    return vector / norm(vector)


def outer(left: Any, right: Any) -> Any:
    """The matrix of all products of a component of each of two vectors."""
    rows: tuple[Any, ...] = ()
    for each in left:
        rows = (*rows, each * right)
    return mat(*rows)


# -- functions of matrices --------------------------------------------------------------


def trace(matrix: Any) -> Any:
    """The sum of the diagonal."""
    count = len(matrix)
    total = matrix[0, 0]
    for i in static(range(1, count)):
        total = total + matrix[i, i]
    return total


def determinant(matrix: Any) -> Any:
    """The determinant of a matrix of up to four rows."""
    m = matrix
    if len(m) == 1:
        return m[0, 0]
    if len(m) == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if len(m) == 3:
        a = m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        b = m[0, 1] * (m[1, 2] * m[2, 0] - m[1, 0] * m[2, 2])
        return a + b + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    p, q = _minors(m)
    return p[0] * q[5] - p[1] * q[4] + p[2] * q[3] + p[3] * q[2] - p[4] * q[1] + p[5] * q[0]


def inverse(matrix: Any) -> Any:
    """The inverse of a matrix of up to four rows: not finite, if its determinant is 0."""
    m = matrix
    if len(m) == 1:
        return mat((1 / m[0, 0],))
    if len(m) == 2:
        return mat((m[1, 1], -m[0, 1]), (-m[1, 0], m[0, 0])) / determinant(m)
    if len(m) == 3:
        columns = mat(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1]))
        return columns.T / determinant(m)
    p, q = _minors(m)
    rows = mat(_cofactors(m[1], q), -_cofactors(m[0], q), _cofactors(m[3], p), -_cofactors(m[2], p))
    return rows.T / determinant(m)


def _minors(m: Any) -> Any:
    """The determinants of two columns of the upper two rows, and of the lower two."""
    p: tuple[Any, ...] = ()
    q: tuple[Any, ...] = ()
    for i, j in static(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))):
        p = (*p, m[0, i] * m[1, j] - m[0, j] * m[1, i])
        q = (*q, m[2, i] * m[3, j] - m[2, j] * m[3, i])
    return p, q


def _cofactors(row: Any, minors: Any) -> Any:
    """The cofactors of the row beside this one."""
    a, b, c, d, e, f = minors
    return vec(
        row[1] * f - row[2] * e + row[3] * d,
        -row[0] * f + row[2] * c - row[3] * b,
        row[0] * e - row[1] * c + row[3] * a,
        -row[0] * d + row[1] * b - row[2] * a,
    )


# -- what they are for ------------------------------------------------------------------


def misfit(name: str, *shapes: tuple[int, ...]) -> str:
    """Why a function is not for arrays of these shapes; "" if it is.

    >>> misfit("determinant", (3, 3)), misfit("determinant", (3,))
    ('', 'determinant is for square matrices')
    """
    if name == "outer":
        is_right = all(len(shape) == 1 for shape in shapes)
        return "" if is_right else "outer is for two vectors"
    (shape,) = shapes
    if name in ("svd", "polar", "eig", "eigh"):
        return "" if shape in ((2, 2), (3, 3)) else f"{name} is for matrices of 2 x 2 and 3 x 3"
    if name not in ("trace", "determinant", "inverse"):
        return ""
    if len(shape) != 2 or shape[0] != shape[1]:
        return f"{name} is for square matrices"
    if shape[0] > _LARGEST and name != "trace":
        return f"{name} is for matrices of up to {_LARGEST} rows, np.linalg for others"
    return ""


_LARGEST: Final = 4


def _checked(function: Callable[..., Any], *arrays: Any) -> Any:
    words = misfit(function.__name__, *map(np.shape, arrays))
    if words:
        raise TypeError(words)
    return function(*arrays)
