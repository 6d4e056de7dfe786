"""NumPy's functions, written in the kernel language.

Each is a plain function over arrays, static on types and dimensions, and one row of the table of
its module. The compiler follows them as it follows a user's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from . import (
    axes,
    calculus,
    comparing,
    contractions,
    counter_functions,
    distributions,
    element_functions,
    filling,
    joining,
    linear_algebra,
    matrices,
    nan_functions,
    number_functions,
    ordering,
    selecting,
    sequences,
    sets,
)
from .library_function import LibraryFunction

__all__ = ["LIBRARY", "SUBROUTINES", "LibraryFunction"]

LIBRARY: Final[tuple[LibraryFunction, ...]] = (
    *axes.ROWS,
    *joining.ROWS,
    *selecting.ROWS,
    *ordering.ROWS,
    *sets.ROWS,
    *distributions.ROWS,
    *nan_functions.ROWS,
    *calculus.ROWS,
    *matrices.ROWS,
    *contractions.ROWS,
    *filling.ROWS,
    *linear_algebra.ROWS,
    *comparing.ROWS,
    *element_functions.ROWS,
    *sequences.ROWS,
    *number_functions.ROWS,
    *counter_functions.ROWS,
)
SUBROUTINES: Final[frozenset[Callable[..., Any]]] = frozenset(ordering.SUBROUTINES)
"""Functions that are compiled once for all calls alike, however small they are."""
