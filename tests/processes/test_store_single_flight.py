"""Many miss one key at once, one makes its entry; if that one fails, the next one does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pytest

from tests.processes.store_children import (
    Child,
    cache_at,
    entry_of,
    files_below,
    is_right,
    key_of,
    lines_of,
    note,
    ran,
    start,
)
from tests.store.entries import leases_of
from whorl.artifacts import Entry
from whorl.store import Cache, DirectoryLeases, DirectoryStore, Ending, Found, MemoryStore, Stored

_FORK: Final = get_context("fork")
_KEYS: Final = 50
_PROMPTLY: Final = 5.0  # seconds; a lease is 600


def _producer(log: Path, number: int, pause: float = 0.0) -> Callable[[], Entry]:
    """A production that leaves a line in a log."""

    def produce() -> Entry:
        note(log, f"{number}")
        time.sleep(pause)
        return entry_of(number, 20_000)

    return produce


def _appears(condition: Callable[[], object], patience: float = 10.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.005)


# -- all at once --------------------------------------------------------------------------


def at_once(root: str, log: str, processes: str, threads: str) -> dict[str, int]:
    """Let all threads of all processes ask for one key after the other, each at the same time."""
    count = int(processes) * int(threads)
    barrier = _FORK.Barrier(count, timeout=20)

    def ask(cache: Cache, ends: list[str]) -> None:
        for number in range(_KEYS):
            barrier.wait()
            obtained = cache.obtain(key_of(number), _producer(Path(log), number, 0.002))
            ends.append(obtained.how.value if is_right(obtained.entry, number) else "wrong")

    def work() -> list[str]:
        cache = cache_at(root)
        ends: list[str] = []
        crew = [threading.Thread(target=ask, args=(cache, ends)) for _ in range(int(threads))]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        return ends

    children = [start(work) for _ in range(int(processes))]
    return Counter(end for child in children for end in child.result())


@pytest.mark.parametrize(("processes", "threads"), [(8, 1), (3, 4), (1, 8)])
def test_whoever_misses_one_key_at_once_there_is_one_production(
    tmp_path: Path, processes: int, threads: int
) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    ends = ran(__name__, "at_once", root, log, str(processes), str(threads))
    assert sorted(map(int, lines_of(log))) == list(range(_KEYS))
    assert ends.pop("produced") == _KEYS
    assert set(ends) <= {"hit", "waited for another"}
    assert sum(ends.values()) == (processes * threads - 1) * _KEYS
    store = DirectoryStore(root)
    assert set(store.iterate()) == {key_of(number) for number in range(_KEYS)}
    assert files_below(leases_of(store).place) == []  # nobody needs them any more


def groups_at_once(root: str, log: str) -> int:
    """Ask for one key in two groups and in none from several processes at once."""
    barrier = _FORK.Barrier(6, timeout=20)

    def work(group: int) -> bool:
        under = key_of(-group) if group else None
        barrier.wait()

        def produce() -> Entry:
            note(Path(log), f"{group}")
            time.sleep(0.05)
            return entry_of(1, under=under)

        obtained = cache_at(root).obtain(key_of(1), produce, under=under)
        return obtained.entry.under == under and is_right(obtained.entry, 1)

    children = [start(partial(work, i % 3)) for i in range(6)]
    return sum(child.result() for child in children)


def test_one_key_in_several_groups_is_produced_once_for_each(tmp_path: Path) -> None:
    assert ran(__name__, "groups_at_once", tmp_path / "store", tmp_path / "log") == 6
    assert sorted(lines_of(tmp_path / "log")) == ["0", "1", "2"]


# -- holders that come to grief -----------------------------------------------------------


def _holder(root: str, log: Path, lease: float, meanwhile: Callable[[], object]) -> Child:
    """A process that has begun to produce entry 1, and does this before it has done so."""

    def work() -> str:
        def produce() -> Entry:
            note(log, "holder")
            meanwhile()
            return entry_of(1)

        return cache_at(root, lease=lease).obtain(key_of(1), produce).how.value

    child = start(work)
    _appears(lambda: lines_of(log))
    return child


def _waiters(root: str, log: Path, lease: float, count: int) -> list[Child]:
    def work() -> list[Any]:
        note(log.with_suffix(".waiting"), "here")
        begun = time.monotonic()
        obtained = cache_at(root, lease=lease).obtain(key_of(1), _producer(log, 1, 0.05))
        return [obtained.how.value, time.monotonic() - begun, is_right(obtained.entry, 1)]

    children = [start(work) for _ in range(count)]
    _appears(lambda: len(lines_of(log.with_suffix(".waiting"))) == count)
    time.sleep(0.2)  # they are in line by now, or come to it in a moment: both is fine
    return children


def holder_is_killed(root: str, log: str, with_a_child: str) -> dict[str, Any]:
    """Kill the holder while others wait for it."""

    def sleep() -> None:
        if with_a_child == "True":
            note(Path(log).with_suffix(".child"), f"{start(lambda: time.sleep(30)).pid}")
        time.sleep(60)

    holder = _holder(root, Path(log), 600.0, sleep)
    waiters = _waiters(root, Path(log), 600.0, 3)
    before = len(lines_of(Path(log)))
    holder.send(signal.SIGKILL)
    killed = time.monotonic()
    ends = [waiter.result() for waiter in waiters]
    took = time.monotonic() - killed
    for pid in lines_of(Path(log).with_suffix(".child")):
        os.kill(int(pid), signal.SIGKILL)
    return {"before": before, "ends": ends, "took": took}


@pytest.mark.parametrize("with_a_child", [False, True], ids=["alone", "with a child that lives on"])
def test_when_the_holder_is_killed_another_one_finishes_at_once(
    tmp_path: Path, with_a_child: bool
) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    ended = ran(__name__, "holder_is_killed", root, log, str(with_a_child))
    assert ended["before"] == 1  # nobody produced while the holder lived
    assert lines_of(log) == ["holder", "1"]
    assert all(right for _, _, right in ended["ends"])
    hows = Counter(how for how, _, _ in ended["ends"])
    assert hows.pop("produced") == 1
    assert set(hows) <= {"hit", "waited for another"}
    assert ended["took"] < _PROMPTLY
    assert isinstance(DirectoryStore(root).get(key_of(1)), Found)


def holder_is_stopped(root: str, log: str) -> dict[str, Any]:
    """Stop the holder for longer than the lease, then let it go on."""
    go = Path(log).with_suffix(".go")
    holder = _holder(root, Path(log), 1.0, lambda: _appears(go.exists, 30))
    holder.send(signal.SIGSTOP)
    (waiter,) = _waiters(root, Path(log), 1.0, 1)
    end = waiter.result()
    go.touch()
    holder.send(signal.SIGCONT)
    return {"end": end, "holder": holder.result()}


def test_a_holder_that_is_stopped_is_not_waited_for_longer_than_the_lease(tmp_path: Path) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    ended = ran(__name__, "holder_is_stopped", root, log)
    how, took, right = ended["end"]
    assert how == Ending.GAVE_UP.value
    assert 1.0 <= took < 1.0 + _PROMPTLY
    assert right
    assert ended["holder"] == "produced"  # it never knew
    assert lines_of(log) == ["holder", "1"]
    assert isinstance(DirectoryStore(root).get(key_of(1)), Found)


# -- producers that raise -----------------------------------------------------------------


def first_ones_raise(root: str, log: str, processes: str, threads: str) -> dict[str, int]:
    """Ask for one key from everywhere at once; the first two to produce raise."""
    barrier = _FORK.Barrier(int(processes) * int(threads), timeout=20)

    def produce() -> Entry:
        note(Path(log), "1")
        time.sleep(0.05)
        if len(lines_of(Path(log))) <= 2:
            raise ArithmeticError("the compiler says no")
        return entry_of(1)

    def ask(cache: Cache, ends: list[str]) -> None:
        barrier.wait()
        try:
            ends.append(cache.obtain(key_of(1), produce).how.value)
        except ArithmeticError as error:
            ends.append(str(error))

    def work() -> list[str]:
        cache, ends = cache_at(root), list[str]()
        crew = [threading.Thread(target=ask, args=(cache, ends)) for _ in range(int(threads))]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        return ends

    children = [start(work) for _ in range(int(processes))]
    return Counter(end for child in children for end in child.result())


@pytest.mark.parametrize(("processes", "threads"), [(5, 1), (2, 3), (1, 5)])
def test_after_a_producer_that_raises_the_next_one_in_line_produces(
    tmp_path: Path, processes: int, threads: int
) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    ends = ran(__name__, "first_ones_raise", root, log, str(processes), str(threads))
    assert len(lines_of(log)) == 3
    assert ends.pop("the compiler says no") == 2  # each got its own error, nobody another's
    assert ends.pop("produced") == 1
    assert set(ends) <= {"hit", "waited for another"}
    assert sum(ends.values()) == processes * threads - 3


def test_a_production_that_asks_for_its_own_key_ends(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)

    def produce() -> Entry:
        return cache.obtain(key_of(1), lambda: entry_of(1)).entry

    assert cache.obtain(key_of(1), produce).put == Stored()


def test_the_entry_of_another_key_is_refused_and_the_next_one_may_try(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)
    with pytest.raises(ValueError, match="got the entry of"):
        cache.obtain(key_of(1), lambda: entry_of(2))
    assert cache.obtain(key_of(1), lambda: entry_of(1)).how is Ending.PRODUCED


# -- where there are no leases ------------------------------------------------------------


def without_leases(root: str, log: str) -> list[str]:
    """Ask for one key from four processes at once."""
    barrier = _FORK.Barrier(4, timeout=20)

    def work() -> str:
        barrier.wait()
        obtained = cache_at(root).obtain(key_of(1), _producer(Path(log), 1, 0.1))
        return obtained.how.value if is_right(obtained.entry, 1) else "wrong"

    return [child.result() for child in [start(work) for _ in range(4)]]


def test_where_leases_cannot_be_had_work_is_repeated_and_right(tmp_path: Path) -> None:
    root, log = tmp_path / "store", tmp_path / "log"
    (root / "v1").mkdir(parents=True)
    (root / "v1" / "leases").write_text("a file, for whatever reason")
    ends = ran(__name__, "without_leases", root, log)
    assert set(ends) <= {Ending.UNLOCKED.value, "hit"}
    assert 1 <= len(lines_of(log)) <= 4
    got = DirectoryStore(root).get(key_of(1))
    assert isinstance(got, Found)
    assert is_right(got.entry, 1)
    assert cache_at(root).obtain(key_of(1), lambda: entry_of(1)).how is Ending.HIT


# -- forks --------------------------------------------------------------------------------


def fork_meanwhile(root: str, log: str, ending: str) -> dict[str, Any]:
    """Fork while another thread produces; the child asks for the same key."""

    def parent() -> int:
        cache = cache_at(root)
        if ending == "no leases":
            cache = Cache(MemoryStore())
        go = threading.Event()

        def produce() -> Entry:
            note(Path(log), "parent")
            go.wait(20)
            return entry_of(1)

        thread = threading.Thread(target=cache.obtain, args=(key_of(1), produce))
        thread.start()
        _appears(lambda: lines_of(Path(log)))

        def ask() -> None:
            obtained = cache.obtain(key_of(1), _producer(Path(log), 1))
            note(Path(log).with_suffix(".end"), f"{obtained.how.value} {time.monotonic()}")

        child = start(ask)
        time.sleep(0.2)
        if ending == "the parent is killed":
            note(Path(log).with_suffix(".killed"), f"{time.monotonic()}")
            os.kill(os.getpid(), signal.SIGKILL)
        if ending == "the parent goes on":
            go.set()
        child.result(10.0)
        go.set()
        thread.join()
        return 0

    start(parent).result()
    end = Path(log).with_suffix(".end")
    _appears(lambda: lines_of(end), 10.0)
    how, _, at = lines_of(end)[0].rpartition(" ")
    killed = lines_of(Path(log).with_suffix(".killed"))
    return {"how": how, "took": float(at) - float(killed[0]) if killed else 0.0}


@pytest.mark.parametrize(
    ("ending", "hows", "productions"),
    [
        ("the parent goes on", {"hit", "waited for another"}, ["parent"]),
        ("the parent is killed", {"produced"}, ["parent", "1"]),
        ("no leases", {"produced"}, ["parent", "1"]),
    ],
)
def test_a_child_forked_while_another_thread_produces_can_have_the_same_key(
    tmp_path: Path, ending: str, hows: set[str], productions: list[str]
) -> None:
    ended = ran(__name__, "fork_meanwhile", tmp_path / "store", tmp_path / "log", ending)
    assert ended["how"] in hows
    assert ended["took"] < _PROMPTLY
    assert lines_of(tmp_path / "log") == productions


def fork_while_locked(root: str) -> str:
    """Fork while other threads are in the middle of a put, of an obtain and of counting."""
    cache = cache_at(root)
    store = cache.store
    assert isinstance(store, DirectoryStore)
    assert cache.put(entry_of(0)) == Stored()
    locked, go = threading.Barrier(4), threading.Event()

    def hold(lock: threading.Lock) -> None:
        with lock:
            locked.wait(10)
            go.wait(20)

    owners = (store.eviction, cache, cache.statistics)
    locks = [getattr(owner, "_lock", threading.Lock()) for owner in owners]
    threads = [threading.Thread(target=hold, args=(lock,)) for lock in locks]
    for thread in threads:
        thread.start()
    locked.wait(10)
    child = start(lambda: cache.obtain(key_of(1), lambda: entry_of(1)).how.value)
    try:
        return str(child.result(5.0))
    except TimeoutError as error:
        return str(error)
    finally:
        go.set()


def test_a_child_forked_while_another_thread_is_inside_the_store_does_not_hang(
    tmp_path: Path,
) -> None:
    assert ran(__name__, "fork_while_locked", tmp_path / "store") == "produced"


# -- leases -------------------------------------------------------------------------------


def test_leases_of_keys_that_were_made_leave_no_files(tmp_path: Path) -> None:
    cache = cache_at(tmp_path)
    for number in range(5):
        cache.obtain(key_of(number), _producer(tmp_path / "log", number))
    assert files_below(tmp_path / "v1" / "leases") == []


def test_the_holder_of_a_lease_is_known_by_its_number(tmp_path: Path) -> None:
    leases = DirectoryLeases(tmp_path / "leases")
    assert leases.holder("key") == "another process"
    lease = leases.take("key")
    assert leases.holder("key") == f"process {os.getpid()}"
    del lease
