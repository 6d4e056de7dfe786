"""What is wrong with a cache directory in, what its user can do about it out.

What is proposed works when it is done literally, and changes nothing that is not whorl's: a
directory that holds anything else, or that belongs to everybody as `/tmp` does, stays as it is.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from typing import Final

__all__ = ["file_remedy", "remedy"]

_OWN_NAMES: Final = re.compile(r"CACHEDIR\.TAG|v\d+|quarantine|statistics|journal|signing\.key.*")


def remedy(directory: str, reason: str, root: str) -> str:
    """What to do about a directory of the cache at `root` that cannot be trusted.

    >>> remedy("/tmp", "every user may write to it", "/tmp")
    'Let WHORL_CACHE_DIR name a directory of your own.'
    """
    if "link" in reason:
        return (
            f"Run `rm {shlex.quote(directory)}`: whorl makes no links there. To keep the cache in "
            "another place, let WHORL_CACHE_DIR name that."
        )
    if "belongs" in reason or not _is_ours(root):
        return "Let WHORL_CACHE_DIR name a directory of your own."
    return (
        f"Run `chmod -R go-w {shlex.quote(root)}` if you trust what is in it (or remove it if "
        "not), or let WHORL_CACHE_DIR name another directory."
    )


def file_remedy(path: str, reason: str, root: str) -> str:
    """The same for a file of the cache."""
    if "may write" in reason:
        return remedy(path, reason, root)
    return f"Run `rm {shlex.quote(path)}`: it is made again."


def _is_ours(root: str) -> bool:
    """Whether a directory is this user's, and holds nothing but what whorl puts there."""
    try:
        status = os.stat(root)
        names = os.listdir(root)
    except OSError:
        return False
    if sys.platform == "win32" or status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        return False
    return all(map(_OWN_NAMES.fullmatch, names))
