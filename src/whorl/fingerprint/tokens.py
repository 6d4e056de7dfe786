"""Values as tokens: the grammar that every digest is the hash of.

A value is written as a flat list of tokens, the list is marshalled and hashed:

    value    = leaf | flat | bytes | node | chunk | cycle
    leaf     = None | bool | int | float | str | complex | ...      exact types only
    flat     = a list or tuple of at most FLAT leaves, as it is
    bytes    = b"B" payload                      | b"B#" length digest     (from LONG_BYTES on)
    node     = tag count value{count}            a described node; the tag is never reused
             | tag count value{count} size item{size}        ... with items in no order
             | shape-tag value{names of the shape}           an instance: see `layout`
    item     = the marshalled tokens of one member, as bytes, sorted | b"#" + their digest
    chunk    = b"#" digest                       any node of CHUNK tokens or more
    cycle    = b"@" digest                       a node that can reach itself: see `graph`

Why this cannot run together: where a value begins, a `bytes` token is a tag; every tag
either fixes how many values, payloads or digests follow or is followed by that number;
marshal frames each token with its type and length. So a token list can be read back in one
way only.

Why sharing does not show: whether a node is replaced by its chunk depends on how many
tokens it has, which is a property of the value and not of how it was walked. A shared
object and two equal copies yield the same tokens, and a graph with 2^40 paths stays
small because every node of it is at most CHUNK tokens to its parents.

Chunks are written by pickle at protocol 3 in fast mode, all else by marshal at version 2.
Neither knows references or interning that way: the bytes depend on nothing but the tokens,
and are the same on every CPython from 3.11 on (the golden digests in the tests say so).
Floats are written by their bits: 0.0 and -0.0 differ, and so do NaNs with different sign
or payload.

FORMAT (in `digest`) is part of every digest. Raise it when any encoding changes.
  1: the first.
  2: dicts by sorted key, whatever the values are; classes of enum members as part of a tag.
  3: code with the order of what it reads; which fields of a pydantic model were given; scalars of
     NumPy that are as wide as those of another class.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Final

from .digest import FORMAT, LEAVES, dumps, hash_bytes, marshalled

__all__ = [
    "CHUNK",
    "FLAT",
    "FORMAT",
    "LEAVES",
    "LONG_BYTES",
    "Chunker",
    "Node",
    "bytes_tokens",
    "dumps",
    "is_flat",
    "is_leaf",
    "is_shape",
    "item_token",
    "marshalled",
    "tag_of",
    "unlabelled",
]

CHUNK: Final = 512
_BATCH: Final = 1000  # tokens that pickle writes at once
FLAT: Final = 100
_SHAPE: Final = b"C"  # how the tags of instances begin
LONG_BYTES: Final = 4096
SHORT_ITEM: Final = 64

_LEAF_IDS: Final = frozenset(map(id, LEAVES))


def is_leaf(kind: type) -> bool:
    """Whether values of exactly this class are leaves; says so without asking a metaclass."""
    return id(kind) in _LEAF_IDS


class Chunker:
    """Token lists in, the two tokens that stand for each of them out. Not for two threads at once.

    A pickler in fast mode has no memo, so that its bytes, like those of marshal, depend on the
    tokens alone; on long lists it is twice as fast, on short ones slower to set up.
    """

    __slots__ = ("_file", "_pickler")

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._pickler = pickle.Pickler(self._file, 3)
        self._pickler.fast = True

    def __call__(self, tokens: list[object]) -> tuple[bytes, bytes]:
        """The tag of a chunk and its digest."""
        if len(tokens) <= _BATCH:
            return b"#", hash_bytes(self._pickled(tokens))
        # In batches of our own: from Python 3.15 on, pickle writes a last one of one otherwise.
        parts = [self._pickled([None])[:3]]
        for i in range(0, len(tokens), _BATCH):
            batch = tokens[i : i + _BATCH]
            items = self._pickled(batch)
            parts.append(items[3:-1] if len(batch) > 1 else b"(" + items[3:-2] + b"e")
        return b"#", hash_bytes(b"".join((*parts, b".")))

    def _pickled(self, tokens: list[object]) -> bytes:
        file = self._file
        self._pickler.dump(tokens)
        content = file.getvalue()
        file.seek(0)
        file.truncate()
        return content


def item_token(tokens: Any) -> bytes:
    """The one token of a member of an unordered container: no longer than SHORT_ITEM."""
    written = dumps(tokens, 2)
    return written if len(written) <= SHORT_ITEM else b"#" + hash_bytes(written)


def tag_of(*parts: object) -> bytes:
    """A tag that stands for several leaf parts at once, such as a class and its field names."""
    return _SHAPE + hash_bytes(marshalled(parts))


def bytes_tokens(
    payload: bytes | bytearray | memoryview,
) -> tuple[bytes, bytes] | tuple[bytes, int, bytes]:
    """The tokens of a run of bytes; a long one is hashed where it lies."""
    size = len(payload)
    if size < LONG_BYTES:
        return b"B", bytes(payload)
    return b"B#", size, hash_bytes(payload)


def is_flat(value: list[object] | tuple[object, ...]) -> bool:
    """Whether a list or tuple is one token: short, and nothing in it but leaves."""
    return len(value) <= FLAT and _LEAF_IDS.issuperset(map(id, map(type, value)))


class Node:
    """What one object says about itself: a tag, values in order, items in no order.

    `label(i)` names the i-th of `values` followed by `items` in a path, as Python would
    write it after the object: `.x`, `[3]`, `['key']`. Values may be nodes themselves.
    `counted` is false where the tag alone says how many values follow. `keys` are what the
    values belong to where that is content (keys, members) and not a place.
    """

    __slots__ = ("counted", "items", "keys", "label", "tag", "values")

    def __init__(
        self,
        tag: bytes,
        values: Sequence[object] = (),
        label: Callable[[int], str] | None = None,
        *,
        items: Sequence[tuple[object, ...]] | None = None,
        counted: bool = True,
        keys: Sequence[object] | None = None,
    ) -> None:
        self.tag = tag
        self.values = values
        self.label = label or _index
        self.items = items
        self.counted = counted
        self.keys = keys

    def head(self) -> tuple[bytes] | tuple[bytes, int]:
        """The tokens before the values."""
        return (self.tag, len(self.values)) if self.counted else (self.tag,)


def unlabelled(i: int) -> str:
    """The label of parts that a path does not name."""
    return ""


def is_shape(tag: bytes) -> bool:
    """Whether a tag stands for an instance's class and the names of its fields."""
    return tag[:1] == _SHAPE and len(tag) == 17


def _index(i: int) -> str:
    return f"[{i}]"
