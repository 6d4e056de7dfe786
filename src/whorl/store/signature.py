"""Signs bytes with the user's key, and checks signatures.

Reading some formats may execute anything: pickle is one. Such bytes are signed when they are
written, and read only if the signature is right. The signature also covers the place of an entry:
nobody can pass one off as another. The key is a secret of this user, in a file beside the cache
that nobody else can read. So what somebody else has put into a shared store, or into this one, is
not read. A team that trusts each other gives all members the same key: WHORL_SIGNING_KEY.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import shlex
import stat
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from whorl import settings

from .atomic_file import READ_FLAGS, close_quietly, make_directory
from .safety import IS_LINK, OTHERS, danger

_FILE: Final = "signing.key"
_BYTES: Final = 32
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


def sign(about: Sequence[str], data: bytes | memoryview) -> str:
    """The signature of bytes and of texts about them; hexadecimal.

    >>> is_signed(["pickle"], b"data", sign(["pickle"], b"data"))
    True
    >>> is_signed(["pickles"], b"data", sign(["pickle"], b"data"))
    False
    """
    digest = hmac.new(_key(), digestmod="sha256")
    for text in about:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    digest.update(len(about).to_bytes(8, "little"))
    digest.update(data)
    return digest.hexdigest()


def is_signed(about: Sequence[str], data: bytes | memoryview, signature: str) -> bool:
    """Whether a signature was made with our key, for these bytes and texts."""
    return hmac.compare_digest(sign(about, data).encode(), signature.encode("utf-8", "replace"))


def _key() -> bytes:
    secret = settings.current().signing_key.value
    if secret is not None:
        return secret.reveal()
    place = settings.current().cache_place.value
    known = _keys.get(place)
    return _keys.setdefault(place, _load_or_create(Path(place) / _FILE)) if known is None else known


def _load_or_create(file: Path) -> bytes:
    """The key in a file, which is created if need be; one for this process if that fails."""
    for _ in range(2):
        key = _load(file)
        if key is not None:
            return key
        if settings.current().cache.value != "on" or not _create(file):
            break
    return os.urandom(_BYTES)


def _load(file: Path) -> bytes | None:
    """The key in a file; None if there is no file. `UnusableKey` if it cannot be trusted."""
    try:
        descriptor = os.open(file, READ_FLAGS)
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
    """Why a key file cannot be trusted; empty if it can."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    reason = danger(status)
    if reason is None and status.st_mode & OTHERS:
        return "other users may read it"
    return reason or ""


def _create(file: Path) -> bool:
    """Create a key file, whole, unless another process was faster; whether there is one now."""
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
