"""`guvectorize` with a layout of inputs alone: a function that changes parts of its operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from whorl.kernels import NumericKernel, kernel
from whorl.ufuncs.type_names import core_extents

__all__ = ["PartsInPlace"]


class PartsInPlace:
    """Calls a kernel for the parts of operands that a layout names; NumPy's rules for the rest.

    >>> @lambda function: PartsInPlace(function, "(n),(n)->")
    ... def add(x, total):
    ...     for i in range(x.size):
    ...         total[i] += x[i]
    >>> total = np.zeros((2, 3))
    >>> add(np.arange(3.0), total)
    >>> total.tolist()
    [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]
    """

    def __init__(self, function: Callable[..., Any], layout: str, fastmath: Any = False) -> None:
        self.kernel: NumericKernel = kernel(fastmath=fastmath)(function)
        self._ranks = [len(extents) for extents in core_extents(layout)[0]]
        update_wrapper(self, function)

    def __call__(self, *operands: Any) -> None:
        """Run the kernel for all parts."""
        if len(operands) != len(self._ranks):
            raise TypeError(f"{len(operands)} operands for a layout of {len(self._ranks)}")
        arrays = [np.asarray(each) for each in operands]
        cuts = [each.ndim - rank for each, rank in zip(arrays, self._ranks, strict=True)]
        if min(cuts) < 0:
            raise ValueError("an operand has fewer dimensions than its layout")
        pairs = list(zip(arrays, cuts, strict=True))
        around = np.broadcast_shapes(*(array.shape[:cut] for array, cut in pairs))
        parts = [
            array
            if array.shape[:cut] == around
            else np.broadcast_to(array, around + array.shape[cut:])  # which cannot be written
            for array, cut in pairs
        ]
        for place in np.ndindex(around):
            self.kernel(*(part[place] for part in parts))
