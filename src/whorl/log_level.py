"""Sets the level of whorl's loggers, and restores the one that they had before."""

from __future__ import annotations

import logging
from typing import Final

_levels_before: Final[dict[str, int]] = {}  # of the loggers whose level was set here


def restore() -> None:
    """Give the loggers the levels back that they had before the first `set_level`."""
    for name, level in _levels_before.items():
        logging.getLogger(name).setLevel(level)
    _levels_before.clear()


def set_level(level: str) -> None:
    """Set the level; add a handler for the terminal if the program has none."""
    logger = logging.getLogger("whorl")
    for name in ("whorl", "whorl.why"):
        _levels_before.setdefault(name, logging.getLogger(name).level)
    levels = {"off": logging.CRITICAL + 1, "why": logging.WARNING}
    logger.setLevel(levels.get(level) or level.upper())
    # Reasons for compiles have a logger of their own.
    logging.getLogger("whorl.why").setLevel(logging.INFO if level == "why" else logging.NOTSET)
    if (
        level in ("why", "info", "debug")
        and not logging.getLogger().handlers
        and not logger.handlers
    ):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("whorl: %(message)s"))
        handler.addFilter(lambda record: not logging.getLogger().handlers)  # these show it by now
        logger.addHandler(handler)
