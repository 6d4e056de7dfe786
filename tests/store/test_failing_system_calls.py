"""Whatever system call fails, and with whatever error: no operation of a store raises, no value is
wrong, nothing that was kept is lost, and no file stays open.

As SQLite is tested: an operation is run again and again, and each time the next of its system calls
fails, until none is left. Then the same with every call failing from there on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from tests.store.failing import ERRORS, OpenFiles, failing
from whorl.store import (
    Cache,
    DirectoryLeases,
    DirectoryStore,
    Ending,
    Found,
    NoLease,
    Statistics,
    Totals,
)
from whorl.store.journal import Journal, Miss

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")

STORE = f"whorl{os.sep}store{os.sep}"
GROUP = key_of("group")
KEPT = {1: b"one", 2: b"two" * 30_000, 3: b"three" * 220_000, 4: b"four" * 1_050_000}


def filled(root: Path) -> None:
    store = DirectoryStore(root)
    for value, content in KEPT.items():
        store.put(entry_of(value, content))
        store.put(entry_of(value, content[:10], under=GROUP))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "store"
    filled(root)
    return root


def right_or_absent(store: DirectoryStore, value: int) -> None:
    for under, content in ((None, KEPT[value]), (GROUP, KEPT[value][:10])):
        got = store.get(key_of(value), under)
        if isinstance(got, Found):
            assert bytes(got.entry.payload("code")) == content


# -- the operations ---------------------------------------------------------------------


def get(root: Path) -> None:
    store = DirectoryStore(root)
    for value in (*KEPT, 1, 2, 1):  # what is asked for again is read in another way
        right_or_absent(store, value)
    assert not isinstance(store.get(key_of(99)), Found)


def glance(root: Path) -> None:
    entry = DirectoryStore(root).peek(key_of(1))
    assert entry is None or bytes(entry.payload("code")) == b"one"


def find(root: Path) -> None:
    store = DirectoryStore(root)
    known = {key_of(value) for value in KEPT}
    assert {*store.iterate()} <= known
    assert {*store.iterate(GROUP)} <= known
    assert {*store.groups()} <= {GROUP}


def get_damaged(root: Path) -> None:
    store = DirectoryStore(root)
    path = Path(store.path(key_of(77)))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"damaged")
    assert not isinstance(store.get(key_of(77)), Found)


def put(root: Path) -> None:
    store = DirectoryStore(root)
    store.put(entry_of(1, b"one"))
    store.put(entry_of(50, b"new"))
    store.put(entry_of(51, b"new", under=key_of("another group")))


def put_synced(root: Path) -> None:
    DirectoryStore(root, sync=True).put(entry_of(50, b"new", under=key_of("another group")))


def put_into_a_new_store(root: Path) -> None:
    DirectoryStore(root.parent / "new").put(entry_of(1))


def remove(root: Path) -> None:
    DirectoryStore(root).remove(key_of(99))
    DirectoryStore(root).remove(key_of(99), GROUP)


def collect(root: Path) -> None:
    store = DirectoryStore(root)
    store.uses("llvm")
    store.collect()
    store.collect(unused_for=1e9)


def obtain(root: Path) -> None:
    cache = Cache(DirectoryStore(root))
    for value in (1, 60):
        got = cache.obtain(key_of(value), partial(entry_of, value, b"one"))
        assert bytes(got.entry.payload("code")) == b"one"


def lease(root: Path) -> None:
    leases = DirectoryLeases(root / "v1" / "leases")
    for done in (True, False):
        taken = leases.take("name")
        leases.holder("name")
        if not isinstance(taken, NoLease):
            taken.release(done=done)


def statistics(root: Path) -> None:
    counted = Statistics(root / "statistics")
    counted.count(Ending.HIT)
    counted.flush()
    counted.count(Ending.HIT, bytes_read=1)
    counted.flush()
    totals = Totals.of(root / "statistics")
    assert totals.bytes_read <= totals.hits <= counted.totals.hits + 10_000


def journal(root: Path) -> None:
    Journal(root).note(Miss("program", "first compile", "first compile"))
    assert {miss.program for miss in Journal(root).misses()} <= {"program"}


OPERATIONS: list[Callable[[Path], None]] = [
    get, glance, find, get_damaged, put, put_synced, put_into_a_new_store, remove, collect, obtain,
    lease, statistics, journal,
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_no_failing_system_call_is_noticed_by_a_program(
    operation: Callable[[Path], None], error: str, template: Path, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    shutil.copytree(template, root)
    operation(root)  # so that everything is imported
    with failing(0, error, only_in=STORE) as counting:
        operation(root)
    assert counting.count > 3
    files = OpenFiles()
    for from_there_on in (False, True) if error in ("EIO", "MemoryError") else (False,):
        for number in range(1, counting.count + 3):
            with failing(number, error, from_there_on=from_there_on, only_in=STORE):
                operation(root)
            assert not files.leaks(), number
            if error != "ENOSPC":  # which lets the least recently used go
                assert_all_is_there(root)
            else:
                assert_nothing_is_wrong(root)
        shutil.rmtree(tmp_path / "new", ignore_errors=True)


def assert_all_is_there(root: Path) -> None:
    store = DirectoryStore(root)
    missing = [value for value in KEPT if not Path(store.path(key_of(value))).exists()]
    assert missing == []
    for value in (1, 2):
        got = store.get(key_of(value))
        assert isinstance(got, Found), got
        right_or_absent(store, value)


def assert_nothing_is_wrong(root: Path) -> None:
    store = DirectoryStore(root)
    for value in (1, 2):
        right_or_absent(store, value)
    if not isinstance(store.get(key_of(1)), Found):
        filled(root)
