"""The functions of floats that kernels can call, one row each.

A row is all that a function of `math` or NumPy needs: the names that Python has for it, its
operation in the compiler's program, LLVM's intrinsic for it, and the functions of the C library
that an image with it may call. To add `np.arcsinh`, add

    ScalarFunction("asinh", numpy="arcsinh", math="asinh", is_complex=True),

A function that is made of several operations (`np.sign`, `np.clip`) is a row of the table in
`kernels/lowering/scalar_calls.py` instead. This table is not in the compiler because a process that
only loads images has to know which functions these may call.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class ScalarFunction(NamedTuple):
    """One function of floats."""

    operation: str  # its name in the compiler's program and in the C library, as one of doubles
    numpy: str = ""  # the name of the ufunc; "" if there is none
    math: str = ""
    arguments: int = 1
    intrinsic: str = ""  # of LLVM; "" if the C library is called directly
    is_whole: bool = False  # integers stay as they are; of `math`, the result is an int
    is_complex: bool = False  # of complex numbers too; the C library's has a "c" before its name


SCALAR_FUNCTIONS: Final = (
    ScalarFunction("sqrt", "sqrt", "sqrt", intrinsic="sqrt", is_complex=True),
    ScalarFunction("cbrt", "cbrt", "cbrt"),
    ScalarFunction("sin", "sin", "sin", intrinsic="sin", is_complex=True),
    ScalarFunction("cos", "cos", "cos", intrinsic="cos", is_complex=True),
    ScalarFunction("tan", "tan", "tan", is_complex=True),
    ScalarFunction("asin", "arcsin", "asin", is_complex=True),
    ScalarFunction("acos", "arccos", "acos", is_complex=True),
    ScalarFunction("atan", "arctan", "atan", is_complex=True),
    ScalarFunction("atan2", "arctan2", "atan2", 2),
    ScalarFunction("sinh", "sinh", "sinh", is_complex=True),
    ScalarFunction("cosh", "cosh", "cosh", is_complex=True),
    ScalarFunction("tanh", "tanh", "tanh", is_complex=True),
    ScalarFunction("asinh", "arcsinh", "asinh", is_complex=True),
    ScalarFunction("acosh", "arccosh", "acosh", is_complex=True),
    ScalarFunction("atanh", "arctanh", "atanh", is_complex=True),
    ScalarFunction("exp", "exp", "exp", intrinsic="exp", is_complex=True),
    ScalarFunction("exp2", "exp2", "exp2", intrinsic="exp2"),
    ScalarFunction("expm1", "expm1", "expm1"),
    ScalarFunction("log", "log", "log", intrinsic="log", is_complex=True),
    ScalarFunction("log2", "log2", "log2", intrinsic="log2"),
    ScalarFunction("log10", "log10", "log10", intrinsic="log10"),
    ScalarFunction("log1p", "log1p", "log1p"),
    ScalarFunction("pow", math="pow", arguments=2, intrinsic="pow"),
    ScalarFunction("hypot", "hypot", "hypot", 2),
    ScalarFunction("copysign", "copysign", "copysign", 2, intrinsic="copysign"),
    ScalarFunction("fmod", math="fmod", arguments=2),
    ScalarFunction("remainder", math="remainder", arguments=2),
    ScalarFunction("nextafter", "nextafter", "nextafter", 2),
    ScalarFunction("erf", math="erf"),
    ScalarFunction("erfc", math="erfc"),
    ScalarFunction("tgamma", math="gamma"),
    ScalarFunction("lgamma", math="lgamma"),
    ScalarFunction("rint", "rint", intrinsic="rint"),
    ScalarFunction("floor", "floor", "floor", intrinsic="floor", is_whole=True),
    ScalarFunction("ceil", "ceil", "ceil", intrinsic="ceil", is_whole=True),
    ScalarFunction("trunc", "trunc", "trunc", intrinsic="trunc", is_whole=True),
    # Parts of np.minimum, np.maximum and np.clip, where NaN wins.
    ScalarFunction("fmin", arguments=2, intrinsic="minimum"),
    ScalarFunction("fmax", arguments=2, intrinsic="maximum"),
)
_BY_LLVM: Final = ("ldexp", "sincos", "nearbyint", "round")  # which it may call in their place
_DOUBLES: Final = (*(row.operation for row in SCALAR_FUNCTIONS), *_BY_LLVM)

_OF_COMPLEX: Final = ("cpow", *(f"c{row.operation}" for row in SCALAR_FUNCTIONS if row.is_complex))

C_FUNCTIONS: Final = frozenset((*_DOUBLES, *(f"{name}f" for name in _DOUBLES), *_OF_COMPLEX))
"""What an image may call for them in the C library."""
