"""What the functions of linear algebra call: routines of LAPACK, and how these count.

The compiler knows `lapack` and `integer_bytes`. A routine is called as from Fortran, and returns
its `info`. Where this process has no LAPACK, the launch ends with an error that says what to
install.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["integer_bytes", "lapack"]


def lapack(name: str, *args: Any) -> NoReturn:
    """Call a routine: with arrays, which lie in order, and with numbers and letters.

    >>> lapack("dgesv", 3)
    Traceback (most recent call last):
    TypeError: dgesv is called in kernels only
    """
    raise TypeError(f"{name} is called in kernels only")


def integer_bytes() -> NoReturn:
    """How large the integers are that routines write into arrays: 4 or 8 bytes."""
    raise TypeError("it is known in kernels only")
