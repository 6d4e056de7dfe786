"""The functions of floats that kernels can call, one row each.

A row is all that a function of `math` or NumPy needs: the names that Python has for it, its
operation in the compiler's program, LLVM's intrinsic for it, and the functions of the C library
that an image with it may call. To add `np.arcsinh`, add

    ScalarFunction("asinh", numpy="arcsinh", math="asinh"),

A function that is made of several operations (`np.sign`, `np.clip`) is a row of the table in
`kernels/lowering/scalar_calls.py` instead. This table is not in the compiler because a process that
only loads images has to know which functions these may call.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["C_FUNCTIONS", "SCALAR_FUNCTIONS", "ScalarFunction"]


class ScalarFunction(NamedTuple):
    """One function of floats."""

    operation: str  # its name in the compiler's program and in the C library, as one of doubles
    numpy: str = ""  # the name of the ufunc; "" if there is none
    math: str = ""
    arguments: int = 1
    intrinsic: str = ""  # of LLVM; "" if the C library is called directly
    is_whole: bool = False  # integers stay as they are; of `math`, the result is an int


SCALAR_FUNCTIONS: Final = (
    ScalarFunction("sqrt", "sqrt", "sqrt", intrinsic="sqrt"),
    ScalarFunction("cbrt", "cbrt", "cbrt"),
    ScalarFunction("sin", "sin", "sin", intrinsic="sin"),
    ScalarFunction("cos", "cos", "cos", intrinsic="cos"),
    ScalarFunction("tan", "tan", "tan"),
    ScalarFunction("asin", "arcsin", "asin"),
    ScalarFunction("acos", "arccos", "acos"),
    ScalarFunction("atan", "arctan", "atan"),
    ScalarFunction("atan2", "arctan2", "atan2", 2),
    ScalarFunction("sinh", "sinh", "sinh"),
    ScalarFunction("cosh", "cosh", "cosh"),
    ScalarFunction("tanh", "tanh", "tanh"),
    ScalarFunction("exp", "exp", "exp", intrinsic="exp"),
    ScalarFunction("exp2", "exp2", "exp2", intrinsic="exp2"),
    ScalarFunction("expm1", "expm1", "expm1"),
    ScalarFunction("log", "log", "log", intrinsic="log"),
    ScalarFunction("log2", "log2", "log2", intrinsic="log2"),
    ScalarFunction("log10", "log10", "log10", intrinsic="log10"),
    ScalarFunction("log1p", "log1p", "log1p"),
    ScalarFunction("pow", math="pow", arguments=2, intrinsic="pow"),
    ScalarFunction("hypot", "hypot", "hypot", 2),
    ScalarFunction("copysign", "copysign", "copysign", 2, intrinsic="copysign"),
    ScalarFunction("fmod", math="fmod", arguments=2),
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

C_FUNCTIONS: Final = frozenset((*_DOUBLES, *(f"{name}f" for name in _DOUBLES)))
"""What an image may call for them in the C library."""
