"""The typed program in, LLVM's text out."""

from __future__ import annotations

from .interrupts import Loops
from .module import emit

__all__ = ["Loops", "emit"]
