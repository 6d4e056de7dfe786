"""A result is not kept if something that it reads was another for a while during the run."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import whorl
from whorl.fingerprint.watch import Place
from whorl.remote.background import background_thread
from whorl.steps import concurrent_writes

LIMIT = 1
UNREAD = 1
TABLE = {"a": 1}
MODULE = types.ModuleType("changed_during_a_run")
MODULE.__dict__["X"] = 1


class Options:
    level = 1

    def __init__(self) -> None:
        self.depth = 1


OPTIONS = Options()
GATES: dict[str, threading.Event] = {}
HERE = sys.modules[__name__]


def _wait() -> None:
    """Let another thread do something now."""
    GATES["begun"].set()
    GATES["done"].wait(10)


@whorl.cached(ignores=["_wait"])
def reads_all(x: int) -> Any:
    first = LIMIT
    _wait()
    return first, LIMIT, TABLE["a"], MODULE.X, OPTIONS.level, OPTIONS.depth


def _during(run: Callable[[], Any], change: Callable[[], None]) -> Any:
    """What a run returns while another thread makes a change."""
    GATES.update(begun=threading.Event(), done=threading.Event())

    def other() -> None:
        GATES["begun"].wait(10)
        try:
            change()
        finally:
            GATES["done"].set()

    thread = threading.Thread(target=other)
    thread.start()
    try:
        return run()
    finally:
        thread.join()


def _patch(owner: Any, name: str, value: object) -> Callable[[], None]:
    def change() -> None:
        with mock.patch.object(owner, name, value):
            pass

    return change


def _patch_table() -> None:
    with mock.patch.dict(TABLE, {"a": 2}):
        pass


CHANGES: dict[str, Callable[[], None]] = {
    "a global": _patch(HERE, "LIMIT", 2),
    "a name of a module": _patch(MODULE, "X", 2),
    "an attribute of a class": _patch(Options, "level", 2),
    "a dict": _patch_table,
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_another_thread_changes_and_restores_is_noticed(what: str) -> None:
    before = reads_all.stats()
    value = _during(lambda: reads_all(1), CHANGES[what])
    assert value == (1, 1, 1, 1, 1, 1)
    assert reads_all.stats()["not kept"] == before["not kept"] + 1
    _during(lambda: reads_all(1), lambda: None)
    assert reads_all.stats()["ran"] == before["ran"] + 2


@pytest.mark.skipif(
    sys.version_info < (3, 12) or sys.version_info[:2] == (3, 13),
    reason="3.11 does not show writes to instances, 3.13 misses them",
)
def test_what_another_thread_changes_and_restores_on_an_instance_is_noticed() -> None:
    before = reads_all.stats()
    _during(lambda: reads_all(1), _patch(OPTIONS, "depth", 2))
    assert reads_all.stats()["not kept"] == before["not kept"] + 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 does not tell which name was written")
def test_a_name_that_is_not_read_does_not_matter() -> None:
    before = reads_all.stats()
    _during(lambda: reads_all(2), _patch(HERE, "UNREAD", 2))
    assert reads_all.stats()["not kept"] == before["not kept"]


def test_another_thread_that_changes_nothing_does_not_matter() -> None:
    before = reads_all.stats()
    _during(lambda: reads_all(3), lambda: None)
    assert reads_all.stats()["not kept"] == before["not kept"]


def test_what_a_function_changes_and_restores_itself_is_its_own_affair() -> None:
    @whorl.cached
    def patched() -> Any:
        with mock.patch.object(MODULE, "X", 2):
            return MODULE.X

    assert patched() == patched() == 2
    assert patched.stats()["ran"] == 1
    assert MODULE.X == 1


def test_a_function_that_writes_to_globals_of_its_own_is_kept_beside_other_threads() -> None:
    scope: dict[str, Any] = {"whorl": whorl, "COUNT": 0, "LIMIT": 1, "__name__": "counting"}
    text = """
@whorl.cached(ignores=["COUNT"])
def counted():
    global COUNT
    COUNT += 1
    return LIMIT
"""
    exec(text, scope)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert scope["counted"]() == 1
    finally:
        done.set()
        thread.join()
    assert scope["counted"].stats()["not kept"] == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 does not tell who wrote")
def test_what_another_task_changes_and_restores_is_noticed() -> None:
    @whorl.cached
    async def slow() -> Any:
        await asyncio.sleep(0.01)
        return LIMIT

    async def other() -> None:
        with mock.patch.object(HERE, "LIMIT", 2):
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(slow(), other())

    asyncio.run(both())
    assert slow.stats()["not kept"] == 1
    asyncio.run(slow())
    assert slow.stats()["not kept"] == 1


def test_many_runs_at_once_watch_the_same() -> None:
    @whorl.cached
    def slow(x: int) -> int:
        time.sleep(0.005)
        return x + LIMIT

    threads = [threading.Thread(target=slow, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.stats()["not kept"] == 0
    assert slow.stats()["ran"] == 8


def test_a_thread_of_whorls_own_is_no_thread_of_the_program() -> None:
    @whorl.cached
    def patched() -> Any:
        with mock.patch.object(MODULE, "X", 3):
            return MODULE.X

    end = threading.Event()

    def wait() -> None:
        end.wait(20)

    thread = background_thread(wait, "example")
    thread.start()
    try:
        assert patched() == patched() == 3
        assert patched.stats()["ran"] == 1
    finally:
        end.set()
        thread.join()


def test_a_loop_that_writes_is_not_watched_for_ever() -> None:
    table = {"a": 0}
    with concurrent_writes.watch_writes([Place(table, None)]) as writes:
        for i in range(30_000):
            table["a"] = i + 1000
    assert not writes.name
    with concurrent_writes.watch_writes([Place(table, None)], who=object) as writes:
        table["a"] = -1
    assert writes.name or sys.version_info < (3, 12)


def test_a_python_that_shows_no_writes_runs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrent_writes, "_detectors", [None])
    before = reads_all.stats()
    _during(lambda: reads_all(4), _patch(HERE, "LIMIT", 2))
    assert reads_all.stats()["not kept"] == before["not kept"]
