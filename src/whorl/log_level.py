"""A level in, whorl's loggers told it out; and their levels of before."""

from __future__ import annotations

import logging
from typing import Final

__all__ = ["restore", "tell"]

_levels_before: Final[dict[str, int]] = {}  # of the loggers that were told their level here


def restore() -> None:
    """Let the loggers have the levels again that they had before they were told any."""
    for name, level in _levels_before.items():
        logging.getLogger(name).setLevel(level)
    _levels_before.clear()


def tell(level: str) -> None:
    """Have whorl's loggers say what belongs to a level, on the screen if nobody else shows it."""
    logger = logging.getLogger("whorl")
    for name in ("whorl", "whorl.why"):
        _levels_before.setdefault(name, logging.getLogger(name).level)
    levels = {"off": logging.CRITICAL + 1, "why": logging.WARNING}
    logger.setLevel(levels.get(level) or level.upper())
    # Why something was compiled is said by a logger of its own.
    logging.getLogger("whorl.why").setLevel(logging.INFO if level == "why" else logging.NOTSET)
    if (
        level in ("why", "info", "debug")
        and not logging.getLogger().handlers
        and not logger.handlers
    ):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("whorl: %(message)s"))
        handler.addFilter(lambda record: not logging.getLogger().handlers)  # they say it by now
        logger.addHandler(handler)
