"""A command line in, a report about the store out: `whorl`, one file per command."""

from __future__ import annotations

from .command import main

__all__ = ["main"]
