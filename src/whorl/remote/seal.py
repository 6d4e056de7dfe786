"""Seals: an entry on its way to a shared cache and back, signed.

An entry holds machine code, so what comes over a network is loaded only if somebody we trust has
sealed it. All numbers are little-endian:

    sealed    = head signature body
    head      = magic[8] algorithm:u8 compression:u8 key-id[16]
                body-size:u64 entry-size:u64 time:f64 machine[32]
    signature = of SHA-256 over (format, namespace, group, key, head, body), each with its length
    body      = the entry, compressed

The signature covers where the entry belongs: one that is moved to another key, group or namespace
does not fit there. It is checked before anything is decompressed or parsed, and sizes are bounded
before anything is allocated. What is decompressed is the work of somebody we trust, and bounded
all the same.
"""

from __future__ import annotations

import functools
import hashlib
import socket
import struct
import time
import zlib
from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final

from whorl.artifacts import Damaged, Entry
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import load
from whorl.signals import pass_on
from whorl.url_options import HAS_ZSTD

from .keyring import Algorithm, Key

__all__ = [
    "MAX_SIZE",
    "BadSeal",
    "Compression",
    "SealFault",
    "SealedEntry",
    "Sealer",
    "machine_name",
]

MAX_SIZE: Final = 1 << 28  # bytes of an entry, sealed or not
FORMAT: Final = 2
_MAGIC: Final = b"\x89wseal%d\n" % FORMAT
_HEAD: Final = struct.Struct("<8sBB16sQQd32s")
_MACHINE: Final = 32  # bytes
_NO_KEY: Final = bytes(16)


class Compression(IntEnum):
    """How the body is compressed; the number stands in the seal."""

    NONE = 0
    ZLIB = 1
    ZSTD = 2


class SealFault(Enum):
    """Why a sealed entry is not used; the value is what statistics print."""

    FOREIGN = "not sealed"
    TRUNCATED = "truncated"
    TOO_LARGE = "too large"
    UNSIGNED = "not signed"
    UNKNOWN_KEY = "signed by an unknown key"
    WRONG_SIGNATURE = "wrong signature"
    EXPIRED = "expired"
    COMPRESSION = "unknown compression"
    DAMAGED = "damaged"


class BadSeal(Exception):
    """Bytes that are not used."""

    def __init__(self, fault: SealFault) -> None:
        super().__init__(fault)
        self.fault = fault

    def __str__(self) -> str:
        return self.fault.value


class SealedEntry(Entry):
    """An entry that came sealed. A nearer tier of the same namespace can keep it as it is."""

    __slots__ = ("is_signed", "machine", "namespace", "sealed")

    def __init__(
        self, entry: Entry, namespace: str, sealed: bytes, machine: str, *, is_signed: bool
    ) -> None:
        super().__init__(entry.key, entry.under, entry.data)
        self.namespace = namespace
        self.sealed = sealed
        self.machine = machine  # that sealed it, as it calls itself
        self.is_signed = is_signed  # by somebody who is trusted


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens entries for one namespace.

    Without `trust_all` only what was sealed with one of `keys` is opened. Without a `signer`
    nothing is sealed, unless all is trusted anyway.

    >>> from whorl.artifacts import Label
    >>> from whorl.remote.keyring import key_of_line
    >>> key = key_of_line("whorl-key hmac-sha256 " + "00" * 32, "team")
    >>> sealer = Sealer("whorl", {key.id: key}, key)
    >>> entry = Entry.build(Label("artifact", StableDigest("0" * 32)), {"code": b"ret"}, None)
    >>> opened = sealer.open(sealer.seal(entry), entry.key, None)
    >>> opened.data == entry.data
    True
    """

    namespace: str
    keys: Mapping[bytes, Key]
    signer: Key | None = None
    trust_all: bool = False
    compression: Compression = Compression.ZLIB
    max_size: int = MAX_SIZE
    ttl: float | None = None

    @property
    def can_seal(self) -> bool:
        """Whether others would open what is sealed here."""
        return self.signer is not None or self.trust_all

    def seal(self, entry: Entry) -> bytes:
        """An entry as it travels. What came without a signature is handed on without one."""
        if isinstance(entry, SealedEntry) and entry.namespace == self.namespace:
            return entry.sealed
        kind, body = _compressed(self.compression, entry.data)
        is_ours_to_sign = not isinstance(entry, SealedEntry) or entry.is_signed
        signer = self.signer if is_ours_to_sign else None
        algorithm = Algorithm.NONE if signer is None else signer.algorithm
        key_id = _NO_KEY if signer is None else signer.id
        head = _HEAD.pack(
            _MAGIC, algorithm, kind, key_id, len(body), len(entry.data), time.time(),
            machine_name().encode(),
        )  # fmt: skip
        digest = self._digest(entry.key, entry.under, head, body)
        return head + (b"" if signer is None else signer.sign(digest)) + body

    def open(self, sealed: bytes, key: StableDigest, under: StableDigest | None) -> SealedEntry:
        """The entry of a key in sealed bytes, if somebody trusted has sealed it for that place."""
        if len(sealed) > self.max_size + _HEAD.size + 64:
            raise BadSeal(SealFault.TOO_LARGE)
        if len(sealed) < _HEAD.size:
            begins = sealed[:8] == _MAGIC[: len(sealed[:8])]
            raise BadSeal(SealFault.TRUNCATED if begins and sealed else SealFault.FOREIGN)
        magic, number, kind, key_id, body_size, size, made, machine = _HEAD.unpack_from(sealed)
        if magic != _MAGIC or number not in _ALGORITHMS:
            raise BadSeal(SealFault.FOREIGN)
        algorithm = Algorithm(number)
        head, start = sealed[: _HEAD.size], _HEAD.size + algorithm.signature_size
        if len(sealed) != start + body_size:
            raise BadSeal(SealFault.TRUNCATED)
        if size > self.max_size:
            raise BadSeal(SealFault.TOO_LARGE)
        body = memoryview(sealed)[start:]
        signature = sealed[_HEAD.size : start]
        is_signed = self._is_signed(algorithm, key_id, signature, (key, under, head, body))
        if self.ttl is not None and not time.time() - made <= self.ttl:
            raise BadSeal(SealFault.EXPIRED)
        data = _decompressed(kind, body, size)
        try:
            entry = Entry.checked(data, key, under)
        except Damaged:
            raise BadSeal(SealFault.DAMAGED) from None
        text = machine.rstrip(b"\0").decode("utf-8", "replace")
        name = "".join(each if each.isprintable() else "?" for each in text)
        return SealedEntry(entry, self.namespace, sealed, name, is_signed=is_signed)

    def _is_signed(
        self,
        algorithm: Algorithm,
        key_id: bytes,
        signature: bytes,
        signed: tuple[StableDigest, StableDigest | None, bytes, memoryview],
    ) -> bool:
        """Whether somebody trusted has signed this; `BadSeal` if that has to be so and is not."""
        key = self.keys.get(key_id)
        if key is not None and key.algorithm is algorithm:
            if not key.is_signed(self._digest(*signed), signature):
                raise BadSeal(SealFault.WRONG_SIGNATURE)
            return True
        if not self.trust_all:
            is_unsigned = algorithm is Algorithm.NONE
            raise BadSeal(SealFault.UNSIGNED if is_unsigned else SealFault.UNKNOWN_KEY)
        return False

    def _digest(
        self,
        key: StableDigest,
        under: StableDigest | None,
        head: bytes,
        body: bytes | memoryview,
    ) -> bytes:
        """What is signed: the place of an entry and every byte of its seal but the signature."""
        digest = hashlib.sha256(b"whorl seal %d\0" % FORMAT)
        for part in (self.namespace.encode(), (under or "").encode(), key.encode(), head, body):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.digest()


@functools.cache
def machine_name() -> str:
    """The name of this machine, as it stands in a seal."""
    name = socket.gethostname().encode("utf-8", "replace")[:_MACHINE]
    return name.decode("utf-8", "ignore")


_ALGORITHMS: Final = frozenset(Algorithm)


def _compressed(
    compression: Compression, data: bytes | memoryview
) -> tuple[Compression, bytes | memoryview]:
    """The body and how it is compressed: not at all where that would not make it smaller."""
    if compression is Compression.ZLIB:
        body = zlib.compress(data, 6)
    elif compression is Compression.ZSTD and HAS_ZSTD:
        body = load("compression.zstd").compress(data)
    else:
        return Compression.NONE, data
    return (compression, body) if len(body) < len(data) else (Compression.NONE, data)


def _decompressed(kind: int, body: memoryview, size: int) -> bytes:
    """The bytes of an entry: exactly as many as its seal says."""
    try:
        if kind == Compression.NONE:
            data = bytes(body)
        elif kind == Compression.ZLIB:
            stream = zlib.decompressobj()
            data = stream.decompress(body, size + 1)
            if not stream.eof or stream.unused_data:
                raise BadSeal(SealFault.DAMAGED)
        elif kind == Compression.ZSTD and HAS_ZSTD:
            data = load("compression.zstd").ZstdDecompressor().decompress(body, size + 1)
        else:
            raise BadSeal(SealFault.COMPRESSION)
    except BadSeal:
        raise
    except Exception as error:  # zlib.error, ZstdError, MemoryError
        pass_on(error)
        raise BadSeal(SealFault.DAMAGED) from None
    if len(data) != size:
        raise BadSeal(SealFault.DAMAGED)
    return data
