"""Types of values in a kernel, and what two of them become together: NumPy's rules, as data.

A Python number is weak: it takes the type of what it meets (`1.5` times a float32 is a
float32). Numbers that come from arrays and NumPy scalars are strong. Two weak numbers stay
weak. What strong types become together is asked of NumPy itself.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from whorl.late import dataclass, replace

__all__ = [
    "BOOL",
    "F32",
    "F64",
    "I64",
    "POINTER",
    "WEAK_BOOL",
    "WEAK_FLOAT",
    "WEAK_INT",
    "ArrayType",
    "Scalar",
    "Type",
    "VectorType",
    "is_scalar_value",
    "promote",
    "quotient",
    "scalar_of_dtype",
    "scalar_of_value",
]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: its kind as in a dtype ("b", "i", "u" or "f"), its bits, and whether it is weak.

    >>> str(Scalar("f", 32)), str(Scalar("i", 64, weak=True))
    ('f32', 'int')
    """

    kind: str
    bits: int
    weak: bool = False

    def __str__(self) -> str:
        if self.weak:
            return {"b": "bool", "i": "int", "f": "float"}[self.kind]
        return "bool" if self.kind == "b" else f"{self.kind}{self.bits}"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, signed or not. A bool is none."""
        return self.kind in "iu"

    @property
    def strong(self) -> Scalar:
        """The type that an array of it has."""
        return replace(self, weak=False) if self.weak else self

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of such numbers in memory."""
        return np.dtype("?" if self.kind == "b" else f"{self.kind}{self.bits // 8}")


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array by what a compile may know of it: its elements, dimensions, layout and access.

    >>> str(ArrayType(F32, 2, "C", writeable=True))
    'f32[:, :]'
    """

    element: Scalar
    ndim: int
    layout: str  # "C", "F" or "strided"
    writeable: bool

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(':' * self.ndim)}]"

    @property
    def has_strides(self) -> bool:
        """Whether strides travel with it: the layout does not say them."""
        return self.layout not in ("C", "F")


@dataclass(frozen=True, slots=True)
class VectorType:
    """A small array of fixed shape that lives in the kernel itself.

    >>> VectorType(F64, (3,)).size
    3
    """

    element: Scalar
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.shape))}]"

    @property
    def size(self) -> int:
        """How many elements it has."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of an array's first element."""

    def __str__(self) -> str:
        return "pointer"


Type: TypeAlias = Scalar | VectorType | Pointer

POINTER: Final = Pointer()
BOOL: Final = Scalar("b", 8)
I64: Final = Scalar("i", 64)
F32: Final = Scalar("f", 32)
F64: Final = Scalar("f", 64)
WEAK_BOOL: Final = Scalar("b", 8, weak=True)
WEAK_INT: Final = Scalar("i", 64, weak=True)
WEAK_FLOAT: Final = Scalar("f", 64, weak=True)

_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2}
_PYTHON: Final[dict[type, Scalar]] = {bool: WEAK_BOOL, int: WEAK_INT, float: WEAK_FLOAT}


def scalar_of_dtype(dtype: np.dtype[Any]) -> Scalar | None:
    """The type of an array's elements; None if a kernel has no such type.

    >>> str(scalar_of_dtype(np.dtype("int16"))), scalar_of_dtype(np.dtype("complex64"))
    ('i16', None)
    """
    if not dtype.isnative or dtype.kind not in "biuf" or dtype.itemsize > 8:
        return None
    if dtype.kind == "f" and dtype.itemsize < 4:
        return None
    return Scalar(dtype.kind, dtype.itemsize * 8)


def is_scalar_value(value: object) -> bool:
    """Whether a Python value is a number that a kernel can compute with."""
    return type(value) in _PYTHON or (
        isinstance(value, np.generic) and scalar_of_dtype(value.dtype) is not None
    )


def scalar_of_value(value: object) -> Scalar:
    """The type of a number.

    >>> str(scalar_of_value(3)), str(scalar_of_value(np.float32(3)))
    ('int', 'f32')
    """
    known = _PYTHON.get(type(value))
    if known is not None:
        return known
    assert isinstance(value, np.generic)
    found = scalar_of_dtype(value.dtype)
    assert found is not None
    return found


@cache
def promote(left: Scalar, right: Scalar) -> Scalar:
    """The type in which two numbers are added, compared, or joined in one variable.

    >>> str(promote(F32, WEAK_FLOAT)), str(promote(Scalar("i", 32), WEAK_FLOAT))
    ('f32', 'f64')
    """
    if left == right:
        return left
    if left.weak and right.weak:
        return left if _RANK[left.kind] >= _RANK[right.kind] else right
    if left.weak or right.weak:
        weak, strong = (left, right) if left.weak else (right, left)
        if _RANK[weak.kind] <= _RANK[strong.kind]:
            return strong
        return weak.strong
    found = scalar_of_dtype(np.promote_types(left.dtype, right.dtype))
    assert found is not None
    return found


@cache
def quotient(left: Scalar, right: Scalar) -> Scalar:
    """The type of a true division.

    >>> str(quotient(WEAK_INT, WEAK_INT)), str(quotient(F32, F32)), str(quotient(I64, I64))
    ('float', 'f32', 'f64')
    """
    together = promote(left, right)
    return together if together.is_float else WEAK_FLOAT if together.weak else F64
