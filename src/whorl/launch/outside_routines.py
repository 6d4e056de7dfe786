"""Routines of other libraries that machine code may call: by names of their own, found at load."""

from __future__ import annotations

from typing import Final

from . import blas, random_functions

__all__ = ["ROUTINES", "address"]

ROUTINES: Final = blas.ROUTINES | random_functions.DISTRIBUTIONS
"""The names that code may have for them."""


def address(name: str) -> int:
    """The address of a routine by its name in machine code; 0 if there is none.

    >>> address("whorl_dgemm") >= 0
    True
    """
    if name in random_functions.DISTRIBUTIONS:
        return random_functions.address(name)
    return blas.address(name)
