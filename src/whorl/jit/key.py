"""Keys of programs, shapes and artifacts, with their named parts; and hints, which lead to them."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from whorl.artifacts import FORMAT, HINT, Damaged, Entry, Label, Part
from whorl.artifacts.record import shape_of, shape_plain
from whorl.fast_dataclasses import NamedTuple, make
from whorl.fingerprint.definition import Definition, Text
from whorl.fingerprint.digest import FORMAT as TOKENS
from whorl.fingerprint.digest import StableDigest, digest_of
from whorl.fingerprint.names import class_label, full_name
from whorl.fingerprint.source import CodeDigest
from whorl.reads import Plain, Shape
from whorl.reads.facts import origin_of
from whorl.store.cache import prepared

from .compiler import Compiler, Identity, Target

if TYPE_CHECKING:
    from whorl.store import BaseStore

Pair = tuple[str, str]
"""What a part of a key is while it need not be shown: its name and its text."""


class ProgramKey(NamedTuple):
    """What stands for a program: the function's own code, the compiler, its code and toolchain."""

    context: ProgramContext
    code: str  # its digest, and what that was taken from
    digest: StableDigest

    @classmethod
    def of(cls, context: ProgramContext, code: types.CodeType, digest: CodeDigest) -> ProgramKey:
        """The key of a function's own code, and of all else that counts."""
        text = f"{digest.hex} ({origin_of(code, digest)})"
        return make(cls, (context, text, digest_of("program", context.counting, text)))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the key, in words."""
        return tuple(Part(*pair) for pair in (*self.context.pairs, ("code", self.code)))

    @property
    def manifests(self) -> StableDigest:
        """The group that the program's manifests are in."""
        return digest_of("manifests", str(self.digest))


class ProgramContext(NamedTuple):
    """What counts of a program beside the function's own code."""

    lasting: tuple[Pair, ...]  # the same for every call of a kernel; the name is for people alone
    counting: tuple[str, ...]  # for digests: that of `lasting`, names, versions

    @classmethod
    def of(cls, name: str, own: str | None, compiler: Compiler) -> ProgramContext:
        """What is the same for every call of a kernel; `own` is the module of the function."""
        pairs = (
            ("module", own or "apart"),
            ("compiler class", class_label(type(compiler))),
            ("record format", _RECORD_FORMAT),
        )
        return cls((("function", name), *pairs), (str(digest_of(pairs)),))

    def now(self, name: str, identity: Identity, toolchain: str, code: str) -> ProgramContext:
        """This, with the name of the function and the identity of the compiler now.

        `code` is the digest of the compiler's code, empty if that does not count.
        """
        lasting, (digest, *_) = self
        compiler, version, *_ = identity
        counting = (digest, name, f"{compiler} {version}", toolchain)
        return make(ProgramContext, (lasting, (*counting, code) if code else counting))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All of it in words."""
        function, *lasting = self.lasting
        _, name, compiler, toolchain, *code = self.counting
        tools = (("compiler", compiler), ("toolchain", toolchain))
        return (
            function,
            ("name", name),
            *lasting,
            *tools,
            *((COMPILER_CODE, digest) for digest in code),
        )


COMPILER_CODE: Final = "compiler code"
_RECORD_FORMAT: Final = f"{FORMAT}.{TOKENS}"


def lead_of(context: ProgramContext, source: StableDigest) -> StableDigest:
    """What leads to a program in a hint: its code is remembered under a key of its own."""
    return digest_of("lead", str(source), context.counting)


def function_group(function: types.FunctionType) -> StableDigest:
    """The group in which the programs of a function of this name are listed."""
    return group_of_name(full_name(function))


def group_of_name(name: str) -> StableDigest:
    """The same by the full name of the function."""
    return digest_of("function", name)


def shape_key(shape: Shape) -> StableDigest:
    """The key of a shape among those of a program."""
    return plain_shape_key(shape_plain(shape))


plain_shape_key: Final[Callable[[object], StableDigest]] = digest_of
"""The same, of what the shape is kept as."""


def artifact_key(
    program: ProgramKey, target: Target, shape: StableDigest, facts: tuple[Plain, ...]
) -> StableDigest:
    """The key of an artifact; the shape is known by its own."""
    parts = (str(program.digest), target.architecture, str(shape), list(facts))
    return digest_of("artifact", *parts)


def flight_name(program: ProgramKey, target: Target, coarse: list[Plain]) -> str:
    """What calls that are likely to need the same compile produce under."""
    return str(digest_of("flight", str(program.digest), target.architecture, coarse))


# -- hints -----------------------------------------------------------------------------
#
# Hints: all that led to the artifacts of a file before, in one entry that is read first.
#
# Everything in a hint is also elsewhere in the store: shapes are in manifests, which have to be
# listed, and rows about sources are entries of their own. A hint collects them for all kernels of a
# file. So a process reads one small entry when it makes the first of these kernels, and no other
# entry in their first lookups:
#
#     record = ["hint", {key: row...}, {lead: [shape...]...}]
#
# A row is about one source. Its key is made of the file and of the code that the row describes. A
# lead is all that is known of a program before anything is read: its code, by the key of its row,
# the compiler and the toolchain. Shapes are encoded as `record` encodes them. A shape leads to an
# artifact only under its own name, which is the digest of what stands here. So a hint is trusted no
# more than any other entry, and one that is old, damaged or missing costs time and nothing else.
#
# To add something, a process reads the hint again, adds to it and writes it. What another process
# writes in between is lost from the hint, but not from the manifest: it is found there, and added
# again. What does not fit into the hint of a file goes into a hint of its own, under its lead.


Rows: TypeAlias = list[Any] | str
"""A shape as it is stored: see `artifacts.record`."""

ROWS_KEPT: Final = 1024  # in the hint of a file
SHAPES_KEPT: Final = 32  # of one lead
TEXT_KEPT: Final = 1 << 17  # characters of shapes in the hint of a file


class Hint(NamedTuple):
    """Rows about sources by key, and stored shapes by lead.

    >>> hint = NO_HINT.joined({"a": 1}, "f", "type arg x").joined({"b": 2}, "f", "value arg x")
    >>> list(hint.rows), hint.leads["f"]
    (['b', 'a'], ['value arg x', 'type arg x'])
    """

    rows: Mapping[str, object]
    leads: Mapping[str, list[Rows]]

    @classmethod
    def of(
        cls, store: BaseStore, key: StableDigest, lead: str | None = None, *, far: bool = True
    ) -> Hint:
        """The hints under a key in all tiers of a store, merged up to the first that has a lead.

        What comes from a farther tier is stored in the nearest, for the next process.
        """
        hint = nearest = None
        for entry in store.versions(key, far=far):
            hint = cls.of_entry(entry) if hint is None else hint.merged(cls.of_entry(entry))
            nearest = nearest or hint
            if lead in hint.leads:
                break
        if hint is None:
            return NO_HINT
        if hint is not nearest and lead in hint.leads and not hint.is_full:
            store.put_near(hint.entry(key))
        return hint

    @classmethod
    def of_entry(cls, entry: Entry) -> Hint:
        """The hint in an entry; an empty one if the entry is not a hint."""
        try:
            _, rows, leads = entry.fields["record"]
        except (Damaged, ValueError, TypeError, LookupError):
            return NO_HINT
        if type(rows) is not dict or type(leads) is not dict:
            return NO_HINT
        return make(cls, (rows, leads))

    def entry(self, key: StableDigest) -> Entry:
        """The entry in which other processes find it."""
        record = ["hint", dict(self.rows), dict(self.leads)]
        return Entry.build(Label(HINT, key), {}, record)

    def shapes(self, lead: str) -> dict[StableDigest, Rows]:
        """The shapes of a lead by their names; none if they cannot be read."""
        shapes: dict[StableDigest, Rows] = {}
        try:
            for shape in self.leads.get(lead, ()):
                shapes[plain_shape_key(shape)] = shape
        except (ValueError, TypeError):  # or too deep
            return {}
        return shapes

    def joined(self, rows: Mapping[str, object], lead: str, shape: Rows) -> Hint:
        """This hint with a shape added, the newest first; a lead has only so many shapes."""
        known = self.leads.get(lead)
        others = [each for each in known if each != shape] if type(known) is list else []
        shapes = [shape, *islice(filter(_is_shape, others), SHAPES_KEPT - 1)]
        return Hint({**rows, **self.rows}, {lead: shapes, **_without(self.leads, lead)})

    def merged(self, other: Hint) -> Hint:
        """The rows and leads of both hints, those of this one first."""
        leads = {**other.leads, **self.leads}
        for lead in self.leads.keys() & other.leads.keys():
            leads[lead] = _joined(self.leads[lead], other.leads[lead])
        return Hint({**other.rows, **self.rows}, leads)

    @property
    def is_full(self) -> bool:
        """Whether it has reached its size: it is read with every import of its file."""
        if len(self.rows) > ROWS_KEPT:
            return True
        lists = (known for known in self.leads.values() if type(known) is list)
        return sum(map(_size, chain.from_iterable(lists))) > TEXT_KEPT


def _without(leads: Mapping[str, list[Rows]], lead: str) -> dict[str, list[Rows]]:
    return {name: known for name, known in leads.items() if name != lead}


def _joined(shapes: list[Rows], others: list[Rows]) -> list[Rows]:
    if type(shapes) is not list or type(others) is not list:
        return shapes
    return [*shapes, *(each for each in others if each not in shapes)][:SHAPES_KEPT]


def _is_shape(shape: Rows) -> bool:
    try:
        shape_of(shape)
    except (ValueError, AttributeError):
        return False
    return True


def _size(shape: Rows) -> int:
    return len(shape) if type(shape) is str else len(str(shape))


NO_HINT: Final = Hint({}, {})


class FileHint:
    """The hint of a file in a store, as far as this process knows it; threads may share it.

    What does not fit into it any more is in hints of single leads, which are read when needed.
    """

    __slots__ = ("__weakref__", "_single", "hint", "key", "store")

    def __init__(self, store: BaseStore, key: StableDigest, hint: Hint = NO_HINT) -> None:
        self.store = store
        self.key = key
        self.hint = hint
        self._single: dict[StableDigest, Hint] = {}

    def read(self) -> Hint:
        """What is known of the file; read from the nearest tier if nothing was so far."""
        if self.hint is NO_HINT:
            entry = next(self.store.versions(self.key), None)
            self.hint = NO_HINT if entry is None else Hint.of_entry(entry)
        return self.hint

    def about(self, lead: StableDigest) -> Hint:
        """The hint that has a lead; if none has, others may have added it by now."""
        if lead in self.hint.leads:
            return self.hint
        if lead not in self._single:
            self.hint = Hint.of(self.store, self.key, lead)
            if lead in self.hint.leads:
                return self.hint
            if not self.hint.is_full:
                return NO_HINT
            self._single[lead] = Hint.of(self.store, lead, lead)
        return self._single[lead]

    def read_again(self, lead: StableDigest) -> Hint:
        """What tells of a lead by now, in the nearest tier that does."""
        hint = Hint.of(self.store, self.key, lead)
        return Hint.of(self.store, lead, lead) if lead in self._single else hint

    def add(self, rows: Mapping[str, object], lead: StableDigest, shape: Rows) -> None:
        """Add a shape and rows, so that other processes find them first."""
        # A store on another machine merges what it is given with what others have put there.
        whole = Hint.of(self.store, self.key, far=False).merged(self.hint)
        if lead in whole.leads or not whole.is_full:
            self.hint = whole = whole.joined(rows, lead, shape)
            self.store.put(whole.entry(self.key))
        else:
            known = self._single.get(lead, NO_HINT)
            single = self._single[lead] = known.joined(rows, lead, shape)
            self.store.put(single.entry(lead))


def file_hint(text: Text, store: BaseStore, definition: Definition | None = None) -> FileHint:
    """The hint of a file in a store; the same object for the same definition."""
    of_file = None if definition is None else _of_files.get(definition)
    if of_file is None or of_file.store is not store:
        of_file = FileHint(store, hint_key(text))
        if definition is not None:
            _of_files[definition] = of_file
    return of_file


def prefetched_hint(definition: Definition) -> FileHint | None:
    """The same in the cache of this process, read while the first kernel of the file is made.

    None if that is not open yet: the first lookup reads it then.
    """
    store = prepared()
    if store is None:
        return None
    of_file = _of_files.get(definition)
    if of_file is None or of_file.store is not store:
        key = hint_key(definition.text)
        entry = store.peek(key)
        hint = NO_HINT if entry is None else Hint.of_entry(entry)
        of_file = _of_files[definition] = FileHint(store, key, hint)
    return of_file


_of_files: Final[weakref.WeakKeyDictionary[Definition, FileHint]] = weakref.WeakKeyDictionary()


def hint_key(text: Text) -> StableDigest:
    """The key of a file's hint."""
    return digest_of("hint", text.digest)
