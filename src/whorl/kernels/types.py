"""Types of values in a kernel, and what two of them become together: NumPy's rules, as data.

A Python number is weak: it takes the type of what it meets (`1.5` times a float32 is a
float32). Numbers that come from arrays and NumPy scalars are strong. Two weak numbers stay
weak. What strong types become together is asked of NumPy itself.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

import numpy as np

from whorl.fast_dataclasses import dataclass
from whorl.launch.slot_types import (
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    Scalar,
    is_scalar_value,
    scalar_of_dtype,
    scalar_of_value,
)

__all__ = [
    "BOOL",
    "C128",
    "F32",
    "F64",
    "I64",
    "POINTER",
    "WEAK_BOOL",
    "WEAK_COMPLEX",
    "WEAK_FLOAT",
    "WEAK_INT",
    "ArrayType",
    "Scalar",
    "Type",
    "VectorType",
    "complex_of",
    "is_scalar_value",
    "promote",
    "quotient",
    "scalar_of_dtype",
    "scalar_of_value",
]


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
C128: Final = Scalar("c", 128)

_RANK: Final = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


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
        if weak.is_complex and strong.is_float:
            return complex_of(strong)
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
    return together if together.is_inexact else WEAK_FLOAT if together.weak else F64


def complex_of(type: Scalar) -> Scalar:
    """The complex type whose parts are of a float type.

    >>> str(complex_of(F32)), str(complex_of(WEAK_FLOAT))
    ('c64', 'complex')
    """
    return Scalar("c", 2 * type.bits, type.weak)
