"""Keys that entries of shared caches are sealed with: a file each, in a directory of the user.

    name.key    whorl-key hmac-sha256 HEX       a secret: whoever has it seals and checks
                whorl-key ed25519 HEX           a private key: seals, and checks its own
    name.pub    whorl-key ed25519-public HEX    a public key: checks, and cannot seal

A secret must be readable by the user alone, and nobody else may be able to put a public key there:
otherwise the file is not used. WHORL_SIGNING_KEY is one more key, without a file: one of these
lines, or any other text as a shared secret.

The id of a key is a digest of its public part. It says which key to check with, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import sys
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, Protocol

from whorl.errors import WhorlError
from whorl.fast_dataclasses import dataclass, field
from whorl.lazy import importing
from whorl.settings import Settings
from whorl.store.atomic_file import make_directory, write_file
from whorl.store.safety import IS_LINK, danger

__all__ = ["Algorithm", "BadKey", "Key", "Keyring", "add_public_key", "key_of_line", "new_key"]

_FIRST: Final = "whorl-key"
_LONGEST: Final = 1024  # bytes of a key file
_OTHERS: Final = 0 if sys.platform == "win32" else stat.S_IRWXG | stat.S_IRWXO
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_WORDS: Final = ("hmac-sha256", "ed25519", "ed25519-public")


class BadKey(WhorlError, ValueError):
    """A key that cannot be read, made or used; the text says why, without the key."""


class Algorithm(IntEnum):
    """How a seal is signed; the number stands in the seal."""

    NONE = 0
    HMAC_SHA256 = 1
    ED25519 = 2

    @property
    def signature_size(self) -> int:
        """Bytes of a signature."""
        return (0, 32, 64)[self]

    @property
    def title(self) -> str:
        """Its name for people."""
        return ("none", "hmac-sha256", "ed25519")[self]


class Key(Protocol):
    """Signs or checks the digest of what is sealed."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def id(self) -> bytes:
        """16 bytes that say which key it is."""

    @property
    def algorithm(self) -> Algorithm:
        """How it signs."""

    @property
    def can_sign(self) -> bool:
        """Whether it seals, or only checks."""

    def sign(self, digest: bytes) -> bytes:
        """The signature of a digest."""

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        """Whether a signature of a digest was made with this key."""

    def line(self) -> str:
        """What its file holds."""

    def public_line(self) -> str | None:
        """The line of its public part; None if it has none."""


def _id(algorithm: Algorithm, public: bytes) -> bytes:
    return hashlib.sha256(b"whorl key id\0" + algorithm.title.encode() + public).digest()[:16]


class _SharedSecret:
    """HMAC-SHA256: whoever can check can also seal."""

    algorithm: Final = Algorithm.HMAC_SHA256
    can_sign: Final = True

    def __init__(self, name: str, secret: bytes) -> None:
        self.name = name
        self._secret = secret
        # The same text may sign pickled results too: each use has a key of its own.
        self._key = hmac.digest(secret, b"whorl seal", "sha256")
        self.id = _id(self.algorithm, hmac.digest(secret, b"whorl key id", "sha256"))

    def sign(self, digest: bytes) -> bytes:
        return hmac.digest(self._key, digest, "sha256")

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(self.sign(digest), signature)

    def line(self) -> str:
        return f"{_FIRST} {_WORDS[0]} {self._secret.hex()}"

    def public_line(self) -> str | None:
        return None


class _Ed25519:
    """Ed25519, through the package cryptography. Without a private key it only checks."""

    algorithm: Final = Algorithm.ED25519

    def __init__(self, name: str, *, private: bytes = b"", public: bytes = b"") -> None:
        self.name = name
        self._private: Any = None
        self._bytes = private
        module = _cryptography()
        if private:
            self._private = module.Ed25519PrivateKey.from_private_bytes(private)
            public = self._private.public_key().public_bytes_raw()
        self._public_bytes = public
        self._public = module.Ed25519PublicKey.from_public_bytes(public)
        self.id = _id(self.algorithm, public)

    @property
    def can_sign(self) -> bool:
        return self._private is not None

    def sign(self, digest: bytes) -> bytes:
        signature: bytes = self._private.sign(digest)
        return signature

    def is_signed(self, digest: bytes, signature: bytes) -> bool:
        with importing:
            from cryptography.exceptions import InvalidSignature

        try:
            self._public.verify(signature, digest)
        except InvalidSignature:
            return False
        return True

    def line(self) -> str:
        if self._private is None:
            return f"{_FIRST} {_WORDS[2]} {self._public_bytes.hex()}"
        return f"{_FIRST} {_WORDS[1]} {self._bytes.hex()}"

    def public_line(self) -> str | None:
        return f"{_FIRST} {_WORDS[2]} {self._public_bytes.hex()}"


def _cryptography() -> Any:
    with importing:
        try:
            from cryptography.hazmat.primitives.asymmetric import ed25519
        except ImportError:
            raise BadKey(
                "Ed25519 keys need the package cryptography: pip install 'whorl[signing]'"
            ) from None
    return ed25519


def key_of_line(line: str, name: str) -> Key:
    """The key in a line of a key file.

    >>> key_of_line("whorl-key hmac-sha256 " + "00" * 32, "team").algorithm.title
    'hmac-sha256'
    """
    words = line.split()
    if len(words) != 3 or words[0] != _FIRST or words[1] not in _WORDS:
        raise BadKey(f"{name} is not a key: it should hold `{_FIRST} {'|'.join(_WORDS)} HEX`")
    try:
        raw = bytes.fromhex(words[2])
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise BadKey(f"{name} is not a key: 64 hexadecimal digits are missing")
    if words[1] == _WORDS[0]:
        return _SharedSecret(name, raw)
    return _Ed25519(name, **{"private" if words[1] == _WORDS[1] else "public": raw})


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys of a user: those to check with, by id, and why others are not used."""

    keys: Mapping[bytes, Key] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @classmethod
    def from_settings(cls, settings: Settings) -> Keyring:
        """The keys in the directory of keys, and the one of WHORL_SIGNING_KEY."""
        ring = cls.from_directory(settings.keys_dir.value)
        secret = settings.signing_key.value
        if secret is None:
            return ring
        raw, name = secret.reveal(), settings.signing_key.origin
        try:
            text = raw.decode()
            is_line = text.startswith(f"{_FIRST} ")
            key = key_of_line(text, name) if is_line else _SharedSecret(name, raw)
        except (BadKey, UnicodeDecodeError) as error:
            return cls(ring.keys, (*ring.problems, str(error)))
        return cls({key.id: key, **ring.keys}, ring.problems)

    @classmethod
    def from_directory(cls, directory: Path) -> Keyring:
        """The keys in the files of a directory; files that are not safe are left out."""
        keys: dict[bytes, Key] = {}
        problems = []
        try:
            reason = danger(directory.stat())
            if reason is not None:
                return cls({}, (f"no key in {directory} is used: {reason}",))
            names = sorted(os.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            return cls()
        except OSError as error:
            return cls({}, (f"{directory} cannot be read: {error.strerror}",))
        for name in names:
            stem, _, ending = name.rpartition(".")
            if ending not in ("key", "pub"):
                continue
            try:
                key = key_of_line(_read(directory / name, is_secret=ending == "key"), stem)
            except BadKey as error:
                problems.append(str(error))
                continue
            if key.id not in keys or key.can_sign:
                keys[key.id] = key
        return cls(keys, tuple(problems))

    def signer(self, name: str | None = None) -> Key | None:
        """The key to seal with: the one of a name, or the only one; None if there is none.

        `BadKey` if there are several, or none of that name.
        """
        able = [key for key in self.keys.values() if key.can_sign]
        if name is not None:
            able = [key for key in able if name in (key.name, key.id.hex())]
            if not able:
                raise BadKey(f"there is no key {name!r} to seal with; whorl keys show lists them")
        from_setting = [key for key in able if key.name in ("WHORL_SIGNING_KEY", "whorl.configure")]
        if len(from_setting or able) > 1:
            names = ", ".join(sorted(key.name for key in able))
            raise BadKey(f"there are several keys to seal with ({names}): choose one with key=NAME")
        return next(iter(from_setting or able), None)


def _read(file: Path, *, is_secret: bool) -> str:
    try:
        descriptor = os.open(file, _FLAGS)
    except OSError as error:
        why = IS_LINK if file.is_symlink() else f"it cannot be read: {error.strerror}"
        raise BadKey(f"{file} is not used: {why}") from error
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        reason = danger(status) if stat.S_ISREG(status.st_mode) else "it is not a file"
        if reason is None and is_secret and status.st_mode & _OTHERS:
            reason = f"other users may read it; run: chmod 600 {file}"
        if reason is not None:
            raise BadKey(f"{file} is not used: {reason}")
        return stream.read(_LONGEST).decode("ascii", "replace")


def new_key(directory: Path, name: str, algorithm: Algorithm) -> Key:
    """Make a key and its file; with Ed25519 the public part gets a file too."""
    raw = os.urandom(32)
    word = _WORDS[0] if algorithm is Algorithm.HMAC_SHA256 else _WORDS[1]
    key = key_of_line(f"{_FIRST} {word} {raw.hex()}", name)
    _write(directory, f"{name}.key", key.line())
    public = key.public_line()
    if public is not None:
        _write(directory, f"{name}.pub", public)
    return key


def add_public_key(directory: Path, name: str, line: str) -> Key:
    """Trust what was sealed by the holder of a public key, or by those who share a secret."""
    key = key_of_line(line, name)
    _write(directory, f"{name}.{'key' if key.can_sign else 'pub'}", key.line())
    return key


def _write(directory: Path, name: str, line: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadKey(f"{name!r} is no name of a key: letters, digits, dots and dashes will do")
    try:
        make_directory(str(directory))
        if (directory / name).exists():
            raise BadKey(f"{directory / name} exists already; it is left as it is")
        write_file(str(directory / name), f"{line}\n".encode(), str(directory))
    except OSError as error:
        raise BadKey(f"{directory / name} cannot be written: {error.strerror}") from error
