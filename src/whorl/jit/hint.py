"""What led to the artifacts of a file before, in one entry: where a new process looks first.

All of it is in the store in another place too: shapes in manifests, which are listed, and rows
about sources, one entry each. A hint brings them together for all kernels of a file, so that a
process reads one small entry when it makes the first of them, and none in their first lookups:

    record = ["hint", {key: row...}, {lead: [shape...]...}]

A row is about a source, and has a key that is made of the file and the code that it speaks of. A
lead is all that is known of a program before anything is read: its code, by the key of its row,
the compiler and the toolchain. Shapes are as `record` has them, and one leads to an artifact only
under its own name, the digest of what stands here. So a hint is believed no more than any other
entry, nothing depends on it, and one that is old, damaged or not there costs time and nothing else.

Who has something to add reads what others have written meanwhile and adds to that. Between the two
somebody may write, and be forgotten; that is found the long way then, and added again.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from whorl.artifacts import HINT, Damaged, Entry, Label
from whorl.artifacts.record import shape_of
from whorl.fingerprint.definition import Definition, Text
from whorl.fingerprint.digest import StableDigest, digest_of
from whorl.late import NamedTuple, make
from whorl.reads.both import Rows
from whorl.store import Found
from whorl.store.default import prepared
from whorl.store.directory import DirectoryStore

from .key import plain_shape_key

if TYPE_CHECKING:
    from whorl.store import Store

__all__ = ["NO_HINT", "FileHint", "Hint", "glanced_at", "told_of"]

ROWS_KEPT: Final = 1024
SHAPES_KEPT: Final = 32  # of one lead
TEXT_KEPT: Final = 1 << 17  # characters of shapes, in all


class Hint(NamedTuple):
    """Rows about sources by key, and shapes as they are kept by lead.

    >>> hint = NO_HINT.joined({"a": 1}, "f", "type arg x").joined({"b": 2}, "f", "value arg x")
    >>> list(hint.rows), hint.leads["f"]
    (['b', 'a'], ['value arg x', 'type arg x'])
    """

    rows: Mapping[str, object]
    leads: Mapping[str, list[Rows]]

    @classmethod
    def of(cls, store: Store, key: StableDigest) -> Hint:
        """The hint that is kept under a key; one that says nothing if there is none to trust."""
        got = store.get(key)
        return cls.told(got.entry) if isinstance(got, Found) else NO_HINT

    @classmethod
    def told(cls, entry: Entry) -> Hint:
        """The hint in an entry; one that says nothing if that makes no sense."""
        try:
            _, rows, leads = entry.fields["record"]
        except (Damaged, ValueError, TypeError, LookupError):
            return NO_HINT
        if type(rows) is not dict or type(leads) is not dict:
            return NO_HINT
        return make(cls, (rows, leads))

    def keep(self, store: Store, key: StableDigest) -> None:
        """Let other processes find it."""
        record = ["hint", dict(self.rows), dict(self.leads)]
        store.put(Entry.made(Label(HINT, key), {}, record))

    def shapes(self, lead: str) -> dict[StableDigest, Rows]:
        """The shapes of a lead by their names; none if what stands here makes no sense."""
        shapes: dict[StableDigest, Rows] = {}
        try:
            for shape in self.leads.get(lead, ()):
                shapes[plain_shape_key(shape)] = shape
        except (ValueError, TypeError):  # or too deep
            return {}
        return shapes

    def joined(self, rows: Mapping[str, object], lead: str, shape: Rows) -> Hint:
        """The same and this, the newest first; the oldest are forgotten when there are many."""
        new = Hint(rows, {lead: [shape]})
        return new.merged(self, max(ROWS_KEPT, len(rows)))

    def merged(self, other: Hint, rows_kept: int = ROWS_KEPT) -> Hint:
        """What either says, this one first."""
        rows = {
            **self.rows,
            **{key: row for key, row in other.rows.items() if key not in self.rows},
        }
        leads: dict[str, list[Rows]] = {}
        room = TEXT_KEPT
        for lead in dict.fromkeys(chain(self.leads, other.leads)):
            shapes = [*islice(_sensible(self.leads.get(lead), other.leads.get(lead)), SHAPES_KEPT)]
            room -= sum(map(_size, shapes))
            if leads and room < 0:
                break
            if shapes:
                leads[lead] = shapes
        return Hint(dict(islice(rows.items(), rows_kept)), leads)


def _sensible(*kept: Any) -> Iterator[Rows]:
    """The shapes in lists of them, each once."""
    seen = set()
    for shape in chain.from_iterable(each for each in kept if type(each) is list):
        try:
            shape_of(shape)
            name = plain_shape_key(shape)
        except (ValueError, AttributeError):
            continue
        if name not in seen:
            seen.add(name)
            yield shape


def _size(shape: Rows) -> int:
    return len(shape) if type(shape) is str else len(str(shape))


NO_HINT: Final = Hint({}, {})


class FileHint:
    """The hint of a file in a store, as far as this process knows it; threads may share it."""

    __slots__ = ("__weakref__", "hint", "key", "store")

    def __init__(self, store: Store, key: StableDigest, hint: Hint = NO_HINT) -> None:
        self.store = store
        self.key = key
        self.hint = hint

    def shapes(self, lead: str) -> dict[StableDigest, Rows]:
        """The shapes of a lead; if none is known, others may have told of some by now."""
        shapes = self.hint.shapes(lead)
        if not shapes:
            self.hint = Hint.of(self.store, self.key)
            shapes = self.hint.shapes(lead)
        return shapes

    def add(self, rows: Mapping[str, object], lead: str, shape: Rows) -> None:
        """Let other processes come here sooner."""
        others = Hint.of(self.store, self.key)
        self.hint = hint = others.merged(self.hint).joined(rows, lead, shape)
        hint.keep(self.store, self.key)


def told_of(text: Text, store: Store, definition: Definition | None = None) -> FileHint:
    """The hint of a file in a store; one for all who know it by the same definition."""
    found = None if definition is None else _of_files.get(definition)
    if found is None or found.store is not store:
        found = FileHint(store, _key_of(text))
        if definition is not None:
            _of_files[definition] = found
    return found


def glanced_at(definition: Definition) -> FileHint | None:
    """The same in the cache of this process, read while the first kernel of the file is made.

    None if that is not open yet, or is no directory: the first lookup reads it then.
    """
    store = prepared()
    if type(store) is not DirectoryStore:
        return None
    found = _of_files.get(definition)
    if found is None or found.store is not store:
        key = _key_of(definition.text)
        entry = store.glance(key)
        hint = NO_HINT if entry is None else Hint.told(entry)
        found = _of_files[definition] = FileHint(store, key, hint)
    return found


_of_files: Final[weakref.WeakKeyDictionary[Definition, FileHint]] = weakref.WeakKeyDictionary()


def _key_of(text: Text) -> StableDigest:
    return digest_of("hint", text.digest)
