"""From a Python function and views of its world to the typed program."""

from __future__ import annotations

from .root import Lowered, lower

__all__ = ["Lowered", "lower"]
