"""Named payloads and a readable label <-> the bytes of one entry.

One entry is one file. All numbers are little-endian:

    entry    = head label padding payload{count}
    head     = magic[8] format:u64                  who wrote it
               check[16]                            digest of every byte that follows it
               key[16] under[16] size:u64           which entry it is, how long it is
               label-size:u32 count:u32 seconds:f64
    label    = two lines of JSON                    readable with any pager
             = {"payloads": [[name, offset, size, digest]...], "record": see `record`}
               {"kind", "key", "under", "toolchain", "made", "seconds",
                "parts": [[name, text]...], "more": see `record`}
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

import struct
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final

from xxhash import xxh3_128

from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.fingerprint.digest import StableDigest, hash_bytes, hash_hex
from whorl.lazy import load
from whorl.signals import pass_on

FORMAT: Final = 1
MAGIC: Final = b"\x89whorl\r\n"
PAGE: Final = 4096
HINT: Final = "hint"  # the kind of an entry that may be another each time it is made
LAUNCHER: Final = "whorl's launcher"  # the name of the entry that all native kernels use

OPENING: Final = MAGIC + struct.pack("<Q", FORMAT)
CHECKED_FROM: Final = 32  # the bytes of `check` end here
_SIZES_AT: Final = 64
SIZES: Final = struct.Struct("<QIId")
HEAD: Final = _SIZES_AT + SIZES.size
_LABEL_SIZE: Final = slice(72, 76)  # where `SIZES` has it
_NO_GROUP_HEX: Final = bytes(16).hex()


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
        return f"{self.damage.value} ({self.detail})" if self.detail else self.damage.value

    @classmethod
    def unreadable(cls, detail: str = "") -> Damaged:
        """The label of an entry makes no sense."""
        return cls(Damage.UNREADABLE, detail)


class NotPlain(TypeError):
    """A value that cannot be written exactly; `path` leads to it."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(path, kind)
        self.path = path
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"{self.path} is a {self.kind!r}, which cannot be kept in an entry.\n"
            "  Keep None, bool, int, float, complex, str, bytes, tuples, lists and dicts of these; "
            "put anything else into a payload as bytes."
        )


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
    def head(self) -> bytes:
        """Its first bytes, for who will ask for `seconds_in` them later."""
        return bytes(self.data[:HEAD])

    @property
    def seconds(self) -> float:
        """How long making it took."""
        return seconds_in(self.head)

    def __repr__(self) -> str:
        group = "" if self.under is None else f" under {self.under}"
        return f"<entry {self.key}{group}, {len(self.data)} bytes>"

    @classmethod
    def build(
        cls,
        label: Label,
        payloads: Mapping[str, bytes | memoryview],
        record: Any,
        more: Any = None,
    ) -> Entry:
        """The entry of these payloads and of a record that JSON can write; so is `more`.

        >>> label = Label("artifact", StableDigest("0" * 32))
        >>> entry = Entry.build(label, {"code": b"ret"}, None)
        >>> bytes(entry.payload("code")), len(entry.data)
        (b'ret', 4099)
        """
        data = _assemble(label, payloads, record, more)
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

        A caller that asks for the same entry again can keep its `names_of` and pass them in.
        """
        check = hash_bytes(memoryview(data)[CHECKED_FROM:])
        if data[:64] == OPENING + check + (names or names_of(key, under)) and len(data) >= HEAD:
            return cls(key, under, data)
        raise _damage_in(data)

    @property
    def label(self) -> Label:
        """What the entry says of itself."""
        return _label_from(self.fields | self._read_others())

    @property
    def record(self) -> Any:
        """What the entry holds beside its payloads."""
        return self.fields.get("record")

    @property
    def more(self) -> Any:
        """What it holds beside its record."""
        return self._read_others().get("more")

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """Where each payload lies."""
        table, all_bytes = [], len(self.data)
        try:
            for name, at, size, digest in self.fields["payloads"]:
                place = Payload(str(name), int(at), int(size), str(digest))
                if not 0 <= place.offset <= place.offset + place.size <= all_bytes:
                    raise Damaged.unreadable(f"payload {name!r} lies outside")
                table.append(place)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Damaged.unreadable(repr(error)) from error
        return tuple(table)

    def payload(self, name: str) -> memoryview:
        """One payload, not copied; KeyError if the entry has none of this name."""
        for place in self.payloads:
            if place.name == name:
                return self.view(place)
        raise KeyError(name)

    def view(self, place: Payload) -> memoryview:
        """The bytes at a place of the table."""
        return memoryview(self.data)[place.offset : place.offset + place.size]

    @property
    def fields(self) -> dict[str, Any]:
        """The first line of the label, all that a hit has need of; `Damaged` if it is none."""
        fields = self._fields
        if fields is None:
            fields, self._others = line_of(self._label_text, 0)
            self._fields = fields
        return fields

    @property
    def _label_text(self) -> bytes:
        # Not by `SIZES`: a process that has not used `struct` yet would wait 5 us for that.
        size = int.from_bytes(self.data[_LABEL_SIZE], "little")
        return bytes(self.data[HEAD : HEAD + size])

    def _read_others(self) -> dict[str, Any]:
        _ = self.fields  # which tells where the second line begins
        return line_of(self._label_text, self._others)[0]


def names_of(key: StableDigest, under: StableDigest | None) -> bytes:
    """The key and the group as they stand in the head of an entry."""
    return bytes.fromhex(key + (under or _NO_GROUP_HEX))


def sizes_in(start: bytes | memoryview) -> tuple[int, int, int, float]:
    """What the head says: bytes in all, bytes of the label, payloads, seconds."""
    size, label, count, seconds = SIZES.unpack_from(start, _SIZES_AT)
    return size, label, count, seconds


def seconds_in(head: bytes) -> float:
    """How long making an entry took, by its head."""
    return sizes_in(head)[3]


class _Usual:
    """How JSON is read if nobody has said anything else: what a scanner asks its decoder for."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None  # the last one from Python 3.15 on
    parse_float = parse_constant = float
    parse_int = int


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    """What `json` reads with, without the millisecond that importing `json` takes."""
    try:
        make_scanner: Any = load("_json").make_scanner  # `json` does without where there is none
        scanner: Callable[[str, int], tuple[Any, int]] = make_scanner(_Usual())
    except (ImportError, AttributeError, TypeError):
        return _scanned_by_json
    return scanner


def _scanned_by_json(text: str, begin: int) -> tuple[Any, int]:
    scan: Callable[[str, int], tuple[Any, int]] = load("json").JSONDecoder().raw_decode
    return scan(text, begin)


_scanned: Final = _scanner()


def line_of(text: bytes, begin: int) -> tuple[dict[str, Any], int]:
    """One line of a label, and where the next one begins."""
    try:
        words = text.decode("ascii")
        try:
            fields, end = _scanned(words, begin)
        except Exception as error:  # the scanner alone has no words for what is wrong
            pass_on(error)
            fields, end = _scanned_by_json(words, begin)
    except (ValueError, RecursionError) as error:
        raise Damaged.unreadable(str(error)) from error
    if type(fields) is not dict or text[end : end + 1] != b"\n":
        raise Damaged.unreadable()
    return fields, end + 1


# -- labels ------------------------------------------------------------------------------


def peek_label(start: bytes) -> Label:
    """The label in the first bytes of an entry, unchecked: good for display and for eviction."""
    if start[:16] != OPENING or len(start) < HEAD:
        raise _unlike(start[:16], len(start))
    text = start[HEAD : HEAD + sizes_in(start)[1]]
    fields, end = line_of(text, 0)
    return _label_from(fields | line_of(text, end)[0])


def label_end(start: bytes) -> int:
    """Where the label ends of an entry that begins like this; 0 if it is none."""
    return HEAD + sizes_in(start)[1] if len(start) >= HEAD else 0


def _label_from(fields: Mapping[str, Any]) -> Label:
    """The label whose two lines have these fields."""
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
        raise Damaged.unreadable(repr(error)) from error


# -- damage ------------------------------------------------------------------------------


def check_head(data: bytes | memoryview, actual_size: int) -> None:
    """Raise `Damaged` if an entry of so many bytes cannot begin like this."""
    if data[:16] != OPENING or len(data) < HEAD:
        raise _unlike(bytes(data[:16]), actual_size)
    size = sizes_in(data)[0]
    if size != actual_size:
        raise Damaged(Damage.TRUNCATED if actual_size < size else Damage.EXTENDED)


def _damage_in(data: bytes | memoryview) -> Damaged:
    """Why bytes that are not the entry asked for are not."""
    try:
        check_head(data, len(data))
    except Damaged as damaged:
        return damaged
    if data[16:CHECKED_FROM] != hash_bytes(memoryview(data)[CHECKED_FROM:]):
        return Damaged(Damage.CHANGED)
    return Damaged(Damage.MISPLACED)


def _unlike(opening: bytes, size: int) -> Damaged:
    """Why nothing that begins like this, so many bytes long, is an entry of this format."""
    if not size:
        return Damaged(Damage.EMPTY)
    if opening[:8] != MAGIC[: len(opening)]:
        return Damaged(Damage.FOREIGN)
    if len(opening) == 16 and opening != OPENING:
        return Damaged(Damage.OTHER_FORMAT, str(int.from_bytes(opening[8:], "little")))
    return Damaged(Damage.TRUNCATED)


# -- writing -----------------------------------------------------------------------------


def _assemble(
    label: Label, payloads: Mapping[str, bytes | memoryview], record: Any, more: Any
) -> bytes:
    """The bytes of the entry that has this label, these payloads and this record."""
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
    names = names_of(label.key, label.under)
    parts: list[bytes | memoryview] = [
        names,
        SIZES.pack(size, len(text), len(blobs), label.seconds),
        text,
    ]
    end = HEAD + len(text)
    for place, blob in zip(table, blobs, strict=True):
        parts += (bytes(place.offset - end), blob)
        end = place.offset + place.size
    check = xxh3_128()
    for part in parts:
        check.update(part)
    return b"".join((OPENING, check.digest(), *parts))


def _flat(name: str, blob: bytes | memoryview) -> memoryview:
    try:
        return memoryview(blob).cast("B")
    except TypeError as error:
        raise TypeError(f"payload {name!r} is not one run of bytes: {error}") from error


def _aligned(offset: int) -> int:
    return -(-offset // PAGE) * PAGE


def _table(
    names: Mapping[str, object], blobs: Sequence[memoryview], digests: Sequence[str], start: int
) -> list[Payload]:
    table, offset = [], start
    for name, blob, digest in zip(names, blobs, digests, strict=True):
        table.append(Payload(name, offset, blob.nbytes, digest))
        offset = _aligned(offset + blob.nbytes)
    return table


@cache
def _encoder() -> Any:
    return load("json").JSONEncoder(separators=(",", ":"), allow_nan=False)


def _label_text(label: Label, table: Sequence[Payload], record: Any, more: Any) -> bytes:
    fields = {"payloads": table, "record": record}
    others = {
        "kind": label.kind,
        "key": label.key,
        "under": label.under,
        "toolchain": label.toolchain,
        "made": label.made,
        "seconds": label.seconds,
        "parts": label.parts,
        "more": more,
    }
    encode = _encoder().encode
    try:
        return f"{encode(fields)}\n{encode(others)}\n".encode("ascii")
    except RecursionError:
        raise NotPlain("the record", "value nested too deeply") from None
