"""What was wrong once: each as the smallest program that showed it."""

from __future__ import annotations

import contextlib
import copy
import errno
import fcntl
import logging
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import whorl
from tests.store.entries import entry_of, key_of
from whorl.artifacts import Artifact, Damage, Damaged, Label, decode, encode
from whorl.artifacts.lowered import NotPlain
from whorl.store import (
    Cache,
    DirectoryStore,
    Ending,
    Found,
    Leases,
    MemoryStore,
    Mismatch,
    ReadOnly,
    Statistics,
    Stored,
    Totals,
    Verifying,
    atomic_file,
    bound,
    default,
    statistics,
    totals,
)

ROOT = Path(__file__).parents[2]


def cache_at(root: Path, *, lease: float = 600.0) -> Cache:
    counted = Statistics(root / "statistics")
    store = DirectoryStore(root, statistics=counted)
    return Cache(store, leases=Leases(store.leases), statistics=counted, lease=lease)


def ends_within(seconds: float, work: Callable[[], object]) -> bool:
    """Whether a forked child comes to an end by itself."""
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            work()
            os._exit(0)
        os._exit(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def size_of_entries(root: Path) -> int:
    return sum(file.size for file in DirectoryStore(root).bound.files())


# -- A: promises that are broken ---------------------------------------------------------


def test_a_verifying_store_in_a_cache_with_leases_has_keys_produced_again(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1, b"old"))
    found: list[Mismatch] = []
    cache = Cache(Verifying(store, on_mismatch=found.append), leases=Leases(store.leases))
    made = cache.obtain(key_of(1), lambda: entry_of(1, b"new"))
    assert made.how is Ending.PRODUCED  # WAITED: `look` asks again, and is then told the truth
    assert len(found) == 1


def test_programs_that_seed_random_keep_to_the_bound(tmp_path: Path) -> None:
    size = len(entry_of(0, b"").data)
    max_size = 1024 * 2 * size  # each entry is half a unit; random.seed(0) gives 0.84 first
    for number in range(int(1.3 * max_size / size)):
        random.seed(0)  # as each run of a reproducible program begins
        DirectoryStore(tmp_path, max_size=max_size).put(entry_of(number, b""))
    assert size_of_entries(tmp_path) <= 1.1 * max_size


def test_a_put_does_not_change_the_random_numbers_of_the_program(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    random.seed(1)
    alone = random.random()
    random.seed(1)
    store.put(entry_of(1))
    assert random.random() == alone


@pytest.mark.parametrize("size", [100, 2_000_000])
def test_a_short_read_does_not_set_a_good_file_aside(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1, b"x" * size))
    assert isinstance(store.get(key_of(1)), Found)  # from now on it is read the fast way
    real = os.read
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", lambda file, wanted: real(file, min(wanted, 64)))
        got = store.get(key_of(1))
    assert not (tmp_path / "quarantine").exists()
    assert isinstance(got, Found)


def test_a_mode_of_readonly_does_not_move_a_damaged_file(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    file = Path(store.path(key_of(1)))
    file.write_bytes(b"damaged")
    ReadOnly(store).get(key_of(1))
    assert file.exists()
    assert not (tmp_path / "quarantine").exists()


def test_a_mode_of_readonly_does_not_touch_times(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    os.utime(store.path(key_of(1)), (1, 1))
    ReadOnly(store).get(key_of(1))
    assert Path(store.path(key_of(1))).stat().st_mtime == 1


def test_without_a_home_and_without_a_temporary_directory_the_program_runs() -> None:
    program = (
        "import os, tempfile, platformdirs.unix, filelock, pwd\n"
        "from whorl.store import default_cache\n"
        "tempfile._candidate_tempdir_list = lambda: ['/nonexistent']\n"  # all is read-only
        "os.setgid(54321), os.setuid(54321)\n"  # a user without an entry, as in containers
        "print(type(default_cache()).__name__)\n"
    )
    if os.geteuid():
        pytest.skip("needs root")
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=False,
    )  # fmt: skip
    assert done.stdout == "Cache\n", done.stderr[-300:]


def test_where_flock_is_not_implemented_work_is_done_without_a_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*arguments: object) -> None:  # Lustre without -o flock
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", flock)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # python -W error
        made = cache_at(tmp_path).obtain(key_of(1), lambda: entry_of(1))
    assert made.how is Ending.UNLOCKED


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_hits_of_a_worker_that_ends_are_counted(tmp_path: Path, method: str) -> None:
    program = (
        "import multiprocessing, sys\n"
        "from pathlib import Path\n"
        "def work(place):\n"
        "    from tests.store.test_second_look import cache_at\n"
        "    from tests.store.entries import key_of\n"
        "    cache = work.cache = cache_at(Path(place))\n"
        "    for _ in range(10): cache.get(key_of(1))\n"
        "if __name__ == '__main__':\n"
        f"    start = multiprocessing.get_context({method!r}).Process\n"
        "    child = start(target=work, args=(sys.argv[1],))\n"
        "    child.start(); child.join(); sys.exit(child.exitcode)\n"
    )
    (tmp_path / "program.py").write_text(program)
    DirectoryStore(tmp_path).put(entry_of(1))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
    assert Totals.of(tmp_path / "statistics").hits == 10


def test_hits_that_are_few_are_written_every_five_seconds_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "FLUSH_EVERY", 0.05)
    counted = Statistics(tmp_path)
    for _ in range(5):
        counted.hit(1, 1.0)
        time.sleep(0.06)
    assert Totals.of(tmp_path).hits >= 3  # 0: the clock is looked at every 64th hit


def test_whoever_is_killed_while_adding_up_does_not_double_the_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "COMPACT_FROM", 1)
    counted = Statistics(tmp_path)
    counted.count(Ending.HIT, 5)
    counted.flush()

    def killed(*arguments: object) -> None:
        os._exit(9)

    def work() -> None:
        Path.unlink = killed  # type: ignore[method-assign,assignment]  # a child
        totals.compact(tmp_path)

    assert ends_within(5, work)
    assert Totals.of(tmp_path).hits == 5


def test_large_entries_of_several_writers_keep_to_the_bound_too(tmp_path: Path) -> None:
    max_size = 4 << 20

    def write(writer: int) -> None:
        store = DirectoryStore(tmp_path, max_size=max_size)
        for number in range(20):
            store.put(entry_of((writer, number), bytes(int(0.3 * max_size))))

    children = []
    for writer in range(4):
        pid = os.fork()
        if not pid:
            write(writer)
            os._exit(0)
        children.append(pid)
    peak = 0
    while children:
        time.sleep(0.005)
        if (tmp_path / "v1").is_dir():
            # Between two writers: a sum over files that come and go would count too many.
            with FileLock(tmp_path / "v1" / "collecting", mode=0o600):
                peak = max(peak, size_of_entries(tmp_path))
        children = [pid for pid in children if not os.waitpid(pid, os.WNOHANG)[0]]
    assert 0 < peak <= 1.1 * max_size, peak / max_size


def test_who_waits_for_one_that_hangs_takes_what_another_has_put_meanwhile(tmp_path: Path) -> None:
    hanging = Leases(DirectoryStore(tmp_path).leases).take(str(key_of(1)))
    cache = cache_at(tmp_path, lease=2.0)
    threading.Timer(0.2, lambda: DirectoryStore(tmp_path).put(entry_of(1))).start()
    made = []
    begun = time.monotonic()
    got = cache.obtain(key_of(1), lambda: made.append(1) or entry_of(1))  # type: ignore[func-returns-value]  # None
    del hanging
    assert (got.how, made) == (Ending.WAITED, [])
    assert time.monotonic() - begun < 1.5


def test_a_group_that_dies_with_the_process_is_refused(tmp_path: Path) -> None:
    group: Any = whorl.fingerprint(object(), by="identity")
    with pytest.raises(TypeError):
        DirectoryStore(tmp_path).put(entry_of(1, under=group))


@pytest.mark.parametrize("size", ["9" * 400, "9" * 300 + "P"])
def test_a_size_beyond_all_measure_is_an_error_that_names_the_variable(size: str) -> None:
    with pytest.raises(whorl.BadSetting, match="WHORL_CACHE_MAX_SIZE"):
        whorl.Settings.from_environment({"WHORL_CACHE_MAX_SIZE": size})


def test_a_relative_directory_where_there_is_no_working_directory_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(whorl.BadSetting, match="WHORL_CACHE_DIR"):
        whorl.Settings.from_environment({"WHORL_CACHE_DIR": "cache"})


def test_a_sparse_file_that_says_it_is_four_terabytes_is_a_miss(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    file, size = Path(store.path(key_of(1))), 1 << 42
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, 64, size)
    file.write_bytes(data)
    os.truncate(file, size)
    assert not isinstance(store.get(key_of(1)), Found)  # MemoryError


def test_an_old_pipe_among_the_entries_does_not_stop_a_collection(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    os.mkfifo(pipe := Path(store.path(key_of(1))).parent / "pipe")
    os.utime(pipe, (1, 1))
    assert ends_within(3, lambda: store.collect(100))


def test_a_forgotten_entry_that_is_put_again_through_a_verifying_store_is_there() -> None:
    store = Verifying(MemoryStore())
    store.put(entry_of(1))
    store.get(key_of(1))  # sampled: said to be absent
    store.remove(key_of(1))
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(store.get(key_of(1)), Found)


def test_an_entry_that_was_evicted_before_it_was_verified_is_stored_when_put_says_so() -> None:
    inner = MemoryStore()
    store = Verifying(inner)
    store.put(entry_of(1))
    store.get(key_of(1))
    inner.remove(key_of(1))  # a collection, by any process
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(inner.get(key_of(1)), Found)


# -- B: programs that stop or wait ---------------------------------------------------------


def test_a_stderr_that_can_only_write_is_no_trouble_to_those_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Writer:
        def write(self, text: str) -> None: ...

        def flush(self) -> None: ...

    held: Any = Leases(DirectoryStore(tmp_path).leases).take(str(key_of(1)))
    monkeypatch.setattr(sys, "stderr", Writer())
    threading.Timer(0.8, lambda: held.release(done=True)).start()
    assert cache_at(tmp_path).obtain(key_of(1), lambda: entry_of(1)).how is Ending.PRODUCED


def test_two_productions_that_need_each_other_do_not_wait_for_each_other(tmp_path: Path) -> None:
    cache = cache_at(tmp_path, lease=3.0)
    both = threading.Barrier(2)

    def run(mine: int, other: int) -> None:
        def produce() -> Any:
            both.wait()
            cache.obtain(key_of(other), lambda: entry_of(other))
            return entry_of(mine)

        cache.obtain(key_of(mine), produce)

    threads = [threading.Thread(target=run, args=pair) for pair in ((1, 2), (2, 1))]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begun < 2.0  # all of the lease: ten minutes as it comes


def test_a_production_that_asks_for_itself_through_another_cache_does_not_wait(
    tmp_path: Path,
) -> None:
    one, other = (cache_at(tmp_path, lease=2.0) for _ in range(2))  # before and after `configure`
    begun = time.monotonic()
    one.obtain(key_of(1), lambda: other.obtain(key_of(1), lambda: entry_of(1)).entry)
    assert time.monotonic() - begun < 1.0


def test_a_collector_that_hangs_holds_up_one_put_and_not_every_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "PATIENCE", 0.5)  # half a minute as it comes
    store = DirectoryStore(tmp_path, max_size=200_000)
    store.put(entry_of(0))
    with FileLock(tmp_path / "v1" / "collecting"):
        begun = time.monotonic()
        for number in range(5):
            store.put(entry_of(number, bytes(20_000)))
    assert time.monotonic() - begun < 1.5


def test_a_signal_handler_may_use_the_cache() -> None:
    def work() -> None:
        counted = Statistics()

        def handle(*arguments: object) -> None:
            counted.count(Ending.HIT)
            signal.setitimer(signal.ITIMER_REAL, 0.0005)

        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            counted.count(Ending.HIT)

    assert ends_within(6, work)


@pytest.mark.parametrize("error", [Damaged(Damage.EMPTY), NotPlain("value", "object")])
def test_an_error_can_be_sent_from_a_worker_to_its_pool(error: Exception) -> None:
    # One that cannot be unpickled ends the pool's thread, and `get` waits for ever.
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# -- C: bound, order, space ------------------------------------------------------------------


def test_an_entry_from_the_future_is_not_kept_for_ever(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    later = time.time() + 10 * 365 * 86400  # the clock was wrong when it was written
    os.utime(store.path(key_of(1)), (later, later))
    store.get(key_of(1))
    assert Path(store.path(key_of(1))).stat().st_mtime < time.time() + 60


def test_what_is_put_while_a_collection_looks_is_not_evicted_for_its_predecessors_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(4):
        store.put(entry_of(number))
        os.utime(store.path(key_of(number)), (1000 + number, 1000 + number))
    real = store.bound._ranked

    def ranked(files: Any) -> Iterator[Any]:
        store.put(entry_of(0))  # another process
        return real(files)

    monkeypatch.setattr(store.bound, "_ranked", ranked)
    store.collect(3 * 4100 + 1000)
    assert isinstance(store.get(key_of(0)), Found)


def test_groups_without_entries_are_not_listed_and_leave_no_directories(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(20):
        store.put(entry_of(number, under=key_of(("group", number))))
    store.collect(1)
    assert list(store.groups()) == []


def test_files_that_are_not_whorls_are_not_evicted(tmp_path: Path) -> None:
    (tmp_path / "v0" / "entries").mkdir(parents=True)
    (thesis := tmp_path / "v0" / "entries" / "thesis.tex").write_text("x" * 5000)
    DirectoryStore(tmp_path, max_size=6000).collect(100)
    assert thesis.exists()


def test_a_name_that_a_killed_writer_left_does_not_stop_a_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    monkeypatch.setattr(atomic_file, "_NUMBER", count(7))
    name = f"{atomic_file._PROCESS}-{os.getpid()}-7"  # forked from one parent, same pid again
    (tmp_path / "v1" / "incoming" / name).touch()
    assert store.put(entry_of(2)) == Stored()


def test_sync_waits_for_the_names_of_new_directories_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, synced = os.fsync, set()

    def fsync(file: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{file}").readlink()))
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    store = DirectoryStore(tmp_path / "store", sync=True)
    store.put(entry_of(1))
    shard = Path(store.path(key_of(1))).parent
    assert {str(shard), str(shard.parent), str(tmp_path / "store" / "v1")} <= synced


# -- D: settings, log, records ---------------------------------------------------------------


def test_a_level_that_the_program_has_set_stays() -> None:
    program = (
        "import logging; logging.getLogger('whorl').setLevel(logging.DEBUG)\n"
        "from whorl.store import default_cache; default_cache()\n"
        "print(logging.getLogger('whorl').level)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(done.stdout) == logging.DEBUG


def test_a_program_that_configures_logging_later_reads_everything_once() -> None:
    program = (
        "import logging; from whorl.store import default_cache; default_cache()\n"
        "logging.basicConfig(level=logging.INFO); logging.getLogger('whorl.store').info('hello')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, check=True, env={**os.environ, "WHORL_LOG": "info"},
    )  # fmt: skip
    assert done.stderr.count(b"hello") == 1


def test_configure_while_another_thread_opens_the_default_cache_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whorl.configure(cache_dir=tmp_path / "old")
    real = default.open_cache

    def open_cache(settings: whorl.Settings) -> Cache:
        opened = real(settings)
        if settings.cache_dir.value == tmp_path / "new":
            return opened
        thread = threading.Thread(target=lambda: whorl.configure(cache_dir=tmp_path / "new"))
        thread.start()
        thread.join(2)
        return opened

    with monkeypatch.context() as patch:
        patch.setattr(default, "open_cache", open_cache)
        default.default_cache()
    store = default.default_cache().store
    assert isinstance(store, DirectoryStore)
    assert store.root == tmp_path / "new"


def test_a_nested_value_comes_back_or_is_refused_by_name() -> None:
    value: Any = 1
    for depth in range(1200):
        value = {"a": value}
        if depth % 25:
            continue
        try:
            entry = encode(Artifact({}, {"value": value}), Label("artifact", key_of(1)))
        except NotPlain:
            continue
        decode(entry)  # 3.11: RecursionError in encode at 350


def test_metadata_under_a_name_that_does_not_come_back_are_refused() -> None:
    bad: Any = {(1, 2): 3}
    with pytest.raises(TypeError):
        decode(encode(Artifact({}, bad), Label("artifact", key_of(1))))  # Damaged, when read


def test_an_empty_artifact_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(Artifact()) == Artifact()
    assert pickle.loads(pickle.dumps(Artifact())) == Artifact()
