"""The command `whorl`: one module per subcommand."""

from __future__ import annotations

from .command import main

__all__ = ["main"]
