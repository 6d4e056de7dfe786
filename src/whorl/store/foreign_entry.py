"""Entries of other compilers: named payloads under a key, and a description of the key.

whorl's own compilers and functions have traces and records of their own. A compiler that only has
a key and bytes keeps them here: `Cache.find`, `Cache.keep` and `Cache.begin`. The entry says what
it is called, how long it took and what its key was made of, so that `whorl ls`, `show`, `stats`
and `why` speak of it as they do of kernels.

    record      = ["foreign", name, signature]      the signature is empty if it is not sealed
    more        = [[path, text, digest, place]...]  the parts of the key

A second entry, without payloads, has the same label in the group of the name. A miss is compared
with these: with the nearest of the last ones. It stays on this machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from whorl.artifacts import Damaged, Entry, Label, Part
from whorl.errors import RequiredHit
from whorl.fast_dataclasses import NamedTuple, replace
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.fingerprint.tokens import marshalled
from whorl.lazy import logger

from .atomic_file import write_file
from .journal import (
    EDITED,
    FIRST_COMPILE,
    GONE,
    READ_DIFFERS,
    Change,
    Journal,
    Miss,
    is_hit_required,
)
from .outcome import Found, Put, Skipped, Stored
from .signature import UnusableKey, is_signed, sign

if TYPE_CHECKING:
    from .lease import Turn
    from .outcome import Got
    from .protocol import BaseStore
    from .statistics import Statistics

    class _Cache(Protocol):
        """What is needed of a `Cache`, which imports this module."""

        store: BaseStore
        statistics: Statistics

        @property
        def journal(self) -> Journal | None: ...
        def count(self, got: Got, program: str = "") -> None: ...
        def uses(self, toolchain: str) -> None: ...
        def put(self, entry: Entry) -> Put: ...


FOREIGN: Final = "foreign"  # the kind of these entries
DESCRIPTION: Final = "description"  # the kind of those beside them, which have no payloads
COMPARED: Final = 64  # earlier entries of a name that a miss is compared with
_CODE: Final = "code"

log = logger("whorl.store")
why = logger("whorl.why")
_logged: Final[set[str]] = set()


class KeyPart(NamedTuple):
    """One thing that a key was made of: where it is, what it was, and who reads it.

    `text` is for people. `digest` tells two values apart whose texts are alike. `place` is the line
    that reads it, or where it is defined.

    >>> KeyPart("global:solver.SCALE", "2.0", place="solver.py:7: `x * SCALE`").text
    '2.0'
    """

    path: str
    text: str
    digest: str = ""
    place: str = ""


class ForeignEntry:
    """What a compiler has kept under a key. Its bytes have been checked.

    >>> from whorl.store import Cache, MemoryStore
    >>> cache, key = Cache(MemoryStore()), StableDigest("0" * 32)
    >>> cache.keep(key, {"code": b"ret"}, name="solver.step", seconds=2.0)
    Stored()
    >>> entry = cache.find(key)
    >>> entry.name, entry.seconds, bytes(entry.payloads["code"])
    ('solver.step', 2.0, b'ret')
    """

    __slots__ = ("_entry", "name")

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.name = str(_record(entry)[0])

    @property
    def key(self) -> StableDigest:
        """What it is found by."""
        return self._entry.key

    @property
    def seconds(self) -> float:
        """How long making it took."""
        return self._entry.seconds

    @property
    def toolchain(self) -> str:
        """The tools that have made it."""
        return self._entry.label.toolchain

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """What its key was made of."""
        return key_parts(self._entry)

    @property
    def payloads(self) -> dict[str, memoryview]:
        """The bytes by name, not copied."""
        return {place.name: self._entry.view(place) for place in self._entry.payloads}

    def files(self, directory: str | os.PathLike[str]) -> dict[str, Path]:
        """The payloads as files in a directory, each under its name; one of that name is replaced.

        A reader never sees a part of a file.

        >>> import tempfile
        >>> from whorl.store import Cache, MemoryStore
        >>> cache, key = Cache(MemoryStore()), StableDigest("0" * 32)
        >>> _ = cache.keep(key, {"kernel.ptx": b"ret"}, name="solver.step")
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     cache.find(key).files(directory)["kernel.ptx"].read_bytes()
        b'ret'
        """
        home = Path(directory)
        home.mkdir(parents=True, exist_ok=True)
        written = {}
        for name, data in self.payloads.items():
            _check_file_name(name)
            write_file(str(home / name), data, str(home))
            written[name] = home / name
        return written

    def __repr__(self) -> str:
        return f"<foreign entry {self.key} of {self.name}, {len(self._entry.data)} bytes>"


def key_parts(entry: Entry) -> tuple[KeyPart, ...]:
    """What the key of a foreign entry was made of; nothing for other entries."""
    more = entry.more
    if not (type(entry.record) is list and entry.record[:1] == [FOREIGN] and type(more) is list):
        return ()
    try:
        return tuple(KeyPart(*map(str, row)) for row in more)
    except TypeError as error:
        raise Damaged.unreadable(repr(error)) from error


def _record(entry: Entry) -> tuple[str, str]:
    """The name and the signature of an entry; `Damaged` if it is not a foreign one."""
    match entry.record:
        case ["foreign", str(name), str(signature)]:
            return name, signature
    raise Damaged.unreadable("it is not the entry of another compiler")


# -- finding and keeping ---------------------------------------------------------------


def find_entry(
    cache: _Cache, key: StableDigest, *, sealed: bool, count: bool
) -> ForeignEntry | None:
    """The foreign entry of a key: see `Cache.find`."""
    got = cache.store.get(key)
    entry: ForeignEntry | None = None
    toolchain = ""
    if isinstance(got, Found):
        try:
            if not sealed or _is_ours(got.entry):
                entry = ForeignEntry(got.entry)
                toolchain = entry.toolchain
        except Damaged as error:
            _log_once(f"the entry {key} is not used: {error}")
    if count:
        cache.count(got, "" if entry is None else entry.name)
        cache.uses(toolchain)
    return entry


def _is_ours(entry: Entry) -> bool:
    name, signature = _record(entry)
    try:
        is_ours = is_signed(_about(entry, name), _joined(entry), signature)
    except UnusableKey as error:
        _log_once(str(error))
        return False
    if not is_ours:
        _log_once(f"an entry of {name} is not used: it was not sealed with our key, or not for it")
    return is_ours


def _about(entry: Entry, name: str) -> tuple[str, ...]:
    """What a seal covers beside the bytes: where the entry is, and what is where in it."""
    places = (f"{place.name} {place.size}" for place in entry.payloads)
    return (FOREIGN, str(entry.under), str(entry.key), name, *places)


def _joined(entry: Entry) -> bytes:
    return b"".join(entry.view(place) for place in entry.payloads)


def _log_once(message: str) -> None:
    if message not in _logged:
        _logged.add(message)
        log.warning("%s", message)


class EntryDescription(NamedTuple):
    """What an entry says of itself: see `Cache.keep`."""

    name: str
    parts: tuple[KeyPart, ...]
    seconds: float
    toolchain: str


def keep_entry(
    cache: _Cache,
    key: StableDigest,
    payloads: Mapping[str, bytes | memoryview],
    description: EntryDescription,
    *,
    sealed: bool,
) -> Put:
    """Keep a foreign entry, and write down why it had to be made: see `Cache.keep`."""
    name, parts, seconds, toolchain = description
    for file_name, data in payloads.items():
        _check_file_name(file_name)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"payload {file_name!r} is a {type(data).__name__!r}, not bytes")
    if cache.store.is_off:
        return Skipped("the cache is off")
    group = _group(name)
    miss = _explain(cache, group, description)
    texts = (Part("name", name), *(Part(part.path, part.text) for part in parts))
    label = Label(FOREIGN, key, None, texts, toolchain, time.time(), seconds)
    more = [list(part) for part in parts]
    entry = Entry.build(label, payloads, [FOREIGN, name, ""], more)
    if sealed:
        try:
            signature = sign(_about(entry, name), _joined(entry))
        except UnusableKey as error:
            _log_once(str(error))
            return Skipped(str(error))
        entry = Entry.build(label, payloads, [FOREIGN, name, signature], more)
    put = cache.put(entry)
    is_stored = isinstance(put, Stored)
    if is_stored:
        beside = Label(DESCRIPTION, key, group, texts, toolchain, label.made, seconds)
        cache.store.put_near(Entry.build(beside, {}, [FOREIGN, name, ""], more))
        cache.uses(toolchain)
    cache.statistics.made(name, seconds, miss.cause)
    if cache.journal is not None:
        kept_as = str(key) if is_stored else ""
        cache.journal.note(replace(miss, seconds=seconds, key=kept_as))
    return put


def _check_file_name(name: str) -> None:
    """Refuse a payload that cannot be a file of its directory."""
    if type(name) is not str or name in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(name):
        raise ValueError(f"{name!r} is no name of a payload: it has to be the name of a file")


def _group(name: str) -> StableDigest:
    return StableDigest(hash_hex(marshalled((FOREIGN, name))))


# -- explanations ----------------------------------------------------------------------


def changed_key_parts(old: Iterable[KeyPart], new: Iterable[KeyPart]) -> tuple[Change, ...]:
    """The parts of two keys that differ, by path.

    >>> old, new = KeyPart("global:m.N", "2"), KeyPart("global:m.N", "3", place="m.py:4: `x * N`")
    >>> print(*changed_key_parts([old], [new]))
    global:m.N: 2 -> 3  (read at m.py:4: `x * N`)
    """
    before, after = {part.path: part for part in old}, {part.path: part for part in new}
    return tuple(_changes(before, after))


def _changes(before: dict[str, KeyPart], after: dict[str, KeyPart]) -> Iterator[Change]:
    for path in {**before, **after}:
        old, new = before.get(path), after.get(path)
        if old is None or new is None:
            known = new or old
            assert known is not None
            texts = ("absent", known.text) if old is None else (known.text, "absent")
            yield Change(path, *texts, known.place)
        elif (old.text, old.digest) != (new.text, new.digest):
            is_alike = old.text == new.text
            texts = (old.digest[:12], new.digest[:12]) if is_alike else (old.text, new.text)
            yield Change(path, *texts, new.place)


def _explain(cache: _Cache, group: StableDigest, new: EntryDescription) -> Miss:
    """Why something had to be made: what differs from the nearest earlier entry of its name."""
    nearest: tuple[Change, ...] | None = None
    for parts in _earlier(cache, group):
        changes = changed_key_parts(parts, new.parts)
        if nearest is None or len(changes) < len(nearest):
            nearest = changes
    miss = _miss(new.name, nearest)
    why.info("%s: miss, %s%s", new.name, miss.reason, "".join(f"\n  {c}" for c in nearest or ()))
    return miss


def _earlier(cache: _Cache, group: StableDigest) -> Iterator[tuple[KeyPart, ...]]:
    """The descriptions of earlier entries of a name on this machine, the last first."""
    described = []
    for key in islice(cache.store.iterate(group), COMPARED):
        for entry in islice(cache.store.versions(key, group, far=False), 1):
            try:
                described.append((entry.label.made, key_parts(entry)))
            except Damaged:
                continue
    return (parts for _, parts in sorted(described, key=lambda row: -row[0]))


def _miss(name: str, changes: tuple[Change, ...] | None) -> Miss:
    if changes is None:
        return Miss(name, FIRST_COMPILE, FIRST_COMPILE)
    if not changes:
        return Miss(name, GONE, GONE)
    if any(change.path.partition(":")[0] == _CODE for change in changes):
        return Miss(name, EDITED, EDITED, changes)
    differ = "1 part differs" if len(changes) == 1 else f"{len(changes)} parts differ"
    return Miss(name, READ_DIFFERS, f"{differ} from the nearest entry", changes)


# -- the lease in two phases -----------------------------------------------------------


class ForeignLease:
    """The right to make an entry, from `Cache.begin` until `commit` or `abandon`.

    `found` is the entry if another has made it meanwhile; then there is nothing to do. A lease that
    is neither committed nor abandoned ends when it is collected, or with the process.

    >>> from whorl.store import Cache, MemoryStore
    >>> cache, key = Cache(MemoryStore()), StableDigest("0" * 32)
    >>> with cache.begin(key) as lease:
    ...     if lease.found is None:
    ...         lease.commit({"code": b"ret"}, name="solver.step")
    Stored()
    >>> cache.begin(key).found.name
    'solver.step'
    """

    __slots__ = ("_cache", "_start", "_turn", "found", "key")

    def __init__(self, cache: _Cache, key: StableDigest, turn: Turn[ForeignEntry]) -> None:
        self._cache = cache
        self._turn = turn
        self._start = time.perf_counter()
        self.key = key
        self.found = turn.found

    def commit(
        self,
        payloads: Mapping[str, bytes | memoryview],
        *,
        name: str,
        parts: Iterable[KeyPart] = (),
        seconds: float | None = None,
        toolchain: str = "",
        sealed: bool = False,
    ) -> Put:
        """Keep what was made, and let the others go on: see `Cache.keep`.

        Without `seconds`, the time since `begin` counts.
        """
        if seconds is None:
            seconds = time.perf_counter() - self._start
        put: Put | None = None
        try:
            description = EntryDescription(name, tuple(parts), seconds, toolchain)
            put = keep_entry(self._cache, self.key, payloads, description, sealed=sealed)
        finally:
            self._turn.end(done=isinstance(put, Stored))
        statistics = self._cache.statistics
        statistics.count(self._turn.how, seconds_spent=seconds)
        statistics.flush()
        return put

    def abandon(self) -> None:
        """Let others make it."""
        self._turn.end(done=False)

    def __enter__(self) -> ForeignLease:
        return self

    def __exit__(self, *error: object) -> None:
        self.abandon()


def refuse_where_required(turn: Turn[ForeignEntry], name: str, cache: str) -> None:
    """Raise `RequiredHit` where a miss is an error."""
    if is_hit_required():
        turn.end(done=False)
        raise RequiredHit(name, "it is not stored", cache)
