"""The status of a file or directory in, the reason not to trust it out.

Code is loaded from the store, so nobody but the user may have written it. The superuser may:
nothing helps against him. Where the system has no owners (Windows), there is nothing to say.

The directory of a cache may be a link: whoever names it chose it. What is inside was made by whorl,
which makes no links: a link there was put by somebody else, and is not followed.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

from whorl.lazy import importing

__all__ = ["IS_LINK", "check_directory", "danger", "distrust", "is_private", "unsafe_directory"]

_OTHERS: Final = 0 if sys.platform == "win32" else stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_KIND: Final = 0o170000  # what `stat.S_IFMT` looks at
_LINK: Final = stat.S_IFLNK
IS_LINK: Final = "it is a symbolic link"


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


def distrust(directory: str) -> str | None:
    """Why a directory inside of a store is not used; None if it may be, or is not there."""
    try:
        status = os.lstat(directory)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return IS_LINK if status.st_mode & _KIND == _LINK else danger(status)


def is_private(status: os.stat_result) -> bool:
    """Whether nobody else can get into a directory at all."""
    return danger(status) is None and not status.st_mode & _OTHERS


def check_directory(directory: str, home: str) -> bool | None:
    """Raise `UnsafeDirectory` if somebody else may write to it; one that is not there may pass.

    `home` is where its entries are. Tells whether nobody else can even get into the directory;
    None if it is not there.
    """
    try:
        status = os.stat(directory)
        reason = danger(status)
        inside = None if reason is not None else distrust(home)
    except (OSError, MemoryError):
        return None
    if reason is not None:
        raise unsafe_directory(directory, reason, directory)
    if inside is not None:
        raise unsafe_directory(home, inside, directory)
    return not status.st_mode & _OTHERS


def unsafe_directory(directory: str, reason: str, root: str) -> Exception:
    """The `UnsafeDirectory` for a cache directory, or for one in it; with what to do about it."""
    with importing:
        from whorl.errors import UnsafeDirectory

        from .remedy import remedy

    return UnsafeDirectory(directory, reason, remedy(directory, reason, root))
