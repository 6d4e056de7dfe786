"""The name of a file that cannot be read in, what it is said to hold out: notebooks, archives."""

from __future__ import annotations

import linecache
import sys
import types
from pathlib import Path

from .lookup import module_vars

__all__ = ["told_of"]


def told_of(filename: str) -> bytes | None:
    """The text that somebody else has of a file; None if nobody has.

    >>> print(told_of("<no such file>"))
    None
    """
    try:
        file = Path(filename)
        is_other = file.exists() and not file.is_file()
        lines = [] if is_other else linecache.getlines(filename)  # which would read a pipe
    except ValueError:  # no file has such a name
        return None
    return "".join(lines).encode("utf-8", "surrogatepass") if lines else _packed(filename)


def _packed(filename: str) -> bytes | None:
    """The text of a module in an archive, or wherever else its loader has it from."""
    for module in list(sys.modules.values()):
        stored = module_vars(module) if type(module) is types.ModuleType else {}
        get = getattr(getattr(stored.get("__spec__"), "loader", None), "get_data", None)
        if get is not None and stored.get("__file__") == filename:
            try:
                return bytes(get(filename))
            except Exception:  # the loader is somebody else's
                return None
    return None
