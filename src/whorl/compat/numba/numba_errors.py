"""Errors and warnings by the names that they have in Numba: `except numba.TypingError`."""

from __future__ import annotations

from whorl.errors import KernelError, WhorlError

__all__ = [
    "LoweringError", "NumbaDeprecationWarning", "NumbaError", "NumbaExperimentalFeatureWarning",
    "NumbaPendingDeprecationWarning", "NumbaPerformanceWarning", "NumbaTypeError", "NumbaWarning",
    "TypingError", "UnsupportedError",
]  # fmt: skip

NumbaError = WhorlError
TypingError = LoweringError = UnsupportedError = NumbaTypeError = KernelError


class NumbaWarning(UserWarning):
    """A warning of Numba's: whorl gives none, and programs may filter them."""


class NumbaPerformanceWarning(NumbaWarning):
    """See `NumbaWarning`."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """See `NumbaWarning`."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """See `NumbaWarning`."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """See `NumbaWarning`."""
