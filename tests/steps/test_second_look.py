"""What an attack on cached functions looked for."""

from __future__ import annotations

import collections
import contextlib
import contextvars
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
from whorl.steps.values import NotRestored, decoded

SCALE = 2
REGISTRY: dict[str, Callable[[int], int]] = {}
HOLDER = types.SimpleNamespace(inner=types.SimpleNamespace(value=[1]))


def ran(function: Any) -> int:
    return int(function.stats()["ran"])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    """Set a global of this module for one test."""
    return lambda name, value: monkeypatch.setattr(
        sys.modules[__name__], name, value, raising=False
    )


# -- the world ------------------------------------------------------------------------------


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


# -- arguments ------------------------------------------------------------------------------


def test_an_argument_that_is_a_function_counts_by_what_it_reads(
    here: Callable[[str, object], None],
) -> None:
    apply = whorl.cached(lambda function, x: function(x))
    here("SCALE", 2)
    scaled: Callable[[int], int] = lambda x: x * SCALE
    assert apply(scaled, 3) == 6
    here("SCALE", 5)
    assert apply(scaled, 3) == 15


def test_an_argument_that_is_a_class_counts_by_its_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unit:
        size = 1

        @classmethod
        @whorl.cached
        def scaled(cls, x: int) -> int:
            return cls.size * x

    class Large(Unit):
        size = 10

    classes: list[Any] = [Unit, Large]
    for _ in range(2):
        assert [cls.scaled(2) for cls in classes] == [2, 20]
    monkeypatch.setattr(Large, "size", 30)
    assert [cls.scaled(2) for cls in classes] == [2, 60]
    monkeypatch.setattr(Unit, "size", 7)
    assert [cls.scaled(2) for cls in classes] == [14, 60]


def test_functions_and_classes_in_other_places_are_other_calls() -> None:
    told = whorl.cached(lambda *values: [getattr(value, "__name__", value) for value in values])
    calls: list[tuple[Any, ...]] = [
        (int, 1),
        (1, int),
        (int, str),
        (str, int),
        (None, int),
        (ran, 0),
    ]
    for _ in range(2):
        assert [told(*call) for call in calls] == [told.uncached(*call) for call in calls]


def test_deep_and_circular_arguments() -> None:
    depth = whorl.cached(lambda held: 1)
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    assert [depth(deep), depth(deep), depth(circle), depth(circle)] == [1] * 4
    assert ran(depth) == 2


def test_a_long_text_is_not_kept_as_a_key() -> None:
    size = whorl.cached(lambda text: len(text) + 0)
    for _ in range(2):
        assert size("x" * 10**6) == 10**6
    assert ran(size) == 1
    (memo,) = size._results.rows
    assert isinstance(memo, bytes)
    assert len(memo) < 100


def test_an_excluded_field_brings_no_class_along(monkeypatch: pytest.MonkeyPatch) -> None:
    class Log:
        def write(self) -> int:
            return 1

    @whorl.exclude("log")
    class Job:
        def __init__(self, log: object) -> None:
            self.x, self.log = 1, log

    run = whorl.cached(lambda job: job.x)
    job = Job(Log())
    run(job)
    monkeypatch.setattr(Log, "write", lambda self: 2)
    run(job)
    assert ran(run) == 1


def test_an_argument_that_cannot_be_known_is_named() -> None:
    class Job:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        @whorl.cached
        def run(self, x: int) -> int:
            return x

    with pytest.raises(whorl.UnsupportedValue) as caught:
        Job().run(1)
    assert caught.value.path.startswith("argument self.lock of ")
    assert "@whorl.exclude('lock') above class Job" in caught.value.remedy


def test_a_file_that_changes_while_the_function_runs_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("1")

    @whorl.cached(by_content=["path"], ignores=["file"])
    def read(path: Path, other: str) -> str:
        before = path.read_text()
        path.write_text(other)
        return before

    assert read(file, "2") == "1"
    assert read.stats()["not kept"] == 1
    assert read(file, "3") == "2"


def test_context_variables_are_refused() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)
    with pytest.raises(whorl.UnsupportedFunction):
        whorl.cached(lambda x: variable.get() + x)(1)


# -- results --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [["<f8", [10**12], "C", 0, 0], ["<f8", [-1], "C", 0, 8], ["<f8", [2, -1], "C", 0, 16]],
    ids=str,
)
def test_an_array_that_is_not_as_long_as_it_says_is_not_made(array: list[object]) -> None:
    with pytest.raises(NotRestored, match="not as long as it says"):
        decoded(["plain", {"a": array}, False], lambda name: memoryview(bytes(16)), {})


def test_a_result_whose_class_has_changed_is_made_again(tmp_path: Path) -> None:
    """A dataclass that the function reaches by a name that no fingerprint follows."""
    module = types.ModuleType("model_of_this_test")
    sys.modules["model_of_this_test"] = module
    try:
        for fields in ("x: int", "x: int\n    y: int = 2"):
            exec(
                "from dataclasses import dataclass\n@dataclass\nclass Point:\n    " + fields,
                module.__dict__,
            )
            make = whorl.cached(store=tmp_path / "store", ignores=["model"])(_made)
            made = make(1)
            assert made == module.Point(1)
            assert ran(make) == 1
    finally:
        del sys.modules["model_of_this_test"]


def _made(x: int) -> Any:
    return model().Point(x)


def model() -> Any:
    return sys.modules["model_of_this_test"]


def test_one_hit_does_not_make_the_result_twice() -> None:
    made: list[int] = []

    class Serial:
        @staticmethod
        def dumps(value: object) -> str:
            return str(value)

        @staticmethod
        def loads(data: str) -> int:
            made.append(1)
            return int(data)

    def function(x: int) -> int:
        return x

    assert whorl.cached(serializer=Serial())(function)(1) == 1
    made.clear()
    again = whorl.cached(serializer=Serial())(function)
    assert [again(1), again(1)] == [1, 1]
    assert len(made) == 2


def test_labels_are_read_without_reading_results(monkeypatch: pytest.MonkeyPatch) -> None:
    from whorl.store import DirectoryStore

    large = whorl.cached(lambda n: np.zeros(n) + 0)
    large(200_000)
    reads: list[object] = []
    get = DirectoryStore.get

    def counted(self: DirectoryStore, *key: Any) -> Any:
        reads.append(key)
        return get(self, *key)

    monkeypatch.setattr(DirectoryStore, "get", counted)
    assert [change.path for change in large.explain(5).changes] == ["arg:n"]
    assert len(reads) == 1, "the one that was asked for"


def test_an_explanation_of_two_functions_of_one_name(here: Callable[[str, object], None]) -> None:
    def made(by: int) -> Callable[[int], int]:
        return lambda x: x * by

    here("first", made(1))
    here("second", made(2))
    both = whorl.cached(lambda x: (first(x), second(x)))  # type: ignore[name-defined]  # noqa: F821
    both(1)
    here("second", made(3))
    changes = both.explain(1).changes
    assert [(change.old, change.new) for change in changes] == [("2", "3")]
