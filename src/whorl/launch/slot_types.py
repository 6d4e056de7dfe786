"""Types of what a kernel is launched with: numbers and arrays, as a compile may know them.

A Python number is weak: it takes the type of what it meets (`1.5` times a float32 is a
float32). Numbers that come from arrays and NumPy scalars are strong.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass, replace

SMALL_EXTENT: Final = 8
"""A kernel may be compiled for the length of the rows of an argument, up to this one."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: its kind as in a dtype ("b", "i", "u", "f" or "c"), its bits, whether it is weak.

    >>> str(Scalar("f", 32)), str(Scalar("i", 64, weak=True))
    ('f32', 'int')
    """

    kind: str
    bits: int
    weak: bool = False

    def __str__(self) -> str:
        if self.weak:
            return {"b": "bool", "i": "int", "f": "float", "c": "complex"}[self.kind]
        return "bool" if self.kind == "b" else f"{self.kind}{self.bits}"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex number."""
        return self.kind == "c"

    @property
    def is_inexact(self) -> bool:
        """Whether it is a floating-point or a complex number."""
        return self.kind in "fc"

    @property
    def part(self) -> Scalar:
        """The type of the real part: of a number that is not complex, its own.

        >>> str(Scalar("c", 64).part)
        'f32'
        """
        return replace(self, kind="f", bits=self.bits // 2) if self.kind == "c" else self

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

    >>> str(ArrayType(Scalar("f", 32), 2, "C", writeable=True))
    'f32[:, :]'
    """

    element: Scalar
    ndim: int
    layout: str  # "C", "F" or "strided"
    writeable: bool
    record: str = ""  # of records: the text of their dtype; the elements are bytes then
    alignment: str = "sure"  # of the elements: "sure", "likely" or "none"

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(':' * self.ndim)}]"

    @property
    def has_strides(self) -> bool:
        """Whether strides travel with it: the layout does not say them."""
        return self.layout not in ("C", "F")


WEAK_BOOL: Final = Scalar("b", 8, weak=True)
WEAK_INT: Final = Scalar("i", 64, weak=True)
WEAK_FLOAT: Final = Scalar("f", 64, weak=True)
WEAK_COMPLEX: Final = Scalar("c", 128, weak=True)

_PYTHON: Final[dict[type, Scalar]] = {
    bool: WEAK_BOOL, int: WEAK_INT, float: WEAK_FLOAT, complex: WEAK_COMPLEX,
}  # fmt: skip


_SIZES: Final = {"f": (4, 8), "c": (8, 16), "i": (1, 2, 4, 8)}


def scalar_of_dtype(dtype: np.dtype[Any]) -> Scalar | None:
    """The type of an array's elements; None if a kernel has no such type.

    >>> str(scalar_of_dtype(np.dtype("int16"))), scalar_of_dtype(np.dtype("float16"))
    ('i16', None)
    """
    if not dtype.isnative or dtype.kind not in "biufc":
        return None
    if dtype.itemsize not in _SIZES.get(dtype.kind, _SIZES["i"]):
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
    scalar = scalar_of_dtype(value.dtype)
    assert scalar is not None
    return scalar
