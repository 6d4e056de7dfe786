"""A function and views of its world in, the typed program out."""

from __future__ import annotations

from . import loops as loops  # which the others import when they are called
from .root import Lowered, lower

__all__ = ["Lowered", "lower"]
