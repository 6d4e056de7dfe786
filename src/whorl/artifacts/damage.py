"""Bytes that are not the entry asked for in, what is wrong with them out."""

from __future__ import annotations

from enum import Enum

from whorl.fingerprint.digest import hash_bytes

from .entry import CHECKED_FROM, HEAD, MAGIC, OPENING, Damaged, sizes_in

__all__ = ["Damage", "check_head", "unlike", "what_is_wrong"]


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


def check_head(data: bytes | memoryview, actual_size: int) -> None:
    """Raise `Damaged` if an entry of so many bytes cannot begin like this."""
    if data[:16] != OPENING or len(data) < HEAD:
        raise unlike(bytes(data[:16]), actual_size)
    size = sizes_in(data)[0]
    if size != actual_size:
        raise Damaged(Damage.TRUNCATED if actual_size < size else Damage.EXTENDED)


def what_is_wrong(data: bytes | memoryview) -> Damaged:
    """Why bytes that are not the entry asked for are not."""
    try:
        check_head(data, len(data))
    except Damaged as damaged:
        return damaged
    if data[16:CHECKED_FROM] != hash_bytes(memoryview(data)[CHECKED_FROM:]):
        return Damaged(Damage.CHANGED)
    return Damaged(Damage.MISPLACED)


def unlike(opening: bytes, size: int) -> Damaged:
    """Why nothing that begins like this, so many bytes long, is an entry of this format."""
    if not size:
        return Damaged(Damage.EMPTY)
    if opening[:8] != MAGIC[: len(opening)]:
        return Damaged(Damage.FOREIGN)
    if len(opening) == 16 and opening != OPENING:
        return Damaged(Damage.OTHER_FORMAT, str(int.from_bytes(opening[8:], "little")))
    return Damaged(Damage.TRUNCATED)
