"""Types as Numba writes them: `float64`, `float64[:, ::1]`, `int64(float64[:])`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import dataclass

__all__ = ["Array", "ArrayOf", "Number", "OtherType", "SignatureOf", "typeof"]


@dataclass(frozen=True, slots=True)
class Number:
    """A type of numbers; `void` has no dtype."""

    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same type in NumPy."""
        return np.dtype(self.name)

    def __getitem__(self, layout: Any) -> ArrayOf:
        """The type of arrays of such numbers: `float64[:, ::1]`."""
        axes = layout if isinstance(layout, tuple) else (layout,)
        for axis in axes:
            if not isinstance(axis, slice) or (axis.start, axis.stop) != (None, None):
                raise TypeError(f"write {self.name}[:] or {self.name}[:, ::1] for arrays")
        return ArrayOf(self, tuple(axis.step == 1 for axis in axes))

    def __call__(self, *parameters: Any) -> SignatureOf:
        """The signature of a function that returns such a number."""
        return SignatureOf(self, parameters)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """A type of arrays: which axis has its elements side by side, if one has."""

    element: Number
    contiguous: tuple[bool, ...]
    readonly: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an element in NumPy."""
        return self.element.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.contiguous)

    def __call__(self, *parameters: Any) -> SignatureOf:
        """The signature of a function that returns such an array."""
        return SignatureOf(self, parameters)

    def __str__(self) -> str:
        axes = ("::1" if each else ":" for each in self.contiguous)
        return f"{'const ' if self.readonly else ''}{self.element}[{', '.join(axes)}]"


@dataclass(frozen=True, slots=True)
class OtherType:
    """A type that nothing is compiled ahead for: a tuple, or what may be None."""

    name: str
    parts: tuple[Any, ...]

    def __call__(self, *parameters: Any) -> SignatureOf:
        """The signature of a function that returns such a thing."""
        return SignatureOf(self, parameters)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parts))})"


def Array(  # the name that Numba has for it
    dtype: Number, ndim: int, layout: str, readonly: bool = False, aligned: bool = True
) -> ArrayOf:
    """The type of arrays of a layout: "C", "F" or "A" for any.

    >>> str(Array(float64, 2, "C", readonly=True))
    'const float64[:, ::1]'
    """
    if layout not in ("C", "F", "A"):
        raise ValueError(f"the layout is 'C', 'F' or 'A', not {layout!r}")
    axes = [False] * ndim
    if ndim and layout != "A":
        axes[-1 if layout == "C" else 0] = True
    return ArrayOf(dtype, tuple(axes), readonly)


def Tuple(parts: Any) -> OtherType:  # the name that Numba has for it
    """The type of tuples of some types."""
    return OtherType("Tuple", tuple(parts))


def UniTuple(part: Any, count: int) -> OtherType:  # the name that Numba has for it
    """The type of tuples of so many of one type."""
    return OtherType("Tuple", (part,) * count)


BaseTuple = Tuple


def optional(type: Any) -> OtherType:
    """The type of what may be None."""
    return OtherType("Optional", (type,))


Optional = Omitted = optional


@dataclass(frozen=True, slots=True)
class PointerTo:
    """The type of addresses of numbers, in functions of C."""

    element: Number

    def __str__(self) -> str:
        return f"*{self.element}"


CPointer = PointerTo
voidptr: Final = PointerTo(Number("uint8"))


class WrapperAddressProtocol:
    """The base of objects that are functions of C: kernels call them.

    They have `__wrapper_address__()` and `signature()`, as in Numba.
    """

    def __wrapper_address__(self) -> int:
        """Where the function is."""
        raise NotImplementedError

    def signature(self) -> SignatureOf:
        """What it returns and takes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class SignatureOf:
    """What a function takes and returns."""

    result: Any
    parameters: tuple[Any, ...]

    @property
    def __whorl_signature_text__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.parameters))})"


void: Final = Number("void")
none: Final = void
Integer = Float = Complex = Boolean = Number
NoneType = type(None)
b1 = bool_ = boolean = Number("bool")
i1 = int8 = Number("int8")
i2 = int16 = Number("int16")
i4 = int32 = intc = Number("int32")
i8 = int64 = intp = int_ = Number("int64")
u1 = uint8 = Number("uint8")
u2 = uint16 = Number("uint16")
u4 = uint32 = Number("uint32")
u8 = uint64 = uintp = Number("uint64")
f4 = float32 = Number("float32")
f8 = float64 = Number("float64")
c8 = complex64 = Number("complex64")
c16 = complex128 = Number("complex128")
double = float64
uint = uint64
long_ = int64


def typeof(value: Any) -> Number | ArrayOf:
    """The type of a number or an array.

    >>> import numpy as np
    >>> str(typeof(1.0)), str(typeof(np.zeros((2, 3))))
    ('float64', 'float64[:, ::1]')
    """
    if not isinstance(value, np.ndarray):
        return Number(np.asarray(value).dtype.name)
    axes = [False] * value.ndim
    if value.ndim and value.flags.c_contiguous:
        axes[-1] = True
    elif value.ndim and value.flags.f_contiguous:
        axes[0] = True
    return ArrayOf(Number(value.dtype.name), tuple(axes))
