"""An interrupt at any moment of a production leaves neither a lease nor a production behind."""

from __future__ import annotations

import itertools
import sys
import threading
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from tests.store.interrupting import interrupted
from whorl.store import Cache, DirectoryLeases, DirectoryStore, Ending, Lease, NoLease
from whorl.store.lease import LeasesOfTwo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are of another make there")

SOURCES = ("store/flight.py", "store/lease.py", "store/file_lock.py", "store/atomic_file.py")


def ctrl_c() -> None:
    raise KeyboardInterrupt


def test_whenever_an_interrupt_comes_the_next_production_waits_for_nobody(tmp_path: Path) -> None:
    cache = Cache(DirectoryStore(tmp_path), lease=600.0)
    interrupts = 0
    for number in itertools.count(1):
        key, error = key_of(number), None
        try:
            with interrupted(number, ctrl_c, SOURCES):
                cache.obtain(key, lambda number=number: entry_of(number))  # type: ignore[misc]
        except KeyboardInterrupt as raised:
            error = raised  # an interactive session keeps the traceback, and the frames in it
        else:
            break
        interrupts += 1
        leases = DirectoryStore(tmp_path).leases
        assert leases is not None
        lease = leases.take(str(key))
        assert lease is not NoLease.HELD, (number, error)
        assert not isinstance(lease, NoLease)
        lease.release(done=False)
        done: list[Ending] = []
        thread = threading.Thread(
            target=lambda key=key, number=number: done.append(
                cache.obtain(key, lambda: entry_of(number)).how
            )
        )
        thread.start()
        thread.join(20)
        assert done, f"another thread waits for the interrupted production ({number})"
        assert done[0] in (Ending.HIT, Ending.PRODUCED, Ending.WAITED), (number, done)
        assert cache.obtain(key, lambda number=number: entry_of(number)).how is not Ending.UNLOCKED  # type: ignore[misc]
    assert interrupts > 50


def test_whenever_an_interrupt_comes_no_file_of_a_lock_stays_registered(tmp_path: Path) -> None:
    leases = DirectoryLeases(tmp_path)
    for number in itertools.count(1):
        name = f"name{number}"
        lease: Lease | NoLease | None = None
        try:
            with interrupted(number, ctrl_c, SOURCES):
                lease = leases.take(name)
        except KeyboardInterrupt as error:
            lease = leases.take(name)
            assert not isinstance(lease, NoLease), (number, error)
            lease.release(done=True)
        else:
            break
    assert number > 10


class Interrupting:
    """Leases of other machines, where taking or releasing one is interrupted."""

    place = "elsewhere"

    def __init__(self, *, takes: bool) -> None:
        self._takes = takes

    def take(self, name: str) -> Lease | NoLease:
        if not self._takes:
            raise KeyboardInterrupt
        return self

    def release(self, *, done: bool) -> None:
        raise KeyboardInterrupt

    def holder(self, name: str) -> str:
        return "another machine"


@pytest.mark.parametrize("takes", [False, True])
def test_an_interrupt_at_the_lease_of_other_machines_releases_that_of_this_one(
    tmp_path: Path, takes: bool
) -> None:
    near = DirectoryLeases(tmp_path)
    both = LeasesOfTwo(near, Interrupting(takes=takes))
    with pytest.raises(KeyboardInterrupt) as raised:
        lease = both.take("name")
        assert not isinstance(lease, NoLease)
        lease.release(done=True)
    assert raised.tb is not None
    again = near.take("name")
    assert not isinstance(again, NoLease)
    again.release(done=True)
