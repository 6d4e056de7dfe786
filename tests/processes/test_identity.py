"""Identities are never given twice, in no process and to no two objects."""

from __future__ import annotations

import gc
import weakref

import pytest

import whorl
from tests.processes.programs import printed


class Thing:
    pass


def test_the_digest_of_a_collected_object_is_never_given_to_another() -> None:
    seen: set[str] = set()
    addresses: set[int] = set()
    for _ in range(2000):
        thing = Thing()
        addresses.add(id(thing))
        digest = whorl.fingerprint(thing, by="identity")
        assert digest not in seen
        seen.add(digest)
        del thing
    assert len(addresses) < 2000, "no address was used twice, so nothing was tested"


def test_the_digest_of_a_collected_list_is_never_given_to_another() -> None:
    digests = {whorl.fingerprint([], by="identity") for _ in range(500)}
    assert len(digests) == 500


def test_an_object_keeps_its_identity_for_as_long_as_it_lives() -> None:
    things = [Thing() for _ in range(50)]
    first = [whorl.fingerprint(thing, by="identity") for thing in things]
    gc.collect()
    assert [whorl.fingerprint(thing, by="identity") for thing in things] == first
    assert len(set(first)) == 50


def test_asking_for_the_identity_does_not_keep_an_object_alive() -> None:
    thing = Thing()
    gone = weakref.ref(thing)
    whorl.fingerprint(thing, by="identity")
    del thing
    gc.collect()
    assert gone() is None


@whorl.by_identity("handle")
class Holder:
    def __init__(self, handle: object) -> None:
        self.handle = handle


def _local_class(handle: object) -> type:
    class Local:
        held = Holder(handle)

    return Local


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_digest_that_used_an_identity_says_so_every_time(times: int) -> None:
    handle = object()
    local = _local_class(handle)
    values = [Holder(handle), [Holder(handle)], {"k": Holder(handle)}, local(), local]
    for value in values:
        for _ in range(times):
            assert type(whorl.fingerprint(value)) is whorl.ProcessDigest


def test_parent_and_forked_child_never_give_one_identity_to_two_objects() -> None:
    program = """
import json, os, whorl
class Thing: pass
old = Thing()
before = whorl.fingerprint(old, by="identity")
read, write = os.pipe()
pid = os.fork()
mine = [Thing() for _ in range(20)]
digests = [whorl.fingerprint(thing, by="identity") for thing in mine]
stable = whorl.fingerprint({"a": [1, 2]})
if not pid:
    os.write(write, json.dumps([digests, whorl.fingerprint(old, by="identity"), stable]).encode())
    os._exit(0)
os.close(write)
with open(read) as pipe: child, _, child_stable = json.load(pipe)
os.waitpid(pid, 0)
print(json.dumps({
    "shared": sorted(set(child) & set(digests)), "stable": stable == child_stable,
    "kept": whorl.fingerprint(old, by="identity") == before,
}))
"""
    assert printed("-c", program) == {"shared": [], "stable": True, "kept": True}


def test_a_child_forked_while_another_thread_asks_does_not_hang() -> None:
    program = """
import json, os, threading, time, whorl
class Thing: pass
stop = False
def ask():
    while not stop:
        whorl.fingerprint([Thing()], by="identity"); whorl.fingerprint({"a": [1]})
threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads: thread.start()
done = []
for _ in range(20):
    pid = os.fork()
    if not pid:
        whorl.fingerprint(Thing(), by="identity"); whorl.fingerprint({"b": Thing})
        os._exit(7)
    deadline = time.monotonic() + 10
    while True:
        finished, status = os.waitpid(pid, os.WNOHANG)
        if finished or time.monotonic() > deadline: break
        time.sleep(0.002)
    if not finished: os.kill(pid, 9); os.waitpid(pid, 0)
    done.append(bool(finished) and os.waitstatus_to_exitcode(status) == 7)
stop = True
for thread in threads: thread.join()
print(json.dumps(done))
"""
    assert printed("-W", "ignore", "-c", program, timeout=120) == [True] * 20
