"""Gets the result of a call: from memory, from the store, or by a run of the function.

recall     in memory, by a memo key of the arguments, while all dependencies hold
request    dependencies, arguments and declared inputs make the key: see `request`
find       in memory by key, then in the store
make       once among all threads and processes; stored if nothing has changed meanwhile
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from whorl import settings
from whorl.artifacts import Part
from whorl.calls.events import emit, listeners
from whorl.calls.explanation import (
    COMPARED,
    FIRST_CALL,
    Explanation,
    explain_miss,
    function_miss,
)
from whorl.errors import RequiredHit
from whorl.fingerprint import Digest
from whorl.store import Ending
from whorl.store.cache import StoredSources, cache_state
from whorl.store.journal import Change, MissOutcome, is_hit_required, record_miss
from whorl.store.status_line import Progress

from .concurrent_writes import ConcurrentWrites, watch_writes
from .dependencies import UnstableReads
from .lifetime import has_passed
from .request import RequestBuilder, ResultRequest, changed_names
from .result_store import LABELS_READ, LiveResults, Result, RunOutcome, StoredResults

log = logging.getLogger("whorl.steps")

ROWS_KEPT: Final = 4096
BYTES_KEPT: Final = 64 << 20
LARGE: Final = 1 << 20  # a result of so many bytes is read again rather than held

settings_epoch: Final[list[object]] = [object()]
"""Holds one object, which is another after settings have changed."""

Row = tuple[Callable[[], bool], Result]
"""A result in memory, and what says whether it is still right."""


class Results:
    """The results of one function or step."""

    def __init__(
        self,
        requests: RequestBuilder,
        store: StoredResults | LiveResults,
        lifetime: float = math.inf,
    ) -> None:
        self.name = requests.name
        self.requests = requests
        self.store = store
        self.lifetime = lifetime
        self.memo = requests.memo
        self.has_declared = requests.has_declared
        self.rows: dict[object, Row] = {}
        self.recalled = 0
        self.counts: Counter[str] = Counter()
        self.epoch: object = None  # settings are not read before the first call
        self.is_off = False
        self._by_key: dict[Digest, Result] = {}
        self._bytes = 0

    def follow_settings(self) -> None:
        """Reset if settings have changed since the last call."""
        if self.epoch is not settings_epoch[0]:
            self.reset()

    def reset(self) -> None:
        """Forget what is in memory."""
        self.epoch = settings_epoch[0]
        self.is_off = self.store.is_off
        self.rows = {}
        self._by_key = {}
        self._bytes = 0
        for name in self.requests.declared.missing():
            log.warning("%s declares the file %s, which is not there", self.name, name)

    def request(self, values: Sequence[Any]) -> ResultRequest:
        """The key of a call, and what it is made of."""
        self.follow_settings()
        request = self.requests.build(values, self._sources())
        self.store.check(request.key)
        return request

    def _sources(self) -> StoredSources:
        return StoredSources(self.store.flights.store)

    # -- finding --------------------------------------------------------------------------

    def recall(self, memo: object) -> Result | None:
        """The result in memory for arguments that this stands for, if it is still right."""
        row = self.rows.get(memo)
        if row is None or not row[0]():
            return None
        self.recalled += 1
        if listeners:
            emit("recalled", self.name)
        return row[1]

    def find(self, request: ResultRequest, memo: object) -> Result | None:
        """The result of a request, in memory or in the store."""
        result = self._by_key.get(request.key)
        if result is not None and has_passed(result.made, self.lifetime):
            del self._by_key[request.key]
            result = None
        if result is None:
            result = self.store.find(request.key, count=True)
            if result is None:
                return None
            self.counts["found"] += 1
            if listeners:
                emit("found", self.name, key=request.key)
        else:
            self.recalled += 1
        self.remember(request, memo, result)
        return result

    def find_again(self, request: ResultRequest, theirs: Result | None) -> Result | None:
        """The result after a wait for somebody else, who may have left it."""
        if theirs is not None and theirs.is_shared:
            return theirs
        return self.store.find(request.key, count=False)

    def remember(self, request: ResultRequest, memo: object, result: Result) -> None:
        """Let the next call of this kind find it at once."""
        if not result.is_shared or result.size > LARGE:
            return
        if len(self.rows) >= ROWS_KEPT or self._bytes > BYTES_KEPT:
            self.reset()
        if request.key not in self._by_key:
            self._by_key[request.key] = result
            self._bytes += result.size
        holds = request.dependencies.holds
        if self.lifetime == math.inf:
            self.rows[memo] = holds, result
        else:
            self.rows[memo] = lambda: holds() and not has_passed(result.made, self.lifetime), result

    def obtain(
        self, build: Callable[[], tuple[object, ResultRequest]], run: Callable[[], Any]
    ) -> Any:
        """The result of a call that is not in memory; `build` returns its memo and its request."""
        try:
            memo, request = build()
        except UnstableReads as error:
            return self.run_without_key(error, run)
        return (self.find(request, memo) or self.make(request, memo, run)).value()

    # -- running --------------------------------------------------------------------------

    def run_without_cache(self, run: Callable[[], Any], why: str = "the cache is off") -> Any:
        """What a run returns that is not looked up, because the cache is off."""
        if is_hit_required():
            raise RequiredHit(self.name, why, cache_state(self.store.flights))
        self.counts["ran"] += 1
        if listeners:
            emit("compiling", self.name)
        return run()

    def run_without_key(self, error: UnstableReads, run: Callable[[], Any]) -> Any:
        """What a run returns that has no key, because what it reads changes all the time."""
        if not self.counts["not kept"]:
            log.warning("%s", error)
        self.counts["not kept"] += 1
        return self.run_without_cache(run, str(error))

    def make(self, request: ResultRequest, memo: object, run: Callable[[], Any]) -> Result:
        """Have the result made, by this thread or another."""

        def produce() -> Result:
            parts, start = request.parts(), self.start_run()
            with (
                Progress(self.name, self.last_seconds),
                watch_writes(request.dependencies.places) as writes,
            ):
                value = run()
            return self.finish_run(request, value, start, parts, writes)

        def find_again(theirs: Result | None) -> Result | None:
            return self.find_again(request, theirs)

        with self.record_miss(request) as outcome:
            result, outcome.how = self.store.flights.once(
                self.flight(request), find_again, produce, what=self.name
            )
        if outcome.how is Ending.WAITED:
            self.counts["waited"] += 1
        self.remember(request, memo, result)
        return result

    def flight(self, request: ResultRequest) -> str:
        """The name under which one makes it and others wait."""
        return f"result-{request.key}"

    def start_run(self) -> float:
        """A run begins now."""
        if listeners:
            emit("compiling", self.name)
        return time.perf_counter()

    def finish_run(
        self,
        request: ResultRequest,
        value: Any,
        start: float,
        parts: tuple[Part, ...],
        writes: ConcurrentWrites,
    ) -> Result:
        """A run has ended: store its result, if nothing that its key is made of has changed."""
        seconds = time.perf_counter() - start
        self.counts["ran"] += 1
        if listeners:
            emit("compiled", self.name, seconds=seconds)
        refusal = self.requests.change_since(request, parts, self._sources())
        if not refusal and writes.name:
            refusal = (
                f"another thread changed {writes.name} that it may read while it ran, and set it "
                "back. Let what changes be an argument"
            )
        result = self.store.keep(request.key, RunOutcome(value, seconds, parts, refusal))
        if not result.is_stored:
            self.counts["not kept"] += 1
        elif listeners:
            emit("stored", self.name, key=request.key)
        return result

    def last_seconds(self) -> float | None:
        """How long the last run took, if that is known."""
        for label in self.store.labels(COMPARED):
            return label.seconds
        return None

    # -- explanations ---------------------------------------------------------------------

    @contextlib.contextmanager
    def record_miss(self, request: ResultRequest) -> Iterator[MissOutcome]:
        """A call found nothing: the run in the block is counted and written into the journal.

        Raises `RequiredHit` where a miss is an error. Results that live in this process only are
        made in any case: no earlier process could have left them.
        """
        flights = self.store.flights
        journal = flights.journal
        self.counts["missed"] += 1
        explanation = explain_miss(
            self.name,
            lambda most: self._compare(request, LABELS_READ if most is None else most),
            is_journaled=journal is not None,
        )
        if isinstance(self.store, LiveResults):
            yield MissOutcome()
            return
        miss = function_miss(self.name, explanation)
        state = cache_state(flights)
        with record_miss(miss, explanation, flights.statistics, journal, state) as outcome:
            outcome.key = request.key
            yield outcome

    def explain(self, request: ResultRequest) -> Explanation:
        """Whether a call would be a hit, and why not."""
        if self.is_off:
            return Explanation(self.name, "miss", "the cache is off")
        known = self._by_key.get(request.key)
        if known is not None and not has_passed(known.made, self.lifetime):
            return Explanation(self.name, "hit", "its result is in memory")
        if self.store.find(request.key, count=False) is not None:
            return Explanation(self.name, "hit", "its result is in the store")
        return self._compare(request, LABELS_READ)

    def _compare(self, request: ResultRequest, most: int) -> Explanation:
        """Why nothing was found: a comparison with the nearest of so many stored results."""
        now = dict(request.parts())
        nearest: tuple[Change, ...] | None = None
        for label in self.store.labels(most):
            changes = changed_names(dict(label.parts), now)
            if nearest is None or len(changes) < len(nearest):
                nearest = changes
        if nearest is None:
            return Explanation(self.name, "miss", FIRST_CALL)
        if not nearest and self.lifetime != math.inf:
            why = f"its result has expired, after {self.lifetime:g} s, or is no longer in the store"
            return Explanation(self.name, "miss", why)
        if not nearest:
            return Explanation(
                self.name, "miss", "its result is no longer in the store, or cannot be read"
            )
        count = len(nearest)
        differ = f"{count} {'part differs' if count == 1 else 'parts differ'}"
        return Explanation(self.name, "miss", f"{differ} from the nearest result", nearest)

    # -- maintenance ----------------------------------------------------------------------

    def forget(self, request: ResultRequest) -> bool:
        """Forget the result of a call; whether there was one."""
        in_memory = self._by_key.pop(request.key, None) is not None
        self.rows = {}
        return self.store.forget(request.key) or in_memory

    def forget_all(self) -> int:
        """Forget every result; how many there were."""
        self.reset()
        return self.store.forget_all()

    def stats(self) -> dict[str, int]:
        """How often each ending was met in this process."""
        names = ("found", "missed", "ran", "waited", "not kept")
        return {"recalled": self.recalled, **{name: self.counts[name] for name in names}}


def _on_settings(before: settings.Settings, after: settings.Settings) -> None:
    if _place(before) != _place(after):
        settings_epoch[0] = object()


def _place(given: settings.Settings) -> tuple[str, str, str]:
    return given.cache.value, given.cache_place.value, given.cache_salt.value


settings.on_change(_on_settings)
