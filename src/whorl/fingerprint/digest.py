"""Plain data in, bytes out; bytes in, 128 bits out; and the two types that say how long those live.

A digest is a `str` of 32 hexadecimal digits. Its class says where it may be used:
a `StableDigest` depends on the value alone and may name something on disk; a
`ProcessDigest` may depend on the identity of an object and dies with the process.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, Final, NoReturn, Self

from xxhash import xxh3_128_digest, xxh3_128_hexdigest

__all__ = [
    "FORMAT",
    "LEAVES",
    "Digest",
    "ProcessDigest",
    "StableDigest",
    "digest_of",
    "dumps",
    "hash_bytes",
    "hash_hex",
    "is_digest",
    "marshalled",
]

FORMAT: Final = 3  # of what `tokens` describes

hash_bytes = xxh3_128_digest
hash_hex = xxh3_128_hexdigest

dumps: Final[Callable[[Any, int], bytes]] = marshal.dumps
"""Always called with version 2: see `tokens`."""

LEAVES: Final = frozenset((type(None), bool, int, float, str, complex, type(...)))
_HEX_DIGITS: Final = "0123456789abcdef"


def marshalled(tokens: Any) -> bytes:
    """The bytes of a token list."""
    return dumps(tokens, 2)


def is_digest(text: str) -> bool:
    """Whether a text is 32 hexadecimal digits.

    >>> is_digest("0" * 32), is_digest("0" * 31), is_digest("x" * 32)
    (True, False, False)
    """
    return len(text) == 32 and not text.strip(_HEX_DIGITS)


class Digest(str):
    """32 hexadecimal digits that stand for a value.

    >>> Digest("0" * 32).raw
    b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    >>> Digest("not hex")
    Traceback (most recent call last):
      ...
    ValueError: a digest is 32 lower-case hexadecimal digits, not 'not hex'
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """The digest that is written as this text."""
        if not is_digest(text):
            raise ValueError(f"a digest is 32 lower-case hexadecimal digits, not {text!r}")
        return str.__new__(cls, text)

    @property
    def raw(self) -> bytes:
        """The same as 16 bytes."""
        return bytes.fromhex(self)


class StableDigest(Digest):
    """A digest that depends on the value alone: it may name something on disk.

    >>> import whorl
    >>> isinstance(whorl.fingerprint((1, 2)), StableDigest)
    True
    """

    __slots__ = ()


def digest_of(*parts: Any) -> StableDigest:
    """The digest of plain data: types, bits and order count.

    >>> digest_of(1, 2) == digest_of(1, 2), digest_of(1, 2) == digest_of(2, 1)
    (True, False)
    >>> digest_of(1) == digest_of(True)
    False
    """
    return str.__new__(StableDigest, xxh3_128_hexdigest(dumps(parts, 2)))


class ProcessDigest(Digest):
    """A digest that used the identity of an object: it means nothing in another process.

    Persistent stores refuse it, and so does pickle.

    >>> import whorl
    >>> marker = object()
    >>> digest = whorl.fingerprint(marker, by="identity")
    >>> digest == whorl.fingerprint(marker, by="identity"), type(digest).__name__
    (True, 'ProcessDigest')
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"ProcessDigest {self} means nothing outside this process and cannot be pickled; "
            "use str(digest) to print it, or a stable rule instead of by_identity"
        )
