"""Arrays with a buffer for their gradients, which kernels reach as `x.grad`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

__all__ = ["GradArray", "array"]


class GradArray(np.ndarray[Any, np.dtype[Any]]):
    """A NumPy array with a gradient beside it; parts and results of it have none.

    >>> x = array(3, grad=True)
    >>> x.grad.shape, (x + 1).grad is None
    ((3,), True)
    """

    __whorl_plain__ = True  # to a kernel that does not read `grad`, an array like others
    grad: GradArray | None = None

    def __array_finalize__(self, source: object) -> None:
        """A part, a copy or a result begins without a gradient."""
        self.grad = None

    def __reduce__(self) -> tuple[Any, ...]:
        """With its gradient."""
        parts: tuple[Any, ...] = tuple(super().__reduce__())
        return *parts[:2], (parts[2], self.grad)

    def __setstate__(self, state: Any) -> None:
        """With its gradient."""
        inner, grad = state
        super().__setstate__(inner)
        self.grad = grad

    def __deepcopy__(self, memo: Any) -> GradArray:
        """With a copy of its gradient."""
        copied = np.array(self, copy=True, subok=True).view(GradArray)
        copied.grad = copy.deepcopy(self.grad, memo)
        return copied


def array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, *, grad: bool = False
) -> GradArray:
    """An array of zeros; with `grad`, it has a `.grad` of the same shape and type.

    A kernel that reads `x.grad` has another specialization for arrays without one; one that
    does not read it has the same for both.

    >>> x = array((2, 3), np.float32, grad=True)
    >>> x.dtype, x.grad.shape
    (dtype('float32'), (2, 3))
    """
    zeros = np.zeros(shape, dtype).view(GradArray)
    if grad:
        zeros.grad = np.zeros(shape, dtype).view(GradArray)
    return zeros
