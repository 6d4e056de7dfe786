"""A file of a store that cannot be used in, why not out; a damaged one is set aside."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Final

from whorl.artifacts import Damaged
from whorl.errors import UnsafeDirectory

from .atomic_file import make_directory
from .ending import Ending
from .outcome import Failed
from .remedy import file_remedy
from .safety import IS_LINK, unsafe_directory

if TYPE_CHECKING:
    from .directory import DirectoryStore

__all__ = ["distrusted", "set_aside", "too_large", "unreadable", "unsafe", "words"]

_WARNING: Final = 30  # as logging has it


def too_large() -> Failed:
    """A file that is not read, because all files together may not be as large."""
    return Failed("it is larger than all of the store may be", Ending.UNREADABLE)


def unreadable(store: DirectoryStore, path: str, error: Exception) -> Failed:
    """Why a file cannot be read just now; it is left where it is."""
    if isinstance(error, MemoryError):
        return Failed("there is not enough memory for it", Ending.UNREADABLE)
    if not isinstance(error, OSError):
        return Failed(str(error), Ending.UNREADABLE)
    reason = words(error)
    if error.errno == errno.ELOOP and os.path.islink(path):
        return unsafe(store, path, IS_LINK)
    store.say(error.errno, _WARNING, "cannot read %s: %s", path, reason)
    return Failed(reason, Ending.UNREADABLE)


def unsafe(store: DirectoryStore, path: str, reason: str) -> Failed:
    """Why a file is not believed that may be somebody else's."""
    what_to_do = file_remedy(path, reason, store.place)
    store.say(("unsafe", reason), _WARNING, "%s is not loaded: %s. %s", path, reason, what_to_do)
    return Failed(reason, Ending.UNSAFE)


def distrusted(store: DirectoryStore, directory: str, reason: str) -> Failed:
    """Why nothing is read that is in a directory of the store which may be somebody else's."""
    store.say("unsafe", _WARNING, "%s", unsafe_directory(directory, reason, store.place))
    return Failed(reason, Ending.UNSAFE)


def set_aside(store: DirectoryStore, path: str, status: os.stat_result, damaged: Damaged) -> Failed:
    """Move a damaged file out of the way, unless another has taken its place meanwhile."""
    reason = str(damaged)
    if store.read_only:
        return Failed(reason, Ending.DAMAGED)
    aside = f"{store.place}{os.sep}quarantine"
    name = f"{os.path.basename(os.path.dirname(path))}{os.path.basename(path)}"
    target = f"{aside}{os.sep}{name}-{time.time_ns():x}-{os.getpid():x}"
    try:
        if not _is_same(os.lstat(path), status):
            return Failed(reason, Ending.DAMAGED)
        make_directory(aside)
        store.check_inside(aside)
        os.rename(path, target)
        if not _is_same(os.lstat(target), status):  # the good one that came in between
            os.rename(target, path)
            return Failed(reason, Ending.DAMAGED)
    except FileNotFoundError:
        return Failed(reason, Ending.DAMAGED)
    except (OSError, MemoryError, UnsafeDirectory) as error:
        store.say(
            ("damaged", path), _WARNING, "%s is damaged: %s; it cannot be moved: %s",
            path, reason, words(error) if isinstance(error, OSError) else error,
        )  # fmt: skip
        return Failed(reason, Ending.DAMAGED)
    store.statistics.count(Ending.SET_ASIDE)
    store.bound.trim_quarantine()
    store.say(
        ("damaged", path), _WARNING, "%s is damaged: %s; it is now in %s and will be "
        "made again", path, reason, aside,
    )  # fmt: skip
    return Failed(reason, Ending.DAMAGED)


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def words(error: OSError) -> str:
    """What the system says of an error."""
    return error.strerror or str(error)
