"""The status of a file or directory in, the reason not to trust it out.

Code is loaded from the store, so nobody but the user may have written it. The superuser may:
nothing helps against him. Where the system has no owners (Windows), there is nothing to say.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

from whorl.lazy import importing

__all__ = ["check_directory", "danger", "is_private"]

_OTHERS: Final = 0 if sys.platform == "win32" else stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def danger(status: os.stat_result) -> str | None:
    """Why somebody else could have written this; None if nobody could."""
    if sys.platform == "win32":
        return None
    owner = status.st_uid
    if owner and owner != os.geteuid():
        return f"it belongs to user {owner}"
    if status.st_mode & _OTHERS_WRITE:
        everybody = status.st_mode & stat.S_IWOTH
        return f"{'every user' if everybody else 'its group'} may write to it"
    return None


def is_private(status: os.stat_result) -> bool:
    """Whether nobody else can get into a directory at all."""
    return danger(status) is None and not status.st_mode & _OTHERS


def check_directory(directory: str) -> bool | None:
    """Raise `UnsafeDirectory` if somebody else may write to it; one that is not there may pass.

    Tells whether nobody else can even get into it; None if it is not there.
    """
    try:
        status = os.stat(directory)
    except OSError:
        return None
    reason = danger(status)
    if reason is None:
        return not status.st_mode & _OTHERS
    remedy = (
        "Let WHORL_CACHE_DIR name a directory of your own."
        if "belongs" in reason
        else f"Run `chmod go-w {directory}` if you trust what is in it (or remove it if not), "
        "or let WHORL_CACHE_DIR name another directory."
    )
    with importing:
        from whorl.errors import UnsafeDirectory

    raise UnsafeDirectory(directory, reason, remedy)
