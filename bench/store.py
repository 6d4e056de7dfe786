"""Entries in, the cost of keeping and finding them out: whorl's store beside its peers."""

# The plain calls are contenders here, and a Path costs as much as opening a file.
# ruff: noqa: PTH104, PTH105, PTH123

from __future__ import annotations

import fcntl
import os
import random
import shutil
import sqlite3
import statistics
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import count, cycle
from pathlib import Path
from typing import Any, TypeAlias

import harness
from harness import (
    SUBJECT,
    Contender,
    Failure,
    Fed,
    Goal,
    Measured,
    Outcome,
    Result,
    Results,
    Returned,
    Settings,
    Timed,
)

from whorl.artifacts import Artifact, Entry, Label, Part, decode, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.store import Cache, DirectoryStore, Found, Statistics, Store, Stored

CACHE = "whorl Cache"
PLAIN = "open()"
CALLS = "os.open()"
DISKCACHE = "diskcache"
SQLITE = "sqlite3"

LARGE, SMALL = 50_000, 500
"""Bytes of a payload: a compiled kernel's, and a manifest's."""

NO_BOUND = 1 << 40
"""Bytes that no run fills: nothing is evicted, by whorl or by its peers."""

KEPT = 64
"""Entries in a store while gets and overwriting puts are measured; each call takes the next."""

PROCESSES, KEYS_AT_ONCE, PRODUCE_SECONDS = 8, 20, 0.02
ENTRIES_FEW, ENTRIES_MANY, ENTRIES_MANY_IN_QUICK = 10, 100_000, 10_000

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_TOPDIR_FL = 0x80086601, 0x40086602, 0x20000
"""Of Linux, 64 bits: what `chattr +T` uses."""

Get: TypeAlias = Callable[[Any], object]


def digests(name: str) -> Iterator[StableDigest]:
    """Keys without end, the same ones for every contender."""
    return (StableDigest(hash_hex(f"{name} {number}".encode())) for number in count())


def some(name: str, number: int) -> list[StableDigest]:
    keys = digests(name)
    return [next(keys) for _ in range(number)]


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory that is gone afterwards, in which each `place` is far from the others."""
    directory = tempfile.mkdtemp(prefix="whorl-bench-")
    try:
        with suppress(OSError):  # other file systems than ext4 need no telling
            spread(directory)
        yield Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def place(directory: Path) -> Path:
    """Where a store can be made, in that one of a few new directories where files are cheapest.

    For minutes after many files were deleted in a part of the disk, ext4 looks for the inode of
    a new file there one by one: plain files then cost 500 us each instead of 50, and whoever
    happens to write where the last run was cleaned up would look slow.
    """
    candidates = [Path(tempfile.mkdtemp(dir=directory)) for _ in range(8)]
    return min(candidates, key=seconds_to_make_a_file) / "store"


def seconds_to_make_a_file(directory: Path) -> float:
    makers = [(directory / f"{number}").touch for number in range(9)]
    return statistics.median(harness.seconds_of_one(make) for make in makers)


def spread(directory: str) -> None:
    """Have ext4 keep each directory made in this one in another part of the disk."""
    file = os.open(directory, os.O_RDONLY)
    try:
        flags = bytearray(struct.calcsize("l"))
        fcntl.ioctl(file, FS_IOC_GETFLAGS, flags)
        (held,) = struct.unpack("l", flags)
        fcntl.ioctl(file, FS_IOC_SETFLAGS, struct.pack("l", held | FS_TOPDIR_FL))
    finally:
        os.close(file)


# -- whorl -------------------------------------------------------------------------------------


def made(payload: bytes, key: StableDigest) -> Entry:
    """What a compile puts: one payload, a little metadata, the parts of its key."""
    parts = (Part("program", "3f" * 16), Part("arguments", "f64[64,64]"), Part("flags", "-O3"))
    label = Label("artifact", key, parts=parts, toolchain="cc 13.2", made=1.7e9, seconds=0.5)
    return encode(Artifact({"code": payload}, {"grid": (64, 1), "shared": 0}), label)


def open_store(root: Path) -> DirectoryStore:
    return DirectoryStore(root, max_size=NO_BOUND)


def open_cache(root: Path) -> Cache:
    """A cache as `whorl.store.open_cache` makes it, but for the bound."""
    statistics = Statistics(root / "statistics")
    store = DirectoryStore(root, max_size=NO_BOUND, statistics=statistics)
    return Cache(store, leases=store.leases, statistics=statistics)


def make_shards(store: Store) -> None:
    """Put one small entry into each of the 256 directories, as in a store that has been in use."""
    for number in range(256):
        stored(store.put(made(b"", StableDigest(f"{number:02x}".ljust(32, "0")))))


# -- Contenders: entries by key ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operation:
    """Something done with a key; `take` makes what `act` is called with, and is not timed."""

    take: Callable[[StableDigest], Any]
    act: Get

    def on(self, keys: Iterator[StableDigest]) -> Fed[Any]:
        return Fed(lambda: self.take(next(keys)), self.act)

    def __call__(self, key: StableDigest) -> object:
        return self.act(self.take(key))


@dataclass(frozen=True, slots=True)
class Medium:
    """An open store of one contender for one payload. `held` is the payload a get came back with.

    `fill` puts an entry that will be read, where that is not what `put` does.
    """

    get: Operation
    put: Operation
    held: Callable[[Any], bytes | None] = lambda got: got
    fill: Callable[[StableDigest], object] | None = None
    close: Callable[[], object] = lambda: None

    def filled(self, payload: bytes) -> Medium:
        """The same with entries in it, once it has proved to keep what it is given."""
        for key in some("kept", KEPT):
            (self.fill or self.put)(key)
            if self.held(self.get(key)) != payload:
                raise AssertionError("the payload did not come back")
        if self.held(self.get(next(digests("absent")))) is not None:
            raise AssertionError("an entry was found that nobody put")
        return self


OpenMedium: TypeAlias = Callable[[Path, bytes], Medium]


def held_by_whorl(got: object) -> bytes | None:
    return bytes(decode(got.entry).payloads["code"]) if isinstance(got, Found) else None


def stored(put: object) -> None:
    if not isinstance(put, Stored):
        raise AssertionError(f"not stored: {put}")


def whorl_store(root: Path, payload: bytes) -> Medium:
    """`DirectoryStore.get`, and `DirectoryStore.put` of an entry that is encoded already."""
    store = open_store(root)
    make_shards(store)
    # Encoding leaves an entry's bytes in the processor's cache. So that they are there in a
    # timed put too, all of these are of one entry: a store does not read what it is given.
    data = made(payload, next(digests("any"))).data
    return Medium(
        Operation(lambda key: key, store.get),
        Operation(lambda key: Entry(key, None, data), store.put),
        held_by_whorl,
        lambda key: stored(store.put(made(payload, key))),
    )


def whorl_cache(root: Path, payload: bytes) -> Medium:
    """`Cache.get`, and `encode` followed by `Cache.put`; both count."""
    cache = open_cache(root)
    make_shards(cache.store)
    return Medium(
        Operation(lambda key: key, cache.get),
        Operation(lambda key: key, lambda key: cache.put(made(payload, key))),
        held_by_whorl,
        close=cache.statistics.flush,  # what is left until the process ends would be written then
    )


def plain_files(root: Path, payload: bytes) -> Medium:
    """`open().read()`; to put, the same under another name, and `os.replace`."""
    root.mkdir()
    temporary = str(root / "temporary")

    def get(path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def put(path: str) -> None:
        with open(temporary, "wb") as file:
            file.write(payload)
        os.replace(temporary, path)

    return Medium(Operation(partial(path_in, root), get), Operation(partial(path_in, root), put))


def system_calls(root: Path, payload: bytes) -> Medium:
    """`os.open`, `os.read` or `os.write`, `os.close` and nothing else: the least there is to do."""
    root.mkdir()
    temporary = str(root / "temporary")
    size = len(payload) + 1

    def get(path: str) -> bytes | None:
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        data = os.read(file, size)
        os.close(file)
        return data

    def put(path: str) -> None:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, payload)
        os.close(file)
        os.rename(temporary, path)

    return Medium(Operation(partial(path_in, root), get), Operation(partial(path_in, root), put))


def path_in(root: Path, key: StableDigest) -> str:
    return f"{root}{os.sep}{key}"


def load_diskcache() -> OpenMedium:
    diskcache = import_module("diskcache")

    def opened(root: Path, payload: bytes) -> Medium:
        cache = diskcache.Cache(str(root), size_limit=NO_BOUND, sqlite_synchronous=0)
        return Medium(
            Operation(str, cache.get),  # a subclass of str would be pickled
            Operation(str, lambda key: cache.set(key, payload)),
            close=cache.close,
        )

    return opened


def sqlite(root: Path, payload: bytes) -> Medium:
    """One table; write-ahead log, `synchronous=OFF`, a commit for each put."""
    root.mkdir()
    connection = sqlite3.connect(root / "entries.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB)")
    execute = connection.execute

    def get(key: str) -> bytes | None:
        row = execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def put(key: str) -> None:
        execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, payload))

    return Medium(Operation(str, get), Operation(str, put), close=connection.close)


def load_lmdb() -> OpenMedium:
    lmdb = import_module("lmdb")

    def opened(root: Path, payload: bytes) -> Medium:
        environment = lmdb.open(str(root), map_size=1 << 36, sync=False, metasync=False)

        def get(key: bytes) -> bytes | None:
            with environment.begin() as transaction:
                found: bytes | None = transaction.get(key)
                return found

        def put(key: bytes) -> None:
            with environment.begin(write=True) as transaction:
                transaction.put(key, payload)

        return Medium(
            Operation(str.encode, get), Operation(str.encode, put), close=environment.close
        )

    return opened


MEDIA: Sequence[Contender[OpenMedium]] = (
    Contender(SUBJECT, ("whorl", "xxhash"), lambda: whorl_store),
    Contender(CACHE, ("whorl",), lambda: whorl_cache),
    Contender(PLAIN, (), lambda: plain_files),
    Contender(CALLS, (), lambda: system_calls),
    Contender(DISKCACHE, ("diskcache",), load_diskcache),
    Contender(SQLITE, (), lambda: sqlite),
    Contender("lmdb", ("lmdb",), load_lmdb),
)


# -- Contenders: many processes, one result ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Producer:
    """What is worth doing once: it takes a while, and leaves a byte in the tally each time."""

    tally: int
    payload: bytes

    def __call__(self) -> bytes:
        os.write(self.tally, b".")
        time.sleep(PRODUCE_SECONDS)
        return self.payload


Obtain: TypeAlias = Callable[[StableDigest], object]
OpenSharing: TypeAlias = Callable[[Path, Producer], Obtain]


def load_obtain() -> OpenSharing:
    import_module("filelock")  # whorl imports it at the first miss; peers are imported by now too

    def opened(root: Path, produce: Producer) -> Obtain:
        cache = open_cache(root)
        return lambda key: cache.obtain(key, lambda: made(produce(), key))

    return opened


def produce_for_joblib(key: str, produce: Producer) -> bytes:
    """joblib wants a function with a name and a source."""
    return produce()


def load_joblib() -> OpenSharing:
    memory = import_module("joblib").Memory

    def opened(root: Path, produce: Producer) -> Obtain:
        cached = memory(str(root), verbose=0).cache(produce_for_joblib, ignore=["produce"])
        return lambda key: cached(str(key), produce)

    return opened


def load_diskcache_plain() -> OpenSharing:
    """`get`, and `set` if there is nothing."""
    diskcache = import_module("diskcache")

    def opened(root: Path, produce: Producer) -> Obtain:
        cache = diskcache.Cache(str(root), size_limit=NO_BOUND, sqlite_synchronous=0)

        def obtain(key: str) -> None:
            if cache.get(key) is None:
                cache.set(key, produce())

        return lambda key: obtain(str(key))

    return opened


def load_diskcache_stampede() -> OpenSharing:
    diskcache = import_module("diskcache")

    def opened(root: Path, produce: Producer) -> Obtain:
        cache = diskcache.Cache(str(root), size_limit=NO_BOUND, sqlite_synchronous=0)
        cached = diskcache.memoize_stampede(cache, expire=3600, name="bench")(lambda key: produce())
        return lambda key: cached(str(key))

    return opened


def load_diskcache_lock() -> OpenSharing:
    """`get`, and if there is nothing the same again under a `diskcache.Lock`, then `set`."""
    diskcache = import_module("diskcache")

    def opened(root: Path, produce: Producer) -> Obtain:
        cache = diskcache.Cache(str(root), size_limit=NO_BOUND, sqlite_synchronous=0)

        def obtain(key: str) -> None:
            if cache.get(key) is None:
                with diskcache.Lock(cache, f"lock {key}"):
                    if cache.get(key) is None:
                        cache.set(key, produce())

        return lambda key: obtain(str(key))

    return opened


SHARING: Sequence[Contender[OpenSharing]] = (
    Contender(SUBJECT, ("whorl", "filelock"), load_obtain),
    Contender("joblib.Memory", ("joblib",), load_joblib),
    Contender("diskcache get, set", ("diskcache",), load_diskcache_plain),
    Contender("memoize_stampede", ("diskcache",), load_diskcache_stampede),
    Contender("diskcache.Lock", ("diskcache",), load_diskcache_lock),
)


# -- One process: get and put ------------------------------------------------------------------

GET, PUT, PROCESSES_KEY, ENTRIES = "get", "put", "processes", "entries"
GET_LARGE, GET_SMALL, MISS = "50 KB", "500 bytes", "a miss"
PUT_LARGE, PUT_OVER, PUT_SMALL = "50 KB, new keys", "50 KB, overwriting", "500 bytes, new keys"

Media: TypeAlias = dict[str, OpenMedium | Failure]
Chosen: TypeAlias = Callable[[Medium], Fed[Any]]


def kept() -> Iterator[StableDigest]:
    return cycle(some("kept", KEPT))


# The cases of one family alternate in the same rounds, so they can be compared with each other.
CALLS_OF: dict[str, tuple[str, dict[str, tuple[int, Chosen]]]] = {
    GET: (
        "Get, page cache warm (whorl's are verified), µs",
        {
            GET_LARGE: (LARGE, lambda medium: medium.get.on(kept())),
            MISS: (LARGE, lambda medium: medium.get.on(digests("absent"))),
            GET_SMALL: (SMALL, lambda medium: medium.get.on(kept())),
        },
    ),
    PUT: (
        "Put without fsync (whorl: encoded before; whorl Cache: encoding included), µs",
        {
            PUT_LARGE: (LARGE, lambda medium: medium.put.on(digests("new"))),
            PUT_OVER: (LARGE, lambda medium: medium.put.on(kept())),
            PUT_SMALL: (SMALL, lambda medium: medium.put.on(digests("new"))),
        },
    ),
}


def measure_calls(key: str, media: Media, settings: Settings) -> Iterator[Result]:
    """Every medium in a store of its own for each case, alternating."""
    title, cases = CALLS_OF[key]
    tasks: dict[tuple[str, str], harness.Task] = {}
    endings: dict[tuple[str, str], Outcome] = {}
    with scratch() as directory, ExitStack() as stack:
        for (case, (size, chosen)), (name, opened) in (
            (case, medium) for case in cases.items() for medium in media.items()
        ):
            if not callable(opened):
                endings[case, name] = opened
                continue
            payload = random.Random(0).randbytes(size)
            medium = opened(place(directory), payload)
            stack.callback(medium.close)
            tasks[case, name] = chosen(medium.filled(payload))
        # The system writes back what was put while the next contender is at it, unless told to
        # have done with it before.
        settle = os.sync if key == PUT else lambda: None
        endings.update(harness.alternate(tasks, settings, trusted=True, settle=settle))
    for case in cases:
        yield Result(key, title, "µs", case, 1, {name: endings[case, name] for name in media})


# -- Many processes ----------------------------------------------------------------------------

SAME_ORDER, OWN_ORDER = "all in the same order", "each from another key on"
MADE = "productions, "
COUNT_TITLE = f"{PROCESSES} processes miss the same {KEYS_AT_ONCE} keys at once: productions"
TIME_TITLE = f"The same, each production {PRODUCE_SECONDS * 1e3:.0f} ms: ms until all have all"


def obtain_all(opened: OpenSharing, root: Path, produce: Producer, shift: int) -> None:
    """The work of one process: open the store, then every key."""
    keys = some("shared", KEYS_AT_ONCE)
    obtain = opened(root, produce)
    for key in keys[shift:] + keys[:shift]:
        obtain(key)


def share(opened: OpenSharing, case: str, settings: Settings) -> tuple[float, int] | Failure:
    """Seconds and productions of all processes together, beginning with an empty store."""
    with scratch() as directory:
        tally = os.open(directory / "tally", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            produce = Producer(tally, random.Random(0).randbytes(LARGE))
            step = KEYS_AT_ONCE // PROCESSES if case == OWN_ORDER else 0
            root = place(directory)
            works = [partial(obtain_all, opened, root, produce, step * i) for i in range(PROCESSES)]
            ending = harness.together(works, settings)
            productions = os.fstat(tally).st_size
        finally:
            os.close(tally)
    return (ending.value, productions) if isinstance(ending, Returned) else ending


def measure_processes(
    sharing: dict[str, OpenSharing | Failure], settings: Settings
) -> Iterator[Result]:
    """Every contender in turn, a few times; of the productions, the most there ever were."""
    settings = replace(settings, timeout_seconds=harness.FULL.timeout_seconds)
    cases = (SAME_ORDER, OWN_ORDER)
    taken: dict[tuple[str, str], list[tuple[float, int]]] = {}
    failed: dict[tuple[str, str], Failure] = {}
    for _ in range(max(1, settings.rounds // 4)):
        for case in cases:
            for name, opened in sharing.items():
                ending = share(opened, case, settings) if callable(opened) else opened
                if isinstance(ending, tuple):
                    taken.setdefault((case, name), []).append(ending)
                else:
                    failed[case, name] = ending

    def outcomes(case: str, of: Callable[[list[tuple[float, int]]], Outcome]) -> dict[str, Outcome]:
        return {name: failed.get((case, name)) or of(taken[case, name]) for name in sharing}

    for case in cases:
        most = outcomes(case, lambda pairs: Measured(max(number for _, number in pairs)))
        yield Result(PROCESSES_KEY, COUNT_TITLE, "times", MADE + case, 1, most)
    for case in cases:
        seconds = outcomes(case, lambda pairs: Timed(tuple(seconds for seconds, _ in pairs)))
        yield Result(PROCESSES_KEY, TIME_TITLE, "ms", case, 1, seconds)


# -- Many entries ------------------------------------------------------------------------------


def entries_case(how: str, number: int, which: str = "ten keys") -> str:
    return f"{how}, {number:,} entries, {which}"


OPEN, ONLY = "open and get", "get"
AT_RANDOM = "keys at random"
ENTRIES_TITLE = f"Stores of few and of many entries of {SMALL} bytes, µs"


def measure_entries(many: int, settings: Settings) -> Iterator[Result]:
    """whorl beside plain reads of the very same files."""
    tasks: dict[tuple[str, str], harness.Task] = {}
    payload = bytes(SMALL)
    with scratch() as directory:
        for number in (ENTRIES_FEW, many):
            root = place(directory)
            store = open_store(root)
            keys = some("kept", number)
            for key in keys:
                stored(store.put(made(payload, key)))
            ways = {"ten keys": cycle(keys[:ENTRIES_FEW]).__next__}
            if number > ENTRIES_FEW:
                ways[AT_RANDOM] = partial(random.Random(0).choice, keys)
            for which, draw in ways.items():
                opening = partial(open_and_get, root)
                tasks[entries_case(OPEN, number, which), SUBJECT] = Fed(draw, opening)
                tasks[entries_case(ONLY, number, which), SUBJECT] = Fed(draw, store.get)
                tasks[entries_case(ONLY, number, which), PLAIN] = Fed(
                    partial(drawn_path, store, draw), read_file
                )
        endings = harness.alternate(tasks, settings, trusted=True)
    cases = dict.fromkeys(case for case, _ in tasks)
    for case in sorted(cases, key=lambda case: case.startswith(ONLY)):
        outcomes = {name: ending for (of, name), ending in endings.items() if of == case}
        yield Result(ENTRIES, ENTRIES_TITLE, "µs", case, 1, dict(outcomes))


def open_and_get(root: Path, key: StableDigest) -> None:
    open_store(root).get(key)


def drawn_path(store: DirectoryStore, draw: Callable[[], StableDigest]) -> str:
    return store.path(draw())


def read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# -- Goals -------------------------------------------------------------------------------------

PLAIN_REFERENCE = 10
"""Microseconds of `open().read()` of 50 KB on the machine the absolute goals are stated for."""


def goals(results: Results, many: int) -> Iterator[Goal]:
    """What the library promises about its store, judged by this run's cases."""
    found = results.find(GET, GET_LARGE)
    missed = results.find(GET, MISS)
    if found and missed:
        plain = found.outcomes[PLAIN]
        for text, result, wanted in (
            ("Get of 50 KB, verified", found, 25),
            ("Miss", missed, 8),
        ):
            times = harness.ratio(result.outcomes[SUBJECT], plain)
            scaled = times * PLAIN_REFERENCE if times is not None else None
            text = f"{text}, where open().read() of 50 KB takes {PLAIN_REFERENCE}"
            yield Goal(text, "at most", wanted, "µs", scaled, result.failure)

    for key, case, names in (
        (GET, GET_LARGE, {SUBJECT: "Get of 50 KB", CACHE: "Cache.get of 50 KB"}),
        (PUT, PUT_LARGE, {SUBJECT: "Put of 50 KB, new keys", CACHE: "Encode and put of 50 KB"}),
    ):
        result = results.find(key, case)
        for name, text in names.items() if result else ():
            for peer in (DISKCACHE, SQLITE):
                times = harness.ratio(result.outcomes[peer], result.outcomes[name])
                text_of = f"{text}: faster than {peer}"
                yield Goal(text_of, "at least", 2, "x", times, result.failure)

    few = results.find(ENTRIES, entries_case(OPEN, ENTRIES_FEW))
    for which in ("ten keys", AT_RANDOM):
        full = results.find(ENTRIES, entries_case(OPEN, many, which))
        if few and full:
            times = harness.ratio(full.outcomes[SUBJECT], few.outcomes[SUBJECT])
            text = f"Open and get, {many:,} / {ENTRIES_FEW} entries, {which}"
            yield Goal(text, "at most", 1.5, "x", times, full.failure)

    for result in results.of(PROCESSES_KEY):
        if result.title == COUNT_TITLE:
            text = f"{PROCESSES} processes, {KEYS_AT_ONCE} keys: {result.case}"
            figure = result.figure(SUBJECT)
            yield Goal(text, "exactly", KEYS_AT_ONCE, "times", figure, result.failure)


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Compare whorl's store with its peers: one run, alternating rounds.",
        (GET, PUT, PROCESSES_KEY, ENTRIES),
        f"few rounds, {ENTRIES_MANY_IN_QUICK:,} entries for many: rough figures in 10 seconds",
    )
    contenders = (*MEDIA, *SHARING)
    run = harness.Run(options, [name for c in contenders for name in c.distributions])
    many = ENTRIES_MANY_IN_QUICK if options.quick else ENTRIES_MANY

    media, sharing = harness.load(MEDIA), harness.load(SHARING)
    results = Results()
    for key in CALLS_OF:
        if key in options.cases:
            run.begins(CALLS_OF[key][0])
            results.extend(measure_calls(key, media, run.settings))
    if PROCESSES_KEY in options.cases:
        run.begins(COUNT_TITLE)
        results.extend(measure_processes(sharing, run.settings))
    if ENTRIES in options.cases:
        run.begins(ENTRIES_TITLE)
        results.extend(measure_entries(many, run.settings))

    tables = [
        harness.results_table(chosen, [name for name in names if callable(names[name])])
        for chosen, names in (
            (results.of(GET, PUT), media),
            (results.of(PROCESSES_KEY), sharing),
            (results.of(ENTRIES), {name: media[name] for name in (SUBJECT, PLAIN)}),
        )
        if chosen
    ]
    missing = [name for name, loaded in {**media, **sharing}.items() if not callable(loaded)]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    judged = list(goals(results, many))
    names = list(dict.fromkeys([*media, *sharing]))
    run.publish("whorl's store and its peers", results, judged, tables, names)


if __name__ == "__main__":
    main()
