"""A store on another machine: sealed, behind a breaker, uploads behind the program.

Whatever the server does, a lookup ends with an entry or without one, in time; nothing is raised.
The first failure opens the breaker: for a while nobody asks, then one does. A failed upload stops
uploads only, as a server that is full can still be read. Nothing is deleted because of a failure.

What is quick to work out (rows about sources) is neither looked for nor kept here, and keys are not
listed: those of this machine are listed in its own directory.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from whorl.artifacts import FORMAT, HINT, Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.lazy import importing
from whorl.locks import reset_in_child
from whorl.store import (
    BaseStore,
    Ending,
    Failed,
    Found,
    Got,
    Leases,
    Put,
    Skipped,
    Statistics,
)
from whorl.store.listing import Name
from whorl.store.outcome import ABSENT, STORED, Removed, check_key

from .address import Address
from .behind import END, Behind
from .breaker import Breaker
from .engine import Engine, EngineTrouble
from .seal import FORMAT as SEAL_FORMAT
from .seal import BadSeal, SealedEntry, Sealer
from .server import Resting, Server

__all__ = ["FarStore", "name_of", "place_of"]

T = TypeVar("T")
REMEMBERED_FOR: Final = 0.5  # seconds: one lookup asks for some names twice
_REMEMBERED: Final = 256
_ELSEWHERE: Final = 32  # entries of a group that an explanation looks at
_SMALL: Final = 1 << 18  # bytes of an entry that is remembered
_SWAPS: Final = 5
_QUICK: Final = ("source",)  # kinds that are quicker to make than to fetch
_VERSION: Final = f"v{FORMAT}.{SEAL_FORMAT}/"


def name_of(key: StableDigest, under: StableDigest | None) -> str:
    """What a server calls an entry; other formats of entries and seals have other names.

    >>> name_of(StableDigest("0" * 32), None)
    'v1.2/00000000000000000000000000000000'
    """
    return f"{_VERSION}{key}" if under is None else f"{_VERSION}{under}-{key}"


def place_of(name: str) -> Name | None:
    """Which entry has a name; None for other names, such as those of leases."""
    under, _, key = name.removeprefix(_VERSION).rpartition("-")
    if not name.startswith(_VERSION) or len(key) != 32 or len(under) not in (0, 32):
        return None
    try:
        bytes.fromhex(key + under)
        return Name(StableDigest(key), StableDigest(under) if under else None)
    except ValueError:
        return None


class FarStore(BaseStore):
    """Entries on a server that others use too. `make_engine` opens a new connection to it."""

    def __init__(
        self,
        address: Address,
        sealer: Sealer,
        make_engine: Callable[[Address], Engine],
        *,
        reading: Breaker | None = None,
        writing: Breaker | None = None,
    ) -> None:
        self.address = address
        self.sealer = sealer
        self.server = Server(address, make_engine, reading, writing)
        self.queue = Behind(self._dropped)
        self._offered: set[str] = set()
        self._leases: Leases | None = None
        self.dropped = 0  # entries that were to be uploaded and are not
        self.reset_in_child()
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """Answers and uploads are those of the parent."""
        self._recent: dict[str, tuple[float, Entry | None]] = {}
        self._queued: dict[str, Entry] = {}

    def __repr__(self) -> str:
        return f"<shared cache {self.address.url}>"

    @property
    def is_far(self) -> bool:
        """Yes."""
        return True

    @property
    def why_not_written(self) -> str | None:
        """Why nothing is uploaded; None if entries are."""
        if self.address.readonly:
            return "the store is read-only"
        return None if self.sealer.can_seal else "there is no key to seal entries with"

    @property
    def leases(self) -> Leases | None:
        """Those of the server; none for who could not upload what others wait for."""
        if self._leases is None and self.why_not_written is None:
            with importing:
                from .far_lease import FarLeases

            try:
                engine = self.server.engine()
            except EngineTrouble:  # the first lookup says why
                return None
            self._leases = FarLeases(self) if engine.can_lease else None
            engine.close()
        return self._leases

    def report_to(self, statistics: Statistics) -> None:
        """Count there what this store does."""
        self.server.statistics = statistics

    # -- reading ------------------------------------------------------------------------

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Got:
        """The entry of a key, checked."""
        check_key(key, under)
        name = name_of(key, under)
        queued = self._queued.get(name)
        if queued is not None:
            return Found(queued)
        recent = self._recent.get(name)
        if recent is not None and time.monotonic() - recent[0] < REMEMBERED_FOR:
            return ABSENT if recent[1] is None else Found(recent[1])
        sealed = self.server.ask(
            "get", lambda engine: engine.get(name, self.sealer.max_size + 1024)
        )
        if isinstance(sealed, EngineTrouble):
            return Failed(str(sealed), Ending.UNREADABLE)
        if isinstance(sealed, Resting):
            return ABSENT
        if sealed is None:
            self.server.count(misses=1)
            self._remember(name, None)
            return ABSENT
        try:
            entry = self.sealer.open(sealed, key, under)
        except BadSeal as bad:
            return self._refused(name, bad)
        self.server.count(hits=1, bytes_in=len(sealed), seconds_saved=entry.seconds)
        self._remember(name, entry)
        return Found(entry)

    def _refused(self, name: str, bad: BadSeal) -> Failed:
        self.server.count(misses=1, **{f"refused: {bad}": 1})
        self.server.warn_once(
            bad.fault, "an entry of %s is not used: %s (%s)", self.address.url, bad, name
        )
        self._remember(name, None)
        return Failed(str(bad), Ending.UNSAFE)

    def _remember(self, name: str, entry: Entry | None) -> None:
        if len(self._recent) >= _REMEMBERED:
            self._recent.clear()
        if entry is None or len(entry.data) <= _SMALL:
            self._recent[name] = time.monotonic(), entry

    def forget_answers(self) -> None:
        """Ask again for what was asked for a moment ago: others may have been at work."""
        self._recent.clear()

    def label(self, key: StableDigest, under: StableDigest | None = None) -> Label | None:
        """Nothing: who looks at labels looks at entries of this machine."""
        return None

    def iterate(self, under: StableDigest | None = None) -> Iterator[StableDigest]:
        """No keys: listings are those of this machine."""
        return iter(())

    def elsewhere(self, under: StableDigest) -> Iterator[tuple[str, Entry]]:
        """Entries of a group on the server, each with the machine that sealed it; not too many."""
        prefix = f"{_VERSION}{under}-"
        found = self.server.ask("list", lambda engine: [*islice(engine.names(prefix), _ELSEWHERE)])
        if isinstance(found, EngineTrouble | Resting):
            return
        for place in filter(None, map(place_of, found)):
            got = self.get(place.key, place.under)
            if isinstance(got, Found):
                entry = got.entry
                yield entry.machine if isinstance(entry, SealedEntry) else "", entry

    def places(self) -> Iterator[Name]:
        """Every entry on the server; `EngineTrouble` if it cannot be asked."""
        engine = self.server.engine()
        try:
            for name in engine.names():
                place = place_of(name)
                if place is not None:
                    yield place
        finally:
            engine.close()

    # -- writing ------------------------------------------------------------------------

    def put(self, entry: Entry) -> Put:
        """Queue an entry for upload."""
        check_key(entry.key, entry.under)
        reason = self.why_not_written
        if isinstance(entry, SealedEntry) and entry.namespace == self.address.namespace:
            reason = "the store is read-only" if self.address.readonly else None
        if isinstance(entry, SealedEntry) and not (entry.is_signed or self.sealer.trust_all):
            reason = "nobody who is trusted has sealed it"
        if reason is not None:
            return Skipped(reason)
        kind = _kind(entry)
        if kind in _QUICK:
            return Skipped("it is quicker to make than to fetch")
        if len(entry.data) > self.sealer.max_size:
            return Skipped(f"it is larger than an entry may be ({self.sealer.max_size} bytes)")
        name = name_of(entry.key, entry.under)
        task = partial(self._upload_hint if kind == HINT else self._upload, name, entry)
        self._queued[name] = entry
        if not self.queue.add(name, task, len(entry.data)):
            self._queued.pop(name, None)
            self._dropped(1)
            return Failed("too much waits to be uploaded", Ending.NOT_STORED)
        return STORED

    def put_near(self, entry: Entry) -> Put:
        """Nothing: what is kept near is not uploaded."""
        return Skipped("it is not near")

    def offer(self, entry: Entry) -> None:
        """Upload an entry that was found nearer, once, if `reshare` says so."""
        name = name_of(entry.key, entry.under)
        if self.address.reshare and name not in self._offered:
            self._offered.add(name)
            self.put(entry)

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Removed:
        """Forget an entry, because somebody wants that."""
        check_key(key, under)
        if self.address.readonly:
            return Failed("the store is read-only", Ending.NOT_WRITABLE)
        name = name_of(key, under)
        self._recent.pop(name, None)
        if self._queued.pop(name, None) is not None:
            self.queue.flush(END)
        removed = self.server.ask(
            "remove", lambda engine: engine.remove(name), breaker=self.server.writing
        )
        if isinstance(removed, EngineTrouble | Resting):
            return Failed(str(removed), Ending.NOT_WRITABLE)
        return STORED if removed else ABSENT

    def flush(self, seconds: float = END) -> bool:
        """Wait until all is uploaded, so long; whether it is."""
        return self.queue.flush(seconds)

    def _upload(self, name: str, entry: Entry) -> None:
        """In the thread for uploads: seal an entry and send it."""
        if self._queued.get(name) is not entry:  # removed meanwhile
            return
        try:
            sealed = self.sealer.seal(entry)
            done = self._write(lambda engine: engine.put(name, sealed, self.address.ttl))
            if not isinstance(done, EngineTrouble | Resting):
                seconds = entry.seconds
                self.server.count(stored=1, bytes_out=len(sealed), seconds_shared=seconds)
        finally:
            self._uploaded(name, entry)

    def _upload_hint(self, name: str, entry: Entry) -> None:
        """The same for a hint, joined with what others have put there: none of it is lost."""
        if self._queued.get(name) is not entry:
            return
        try:
            for _ in range(_SWAPS):
                old = self._write(lambda engine: engine.get(name, self.sealer.max_size + 1024))
                if isinstance(old, EngineTrouble | Resting):
                    return
                if self._join_hint(name, entry, old):
                    return
        finally:
            self._uploaded(name, entry)

    def _join_hint(self, name: str, entry: Entry, old: bytes | None) -> bool:
        """Put the hint of `old` and of an entry; False if somebody else was faster."""
        with importing:
            from .hint_merge import merged_hints

        theirs = None
        if old is not None:
            with contextlib.suppress(BadSeal):  # then it is replaced
                theirs = self.sealer.open(old, entry.key, None)
        if theirs is not None and self.sealer.signer is None and not self.sealer.trust_all:
            return True  # what is there stays
        for hint in merged_hints(entry, theirs):
            sealed = self.sealer.seal(hint)
            if hint.key == entry.key:
                swap = partial(_swap, name, old, sealed, self.address.ttl)
            else:
                swap = partial(_put, name_of(hint.key, None), sealed, self.address.ttl)
            done = self._write(swap)
            if done is False:
                return False
            if done is True:
                self.server.count(stored=1, bytes_out=len(sealed))
        return True

    def _uploaded(self, name: str, entry: Entry) -> None:
        if self._queued.get(name) is entry:
            self._queued.pop(name, None)

    def _write(self, operation: Callable[[Engine], T]) -> T | EngineTrouble | Resting:
        result = self.server.ask("put", operation, breaker=self.server.writing)
        if isinstance(result, EngineTrouble | Resting):
            self._dropped(1, is_known=isinstance(result, Resting))
        return result

    def _dropped(self, number: int, *, is_known: bool = False) -> None:
        """Count uploads that do not happen; warn unless it is known that the server is down."""
        self.dropped += number
        self.server.count(dropped=number)
        if not is_known:
            self.server.warn_once(
                "dropped",
                "not all that was made is uploaded to %s; `whorl remote push` uploads it later",
                self.address.url,
            )


def _swap(name: str, old: bytes | None, new: bytes, ttl: float | None, engine: Engine) -> bool:
    return engine.swap(name, old, new, ttl)


def _put(name: str, new: bytes, ttl: float | None, engine: Engine) -> bool:
    engine.put(name, new, ttl)
    return True


def _kind(entry: Entry) -> str:
    try:
        return entry.label.kind
    except Damaged:
        return ""
