"""What led to artifacts of a program before, in one entry: where a new process looks first.

All of it is in the store in another place too: shapes in manifests, which are listed, and rows
about sources, one entry each. A hint brings them together, so that the first lookup of a process
reads one small file. It is believed no more than any other entry, and nothing depends on it:

    record = ["hint", {key: row...}, [shape...]]       rows about sources; shapes: see `record`

A hint is kept under all that its program is made of: the code, by the key of its row, the
compiler, the toolchain. A row is found under a key that is made of the file and the code it speaks
of. A shape leads to an artifact only under its own name, the digest of what stands here. So a hint
that is old, damaged or not there at all costs time and nothing else. Whoever writes last wins; what
he did not know is found the long way, and written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from whorl.artifacts import HINT, Damaged, Entry, Label
from whorl.artifacts.record import shape_of
from whorl.fingerprint.digest import StableDigest
from whorl.late import NamedTuple, make
from whorl.reads.both import Rows
from whorl.store import Found

from .key import plain_shape_key

if TYPE_CHECKING:
    from whorl.store import Store

__all__ = ["NO_HINT", "Hint"]

ROWS_KEPT: Final = 64
SHAPES_KEPT: Final = 32


class Hint(NamedTuple):
    """Rows about sources by key, and shapes as they are kept by theirs.

    >>> shape = plain_shape_key([])
    >>> list(NO_HINT.joined({"a": 1}, shape, []).joined({"b": 2}, shape, []).rows)
    ['b', 'a']
    """

    rows: Mapping[str, object]
    shapes: Mapping[StableDigest, Rows]

    @classmethod
    def of(cls, store: Store, key: StableDigest) -> Hint:
        """The hint that is kept under a key; one that says nothing if there is none to trust."""
        got = store.get(key)
        if not isinstance(got, Found):
            return NO_HINT
        shapes: dict[StableDigest, Rows] = {}
        try:
            _, rows, kept = got.entry.record
            for shape in kept:
                shapes[plain_shape_key(shape)] = shape
        except (Damaged, ValueError, TypeError):  # or too deep
            return NO_HINT
        return make(cls, (rows, shapes)) if type(rows) is dict else NO_HINT

    def keep(self, store: Store, key: StableDigest, toolchain: str) -> None:
        """Let other processes find it."""
        record = ["hint", dict(self.rows), list(self.shapes.values())]
        store.put(Entry.made(Label(HINT, key, toolchain=toolchain), {}, record))

    def says(self, rows: Mapping[str, object], shape: StableDigest) -> bool:
        """Whether it names this shape and all of these rows."""
        return shape in self.shapes and rows.keys() <= self.rows.keys()

    def joined(self, rows: Mapping[str, object], shape: StableDigest, plain: Rows) -> Hint:
        """The same and this, the newest first; the oldest are forgotten when there are many."""
        shapes = {name: kept for name, kept in self.shapes.items() if _makes_sense(kept)}
        return Hint(
            dict(islice({**rows, **self.rows}.items(), max(ROWS_KEPT, len(rows)))),
            dict(islice({shape: plain, **shapes}.items(), SHAPES_KEPT)),
        )


def _makes_sense(shape: Rows) -> bool:
    try:
        shape_of(shape)
    except (ValueError, AttributeError):
        return False
    return True


NO_HINT: Final = Hint({}, {})
