"""`numba.extending`: what programs use of it to make functions known to Numba."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

from whorl.kernels import NumericKernel
from whorl.kernels.language import refuse_to_follow
from whorl.launch.blas import address_in_capsule

from .missing import Missing, missing_decorator

__all__ = [
    "get_cython_function_address", "intrinsic", "is_jitted", "models", "overload",
    "overload_attribute", "overload_method", "register_jitable", "register_model",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])

_ADD: Final = "Write a function of the kernel language: kernels call plain functions."
_MODEL: Final = "Objects of any class can be arguments of kernels, as they are."
intrinsic: Final = missing_decorator("intrinsic", _ADD)
overload_method: Final = missing_decorator("overload_method", _ADD)
overload_attribute: Final = missing_decorator("overload_attribute", _ADD)
register_model: Final = Missing("register_model", _MODEL)
models: Final = Missing("models of data", _MODEL)


def register_jitable(*args: Any, **options: Any) -> Any:
    """`numba.extending.register_jitable`: the function as it is, which kernels can call.

    >>> @register_jitable
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    return args[0] if args else lambda function: function


def overload(function: Callable[..., Any], **options: Any) -> Callable[[F], F]:
    """`numba.extending.overload`: kernels follow the function itself, as Python runs it.

    A function that has nothing but an overload (`pass`, or an error) is refused in kernels.
    """
    if _is_empty(function):
        refuse_to_follow(
            function,
            "does nothing in Python, and whorl does not use overloads of Numba",
            "Give it a body: kernels follow plain functions.",
        )
    return lambda implementation: implementation


def is_jitted(function: object) -> bool:
    """Whether a function is compiled."""
    return isinstance(function, NumericKernel)


def get_cython_function_address(module: str, name: str) -> int:
    """The address of a function that a module of Cython exports.

    >>> get_cython_function_address("math", "sqrt")
    Traceback (most recent call last):
    ValueError: math exports no function 'sqrt' by way of Cython
    """
    exported = getattr(import_module(module), "__pyx_capi__", {})
    if name not in exported:
        raise ValueError(f"{module} exports no function {name!r} by way of Cython")
    return address_in_capsule(exported[name])


def _is_empty(function: Callable[..., Any]) -> bool:
    """Whether a function does nothing but return None."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    return not code.co_names and set(code.co_consts) <= {None, getattr(function, "__doc__", None)}
