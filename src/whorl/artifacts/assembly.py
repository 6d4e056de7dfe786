"""Payloads, a label and a record in, the bytes of an entry out: see `entry` for their grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from xxhash import xxh3_128

from whorl.fingerprint.digest import hash_hex

from .entry import HEAD, NO_GROUP, OPENING, PAGE, SIZES, Label, Payload
from .lowered import NotPlain

__all__ = ["assembled"]

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def assembled(
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
    under = NO_GROUP if label.under is None else label.under.raw
    names = label.key.raw + under
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
    def places() -> Iterator[Payload]:
        offset = start
        for name, blob, digest in zip(names, blobs, digests, strict=True):
            yield Payload(name, offset, blob.nbytes, digest)
            offset = _aligned(offset + blob.nbytes)

    return list(places())


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
    try:
        return f"{_ENCODER.encode(fields)}\n{_ENCODER.encode(others)}\n".encode("ascii")
    except RecursionError:
        raise NotPlain("the record", "value nested too deeply") from None
