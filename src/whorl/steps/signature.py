"""Bytes in, a signature out that only whoever has our key can make.

Some results can only be read in a way that may execute anything: pickle is one. They are signed
when they are written, and read only if the signature is right. The key is a secret of this user,
kept beside the cache in a file that nobody else can read; so what a shared or remote store holds
from others is not read, and neither is what somebody has slipped into ours. A team that trusts
each other gives all its members the same key: WHORL_SIGNING_KEY.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

from whorl import settings
from whorl.lazy import importing

__all__ = ["is_signed", "signed"]

_FILE: Final = "signing.key"
_BYTES: Final = 32
_keys: Final[dict[str, bytes]] = {}


def signed(purpose: bytes, data: bytes | memoryview) -> str:
    """The signature of bytes that are meant for a purpose; hexadecimal.

    >>> is_signed(b"pickle", b"data", signed(b"pickle", b"data"))
    True
    >>> is_signed(b"pickle", b"Data", signed(b"pickle", b"data"))
    False
    """
    with importing:
        import hmac

    made = hmac.new(_key(), purpose + b"\0", "sha256")
    made.update(data)
    return made.hexdigest()


def is_signed(purpose: bytes, data: bytes | memoryview, signature: str) -> bool:
    """Whether a signature was made with our key, for these bytes and this purpose."""
    with importing:
        import hmac

    return hmac.compare_digest(signed(purpose, data).encode(), signature.encode("utf-8", "replace"))


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
    with importing:
        from whorl.store.safety import danger

    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, "rb") as stream:
            if danger(os.fstat(descriptor)) is not None:
                return None
            key = stream.read()
    except OSError:
        return None
    return key if len(key) == _BYTES else None


def _written(file: Path) -> bool:
    """Put a new key in place, whole, unless another process was faster; whether there is one."""
    with importing:
        from whorl.store.atomic_file import make_directory

    beside = file.with_name(f"{_FILE}.{os.getpid()}.{threading.get_ident()}")
    try:
        make_directory(str(file.parent))
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(os.urandom(_BYTES))
        try:
            file.hardlink_to(beside)  # fails if there is one already
        except FileExistsError:
            pass
        except OSError:
            beside.replace(file)  # no links here: the last one wins
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return True
