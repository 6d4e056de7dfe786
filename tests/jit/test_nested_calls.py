"""Kernels may be called by what runs during a call: properties, compiles, handlers, threads."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import whorl
from tests.jit.compilers import Look, Looking, Make, Thing, compiles, empty
from whorl.calls.events import Event, Happened, listeners
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore, NullStore


def test_threads_without_leases_compile_once() -> None:
    kernel = whorl.jit(Looking(lambda inputs: inputs.arg("x").value()), store=Cache(NullStore()))(
        empty
    )
    both_missed = threading.Barrier(2)
    first_done = threading.Event()

    def on(event: Event) -> None:
        if event.what is Happened.MISSED:
            both_missed.wait(10)
            if threading.current_thread().name == "second":
                first_done.wait(10)

    def work() -> None:
        kernel(1)
        if threading.current_thread().name == "first":
            first_done.set()

    threads = [threading.Thread(target=work, name=name) for name in ("first", "second")]
    listeners.append(on)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        listeners.remove(on)
    assert compiles(kernel) == 1


def test_a_property_may_call_the_kernel_that_reads_it(make: Make) -> None:
    numbers = count()

    class Calling:
        flag = True

        @property
        def n(self) -> int:
            kernel(Thing(flag=False, m=next(numbers)))
            return 7

    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return x.attr("n" if x.attr("flag").value() else "m").value()

    kernel = make(look)
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(kernel(Calling())), daemon=True)
    thread.start()
    thread.join(10)
    assert done == [7]


def test_a_fork_while_a_thread_asks_a_property_does_not_hang_the_child(make: Make) -> None:
    asking, go_on = threading.Event(), threading.Event()

    class Slow:
        flag = True
        asked = 0

        @property
        def n(self) -> int:
            Slow.asked += 1
            if Slow.asked == 2:  # after the compile, when what it read is looked at again
                asking.set()
                go_on.wait(20)
            return 7

    def look(inputs: Inputs) -> Any:
        x = inputs.arg("x")
        return x.attr("n" if x.attr("flag").value() else "m").value()

    kernel = make(look, store=Cache(MemoryStore()))
    thread = threading.Thread(target=kernel, args=(Slow(),), daemon=True)
    thread.start()
    assert asking.wait(10)
    child = os.fork()
    if not child:
        signal.alarm(5)
        os._exit(0 if kernel(Thing(flag=False, m=3)) == 3 else 1)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    thread.join(10)
    assert status == 0


def test_compiles_that_call_each_others_kernels_in_two_threads_end(tmp_path: Path) -> None:
    store = Cache(MemoryStore())
    both_compile = threading.Barrier(2)

    def crossing(other: list[Kernel]) -> Look:
        def look(inputs: Inputs) -> Any:
            x = inputs.arg("x").value()
            if x == 1:
                both_compile.wait(10)
                return other[0](0)
            return x

        return look

    a: list[Kernel] = []
    b: list[Kernel] = []

    def first(x: Any) -> str:
        return "a"

    def second(x: Any) -> str:
        return "b"

    a.append(whorl.jit(Looking(crossing(b)), store=store)(first))
    b.append(whorl.jit(Looking(crossing(a)), store=store)(second))
    done: list[Any] = []
    threads = [
        threading.Thread(target=lambda k=k: done.append(k(1)), daemon=True) for k in (a[0], b[0])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert done == [0, 0]


def within(seconds: float, do: Callable[[], object]) -> list[object]:
    """What it returned, if it was done in time."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(do()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found


def test_a_kernel_can_be_called_by_whoever_interrupts_one(make: Make) -> None:
    """By a finalizer or a signal handler: it runs between any two instructions of its thread."""
    kernel = make(lambda inputs: inputs.arg("x").value())

    def interrupted() -> list[Any]:
        with kernel._lock, kernel.lookup.table._lock:
            return [kernel(1), kernel(1), kernel(2)]

    assert within(10, interrupted) == [[1, 1, 2]]


def test_loading_may_call_the_kernel(make: Make) -> None:
    class Calling(Looking):
        def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
            if artifact.metadata["made"] == 1:
                kernel(2)
            return super().load(artifact, device)

    compiler = Calling(lambda inputs: inputs.arg("x").value())
    kernel = make(lambda inputs: None)
    kernel = Kernel(kernel.function, compiler, kernel.choices, kernel.own_cache)
    assert within(10, lambda: kernel(1)) == [1]
