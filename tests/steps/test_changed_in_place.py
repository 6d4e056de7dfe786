"""What is changed in place, by less usual means, is noticed by the next call."""

from __future__ import annotations

import abc
import collections
import contextlib
import enum
import functools
import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.steps.programs import ran
from whorl.store import Cache

MODULE = types.ModuleType("changed_in_place")
PARTIAL = functools.partial(max, 1)


class Doubling(types.ModuleType):
    @property
    def X(self) -> int:  # the name of a constant
        return 2 * int(vars(self)["X"])


@whorl.cached
def by_name() -> Any:
    return MODULE.X


@whorl.cached
def whole() -> Any:
    return _taken(MODULE)


def _taken(module: Any) -> Any:
    return module.X


@whorl.cached
def of_partial(x: int) -> Any:
    return PARTIAL(x)


@whorl.cached
def of_argument(function: Any, x: int) -> Any:
    return function(x)


@pytest.mark.parametrize("reads", [by_name, whole], ids=["by name", "whole"])
def test_another_class_of_a_module(reads: Any) -> None:
    MODULE.__dict__["X"] = 1
    ran = reads.stats()["ran"]
    try:
        assert reads() == 1
        MODULE.__class__ = Doubling
        assert reads() == reads.uncached()  # 2; from Python 3.14 on, code that is warm says 1
        assert reads.stats()["ran"] == ran + 2
        MODULE.__class__ = types.ModuleType
        assert reads() == 1
    finally:
        MODULE.__class__ = types.ModuleType


def test_another_state_of_a_partial() -> None:
    before = PARTIAL.__reduce__()[2]
    try:
        assert of_partial(5) == of_argument(PARTIAL, 5) == 5
        PARTIAL.__setstate__((min, (1,), {}, None))  # type: ignore[attr-defined]
        assert of_partial(5) == of_argument(PARTIAL, 5) == 1
        PARTIAL.__setstate__((min, (7,), {}, None))  # type: ignore[attr-defined]
        assert of_partial(5) == of_argument(PARTIAL, 5) == 5
        PARTIAL.__setstate__((max, (7,), {"key": lambda x: -x}, None))  # type: ignore[attr-defined]
        assert of_partial(5) == of_argument(PARTIAL, 5) == 5
        PARTIAL.keywords["key"] = abs
        assert of_partial(5) == of_argument(PARTIAL, 5) == 7
    finally:
        PARTIAL.__setstate__(before)  # type: ignore[attr-defined]


SCALE = 2


REGISTRY: dict[str, Callable[[int], int]] = {}


HOLDER = types.SimpleNamespace(inner=types.SimpleNamespace(value=[1]))


def test_attributes_set_on_what_lru_cache_made(here: Callable[[str, object], None]) -> None:
    @functools.lru_cache
    def helper(x: int) -> int:
        return x

    helper.flag = 1  # type: ignore[attr-defined]
    here("helper", helper)
    read = whorl.cached(lambda x: helper.flag + x)  # type: ignore[attr-defined]
    assert read(1) == 2
    helper.flag = 5  # type: ignore[attr-defined]
    assert read(1) == 6


def test_a_function_that_registers_itself_later(here: Callable[[str, object], None]) -> None:
    run = whorl.cached(lambda name, x: REGISTRY[name](x))
    REGISTRY.clear()
    REGISTRY["a"] = lambda x: x + 1
    assert run("a", 1) == 2
    REGISTRY["a"] = lambda x: x + 2
    assert run("a", 1) == 3
    REGISTRY["b"] = lambda x: -x
    assert [run("a", 1), run("b", 1)] == [3, -1]


def test_something_deep_in_a_namespace() -> None:
    read = whorl.cached(lambda x: HOLDER.inner.value[0] + x)
    HOLDER.inner.value[0] = 1
    assert read(1) == 2
    HOLDER.inner.value[0] = 5
    assert read(1) == 6
    HOLDER.inner = types.SimpleNamespace(value=[7])
    assert read(1) == 8


def test_a_dict_subclass_and_a_counter(here: Callable[[str, object], None]) -> None:
    class Table(dict[str, int]):
        pass

    table, counter = Table(a=1), collections.Counter("ab")
    read = whorl.cached(lambda x: table["a"] + counter["a"] + x)
    assert read(0) == 2
    table["a"] = 5
    assert read(0) == 6
    counter["a"] = 7
    assert read(0) == 12
    table.extra = 1  # type: ignore[attr-defined]
    assert read(0) == 12


def test_an_instance_with_slots_in_a_cell() -> None:
    @dataclass(slots=True)
    class Options:
        level: int
        extra: list[int] = field(default_factory=list)

    options = Options(1)
    read = whorl.cached(lambda x: options.level + len(options.extra) + x)
    assert read(0) == 1
    options.level = 4
    assert read(0) == 4
    options.extra.append(1)
    assert read(0) == 5


def test_a_property_and_a_getattr_that_read_a_global(here: Callable[[str, object], None]) -> None:
    class Lazy:
        @property
        def scaled(self) -> int:
            return 10 * SCALE

        def __getattr__(self, name: str) -> int:
            return len(name) * SCALE

    lazy = Lazy()
    read = whorl.cached(lambda x: lazy.scaled + lazy.abc + x)
    assert read(0) == 26
    here("SCALE", 3)
    assert read(0) == 39


def test_an_instance_that_gets_another_class_or_dictionary() -> None:
    class Low:
        def __init__(self) -> None:
            self.x = 1

        def size(self) -> int:
            return self.x

    class High(Low):
        def size(self) -> int:
            return 100 * self.x

    thing = Low()
    read = whorl.cached(lambda y: thing.size() + y)
    assert read(0) == 1
    thing.__dict__ = {"x": 5}
    assert read(0) == 5
    thing.__class__ = High
    assert read(0) == 500


def test_a_function_that_gets_another_dictionary() -> None:
    def helper() -> int:
        return 1

    helper.flag = 1  # type: ignore[attr-defined]
    read = whorl.cached(lambda y: helper.flag + y)  # type: ignore[attr-defined]
    assert read(0) == 1
    helper.__dict__ = {"flag": 7}
    assert read(0) == 7


def test_a_closure_cell_that_is_filled_later() -> None:
    def function(x: int) -> int:
        try:
            return x + later
        except NameError:
            return -1

    read = whorl.cached(function)
    assert read(1) == -1
    later = 5
    assert read(1) == 6


def test_eval_reads_anything(here: Callable[[str, object], None]) -> None:
    read = whorl.cached(ignores=["sys.modules"])(evaluated)
    here("SCALE", 2)
    with pytest.raises(whorl.UnsupportedFunction):  # this module has much that cannot be known
        read("SCALE + 1")


def evaluated(text: str) -> object:
    return eval(text)


def test_a_kernel_that_is_called(here: Callable[[str, object], None]) -> None:
    @whorl.kernel
    def add(x, by):  # type: ignore[no-untyped-def]  # as kernels are written
        for i in range(x.size):
            x[i] = x[i] + by * SCALE

    @whorl.cached
    def work(n: int) -> np.ndarray[Any, Any]:
        held = np.zeros(n)
        add(held, 1.0)
        return held

    assert work(3).tolist() == [2, 2, 2]
    work(3)
    assert ran(work) == 1
    here("SCALE", 5)
    assert work(3).tolist() == [5, 5, 5]
    assert ran(work) == 2


def test_threads_that_change_what_is_read_while_others_call() -> None:
    """Every result is one that the function gave for some state, and none is kept for another."""
    state = {"a": 0}
    read = whorl.cached(lambda x: state["a"] + x)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            state["a"] = 1 - state["a"]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(10):
            with contextlib.suppress(whorl.UnsupportedFunction):  # it never stood still
                assert read(10) in (10, 11)
    finally:
        stop.set()
        thread.join()
    for value in (0, 1):
        state["a"] = value
        assert read(10) == 10 + value


def test_nothing_that_was_read_is_kept_alive_for_ever() -> None:
    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)

    def read_it(held: object) -> None:
        assert whorl.cached(store="process")(lambda x: (held is None, x))(1) == (False, 1)

    read_it(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_an_argument_that_is_a_function_counts_by_what_it_reads(
    here: Callable[[str, object], None],
) -> None:
    apply = whorl.cached(lambda function, x: function(x))
    here("SCALE", 2)
    scaled: Callable[[int], int] = lambda x: x * SCALE
    assert apply(scaled, 3) == 6
    here("SCALE", 5)
    assert apply(scaled, 3) == 15


def test_a_class_that_is_registered_with_an_abstract_one() -> None:
    class Shape(abc.ABC):  # noqa: B024  # registering is what counts
        pass

    class Square:
        pass

    is_shape = whorl.cached(lambda: issubclass(Square, Shape))
    assert [is_shape(), is_shape(), ran(is_shape)] == [False, False, 1]
    Shape.register(Square)
    assert is_shape()


@pytest.mark.parametrize("text", ["import {0}", "import {0} as q", "import {0}.inner"])
def test_a_module_that_is_imported_in_the_body_is_watched(
    store: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    name = f"late_{abs(hash((text, str(tmp_path))))}"
    module, inner = types.ModuleType(name), types.ModuleType(f"{name}.inner")
    module.__dict__.update(x=1, inner=inner, __path__=[])
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, f"{name}.inner", inner)
    path = tmp_path / "program.py"
    used = "q" if " as " in text else name
    path.write_text(f"def f():\n    {text.format(name)}\n    return {used}.x\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "program_of_this_test"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    cached = whorl.cached(store=store)(scope["f"])
    assert (cached(), cached()) == (1, 1)
    module.__dict__["x"] = 2
    assert cached() == 2


class Planet(enum.Enum):
    A = 1
    B = 2


Planet.A.mass = 1  # type: ignore[attr-defined]  # as programs do


def test_what_is_set_on_a_member_counts(store: Cache) -> None:
    @whorl.cached(store=store)
    def mass() -> Any:
        return Planet.A.mass  # type: ignore[attr-defined]  # set above

    try:
        assert mass() == 1
        Planet.A.mass = 2  # type: ignore[attr-defined]  # as above
        assert mass() == 2
    finally:
        Planet.A.mass = 1  # type: ignore[attr-defined]  # as above
