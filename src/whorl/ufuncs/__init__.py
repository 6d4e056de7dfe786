"""Ufuncs of NumPy from functions of the kernel language."""

from __future__ import annotations

from .growing_ufunc import GrowingUfunc
from .ufunc_decorators import guvectorize, vectorize

__all__ = ["GrowingUfunc", "guvectorize", "vectorize"]
