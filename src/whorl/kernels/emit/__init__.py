"""From the typed program to LLVM's text."""

from __future__ import annotations

from .kernel_function import Emitted, emit

__all__ = ["Emitted", "emit"]
