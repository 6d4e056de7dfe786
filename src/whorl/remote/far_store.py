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
from typing import Final, TypeVar

from whorl.artifacts import FORMAT, HINT, Damaged, Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.late import dataclass
from whorl.lazy import importing, logger
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
from whorl.store.outcome import ABSENT, STORED, Removed, check_key

from .address import Address
from .behind import END, Behind
from .breaker import Breaker
from .engine import Engine, Reason, Trouble
from .seal import BadSeal, SealedEntry, Sealer

__all__ = ["FarStore", "Place", "name_of", "place_of"]

log = logger("whorl.remote")

T = TypeVar("T")
REMEMBERED_FOR: Final = 0.5  # seconds: one lookup asks for some names twice
_REMEMBERED: Final = 256
_SMALL: Final = 1 << 18  # bytes of an entry that is remembered
_IDLE_ENGINES: Final = 4
_SWAPS: Final = 5
_QUICK: Final = ("source",)  # kinds that are quicker to make than to fetch
_VERSION: Final = f"v{FORMAT}/"


@dataclass(frozen=True, slots=True)
class Place:
    """The key of an entry and its group."""

    key: StableDigest
    under: StableDigest | None = None


def name_of(key: StableDigest, under: StableDigest | None) -> str:
    """What a server calls an entry; another format of entries has other names.

    >>> name_of(StableDigest("0" * 32), None)
    'v1/00000000000000000000000000000000'
    """
    return f"{_VERSION}{key}" if under is None else f"{_VERSION}{under}-{key}"


def place_of(name: str) -> Place | None:
    """Which entry has a name; None for other names, such as those of leases."""
    under, _, key = name.removeprefix(_VERSION).rpartition("-")
    if not name.startswith(_VERSION) or len(key) != 32 or len(under) not in (0, 32):
        return None
    try:
        bytes.fromhex(key + under)
        return Place(StableDigest(key), StableDigest(under) if under else None)
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
        self.reading = reading or Breaker()
        self.writing = writing or Breaker()
        self.queue = Behind(self._dropped)
        self._make_engine = make_engine
        self._statistics = Statistics()
        self._warned: set[object] = set()
        self._offered: set[str] = set()
        self._leases: Leases | None = None
        self.reset_in_child()
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """Connections, answers and uploads are those of the parent."""
        self._idle: list[Engine] = []
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
                engine = self._engine()
            except Trouble:  # the first lookup says why
                return None
            self._leases = FarLeases(self) if engine.can_lease else None
            self._idle.append(engine)
        return self._leases

    def report_to(self, statistics: Statistics) -> None:
        """Count there what this store does."""
        self._statistics = statistics

    def count(self, **numbers: float) -> None:
        """Add to what this tier has done."""
        self._statistics.tier(self.address.name, **numbers)

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
        sealed = self.ask(lambda engine: engine.get(name, self.sealer.max_size + 1024))
        if isinstance(sealed, Trouble):
            return Failed(str(sealed), Ending.UNREADABLE)
        if isinstance(sealed, Resting):
            return ABSENT
        if sealed is None:
            self.count(misses=1)
            self._remember(name, None)
            return ABSENT
        try:
            entry = self.sealer.open(sealed, key, under)
        except BadSeal as bad:
            return self._refused(name, bad)
        self.count(hits=1, bytes_in=len(sealed), seconds_saved=entry.seconds)
        self._remember(name, entry)
        return Found(entry)

    def _refused(self, name: str, bad: BadSeal) -> Failed:
        self.count(misses=1, **{f"refused: {bad}": 1})
        self.warn_once(
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

    def places(self) -> Iterator[Place]:
        """Every entry on the server; `Trouble` if it cannot be asked. For the command line."""
        engine = self._engine()
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
        removed = self.ask(lambda engine: engine.remove(name), breaker=self.writing)
        if isinstance(removed, Trouble | Resting):
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
            if not isinstance(done, Trouble | Resting):
                self.count(stored=1, bytes_out=len(sealed))
        finally:
            self._uploaded(name, entry)

    def _upload_hint(self, name: str, entry: Entry) -> None:
        """The same for a hint, joined with what others have put there: none of it is lost."""
        if self._queued.get(name) is not entry:
            return
        try:
            for _ in range(_SWAPS):
                old = self._write(lambda engine: engine.get(name, self.sealer.max_size + 1024))
                if isinstance(old, Trouble | Resting):
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
                self.count(stored=1, bytes_out=len(sealed))
        return True

    def _uploaded(self, name: str, entry: Entry) -> None:
        if self._queued.get(name) is entry:
            self._queued.pop(name, None)

    def _write(self, operation: Callable[[Engine], T]) -> T | Trouble | Resting:
        result = self.ask(operation, breaker=self.writing)
        if isinstance(result, Trouble | Resting):
            self._dropped(1)
        return result

    def _dropped(self, number: int) -> None:
        self.count(dropped=number)
        self.warn_once(
            "dropped",
            "not all that was made is uploaded to %s; `whorl remote push` uploads it later",
            self.address.url,
        )

    # -- asking -------------------------------------------------------------------------

    def ask(
        self, operation: Callable[[Engine], T], *, breaker: Breaker | None = None
    ) -> T | Trouble | Resting:
        """What the server answers; why it does not; or `RESTING` while nobody asks."""
        breaker = breaker or self.reading
        if (self.reading.is_open and breaker is self.writing) or not breaker.allows():
            self.count(rests=1)
            return RESTING
        start = time.perf_counter()
        engine: Engine | None = None
        try:
            engine = self._engine()
            result = operation(engine)
        except Exception as error:  # whatever it is, the program goes on
            if engine is not None:
                engine.close()
            trouble = error if isinstance(error, Trouble) else _unforeseen(error)
            return self._troubled(trouble, breaker, time.perf_counter() - start)
        except BaseException:
            if engine is not None:
                engine.close()
            raise
        breaker.closed()
        self.count(requests=1, seconds=time.perf_counter() - start)
        if len(self._idle) < _IDLE_ENGINES:
            self._idle.append(engine)
        else:
            engine.close()
        return result

    def _troubled(self, trouble: Trouble, breaker: Breaker, seconds: float) -> Trouble:
        if trouble.reason is not Reason.TOO_LARGE:  # that is the entry, not the server
            breaker.opened()
        self.count(requests=1, seconds=seconds, **{f"error: {trouble.reason.value}": 1})
        self.warn_once(
            trouble.reason,
            "%s is not used for %.0f s: %s. The program goes on without.",
            self.address.url,
            breaker.rest,
            trouble,
        )
        return trouble

    def _engine(self) -> Engine:
        try:
            return self._idle.pop()
        except IndexError:
            return self._make_engine(self.address)

    def warn_once(self, topic: object, message: str, *words: object) -> None:
        """Warn, unless something of the same topic was said before."""
        if topic not in self._warned:
            self._warned.add(topic)
            log.warning(message, *words)


class Resting:
    """In place of an answer while the breaker is open."""

    def __str__(self) -> str:
        return "it failed a moment ago"


RESTING: Final = Resting()


def _swap(name: str, old: bytes | None, new: bytes, ttl: float | None, engine: Engine) -> bool:
    return engine.swap(name, old, new, ttl)


def _put(name: str, new: bytes, ttl: float | None, engine: Engine) -> bool:
    engine.put(name, new, ttl)
    return True


def _unforeseen(error: Exception) -> Trouble:
    return Trouble(Reason.OTHER, type(error).__name__)


def _kind(entry: Entry) -> str:
    try:
        return entry.label.kind
    except Damaged:
        return ""
