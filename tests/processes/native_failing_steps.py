"""A program in which every step of the native set-up fails once: it still has its results.

A step is a call of a function, of Python's or of C's, that is made while a kernel becomes native:
allocations, files, memory maps and reads of memory among them. Of the calls of one function from
another the first fails; with `WHORL_TEST_LONG=1` every single call does.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

import whorl
from tests.kernels.native_calls import is_native
from whorl.launch import callable as native_callable
from whorl.launch import failure, kernel_tables, layout_search, native_tables, routine
from whorl.launch.callable import entry_header
from whorl.launch.native_tables import NativeTables

ENTRIES: set[CodeType] = {
    function.__code__
    for function in (
        native_tables._make_classes,
        NativeTables.add,
        NativeTables.drop,
    )
}
EVERY = os.environ.get("WHORL_TEST_LONG") == "1"


LEFT_OUT = ("whorl/lazy.py", "logging/__init__.py", "importlib._bootstrap>", "threading.py")
"""Whose functions take and release locks, which would stay taken."""


class Injected(Exception):
    """What a step fails with."""


class Steps:
    """Counts the steps of the set-up, and lets one of them fail."""

    def __init__(
        self,
        failing: int | None = None,
        error: BaseException | None = None,
        entries: set[CodeType] = ENTRIES,
    ) -> None:
        self.entries = entries
        self.failing = failing
        self.error = error
        self.has_failed = False
        self.places: dict[object, int] = {}  # of each, its first step
        self.count = 0
        self._inside: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._inside is None:
            if event == "call" and frame.f_code in self.entries:
                self._inside = frame
            return
        if event == "return" and frame is self._inside:
            self._inside = None
        if event not in ("call", "c_call") or frame.f_code.co_filename.endswith(LEFT_OUT):
            return
        called = getattr(argument, "__name__", "") if event == "c_call" else frame.f_code.co_name
        if called in ("__exit__", "release", "close"):
            return  # which do not fail, and would leave locks taken and files open
        self.count += 1
        place = (frame.f_code.co_filename.partition(" ")[0], frame.f_code.co_name, called)
        self.places.setdefault(self.count if EVERY else place, self.count)
        if self.count == self.failing and self.error is not None:
            self.has_failed = True
            raise self.error

    def __enter__(self) -> Steps:
        sys.setprofile(self)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)


class Thing:
    def __init__(self) -> None:
        self.x = np.arange(4.0)
        self.n = 3


def total(thing: Any, k: Any) -> float:
    s = 0.0
    for i in range(thing.x.size):
        s += thing.x[i] * k
    return float(s + thing.n)


def paused(x: Any, stop: Any) -> None:
    x[0] += 1
    with whorl.checkpoint(7, yield_on=stop):
        x[1] += 1


class Program:
    """A kernel, and calls of it with known results."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kernel: Any = whorl.kernel(function)
        self.thing = Thing()

    def step(self, number: int) -> None:
        assert self.kernel(self.thing, number) == 6.0 * number + 3


class Resumed(Program):
    """The same with checkpoints."""

    def step(self, number: int) -> None:
        x, stop = np.zeros(2), np.ones((), np.int32)
        assert self.kernel(x, stop).checkpoint == 7
        stop[()] = 0
        assert not self.kernel.resume(x, stop, from_checkpoint=7).yielded
        assert x.tolist() == [1, 2]


PROGRAMS: dict[str, tuple[type[Program], Callable[..., Any]]] = {
    "called": (Program, total),
    "resumed": (Resumed, paused),
}


def anew() -> None:
    """Let everything be made again, as in a new process."""
    layout_search.object_layout.cache_clear()
    native_callable.class_layout.cache_clear()
    native_callable.native_base.cache_clear()
    kernel_tables.api_of_all.cache_clear()
    for known in (native_tables._classes, routine._addresses, failure._reasons):
        known.clear()


def program(name: str, steps: Steps) -> Program:
    anew()
    made = None
    while made is None:  # what interrupts the making of a kernel has its way, too
        with steps:
            try:
                cls, function = PROGRAMS[name]
                made = cls(function)
            except KeyboardInterrupt:
                assert steps.error is not None
    return made


def steps_of(name: str) -> list[int]:
    for _ in range(2):  # in the first one, things are compiled
        steps = Steps()
        made = program(name, steps)
        for number in range(6):
            with steps:
                made.step(number)
    with steps:
        made.kernel.tables.drop(made.kernel)
    assert len(steps.places) > 150
    return sorted(steps.places.values())


class Warned(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def failing(name: str) -> None:
    """Whichever step fails, the results are right, and there is one warning with the cause."""
    warned, off = Warned(), 0
    logging.getLogger("whorl.launch").addHandler(warned)
    for number_of_step in steps_of(name):
        warned.messages.clear()
        steps = Steps(number_of_step, Injected(f"step {number_of_step}"))
        made = program(name, steps)
        for number in range(6):
            with steps:
                made.step(number)
        with steps:
            made.kernel.tables.drop(made.kernel)
        for number in range(3):
            made.step(number)
        assert len(warned.messages) <= 1, warned.messages
        if (
            any(each.is_off for each in tables_of(made.kernel))
            or None in native_tables._classes.values()
        ):
            assert f"Injected: step {number_of_step} (" in warned.messages[0]
            off += 1
    assert off > 50


def showing() -> None:
    """At whichever step new tables are interrupted, what calls find is kept alive."""
    shown = {NativeTables._publish.__code__}
    for failing in range(1, 200):
        made = program("called", Steps())
        for number in range(6):
            made.step(number)
        assert is_native(made.kernel)
        steps = Steps(failing, KeyboardInterrupt(), shown)
        for _ in range(5):  # another specialization gets a table too
            with steps:
                try:
                    assert made.kernel(made.thing, 0.5) == 6.0
                except KeyboardInterrupt:
                    assert steps.has_failed
        assert_kept(made.kernel)
        made.step(7)
        if not steps.has_failed:
            break
    assert 20 < failing < 199


def interrupted(name: str) -> None:
    """At whichever step it is interrupted, the caller knows and goes on."""
    for failing in steps_of(name)[:: 1 if EVERY else 4]:
        steps = Steps(failing, KeyboardInterrupt())
        made = program(name, steps)
        for number in range(6):
            with steps:
                try:
                    made.step(number)
                except KeyboardInterrupt:
                    assert steps.has_failed
        for called in called_natively(made.kernel):
            assert_kept(called)
        for number in range(3):
            made.step(number)


def called_natively(kernel: Any) -> list[Any]:
    """A kernel, and its resumption if there is one."""
    return [each for each in (kernel, kernel.resume) if hasattr(each, "tables")]


def tables_of(kernel: Any) -> list[NativeTables]:
    return [each.tables for each in called_natively(kernel)]


def assert_kept(called: Any) -> None:
    """The header that calls find is one that somebody holds."""
    of = called.tables
    classes = native_tables._classes.get(called.family)
    if classes is not None and isinstance(called, classes.native):
        kept = [each.header.address for each in (*of._publications, *of._publishing)]
        assert entry_header(called) in kept


def dropping() -> None:
    """What interrupts the dropping of tables leaves none that could be found."""
    for failing in range(1, 60):
        steps = Steps(None)
        made = program("called", steps)
        for number in range(6):
            made.step(number)
        assert is_native(made.kernel)
        steps = Steps(failing, KeyboardInterrupt())
        with steps:
            try:
                made.kernel.tables.drop(made.kernel)
            except KeyboardInterrupt:
                assert not is_native(made.kernel)
        if not steps.has_failed:
            break
        made.step(5)
    assert failing > 10


if __name__ == "__main__":
    logging.getLogger("whorl").propagate = False
    globals()[sys.argv[1]](*sys.argv[2:])
    print("done")
