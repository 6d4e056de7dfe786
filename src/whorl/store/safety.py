"""Which files and directories of a store may be trusted, and what to do about those that may not.

Code is loaded from the store, so nobody but the user may have written it. The superuser may: there
is no protection against that. Where files have no owners (Windows), everything is trusted.

The directory of a cache may be a link: whoever names it chose it. What is inside was made by whorl,
which makes no links: a link there was put by somebody else, and is not followed.

A proposed remedy works when it is followed literally, and changes nothing that is not whorl's: it
never touches a directory that holds anything else, or that belongs to everybody as `/tmp` does.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from typing import Final

from whorl.errors import UnsafeDirectory
from whorl.lazy import load

TRUSTED_FOR: Final = 5.0  # seconds for which a directory is taken to be as it was seen
_DIRECTORIES_KNOWN: Final = 10_000

OTHERS: Final = 0 if sys.platform == "win32" else stat.S_IRWXG | stat.S_IRWXO  # what they may do
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
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
    if status.st_mode & _WRITABLE_BY_OTHERS:
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
    return danger(status) is None and not status.st_mode & OTHERS


def check_directory(directory: str, home: str) -> bool | None:
    """Raise `UnsafeDirectory` if somebody else may write to it; one that is not there may pass.

    `home` is where its entries are. Tells whether nobody else can even get into the directory;
    None if it is not there.
    """
    try:
        status = os.stat(directory)
        reason = danger(status)
        if reason is not None and not stat.S_ISDIR(status.st_mode):
            reason = "it is not a directory"
        inside = None if reason is not None else distrust(home)
    except (OSError, MemoryError):
        return None
    if reason is not None:
        raise unsafe_directory(directory, reason, directory)
    if inside is not None:
        raise unsafe_directory(home, inside, directory)
    return not status.st_mode & OTHERS


def unsafe_directory(directory: str, reason: str, root: str) -> UnsafeDirectory:
    """The error for a cache directory, or for one in it; with what to do about it."""
    return UnsafeDirectory(directory, reason, remedy(directory, reason, root))


class Trust:
    """The directories of one store that were checked, each for a few seconds."""

    __slots__ = ("_private_until", "_safe_until", "checked_until", "home", "root")

    def __init__(self, root: str, home: str) -> None:
        is_closed = check_directory(root, home)
        self.root = root
        self.home = home
        self.checked_until = 0.0 if is_closed is None else time.monotonic() + TRUSTED_FOR
        self._safe_until = {home: self.checked_until}
        self._private_until = self.checked_until if is_closed else 0.0

    @property
    def was_just_checked(self) -> bool:
        """Whether the store was there, and safe, a moment ago."""
        return time.monotonic() < self.checked_until

    def doubt(self, directory: str) -> tuple[str, str] | None:
        """The first directory from here up to the root that is not to be trusted, and why."""
        known, now, checked = self._safe_until, time.monotonic(), []
        while directory != self.root and known.get(directory, 0.0) <= now:
            reason = distrust(directory)
            if reason is not None:
                return directory, reason
            checked.append(directory)
            directory = directory.rpartition(os.sep)[0]
        if len(known) >= _DIRECTORIES_KNOWN:
            known.clear()
        known.update(dict.fromkeys(checked, now + TRUSTED_FOR))
        return None

    def check(self, directory: str) -> None:
        """Raise `UnsafeDirectory` if a directory of the store, or one above, may be another's."""
        doubt = self.doubt(directory)
        if doubt is not None:
            raise unsafe_directory(*doubt, self.root)

    def holds_for(self, directory: str) -> bool:
        """Whether a directory may be trusted; not if that cannot be seen."""
        try:
            return self.doubt(directory) is None
        except (OSError, MemoryError):
            return False

    def private_until(self) -> float:
        """Until when nobody else can have entered the root; in the past if somebody can."""
        now = time.monotonic()
        if now >= self._private_until and is_private(os.stat(self.root)):
            self._private_until = now + TRUSTED_FOR
        return self._private_until


# -- remedies ----------------------------------------------------------------------------

_OWN_NAMES: Final = r"CACHEDIR\.TAG|v\d+|quarantine|statistics|journal|signing\.key.*"


def remedy(directory: str, reason: str, root: str) -> str:
    """What to do about a directory of the cache at `root` that cannot be trusted.

    >>> remedy("/tmp", "every user may write to it", "/tmp")
    'Let WHORL_CACHE_DIR name a directory of your own.'
    """
    if "link" in reason:
        return (
            f"Run `rm {_quoted(directory)}`: whorl makes no links there. To keep the cache in "
            "another place, let WHORL_CACHE_DIR name that."
        )
    if "belongs" in reason or not _is_ours(root):
        return "Let WHORL_CACHE_DIR name a directory of your own."
    return (
        f"Run `chmod -R go-w {_quoted(root)}` if you trust what is in it (or remove it if "
        "not), or let WHORL_CACHE_DIR name another directory."
    )


def file_remedy(path: str, reason: str, root: str) -> str:
    """The same for a file of the cache."""
    if "may write" in reason:
        return remedy(path, reason, root)
    return f"Run `rm {_quoted(path)}`: it is made again."


def _is_ours(root: str) -> bool:
    """Whether a directory is this user's, and holds nothing but what whorl puts there."""
    try:
        status = os.stat(root)
        names = os.listdir(root)
    except OSError:
        return False
    if sys.platform == "win32" or status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        return False
    return all(re.fullmatch(_OWN_NAMES, name) for name in names)


def _quoted(path: str) -> str:
    try:
        return str(load("shlex").quote(path))
    except (ImportError, OSError):  # no more files can be opened
        return path
