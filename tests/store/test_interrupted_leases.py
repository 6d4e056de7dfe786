"""An interrupt at any moment of a production leaves neither a lease nor a production behind."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.store.entries import entry_of, key_of
from tests.store.interrupting import interrupted
from whorl.artifacts import Entry
from whorl.fingerprint.digest import StableDigest
from whorl.store import Cache, DirectoryLeases, DirectoryStore, Ending, Lease, NoLease
from whorl.store.lease import LeasesOfTwo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are of another make there")

SOURCES = ("store/lease.py", "store/atomic_file.py", "whorl/locks.py")


def same(entry: Entry) -> Entry:
    return entry


def ctrl_c() -> None:
    raise KeyboardInterrupt


def test_whenever_an_interrupt_comes_the_next_production_waits_for_nobody(tmp_path: Path) -> None:
    cache = Cache(DirectoryStore(tmp_path), lease=600.0)
    interrupts = 0
    for number in itertools.count(1):
        key, entry = key_of(number), entry_of(number)
        try:
            with interrupted(number, ctrl_c, SOURCES):
                cache.obtain(key, partial(same, entry))
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

        def again(key: StableDigest = key, entry: Entry = entry, done: list[Ending] = done) -> None:
            done.append(cache.obtain(key, partial(same, entry)).how)

        thread = threading.Thread(target=again, daemon=True)  # a failure ends the run
        thread.start()
        thread.join(20)
        assert done, f"another thread waits for the interrupted production ({number})"
        assert done[0] in (Ending.HIT, Ending.PRODUCED, Ending.WAITED), (number, done)
        again()
        assert Ending.UNLOCKED not in done
    assert interrupts > 50


def test_a_lease_whose_taking_was_interrupted_can_be_taken_at_any_time(tmp_path: Path) -> None:
    leases = DirectoryLeases(tmp_path)
    kept = []
    for number in itertools.count(1):
        name = f"name{number}"
        try:
            with interrupted(number, ctrl_c, SOURCES):
                kept.append(leases.take(name))
        except KeyboardInterrupt as raised:
            error = raised
        else:
            break
        lease = leases.take(name)
        assert not isinstance(lease, NoLease), (number, error)
        lease.release(done=True)
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

    def take_and_release() -> None:
        lease = both.take("name")
        assert not isinstance(lease, NoLease)
        lease.release(done=True)

    with pytest.raises(KeyboardInterrupt) as raised:
        take_and_release()
    assert raised.tb is not None
    again = near.take("name")
    assert not isinstance(again, NoLease)
    again.release(done=True)


def too_late(number: int, frame: object) -> None:
    raise TimeoutError  # which is an OSError


def test_an_alarm_that_raises_an_oserror_is_not_taken_for_a_lack_of_leases(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGALRM, too_late)
    leases = DirectoryLeases(tmp_path)
    leases.take("first")
    kept: list[object] = []
    try:
        for number in itertools.count(1):
            with interrupted(number, lambda: too_late(0, None), ("store/lease.py",)) as moments:
                try:
                    kept.append(leases.take(f"name{number}"))
                except TimeoutError:
                    continue
            assert moments.count < number, f"moment {number} is lost"
            break
    finally:
        signal.signal(signal.SIGALRM, before)
