"""The typed program in, LLVM's text out."""

from __future__ import annotations

from .module import emit

__all__ = ["emit"]
