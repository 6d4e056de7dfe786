"""Named payloads and a readable label <-> the bytes of one entry.

One entry is one file. All numbers are little-endian:

    entry    = head label padding payload{count}
    head     = magic[8] format:u64                  who wrote it
               check[16]                            digest of every byte that follows it
               key[16] under[16] size:u64           which entry it is, how long it is
               label-size:u32 count:u32 seconds:f64
    label    = two lines of JSON                    readable with any pager
             = {"kind", "key", "under", "toolchain", "made", "seconds",
                "payloads": [[name, offset, size, digest]...], "record": see `record`}
               {"parts": [[name, text]...], "more": see `record`}
    padding  = zeros up to a multiple of PAGE       before each payload, so that it can be mapped
    payload  = bytes                                each has a digest of its own in the label

`check` covers everything after it, padding too, and `magic` and `format` are compared whole:
no byte can change unnoticed. Nothing is decoded before that has been checked, and nothing
read from an entry is ever executed, imported or unpickled. What a hit has no need of is in the
second line of the label, which is read when it is asked for.

FORMAT names a directory in the store, so that versions do not see each other's entries.
  1: the first.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from xxhash import xxh3_128

from whorl.fingerprint.digest import StableDigest, hash_bytes, hash_hex
from whorl.late import NamedTuple, dataclass

from .plain import NotPlain

__all__ = [
    "FORMAT",
    "HEAD",
    "HINT",
    "LAUNCHER",
    "PAGE",
    "Damage",
    "Damaged",
    "Entry",
    "Label",
    "Part",
    "Payload",
    "check_head",
    "label_end",
    "names_of",
    "peek_label",
]

FORMAT: Final = 1
MAGIC: Final = b"\x89whorl\r\n"
PAGE: Final = 4096
HINT: Final = "hint"  # the kind of an entry that may be another each time it is made
LAUNCHER: Final = "whorl's launcher"  # the name of the entry that all native kernels use

_HEAD: Final = struct.Struct("<8sQ16s16s16sQIId")
HEAD: Final = _HEAD.size
_OPENING: Final = MAGIC + struct.pack("<Q", FORMAT)
_CHECK: Final = slice(16, 32)
_CHECKED_FROM: Final = 32
_NAMES: Final = slice(32, 64)
_SIZES: Final = struct.Struct("<QIId")
_NO_GROUP: Final = bytes(16)
_NO_GROUP_HEX: Final = _NO_GROUP.hex()


class Damage(Enum):
    """What is wrong with the bytes of an entry."""

    EMPTY = "it is empty"
    FOREIGN = "it is not an entry of whorl"
    OTHER_FORMAT = "it has another format version"
    TRUNCATED = "it is shorter than it says"
    EXTENDED = "it is longer than it says"
    CHANGED = "its bytes are not those that were written"
    MISPLACED = "it is the entry of another key"
    UNREADABLE = "its label cannot be read"


class Damaged(Exception):
    """Bytes that are not the entry asked for."""

    def __init__(self, damage: Damage, detail: str = "") -> None:
        super().__init__(damage, detail)
        self.damage = damage
        self.detail = detail

    def __str__(self) -> str:
        return self.damage.value + (f" ({self.detail})" if self.detail else "")

    @classmethod
    def not_a_file(cls) -> Damaged:
        """A directory or a pipe where an entry should be."""
        return cls(Damage.FOREIGN, "not a file")


class Part(NamedTuple):
    """A named part of a key, in words."""

    name: str
    text: str


class Payload(NamedTuple):
    """Where a payload lies in its entry."""

    name: str
    offset: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Label:
    """What an entry says of itself, readable without decoding what it holds.

    `under` is the group that it is listed in, such as the program of a manifest. `made` is a
    time in seconds since 1970, `seconds` how long making it took.

    >>> Label("artifact", StableDigest("0" * 32)).seconds
    0.0
    """

    kind: str
    key: StableDigest
    under: StableDigest | None = None
    parts: tuple[Part, ...] = ()
    toolchain: str = ""
    made: float = 0.0
    seconds: float = 0.0


class Entry:
    """The bytes of an entry that was made here, or read and checked. Never changed after.

    The label is read when it is first asked for.
    """

    __slots__ = ("_fields", "_others", "data", "key", "under")

    def __init__(
        self, key: StableDigest, under: StableDigest | None, data: bytes | memoryview
    ) -> None:
        self.key = key
        self.under = under
        self.data = data
        self._fields: dict[str, Any] | None = None
        self._others = 0  # where the second line begins, when the first was read

    @property
    def seconds(self) -> float:
        """How long making it took."""
        seconds: float = _SIZES.unpack_from(self.data, _NAMES.stop)[3]
        return seconds

    def __repr__(self) -> str:
        group = "" if self.under is None else f" under {self.under}"
        return f"<entry {self.key}{group}, {len(self.data)} bytes>"

    @classmethod
    def made(
        cls,
        label: Label,
        payloads: Mapping[str, bytes | memoryview],
        record: Any,
        more: Any = None,
    ) -> Entry:
        """The entry of these payloads and of a record that JSON can write; so is `more`.

        >>> label = Label("artifact", StableDigest("0" * 32))
        >>> entry = Entry.made(label, {"code": b"ret"}, None)
        >>> bytes(entry.payload("code")), len(entry.data)
        (b'ret', 4099)
        """
        blobs = [_flat(name, blob) for name, blob in payloads.items()]
        digests = [hash_hex(blob) for blob in blobs]
        # The offsets stand in the label, and the label's length moves them: twice is enough
        # unless the first guess was short of a page's end.
        start = PAGE
        while True:
            table = _table(payloads, blobs, digests, start)
            text = _label_text(label, table, record, more)
            if HEAD + len(text) <= start or not blobs:
                break
            start = _aligned(HEAD + len(text))
        size = table[-1].offset + table[-1].size if table else HEAD + len(text)
        under = _NO_GROUP if label.under is None else label.under.raw
        names = label.key.raw + under
        parts: list[bytes | memoryview] = [
            names,
            _SIZES.pack(size, len(text), len(blobs), label.seconds),
            text,
        ]
        end = HEAD + len(text)
        for place, blob in zip(table, blobs, strict=True):
            parts += (bytes(place.offset - end), blob)
            end = place.offset + place.size
        check = xxh3_128()
        for part in parts:
            check.update(part)
        data = b"".join((_OPENING, check.digest(), *parts))
        return cls(label.key, label.under, data)

    @classmethod
    def checked(
        cls,
        data: bytes | memoryview,
        key: StableDigest,
        under: StableDigest | None = None,
        names: bytes | None = None,
    ) -> Entry:
        """The entry of a key, if these bytes are it; otherwise `Damaged`. Hot: 2 us for 50 KB.

        Who asks for the same entry again can keep its `names_of` and hand it in.
        """
        check = hash_bytes(memoryview(data)[_CHECKED_FROM:])
        if data[:64] == _OPENING + check + (names or names_of(key, under)) and len(data) >= HEAD:
            return cls(key, under, data)
        raise _what_is_wrong(data)

    @property
    def label(self) -> Label:
        """What the entry says of itself."""
        return _label_of(self._read_label() | self._read_others())

    @property
    def record(self) -> Any:
        """What the entry holds beside its payloads."""
        return self._read_label().get("record")

    @property
    def more(self) -> Any:
        """What it holds beside its record."""
        return self._read_others().get("more")

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """Where each payload lies."""
        try:
            rows = self._read_label()["payloads"]
            table = tuple(Payload(str(n), int(at), int(size), str(d)) for n, at, size, d in rows)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Damaged(Damage.UNREADABLE, repr(error)) from error
        for place in table:
            if not 0 <= place.offset <= place.offset + place.size <= len(self.data):
                raise Damaged(Damage.UNREADABLE, f"payload {place.name!r} lies outside")
        return table

    def payload(self, name: str) -> memoryview:
        """One payload, not copied; KeyError if the entry has none of this name."""
        for place in self.payloads:
            if place.name == name:
                return self.view(place)
        raise KeyError(name)

    def view(self, place: Payload) -> memoryview:
        """The bytes at a place of the table."""
        return memoryview(self.data)[place.offset : place.offset + place.size]

    def _read_label(self) -> dict[str, Any]:
        fields = self._fields
        if fields is None:
            fields, self._others = _line_of(self._label_bytes(), 0)
            self._fields = fields
        return fields

    def _read_others(self) -> dict[str, Any]:
        self._read_label()
        return _line_of(self._label_bytes(), self._others)[0]

    def _label_bytes(self) -> bytes:
        size = _SIZES.unpack_from(self.data, _NAMES.stop)[1]
        return bytes(self.data[HEAD : HEAD + size])


def _flat(name: str, blob: bytes | memoryview) -> memoryview:
    try:
        return memoryview(blob).cast("B")
    except TypeError as error:
        raise TypeError(f"payload {name!r} is not one run of bytes: {error}") from error


def names_of(key: StableDigest, under: StableDigest | None) -> bytes:
    """The key and the group as they stand in the head of an entry."""
    return bytes.fromhex(key + (under or _NO_GROUP_HEX))


def check_head(data: bytes | memoryview, actual_size: int) -> None:
    """Raise `Damaged` if an entry of so many bytes cannot begin like this."""
    if data[:16] != _OPENING or len(data) < HEAD:
        raise _unlike(bytes(data[:16]), actual_size)
    size: int = _HEAD.unpack_from(data)[5]
    if size != actual_size:
        raise Damaged(Damage.TRUNCATED if actual_size < size else Damage.EXTENDED)


def peek_label(start: bytes) -> Label:
    """The label in the first bytes of an entry, unchecked: good for display and for eviction."""
    if start[:16] != _OPENING or len(start) < HEAD:
        raise _unlike(start[:16], len(start))
    text = start[HEAD : HEAD + _HEAD.unpack_from(start)[6]]
    fields, end = _line_of(text, 0)
    return _label_of(fields | _line_of(text, end)[0])


def label_end(start: bytes) -> int:
    """Where the label ends of an entry that begins like this; 0 if it is none."""
    return HEAD + _HEAD.unpack_from(start)[6] if len(start) >= HEAD else 0


def _what_is_wrong(data: bytes | memoryview) -> Damaged:
    """Why bytes that are not the entry asked for are not."""
    try:
        check_head(data, len(data))
    except Damaged as damaged:
        return damaged
    if data[_CHECK] != hash_bytes(memoryview(data)[_CHECKED_FROM:]):
        return Damaged(Damage.CHANGED)
    return Damaged(Damage.MISPLACED)


def _unlike(opening: bytes, size: int) -> Damaged:
    if not size:
        return Damaged(Damage.EMPTY)
    if opening[:8] != MAGIC[: len(opening)]:
        return Damaged(Damage.FOREIGN)
    if len(opening) == 16 and opening != _OPENING:
        return Damaged(Damage.OTHER_FORMAT, str(int.from_bytes(opening[8:], "little")))
    return Damaged(Damage.TRUNCATED)


def _aligned(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


def _table(
    names: Mapping[str, object], blobs: Sequence[memoryview], digests: Sequence[str], start: int
) -> list[Payload]:
    def places() -> Iterator[Payload]:
        offset = start
        for name, blob, digest in zip(names, blobs, digests, strict=True):
            yield Payload(name, offset, blob.nbytes, digest)
            offset = _aligned(offset + blob.nbytes)

    return list(places())


def _label_text(label: Label, table: Sequence[Payload], record: Any, more: Any) -> bytes:
    fields: dict[str, object] = {
        "kind": label.kind,
        "key": label.key,
        "under": label.under,
        "toolchain": label.toolchain,
        "made": label.made,
        "seconds": label.seconds,
        "payloads": table,
        "record": record,
    }
    others = {"parts": label.parts, "more": more}
    try:
        return f"{_ENCODER.encode(fields)}\n{_ENCODER.encode(others)}\n".encode("ascii")
    except RecursionError:
        raise NotPlain("the record", "value nested too deeply") from None


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_scanned: Final = json.JSONDecoder().raw_decode  # without what `loads` does around it


def _line_of(text: bytes, begin: int) -> tuple[dict[str, Any], int]:
    """One line of a label, and where the next one begins."""
    try:
        fields, end = _scanned(text.decode("ascii"), begin)
    except (ValueError, RecursionError) as error:
        raise Damaged(Damage.UNREADABLE, str(error)) from error
    if type(fields) is not dict or text[end : end + 1] != b"\n":
        raise Damaged(Damage.UNREADABLE)
    return fields, end + 1


def _label_of(fields: Mapping[str, Any]) -> Label:
    try:
        under = fields["under"]
        return Label(
            str(fields["kind"]),
            StableDigest(fields["key"]),
            None if under is None else StableDigest(under),
            tuple(Part(str(name), str(text)) for name, text in fields["parts"]),
            str(fields["toolchain"]),
            float(fields["made"]),
            float(fields["seconds"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Damaged(Damage.UNREADABLE, repr(error)) from error
