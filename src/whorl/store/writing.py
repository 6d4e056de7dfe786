"""An entry in, its file in a directory out; or why it is not kept."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from whorl.artifacts import Damage, Damaged, Entry
from whorl.errors import UnsafeDirectory
from whorl.fingerprint.digest import StableDigest

from .atomic_file import make_directory, sync_directories, write_file
from .ending import Ending
from .outcome import ABSENT, STORED, Absent, Failed, Skipped, Stored, check_key
from .safety import check_directory
from .unusable import set_aside, words

if TYPE_CHECKING:
    from .directory import DirectoryStore

__all__ = ["put", "remove"]

_INFO, _WARNING = 20, 30  # levels, as logging has them
_ATTEMPTS: Final = 3
_READ_ONLY: Final = frozenset((errno.EACCES, errno.EPERM, errno.EROFS))
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This directory holds what whorl can make again.\n"
)


def put(store: DirectoryStore, entry: Entry) -> Stored | Skipped | Failed:
    """Keep an entry. When this returns `Stored`, every process can find it."""
    check_key(entry.key, entry.under)
    if store.read_only:
        return Skipped("the store is read-only")
    if len(entry.data) > store.max_size:
        reason = f"it is larger than all of the store may be ({store.max_size} bytes)"
        store.say("large", _WARNING, "%s is not kept: %s", entry.key, reason)
        return Skipped(reason)
    path = store.path(entry.key, entry.under)
    try:
        try:
            _put(store, path, entry.data)
        except OSError as error:
            if error.errno not in _FULL or not store.bound.free(len(entry.data)):
                raise
            _put(store, path, entry.data)
            store.bound.freed()
        store.bound.wrote(len(entry.data))
    except UnsafeDirectory as error:
        store.say("unsafe", _WARNING, "%s", error)
        return Failed(error.reason, Ending.UNSAFE)
    except OSError as error:
        return _not_stored(store, error)
    except MemoryError:
        return Failed("there is not enough memory", Ending.NOT_STORED)
    return STORED


def _put(store: DirectoryStore, path: str, data: bytes | memoryview) -> None:
    if store.bound.is_large(len(data)):
        _make_directories(store, path)
    with store.bound.room_for(len(data)):
        _write(store, path, data)


def remove(
    store: DirectoryStore, key: StableDigest, under: StableDigest | None = None
) -> Stored | Absent | Failed:
    """Forget an entry."""
    check_key(key, under)
    if store.read_only:
        return Failed("the store is read-only", Ending.NOT_WRITABLE)
    path = store.path(key, under)
    try:
        store.check_inside(os.path.dirname(path))
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except UnsafeDirectory as error:
        return Failed(error.reason, Ending.UNSAFE)
    except OSError as error:
        return Failed(words(error), Ending.NOT_WRITABLE)
    except MemoryError:
        return Failed("there is not enough memory", Ending.NOT_WRITABLE)
    return STORED


def _write(store: DirectoryStore, path: str, data: bytes | memoryview) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            for directory in (store.incoming, os.path.dirname(path)):
                store.check_inside(directory)
            write_file(path, data, store.incoming, sync=store.sync)
        except (FileNotFoundError, NotADirectoryError):
            # The first of its shard; or a collection was faster; or a file is in the way.
            if attempt == _ATTEMPTS:
                raise
            _make_directories(store, path)
            if store.sync:
                sync_directories(path, store.place)
        except IsADirectoryError:  # somebody's directory under an entry's name
            if attempt == _ATTEMPTS:
                raise
            set_aside(store, path, os.lstat(path), Damaged(Damage.FOREIGN, "not a file"))
        else:
            return


def _set_files_aside(store: DirectoryStore, directory: str) -> None:
    """Move what is no directory away from the place of one, or of one above it in the store."""
    above = os.path.dirname(directory)
    if above != store.place:
        _set_files_aside(store, above)
    with contextlib.suppress(FileNotFoundError):
        status = os.lstat(directory)
        if not stat.S_ISDIR(status.st_mode):
            set_aside(store, directory, status, Damaged(Damage.FOREIGN, "not a directory"))


def _make_directories(store: DirectoryStore, path: str) -> None:
    make_directory(store.place)
    check_directory(store.place, store.home)
    for directory in (store.incoming, os.path.dirname(path)):
        _set_files_aside(store, directory)
        make_directory(directory)
    tag = f"{store.place}{os.sep}CACHEDIR.TAG"
    if not os.path.lexists(tag):
        with contextlib.suppress(OSError):
            write_file(tag, _TAG, store.incoming)


def _not_stored(store: DirectoryStore, error: OSError) -> Skipped | Failed:
    reason = words(error)
    if error.errno in _FULL:
        ending = Ending.NO_SPACE
    elif error.errno in _READ_ONLY:
        ending = Ending.NOT_WRITABLE
    else:
        ending = Ending.NOT_STORED
    if ending is Ending.NOT_WRITABLE and os.path.isdir(store.place):
        store.say("read-only", _INFO, "%s cannot be written to: %s", store.place, reason)
        return Skipped(f"{store.place} cannot be written to: {reason}", ending)
    store.say(
        error.errno, _WARNING, "nothing is kept in %s: %s. The program goes on without.",
        store.place, reason,
    )  # fmt: skip
    return Failed(reason, ending)
