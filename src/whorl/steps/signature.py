"""Bytes and what they are in, a signature out that only whoever has our key can make.

Some results can only be read in a way that may execute anything: pickle is one. They are signed
when they are written, and read only if the signature is right. It covers what they are the result
of too: nobody can pass one off as another. The key is a secret of this user, kept beside the cache
in a file that nobody else can read; so what a shared or remote store holds from others is not read,
and neither is what somebody has slipped into ours. A team that trusts each other gives all its
members the same key: WHORL_SIGNING_KEY.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from whorl import settings
from whorl.lazy import importing

__all__ = ["UnusableKey", "is_signed", "signed"]

_FILE: Final = "signing.key"
_BYTES: Final = 32
_OTHERS: Final = 0 if sys.platform == "win32" else stat.S_IRWXG | stat.S_IRWXO
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_keys: Final[dict[str, bytes]] = {}


class UnusableKey(Exception):
    """A key file that somebody else may know or have made, or that holds no key."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(file, reason)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"the key in {self.file}, which pickled results are signed with, is not used: "
            f"{self.reason}. Run `rm {shlex.quote(self.file)}`: a new one is made, and so are the "
            "results that were signed with this one"
        )


def signed(about: Sequence[str], data: bytes | memoryview) -> str:
    """The signature of bytes and of what is said about them; hexadecimal.

    >>> is_signed(["pickle"], b"data", signed(["pickle"], b"data"))
    True
    >>> is_signed(["pickles"], b"data", signed(["pickle"], b"data"))
    False
    """
    with importing:
        import hmac

    made = hmac.new(_key(), digestmod="sha256")
    for text in about:
        raw = text.encode("utf-8", "surrogatepass")
        made.update(len(raw).to_bytes(8, "little") + raw)
    made.update(len(about).to_bytes(8, "little"))
    made.update(data)
    return made.hexdigest()


def is_signed(about: Sequence[str], data: bytes | memoryview, signature: str) -> bool:
    """Whether a signature was made with our key, for these bytes and what is said about them."""
    with importing:
        import hmac

    return hmac.compare_digest(signed(about, data).encode(), signature.encode("utf-8", "replace"))


def _key() -> bytes:
    given = settings.current().signing_key.value
    if given is not None:
        return given.reveal()
    place = settings.current().cache_place.value
    known = _keys.get(place)
    return _keys.setdefault(place, _kept(Path(place) / _FILE)) if known is None else known


def _kept(file: Path) -> bytes:
    """The key in a file, made if there is none; one for this process where it cannot be kept."""
    for _ in range(2):
        found = _read(file)
        if found is not None:
            return found
        if settings.current().cache.value != "on" or not _written(file):
            break
    return os.urandom(_BYTES)


def _read(file: Path) -> bytes | None:
    """The key in a file; None if there is no file. One that is not to be trusted is an error."""
    with importing:
        from whorl.store.atomic_file import close_quietly
        from whorl.store.safety import IS_LINK

    try:
        descriptor = os.open(file, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = IS_LINK if file.is_symlink() else f"it cannot be read: {error.strerror}"
        raise UnusableKey(str(file), reason) from error
    try:
        reason = _distrust(os.fstat(descriptor))
        key = b"" if reason else os.read(descriptor, _BYTES + 1)
    except OSError as error:
        raise UnusableKey(str(file), f"it cannot be read: {error.strerror}") from error
    finally:
        close_quietly(descriptor)
    if reason or len(key) != _BYTES:
        raise UnusableKey(str(file), reason or f"it does not hold {_BYTES} bytes")
    return key


def _distrust(status: os.stat_result) -> str:
    """Why a key file is not to be trusted; nothing if it is."""
    with importing:
        from whorl.store.safety import danger

    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    reason = danger(status)
    if reason is None and status.st_mode & _OTHERS:
        return "other users may read it"
    return reason or ""


def _written(file: Path) -> bool:
    """Put a new key in place, whole, unless another process was faster; whether there is one."""
    with importing:
        from whorl.store.atomic_file import make_directory

    beside = file.with_name(f"{_FILE}.{os.getpid()}.{threading.get_ident()}")
    try:
        make_directory(str(file.parent))
        descriptor = os.open(beside, _NEW, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(os.urandom(_BYTES))
        try:
            file.hardlink_to(beside)  # fails if there is one already
        except FileExistsError:
            pass
        except OSError:
            beside.replace(file)  # no links here: the last one wins
    except (OSError, MemoryError):
        return False
    finally:
        with contextlib.suppress(OSError, MemoryError):
            beside.unlink()
    return True
