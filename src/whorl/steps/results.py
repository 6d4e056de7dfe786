"""The arguments of a call in, its result out: recalled, found, or made by whoever is first.

    recall     in memory, by what the arguments are; the check of the world says if it is right
    request    the classes of the arguments, the world, what was declared: they make the key
    find       in memory by key, then where results are kept
    make       once among all threads and processes; kept if nothing has changed meanwhile

The key is

    digest(world, arguments, declared files and variables, salts, way of writing down)

and the world is the function's code with all that it reads: see `world`.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl import settings
from whorl.artifacts import Part
from whorl.calls.events import emit, listeners
from whorl.calls.explanation import COMPARED, Change, Explanation, changed_parts, explain_miss
from whorl.calls.miss_entry import FIRST_CALL, function_miss
from whorl.calls.sources import StoredSources
from whorl.errors import Drifted, RequiredHit, UnsupportedValue
from whorl.fingerprint import Digest, ProcessDigest, StableDigest
from whorl.fingerprint.digest import hash_hex
from whorl.fingerprint.lookup import class_name, module_name
from whorl.fingerprint.names import known_module_name
from whorl.fingerprint.refusal import DEFAULT_REMEDY
from whorl.fingerprint.tokens import marshalled
from whorl.late import dataclass
from whorl.lazy import importing
from whorl.store import Ending
from whorl.store.miss_recording import MissOutcome, is_hit_required, record_miss

from .arguments import Arguments
from .declared import Declared
from .keeper import LABELS_READ, Kept, Live, Made, Written
from .outside import FILES
from .parameters import Content
from .progress import Progress
from .spelling import spelled
from .values import Serializer
from .world import EVERYTHING, LOCKS, Surroundings, Told, Unsteady, World, world_of
from .written_by import WrittenBy

if TYPE_CHECKING:
    from .writes import Writes

__all__ = ["Request", "Results", "Row"]

log = logging.getLogger("whorl.steps")
why = logging.getLogger("whorl.why")

FORMAT: Final = 1  # raise when keys or records change their meaning
WORLDS_KEPT: Final = 64
ROWS_KEPT: Final = 4096
BYTES_KEPT: Final = 64 << 20
LARGE: Final = 1 << 20  # a result of so many bytes is read again rather than held


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One call on its way: what is asked for, and everything that its key is made of."""

    key: Digest
    world: World
    arguments: tuple[tuple[str, object, Digest], ...]  # name, value, digest
    said: tuple[list[Any], ...]  # declared files and variables, salts: names and values

    def parts(self) -> tuple[Part, ...]:
        """What the key is made of, in words."""
        rows = (spelled(f"arg:{name}", value, digest) for name, value, digest in self.arguments)
        named = (Part(*row) for spelt in rows for row in spelt)
        said = (Part(name, "not there" if held is None else held) for name, held in self.said)
        return (*self.world.parts(), *named, *said)


OnDrift = Literal["rerun", "raise"]
Who = Callable[[], object]

Row = tuple[Callable[[], bool], Kept]
"""A result in memory, and what says whether it is still right."""


def _is_within(path: str, names: list[str]) -> bool:
    """Whether one of the parts that differ is this one, or an item or attribute of it."""
    return any(name == path or name.startswith((f"{path}[", f"{path}.")) for name in names)


class Results:
    """The results of one function or step, and how to come by them."""

    def __init__(
        self,
        name: str,
        root: object,
        keeper: Written | Live,
        arguments: Arguments,
        *,
        names: tuple[str, ...],
        surroundings: Surroundings,
        declared: Declared,
        reads: Sequence[object] = (),
        salt: str = "",
        serializer: Serializer | None = None,
        on_drift: OnDrift = "rerun",
    ) -> None:
        self.name = name
        self.keeper = keeper
        self.declared = declared
        self.has_declared = bool(declared)
        self.arguments = arguments
        self.names = names  # of the arguments, for errors
        self.rows: dict[object, Row] = {}
        self.recalled = 0
        self.counts: Counter[str] = Counter()
        self.epoch: object = None  # settings are not read before the first call
        self.is_off = False
        self._root = root
        self._reads = tuple(reads)
        self._surroundings = surroundings
        self._salt = salt
        self._written_by = WrittenBy(name, serializer, surroundings)
        self._on_drift = on_drift
        self._first: dict[tuple[int, ...], tuple[object, StableDigest, dict[str, str]]] = {}
        self._worlds: dict[tuple[int, ...], tuple[tuple[object, ...], World]] = {}
        self._by_key: dict[Digest, Kept] = {}
        self._bytes = 0

    @staticmethod
    def now() -> object:
        """What is another object after settings have changed."""
        return _epoch[0]

    def begin_again(self) -> None:
        """Forget what is in memory: settings have changed."""
        self.epoch = _epoch[0]
        self.is_off = self.keeper.is_off
        self.rows = {}
        self._by_key = {}
        self._bytes = 0
        for name in self.declared.missing():
            log.warning("%s declares the file %s, which is not there", self.name, name)

    def told(self, *, is_all: bool = True) -> Told:
        """What others have to know who call it; `is_all`: all files that it reads are declared."""
        said = self._surroundings
        kinds = said.kinds if is_all else said.kinds - {FILES.name}
        return Told(self._root, self.declared, said.ignores, kinds)

    # -- asking ---------------------------------------------------------------------------

    def memo(self, values: tuple[Any, ...]) -> object:
        """What stands for the arguments and what was declared, in this process. Hot."""
        try:
            memo = self.arguments.memo(values)
        except UnsupportedValue as error:
            raise self._named(error, values) from None
        return (memo, marshalled(self.declared.now())) if self.has_declared else memo

    def _named(self, error: UnsupportedValue, values: tuple[Any, ...]) -> UnsupportedValue:
        """The same, with the name of the parameter in the place of its number."""
        number, _, rest = error.path.removeprefix("value[").partition("]")
        if not number.isdigit() or int(number) >= len(self.names):
            return error
        name, remedy = self.names[int(number)], error.remedy
        if remedy == DEFAULT_REMEDY:
            remedy = self._remedy(name, type(values[int(number)]), rest, error.type_name)
        path = f"argument {name}{rest} of {self.name}"
        return UnsupportedValue(path, error.type_name, error.reason, remedy)

    def _remedy(self, name: str, cls: type, rest: str, kind: str) -> str:
        """What to do about an argument of a class: something of a kind in it has no fingerprint."""
        home = self.arguments.policy._describer.home(module_name(cls)).kind
        if kind in LOCKS and (not rest or module_name(cls) == "threading"):
            return f"No result depends on a lock: leave the parameter out with exclude=[{name!r}]."
        if kind in LOCKS and rest[1:].isidentifier() and home == "user":
            marker = f"@whorl.exclude({rest[1:]!r}) above class {class_name(cls)}"
            return f"No result depends on a lock: leave it out with {marker}."
        counts = "Pass what counts of it (numbers, texts, arrays) in its place"
        if module_name(cls) in ("builtins", "_thread"):  # no rule can be given to these
            return f"{counts}."
        return (
            f"{counts}, or say what stands for it: key=whorl.Fingerprinter(rules="
            f"{{{class_name(cls)}: function}}), with a function that takes the {class_name(cls)} "
            "and returns what counts."
        )

    def request(self, names: Sequence[str], values: Sequence[Any]) -> Request:
        """The key of a call, and what it is made of."""
        if self.epoch is not _epoch[0]:
            self.begin_again()
        with StoredSources(self.keeper.flights.store):
            world = self.world(values)
        digests = [self.arguments.digest(value) for value in values]
        said = self._said()
        parts = ("result", FORMAT, str(world.digest), list(map(str, digests)), *said)
        text = hash_hex(marshalled(parts))
        stable = all(isinstance(digest, StableDigest) for digest in digests)
        key = StableDigest(text) if stable else ProcessDigest(text)
        self.keeper.check(key)
        return Request(key, world, tuple(zip(names, values, digests, strict=True)), said)

    def _said(self) -> tuple[list[Any], ...]:
        salts = {
            "salt": self._salt,
            "WHORL_CACHE_SALT": settings.current().cache_salt.value,
            "written by": self._written_by.now(),
        }
        return (*self.declared.now(), *([name, held] for name, held in salts.items() if held))

    def world(self, values: Sequence[Any]) -> World:
        """The world for arguments like these, as it is now."""
        classes, codes = self.arguments.classes(values), self.arguments.codes(values)
        beside = (*classes, *codes)
        place = tuple(map(id, beside))
        known = self._worlds.get(place)
        if known is not None and known[1].holds():
            return known[1]
        roots = (*self._reads, *beside)
        world = world_of(self._root, roots, classes, self._surroundings, self.name)
        if len(self._worlds) >= WORLDS_KEPT:
            self._worlds.clear()
        self._worlds[place] = beside, world
        if self._on_drift == "raise":
            self._check_drift(beside, world)
        return world

    def _check_drift(self, beside: tuple[object, ...], world: World) -> None:
        """Raise if the world is not the one of the first call."""
        place = tuple(map(id, beside))  # of what is kept alive with it
        if place not in self._first:
            if len(self._first) >= ROWS_KEPT:
                self._first.clear()
            self._first[place] = beside, world.digest, dict(world.parts())
        _, digest, before = self._first[place]
        if digest == world.digest:
            return
        changes = tuple(
            (change.path, change.old, change.new)
            for change in _changes(before, dict(world.parts()))
        )
        self._worlds.pop(place, None)
        raise Drifted(
            self.name,
            changes,
            made="reads",
            remedy='Restore it, or let the function run again with on_drift="rerun".',
        )

    # -- finding --------------------------------------------------------------------------

    def counted(self, run: Callable[[], Any]) -> Any:
        """What a run returns, where nothing is kept."""
        if is_hit_required():
            raise RequiredHit(self.name, "the cache is off")
        self.counts["ran"] += 1
        if listeners:
            emit("compiling", self.name)
        return run()

    def unkept(self, error: Unsteady, run: Callable[[], Any]) -> Any:
        """What a run returns whose result nobody could ask for again."""
        if not self.counts["not kept"]:
            log.warning("%s", error)
        self.counts["not kept"] += 1
        return self.counted(run)

    def find(self, request: Request, memo: object) -> Kept | None:
        """What is kept for a request, in memory or elsewhere."""
        kept = self._by_key.get(request.key)
        if kept is None:
            kept = self.keeper.find(request.key, count=True)
            if kept is None:
                return None
            self.counts["found"] += 1
            if listeners:
                emit("found", self.name, key=request.key)
        else:
            self.recalled += 1
        self.remember(request, memo, kept)
        return kept

    def remember(self, request: Request, memo: object, kept: Kept) -> None:
        """Let the next call of this kind find it at once."""
        if not kept.is_shared or kept.size > LARGE:
            return
        if len(self.rows) >= ROWS_KEPT or self._bytes > BYTES_KEPT:
            self.begin_again()
        if request.key not in self._by_key:
            self._by_key[request.key] = kept
            self._bytes += kept.size
        self.rows[memo] = request.world.holds, kept

    def look(self, request: Request) -> Callable[[Kept | None], Kept | None]:
        """How to look again after having waited for somebody else."""

        def look(theirs: Kept | None) -> Kept | None:
            if theirs is not None and theirs.is_shared:
                return theirs
            return self.keeper.find(request.key, count=False)

        return look

    # -- making ---------------------------------------------------------------------------

    def make(self, request: Request, memo: object, run: Callable[[], Any]) -> Kept:
        """Have the result made, by this thread or another."""

        def produce() -> Kept:
            parts = request.parts()
            begun = self.begin()
            with Progress(self.name, self.last_seconds), self.watched(request) as writes:
                value = run()
            return self.made(request, value, begun, parts, writes)

        with self.missed(request) as outcome:
            kept, outcome.how = self.keeper.flights.once(
                self.flight(request), self.look(request), produce, what=self.name
            )
        if outcome.how is Ending.WAITED:
            self.counts["waited"] += 1
        self.remember(request, memo, kept)
        return kept

    def flight(self, request: Request) -> str:
        """The name under which one makes it and others wait."""
        return f"result-{request.key}"

    def begin(self) -> float:
        """A run begins now."""
        if listeners:
            emit("compiling", self.name)
        return time.perf_counter()

    def watched(self, request: Request, who: Who | None = None) -> AbstractContextManager[Writes]:
        """Learn of what others write, while it runs, to what it reads."""
        with importing:
            from .writes import watched

        return watched(request.world.places) if who is None else watched(request.world.places, who)

    def made(
        self,
        request: Request,
        value: Any,
        begun: float,
        parts: tuple[Part, ...],
        writes: Writes,
    ) -> Kept:
        """A run has ended: keep what it made, if nothing that it is kept under has changed."""
        seconds = time.perf_counter() - begun
        self.counts["ran"] += 1
        if listeners:
            emit("compiled", self.name, seconds=seconds)
        kept = self.keeper.keep(
            request.key, Made(value, seconds, parts, self._changed(request, parts, writes))
        )
        if not kept.is_stored:
            self.counts["not kept"] += 1
        elif listeners:
            emit("stored", self.name, key=request.key)
        return kept

    def _changed(self, request: Request, parts: tuple[Part, ...], writes: Writes) -> str:
        """What is not as it was before the run, or was not all the time."""
        for name, value, digest in request.arguments:
            try:
                now: Digest | None = self.arguments.digest(value)
            except Exception:
                now = None
            if now != digest or (isinstance(value, Content) and value.has_changed()):
                return f"it changed its argument {name!r} while it ran. {_unchanged(value, name)}"
        if not request.world.holds():
            try:
                with StoredSources(self.keeper.flights.store):
                    now_world = self.world([value for _, value, _ in request.arguments])
            except Unsteady as error:
                return error.reason
            if now_world.digest != request.world.digest:
                before, now_parts = dict(parts), dict(now_world.parts())
                del now_parts[EVERYTHING]
                either = (*now_parts, *before)
                differ = [name for name in either if before.get(name) != now_parts.get(name)]
                # What is said not to count is the whole, by the name that the function reads.
                whole = (path for path, _ in now_world.met if _is_within(path, differ))
                what = next(whole, "something that it reads")
                leave = now_world.names.get(what)
                if leave is None:
                    return f"{what} changed while it ran"
                return (
                    f"{what} changed while it ran. If no result depends on it, leave it out with "
                    f"ignores=[{leave!r}]"
                )
        if self._said() != request.said:
            return "a declared file or variable changed while it ran"
        if writes.found:
            return (
                f"another thread changed {writes.found} that it may read while it ran, and set it "
                "back. Let what changes be an argument"
            )
        return ""

    # -- telling --------------------------------------------------------------------------

    def last_seconds(self) -> float | None:
        """How long the last run took that is known of."""
        for label in self.keeper.labels(COMPARED):
            return label.seconds
        return None

    @contextlib.contextmanager
    def missed(self, request: Request) -> Iterator[MissOutcome]:
        """A call found nothing: what is made in the block is counted and written down.

        Raises `RequiredHit` where nothing may be made. What lives in this process only is made
        in any case: nobody could have made it before.
        """
        flights = self.keeper.flights
        journal = flights.journal
        self.counts["missed"] += 1
        explanation = explain_miss(
            self.name,
            lambda most: self.explained(request, LABELS_READ if most is None else most),
            is_journaled=journal is not None,
        )
        if isinstance(self.keeper, Live):
            yield MissOutcome()
            return
        miss = function_miss(self.name, explanation)
        with record_miss(miss, explanation, flights.statistics, journal) as outcome:
            outcome.key = request.key
            yield outcome

    def explain(self, request: Request) -> Explanation:
        """Whether a call would be a hit, and why not."""
        if self.is_off:
            return Explanation(self.name, "miss", "the cache is off")
        if request.key in self._by_key:
            return Explanation(self.name, "hit", "its result is in memory")
        if self.keeper.find(request.key, count=False) is not None:
            return Explanation(self.name, "hit", "its result is in the store")
        return self.explained(request)

    def explained(self, request: Request, most: int = LABELS_READ) -> Explanation:
        """Why nothing was found: a comparison with the nearest result that is kept."""
        now = dict(request.parts())
        nearest: tuple[Change, ...] | None = None
        for label in self.keeper.labels(most):
            changes = _changes(dict(label.parts), now)
            if nearest is None or len(changes) < len(nearest):
                nearest = changes
        if nearest is None:
            return Explanation(self.name, "miss", FIRST_CALL)
        if not nearest:
            return Explanation(
                self.name, "miss", "what was kept of it is not there any more or not readable"
            )
        count = len(nearest)
        differ = f"{count} {'part differs' if count == 1 else 'parts differ'}"
        return Explanation(self.name, "miss", f"{differ} from the nearest result", nearest)

    def forget(self, request: Request) -> bool:
        """Forget the result of a call; whether there was one."""
        in_memory = self._by_key.pop(request.key, None) is not None
        self.rows = {}
        return self.keeper.forget(request.key) or in_memory

    def forget_all(self) -> int:
        """Forget every result; how many were kept."""
        self.begin_again()
        return self.keeper.forget_all()

    def stats(self) -> dict[str, int]:
        """How often each ending was met in this process."""
        names = ("found", "missed", "ran", "waited", "not kept")
        return {"recalled": self.recalled, **{name: self.counts[name] for name in names}}


def _unchanged(value: object, name: str) -> str:
    """How a function can leave an argument as it is."""
    if type(value).__module__.partition(".")[0] in ("random", "numpy") and hasattr(value, "random"):
        return "Pass a seed in its place, and make the generator of it in the function"
    return f"Let it work on a copy ({name} = copy.deepcopy({name}))"


def _changes(old: Mapping[str, str], now: Mapping[str, str]) -> tuple[Change, ...]:
    changes = changed_parts(old, now)
    if any(change.path.startswith(_IN_WORLD) for change in changes):  # which says more
        return tuple(change for change in changes if change.path != EVERYTHING)
    return changes


_IN_WORLD: Final = ("code:", "global:", "cell:", "default:", "class:", "declared:", "setting:")


def group_of(name: str) -> StableDigest:
    """The group in which the results of a function of this name are listed."""
    return StableDigest(hash_hex(marshalled(("results", name))))


def name_of(function: Any) -> str:
    """The name of a function or class in every process."""
    return f"{known_module_name(function.__module__ or '')}.{function.__qualname__}"


_epoch: Final[list[object]] = [object()]


def _on_settings(before: settings.Settings, after: settings.Settings) -> None:
    if _place(before) != _place(after):
        _epoch[0] = object()


def _place(given: settings.Settings) -> tuple[str, str, str]:
    return given.cache.value, given.cache_place.value, given.cache_salt.value


settings.on_change(_on_settings)
