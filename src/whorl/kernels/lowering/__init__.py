"""A function and views of its world in, the typed program out."""

from __future__ import annotations

from .root import Lowered, lower

__all__ = ["Lowered", "lower"]
