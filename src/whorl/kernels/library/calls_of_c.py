"""What the functions of the library call of C: the compiler knows `c_call`.

The arguments are typed numbers, and arrays, of which the address is passed. Where the function
cannot be found the launch ends with an error.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["c_call"]


def c_call(name: str, result: Any, *args: Any) -> NoReturn:
    """Call a function that returns a number of a type of NumPy's, or nothing: None.

    >>> c_call("random_standard_normal", float, 0)
    Traceback (most recent call last):
    TypeError: random_standard_normal is called in kernels only
    """
    raise TypeError(f"{name} is called in kernels only")
