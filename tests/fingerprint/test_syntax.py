"""Syntax trees while several threads ask for theirs."""

from __future__ import annotations

import ast
import gc
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from whorl.fingerprint import source_index, syntax
from whorl.fingerprint.syntax import syntax_tree

TEXT = "def f(a):\n" + "    a = [a, (a + 1) * (a - 2), {a: a}]\n" * 60


def test_a_tree_is_what_python_says() -> None:
    assert ast.dump(syntax_tree(TEXT)) == ast.dump(ast.parse(TEXT))
    assert ast.dump(syntax_tree("a", "eval")) == ast.dump(ast.parse("a", mode="eval"))
    with pytest.raises(SyntaxError):
        syntax_tree("a +")


def test_an_error_of_python_that_passes_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, errors = ast.parse, [SystemError("depth mismatch")] * 3

    def failing(*args: Any, **kwargs: Any) -> Any:
        if errors:
            raise errors.pop()
        return parse(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", failing)
    assert ast.dump(syntax_tree("a")) == ast.dump(parse("a"))
    errors[:] = [SystemError("for good")] * 1000
    with pytest.raises(SystemError, match="for good"):
        syntax_tree("a")


@pytest.fixture
def _switching() -> Iterator[None]:
    """Let other threads run whenever the collector does: also in the middle of a tree."""

    def switch(*said: object) -> None:
        time.sleep(0)

    thresholds = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(20)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(switch)


@pytest.mark.usefixtures("_switching")
def test_threads_get_their_trees_all_at_once() -> None:
    found: list[int] = []

    def work() -> None:
        found.extend(len(syntax_tree(TEXT).body) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # which is the point
@pytest.mark.parametrize("lock", [syntax._lock, source_index._compiling])
def test_a_child_has_its_own_locks(lock: Any) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        child = os.fork()
        if child == 0:
            os._exit(0 if lock.acquire(timeout=5) else 1)
        status = os.waitpid(child, 0)[1]
    finally:  # or the tests that come later would wait for the lock
        done.set()
        thread.join()
    assert status == 0
