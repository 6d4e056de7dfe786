"""What `whorl.cached` promises beside exactness: calls, options, errors, looking at it."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import logging
import os
import pickle
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.steps.programs import ran
from whorl.store import Cache, DirectoryStore, MemoryStore, ReadOnly, Tiered

LOCK = threading.Lock()
COUNTER = 0
MEMO: dict[int, int] = {}
log = logging.getLogger("app")


@whorl.cached
def area(width: float, height: float = 2.0, *, unit: str = "m") -> str:
    """The area."""
    return f"{width * height} {unit}"


@dataclass
class Shape:
    width: int
    uid: int = 0

    @whorl.cached
    def area(self, by: int = 1) -> int:
        return self.width**2 * by

    @whorl.cached(exclude=["self"])
    def constant(self, x: int) -> int:
        return x + 1

    @classmethod
    @whorl.cached
    def made(cls, x: int) -> str:
        return f"{cls.__name__} {x}"

    @whorl.cached
    @classmethod
    def made_too(cls, x: int) -> str:
        return f"{cls.__name__} {x}"

    @whorl.cached
    @staticmethod
    def fixed(x: int) -> int:
        return x * 2

    @staticmethod
    @whorl.cached
    def fixed_too(x: int) -> int:
        return x * 2


# -- calls ----------------------------------------------------------------------------------


def test_positional_keyword_and_default_are_one_call() -> None:
    before = ran(area)
    assert {area(3.0), area(3.0, 2.0), area(width=3.0), area(height=2.0, width=3.0, unit="m")} == {
        "6.0 m"
    }
    assert ran(area) - before == 1


def test_equal_values_of_other_types_are_other_calls() -> None:
    @whorl.cached
    def told(x: object) -> str:
        return repr(x)

    values: list[Any] = [1, True, 1.0, "1", b"1", np.int64(1), np.float32(1), 0.0, -0.0, (1,), [1]]
    for _ in range(2):
        assert [told(value) for value in values] == [repr(value) for value in values]
    assert ran(told) == len(values)


def test_a_nan_is_a_hit_the_second_time() -> None:
    @whorl.cached
    def told(x: float) -> str:
        return repr(x)

    told(float("nan"))
    told(float("nan"))
    assert ran(told) == 1


def test_more_positional_and_keyword_arguments() -> None:
    @whorl.cached
    def told(*args: Any, **kwargs: Any) -> str:
        return f"{args} {sorted(kwargs.items())}"

    assert told(1, 2, a=3, b=4) == "(1, 2) [('a', 3), ('b', 4)]"
    assert told(1, 2, **{"a": 3, "b": 4}) == "(1, 2) [('a', 3), ('b', 4)]"
    assert told() == "() []"
    assert told(1, [2]) == "(1, [2]) []"
    assert ran(told) == 3


def test_wrong_arguments_raise_what_the_function_would_raise() -> None:
    with pytest.raises(TypeError, match=r"area\(\) missing 1 required positional argument"):
        area()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        area(1.0, depth=2)  # type: ignore[call-arg]


def test_an_exception_is_raised_and_not_kept() -> None:
    @whorl.cached
    def fails(x: int) -> int:
        raise KeyError(x)

    for _ in range(2):
        with pytest.raises(KeyError):
            fails(1)
    assert fails.stats()["ran"] == 0
    assert fails.explain(1).outcome == "miss"


def test_an_interrupt_leaves_nothing() -> None:
    @whorl.cached
    def stopped(x: int) -> int:
        if x:
            raise KeyboardInterrupt
        return 1

    with pytest.raises(KeyboardInterrupt):
        stopped(1)
    assert stopped.explain(1).outcome == "miss"
    assert stopped(0) == 1


def test_it_looks_like_the_function() -> None:
    assert area.__name__ == "area"
    assert area.__doc__ == "The area."
    assert str(inspect.signature(area)) == str(inspect.signature(area.__wrapped__))
    assert repr(area) == "<cached tests.steps.test_cached.area>"


def test_it_is_pickled_and_copied_by_name() -> None:
    assert pickle.loads(pickle.dumps(area)) is area
    assert copy.deepcopy(area) is area
    assert pickle.loads(pickle.dumps(Shape(3).area))(1) == 9


# -- methods --------------------------------------------------------------------------------


def test_a_method_counts_its_object() -> None:
    assert Shape(2).area(2) == 8
    assert Shape(3).area(by=2) == 18
    shape = Shape(2)
    assert shape.area.explain(2).outcome == "hit"
    assert shape.area.key(2) == Shape(2).area.key(2)
    shape.width = 5
    assert shape.area(2) == 50
    assert shape.area.uncached(2) == 50
    assert shape.area.invalidate(2)
    assert not shape.area.invalidate(2)


def test_a_method_can_leave_its_object_out() -> None:
    before = ran(Shape.constant)
    assert Shape(1).constant(5) == Shape(2).constant(5) == 6
    assert ran(Shape.constant) - before == 1


def test_class_methods_and_static_methods_in_both_orders() -> None:
    class Round(Shape):
        pass

    for cls in (Shape, Round):
        methods: list[Any] = [cls.made, cls.made_too, cls(1).made, cls(1).made_too]
        assert [made(1) for made in methods] == [f"{cls.__name__} 1"] * 4
    assert [Shape.fixed(2), Shape.fixed_too(2), Shape(1).fixed(2), Shape(1).fixed_too(2)] == [4] * 4


def test_a_method_of_a_subclass_has_a_result_of_its_own() -> None:
    class Tall(Shape):
        def factor(self) -> int:
            return 2

    class Taller(Tall):
        def factor(self) -> int:
            return 3

    @whorl.cached
    def size(shape: Tall) -> int:
        return shape.width * shape.factor()

    for _ in range(3):
        assert [size(Tall(5)), size(Taller(5))] == [10, 15]
    assert ran(size) == 2


# -- what is handed out ---------------------------------------------------------------------


def test_nobody_can_change_what_another_gets() -> None:
    @whorl.cached
    def table(n: int) -> dict[str, list[int]]:
        return {"items": list(range(n))}

    first = table(3)
    first["items"].append(99)
    first["more"] = []
    for _ in range(3):
        assert table(3) == {"items": [0, 1, 2]}
        table(3)["items"].clear()


def test_arrays_cannot_be_written_to_from_the_first_call_on() -> None:
    @whorl.cached
    def zeros(n: int) -> np.ndarray[Any, Any]:
        return np.zeros(n)

    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            zeros(3)[0] = 1


def test_arrays_are_copies_where_that_is_asked_for() -> None:
    @whorl.cached(writable=True)
    def zeros(n: int) -> np.ndarray[Any, Any]:
        return np.zeros(n)

    for _ in range(3):
        found = zeros(3)
        assert found.tolist() == [0, 0, 0]
        found[0] = 1


def test_a_large_result_is_not_held_in_memory() -> None:
    @whorl.cached
    def large(n: int) -> np.ndarray[Any, Any]:
        return np.arange(n)

    for _ in range(3):
        assert large(400_000)[-1] == 399_999
    assert large.stats() | {"missed": 0} == {
        "recalled": 0, "found": 2, "missed": 0, "ran": 1, "waited": 0, "not kept": 0,
    }  # fmt: skip


def test_memory_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.steps.results.ROWS_KEPT", 8)

    @whorl.cached
    def same(x: int) -> int:
        return x

    for x in range(20):
        same(x)
    assert len(same._results.rows) <= 8
    assert [same(x) for x in range(20)] == list(range(20))
    assert ran(same) == 20  # the others are in the store


# -- what counts ----------------------------------------------------------------------------


def test_a_parameter_that_does_not_count() -> None:
    @whorl.cached(exclude=["log", "verbose"])
    def work(x: int, log: Any = None, verbose: bool = False) -> int:
        return x

    assert work(1) == work(1, print, True) == work(1, log=LOCK)
    assert ran(work) == 1


def test_a_parameter_by_type() -> None:
    @whorl.cached(by_type=["array"])
    def shape(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
        return tuple(array.shape)

    assert shape(np.zeros(3)) == shape(np.ones(3)) == (3,)
    assert shape(np.zeros(4)) == (4,)
    assert ran(shape) == 2


def test_a_parameter_by_identity_lives_in_this_process() -> None:
    @whorl.cached(by_identity=["handle"])
    def number(handle: object, x: int) -> int:
        return id(handle) + x

    one, other = object(), object()
    assert number(one, 1) == number(one, 1) == id(one) + 1
    assert number(other, 1) == id(other) + 1
    assert ran(number) == 2
    assert isinstance(number.key(one, 1), whorl.ProcessDigest)


def test_by_identity_with_a_store_that_outlives_the_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="outlives it"):
        whorl.cached(by_identity=["x"], store=tmp_path)


def test_an_argument_that_only_has_an_identity_is_refused_by_a_store_on_disk() -> None:
    @dataclass
    class Marked:
        handle: Any

    whorl.by_identity("handle")(Marked)
    function = whorl.cached(lambda x: 1)
    with pytest.raises(TypeError, match="ProcessDigest"):
        function(Marked(object()))


def test_the_order_of_a_dict_where_it_is_said_to_count() -> None:
    @whorl.cached(ordered=["passes"])
    def names(passes: dict[str, int]) -> list[str]:
        return list(passes)

    assert names({"a": 1, "b": 2}) == ["a", "b"]
    assert names({"b": 2, "a": 1}) == ["b", "a"]


def test_the_order_of_a_dict_does_not_count_otherwise() -> None:
    total = whorl.cached(lambda held: sum(held.values()))
    assert total({"a": 1, "b": 2}) == total({"b": 2, "a": 1}) == 3
    assert ran(total) == 1


def test_a_file_that_an_argument_names(tmp_path: Path) -> None:
    @whorl.cached(by_content=["path"])
    def words(path: Path | str, n: int = 1) -> int:
        return len(Path(path).read_text().split()) * n

    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a b")
    other.write_text("a b")
    assert words(one) == words(str(other)) == 2
    assert ran(words) == 1
    one.write_text("a b c")
    assert words(one) == 3
    one.write_text("x y z")  # as long, and within the same tick of the clock
    one.write_text("x y  ")
    assert words(one) == 2
    with pytest.raises(FileNotFoundError):
        words(tmp_path / "none")
    with pytest.raises(TypeError, match="by_content= is for parameters that are paths"):
        words(5)  # type: ignore[arg-type]


def test_a_key_function_says_all(tmp_path: Path) -> None:
    @whorl.cached(key=lambda job, **_: job["name"])
    def run(job: dict[str, Any], log: Any = None) -> str:
        return str(job["name"])

    assert run({"name": "a", "uid": object()}) == run({"name": "a", "uid": 2}, log=LOCK) == "a"
    assert run({"name": "b"}) == "b"
    assert ran(run) == 2


@pytest.mark.parametrize(
    "key",
    [
        lambda job, log, *, level: (job, log, level),
        lambda job, *, level, log: (job, log, level),
        lambda job, **rest: (job, rest["log"], rest["level"]),
        lambda *args, level: (*args, level),
        lambda first, second, level: (first, second, level),
        lambda level, log, job: (job, log, level),
        functools.partial(lambda own, job, log, level: (job, log, level), None),
    ],
)
def test_a_key_function_gets_the_arguments_as_the_function_does(key: Any) -> None:
    @whorl.cached(key=key)
    def run(job: int = 1, log: int = 2, *, level: int = 3) -> tuple[int, ...]:
        return job, log, level

    assert run() == run(1) == run(job=1) == run(1, 2, level=3) == run(level=3, log=2) == (1, 2, 3)
    assert ran(run) == 1
    assert run(4) == (4, 2, 3)
    assert run(log=4) == (1, 4, 3)
    assert run(level=4) == (1, 2, 4)
    assert ran(run) == 4


def test_a_key_function_without_a_parameter_for_a_default() -> None:
    @whorl.cached(key=lambda job: job)
    def run(job: int, log: int = 2, *, level: int = 3) -> int:
        return job + log + level

    assert run(1) == run(1, 2) == run(1, level=3) == 6
    assert ran(run) == 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'log'"):
        run(1, 5)
    run.function.__defaults__ = (5,)
    assert run(1) == run(1, 5) == 9


def test_a_key_function_of_any_number_of_arguments() -> None:
    @whorl.cached(key=lambda first, *rest, **named: (first, rest, named))
    def run(first: int, /, second: int = 2, *rest: int, **named: int) -> object:
        return first, second, rest, named

    assert run(1) == run(1, 2) == (1, 2, (), {})
    assert ran(run) == 1
    assert run(1, 2, 3, other=4) == (1, 2, (3,), {"other": 4})
    assert whorl.cached(key=len)(lambda items, log=None: items)([1]) == [1]


@pytest.mark.parametrize("calls", [1, 6])
def test_defaults_that_are_removed_and_restored(calls: int) -> None:
    @whorl.cached
    def f(n: int, d: int = 1) -> int:
        return n + d

    for i in range(calls):
        f(n=i)
    function: Any = f.function
    function.__defaults__ = None
    assert f(1, 3) == 4
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'd'"):
        f(1)
    for default in (1, 2):
        function.__defaults__ = (default,)
        assert f(1) == f.uncached(1) == 1 + default


def test_code_with_other_parameters() -> None:
    def one(a: int, b: int) -> object:
        return a, b

    def other(b: int, a: int, c: int = 3) -> object:
        return a, b, c

    fresh = whorl.cached(one)
    f: Any = whorl.cached(exclude=[])(one)
    for i in range(6):
        f(a=i, b=1)
    one.__code__, one.__defaults__ = other.__code__, other.__defaults__
    assert f(a=1, b=2) == f.uncached(a=1, b=2) == (1, 2, 3)
    assert f(a=2, b=1) == f.uncached(a=2, b=1) == (2, 1, 3)
    assert f(1, 2, c=4) == f.uncached(1, 2, c=4) == (2, 1, 4)
    assert f.key(a=1, b=2) == fresh.key(b=2, a=1)


def test_a_fingerprinter_says_what_counts() -> None:
    class Span:
        def __init__(self, line: int) -> None:
            self.line = line

    by_rules = whorl.Fingerprinter(rules={Span: whorl.exclude})
    count = whorl.cached(key=by_rules)(lambda held: len(held) + 0)
    assert count(["a", Span(1)]) == count(["a", Span(2)]) == 2
    assert ran(count) == 1


def test_declared_variables_are_read_on_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    @whorl.cached(environment={"APP_MODE": "plain"})
    def mode() -> str:
        return os.environ.get("APP_MODE", "plain")

    monkeypatch.delenv("APP_MODE", raising=False)
    assert mode() == "plain"
    monkeypatch.setenv("APP_MODE", "plain")
    assert mode() == "plain"
    assert ran(mode) == 1
    monkeypatch.setenv("APP_MODE", "fast")
    assert mode() == "fast"
    monkeypatch.setenv("APP_MODE", "")
    assert mode() == ""


def test_an_unset_variable_is_not_one_that_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    mode = whorl.cached(environment=["APP_MODE"])(lambda: os.environ.get("APP_MODE"))
    monkeypatch.delenv("APP_MODE", raising=False)
    assert mode() is None
    monkeypatch.setenv("APP_MODE", "not there")
    assert mode() == "not there"


def test_declared_files_and_directories(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.txt").write_text("1")

    @whorl.cached(files=[folder], ignores=["folder"])
    def total() -> int:
        return sum(int(file.read_text()) for file in folder.iterdir())

    assert total() == total() == 1
    (folder / "b.txt").write_text("2")
    assert total() == 3
    (folder / "b.txt").write_text("4")
    assert total() == 5
    assert ran(total) == 3


def test_something_that_counts_though_nothing_shows_it() -> None:
    version = ["1"]
    tool = whorl.cached(reads=[version], ignores=["version"])(lambda x: x)
    tool(1)
    version[0] = "2"
    tool(1)
    assert ran(tool) == 2


def test_something_that_does_not_count_though_it_is_read() -> None:
    @whorl.cached(ignores=["COUNTER", "LOCK"])
    def work(x: int) -> int:
        global COUNTER  # noqa: PLW0603
        with LOCK:
            COUNTER += 1
        return x

    assert [work(1), work(1), work(2)] == [1, 1, 2]
    assert ran(work) == 2


def test_a_thing_that_does_not_count() -> None:
    def noisy(x: int) -> int:
        return LOCK.locked() + x

    work = whorl.cached(ignores=[noisy])(lambda x: noisy(x) + 0)
    assert work(1) == 1


def test_a_salt_is_a_new_world() -> None:
    def function(x: int) -> int:
        return x

    one, other = whorl.cached(salt="1")(function), whorl.cached(salt="2")(function)
    plain = whorl.cached(function)
    assert len({one.key(1), other.key(1), plain.key(1)}) == 3
    whorl.configure(cache_salt="new")
    assert plain.key(1) not in {one.key(1)}
    plain(1)
    whorl.configure(cache_salt="newer")
    plain(1)
    assert ran(plain) == 2


# -- what is refused ------------------------------------------------------------------------


def test_a_lock_that_is_read_is_refused_with_its_path_and_a_way_out() -> None:
    def helper() -> bool:
        return LOCK.locked()

    def work(x: int) -> bool:
        return helper()

    globals()["helper"] = helper
    try:
        with pytest.raises(whorl.UnsupportedFunction) as caught:
            whorl.cached(work)(1)
    finally:
        del globals()["helper"]
    assert "LOCK" in caught.value.path
    assert "ignores=['LOCK']" in str(caught.value)


def _opens(x: str) -> str:
    with open(x) as file:  # noqa: PTH123
        return file.read()


def _environment(x: str) -> str:
    return os.environ[x]


def _clock(x: str) -> float:
    return time.time()


def _reads_text(x: str) -> str:
    return Path(x).read_text()


def _chance(x: str) -> float:
    import random

    return random.random()


def _numpy_chance(x: str) -> Any:
    return np.random.rand(3)


def _arguments(x: str) -> Any:
    return sys.argv


def _behind_a_call(x: str) -> str:
    return _environment(x)


@pytest.mark.parametrize(
    ("function", "kind", "name"),
    [
        (_opens, "the file system", "open"),
        (_environment, "the environment", "os.environ"),
        (_behind_a_call, "the environment", "os.environ"),
        (_clock, "the time of day", "time.time"),
        (_reads_text, "the file system", ".read_text"),
        (_chance, "random numbers", "random.random"),
        (_numpy_chance, "random numbers", "numpy.random.rand"),
        (_arguments, "what the process was started with", "sys.argv"),
    ],
)
def test_what_comes_from_outside_is_refused_until_it_is_declared(
    function: Any, kind: str, name: str
) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=kind) as caught:
        whorl.cached(function)("x")
    assert name in caught.value.remedy
    assert whorl.cached(ignores=[name])(function).key("x")


class Model:
    """It could do many things; a function that asks it for one does not do the others."""

    lock = threading.Lock()

    def __init__(self, x: int) -> None:
        self.x = x

    def save(self, path: str) -> None:
        Path(path).write_text(str(self.x))
        with open(path) as file:  # noqa: PTH123
            assert file.read()

    def fetched(self) -> str:
        return self._environment()

    def _environment(self) -> str:
        return os.environ["HOME"]

    def predict(self, y: int) -> int:
        return self.x + y


def test_a_method_that_is_not_called_may_do_what_it_likes() -> None:
    predict = whorl.cached(ignores=["Model.lock"])(lambda model, y: model.predict(y))
    assert predict(Model(1), 2) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda model: model.fetched(),
        lambda model: getattr(model, "fetched")(),  # noqa: B009
        lambda model: [m.fetched for m in [model]][0](),  # noqa: RUF015
    ],
)
def test_a_method_that_is_called_is_looked_into(function: Any) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=r"_environment uses os.environ"):
        whorl.cached(ignores=["Model.lock"])(function)(Model(1))


def test_an_attribute_of_a_class_that_cannot_be_known_is_named_in_the_remedy() -> None:
    with pytest.raises(whorl.UnsupportedFunction) as caught:
        whorl.cached(lambda x: Model(x).predict(1))(1)
    assert "ignores=['Model.lock']" in caught.value.remedy
    assert whorl.cached(ignores=["Model.lock"])(lambda x: Model(x).predict(1))(1) == 2
    with pytest.raises(whorl.UnsupportedFunction) as caught:
        whorl.cached(lambda model: model.predict(1))(Model(1))
    assert caught.value.path == "Model.lock"
    assert "ignores=['Model.lock']" in caught.value.remedy


def test_a_clock_that_only_measures_is_let_through() -> None:
    @whorl.cached
    def work(x: int) -> int:
        begun = time.perf_counter()
        log.debug("%s", time.perf_counter() - begun)
        return x

    assert work(1) == work(1) == 1
    assert ran(work) == 1


@pytest.mark.parametrize(
    ("argument", "part"),
    [(object(), "object"), (threading.Lock(), "lock"), ((i for i in "ab"), "generator")],
    ids=["object", "lock", "generator"],
)
def test_an_argument_that_cannot_be_known_is_refused(argument: object, part: str) -> None:
    with pytest.raises(whorl.UnsupportedValue, match=part):
        whorl.cached(lambda x: 1)(argument)


def test_generators_are_refused_when_they_are_decorated() -> None:
    def numbers() -> Any:
        yield 1

    async def more() -> Any:
        yield 1

    for function in (numbers, more):
        with pytest.raises(TypeError, match="is a generator"):
            whorl.cached(function)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exclude": "x"}, r"exclude= takes a list: exclude=\['x'\]"),
        ({"exclude": ["z"]}, "'z', which is no parameter of .*; it has x"),
        ({"exclude": ["x"], "by_type": ["x"]}, "both exclude and by_type"),
        ({"key": 5}, "key= is a function"),
        ({"key": len, "exclude": ["x"]}, "no other option can"),
        ({"salt": 5}, "salt= is a text"),
        ({"serializer": 5}, "serializer= has dumps and loads"),
        ({"store": 5}, "store= is a directory"),
        ({"files": "x"}, "files= takes a list"),
        ({"environment": "X"}, "environment= takes names"),
        ({"environment": {"X": 5}}, "defaults that are texts"),
        ({"store": "process", "writable": True}, "written down"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        whorl.cached(**options)(lambda x: x)


@pytest.mark.parametrize("thing", [len, 5, functools.partial(print), area])
def test_only_functions_written_in_python_can_be_cached(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"for functions written in Python|cached already"):
        whorl.cached(thing)


# -- what is not kept -----------------------------------------------------------------------


def test_a_function_that_changes_its_argument_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    @whorl.cached
    def grow(items: list[int]) -> int:
        items.append(1)
        return len(items)

    assert [grow([]), grow([])] == [1, 1]
    assert grow.stats()["not kept"] == 2
    assert "changed its argument 'items'" in caplog.text
    assert "items = copy.deepcopy(items)" in caplog.text


def test_a_function_that_changes_what_it_reads_is_not_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @whorl.cached
    def remember(x: int) -> int:
        MEMO[x] = x
        return len(MEMO)

    MEMO.clear()
    assert [remember(1), remember(2)] == [1, 2]
    assert remember.stats()["not kept"] == 2
    assert "MEMO changed while it ran" in caplog.text
    assert "ignores=['MEMO']" in caplog.text


def test_a_result_that_cannot_be_written_is_returned_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @whorl.cached
    def make(x: int) -> Any:
        return lambda: x

    assert [make(1)(), make(1)(), make(2)()] == [1, 1, 2]
    assert make.stats()["not kept"] == 3
    assert caplog.text.count("is not kept") == 1


def test_a_result_that_lives_in_the_process_can_be_anything() -> None:
    @whorl.cached(store="process")
    def make(x: int) -> Any:
        return lambda: x

    assert make(1) is make(1)
    assert make(1)() == 1
    assert ran(make) == 1


# -- stores ---------------------------------------------------------------------------------


def test_off_means_that_the_function_runs_every_time() -> None:
    same = whorl.cached(lambda x: [x])
    same(1)
    whorl.configure(cache="off")
    same(1)
    same(1)
    assert ran(same) == 3
    assert same.explain(1).reason == "the cache is off"


def test_off_means_that_nothing_is_looked_at() -> None:
    whorl.configure(cache="off")
    held = whorl.cached(lambda lock: (LOCK is lock, os.environ.get("HOME") is None))
    assert held(LOCK)[0]
    whorl.configure(cache="on")
    with pytest.raises(whorl.UnsupportedValue):
        held(LOCK)


def test_a_read_only_cache_is_read_and_not_written(tmp_path: Path) -> None:
    def function(x: int) -> int:
        return x

    directory = DirectoryStore(tmp_path / "store")
    whorl.cached(store=Cache(directory))(function)(1)
    reader = whorl.cached(store=ReadOnly(directory))(function)
    assert reader(1) == 1
    assert ran(reader) == 0
    assert [reader(2), reader(2)] == [2, 2]
    assert ran(reader) == 1
    assert whorl.cached(store=ReadOnly(directory))(function).explain(2).outcome == "miss"


@pytest.mark.parametrize("kind", ["directory", "path", "memory", "tiered"])
def test_stores_of_every_kind(kind: str, tmp_path: Path) -> None:
    stores: dict[str, Any] = {
        "directory": Cache(DirectoryStore(tmp_path / "a")),
        "path": str(tmp_path / "b"),
        "memory": MemoryStore(),
        "tiered": Tiered(MemoryStore(), DirectoryStore(tmp_path / "c")),
    }

    def function(x: int) -> dict[str, int]:
        return {"x": x}

    one, other = (whorl.cached(store=stores[kind])(function) for _ in range(2))
    assert one(1) == other(1) == {"x": 1}
    assert ran(one) + ran(other) == 1


def test_a_damaged_entry_is_made_again(tmp_path: Path) -> None:
    def function(x: int) -> list[int]:
        return [x] * 3

    whorl.cached(store=tmp_path / "store")(function)(1)
    (file,) = (path for path in (tmp_path / "store").rglob("groups/*/*/*") if path.is_file())
    whole = file.read_bytes()
    for data in (b"", whole[:100], whole[:-1], whole[:150] + b"?" + whole[151:], b"x" * 500):
        file.write_bytes(data)
        again = whorl.cached(store=tmp_path / "store")(function)
        assert again(1) == [1, 1, 1]
        assert ran(again) == 1
        assert file.read_bytes()[:8] == whole[:8]


def test_an_entry_of_another_key_is_not_believed(tmp_path: Path) -> None:
    function = whorl.cached(store=tmp_path / "store")(lambda x: [x])
    function(1)
    function(2)
    one, two = (path for path in (tmp_path / "store").rglob("groups/*/*/*") if path.is_file())
    one.write_bytes(two.read_bytes())
    again = whorl.cached(store=tmp_path / "store")(function.function)
    assert [again(1), again(2)] == [[1], [2]]
    assert ran(again) == 1


def test_a_function_that_calls_one_with_a_store_of_its_own(tmp_path: Path) -> None:
    inner = whorl.cached(store=Cache(DirectoryStore(tmp_path / "store")))(lambda x: x + 1)
    outer = whorl.cached(lambda x: inner(x) * 2)
    assert [outer(1), outer(1)] == [4, 4]
    assert ran(outer) == 1


def test_a_serializer_of_ones_own() -> None:
    @whorl.cached(serializer=json)
    def table(x: int) -> dict[str, Any]:
        return {"a": (x,)}

    assert table(1) == {"a": [1]}  # as JSON has it, from the first call on
    assert table(1) == {"a": [1]}
    assert ran(table) == 1


# -- looking at it --------------------------------------------------------------------------


def test_an_explanation_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "SCALE", 2, raising=False)

    @whorl.cached
    def scaled(x: int) -> int:
        return x * SCALE  # type: ignore[name-defined,no-any-return]  # noqa: F821

    assert str(scaled.explain(1)).endswith("miss, no result is stored yet")
    scaled(1)
    assert scaled.explain(1).outcome == "hit"
    monkeypatch.setattr(here, "SCALE", 3)
    explanation = scaled.explain(1)
    assert [str(change) for change in explanation.changes] == [f"global:{__name__}.SCALE: 2 -> 3"]
    monkeypatch.setattr(here, "SCALE", 2)
    assert [str(change) for change in scaled.explain(5).changes] == ["arg:x: 1 -> 5"]
    assert ran(scaled) == 1


def test_drift_can_be_an_error_that_names_what_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "SCALE", 2, raising=False)

    @whorl.cached(on_drift="raise")
    def scaled(x: int) -> int:
        return x * SCALE  # type: ignore[name-defined,no-any-return]  # noqa: F821

    assert scaled(1) == 2
    monkeypatch.setattr(here, "SCALE", 3)
    for _ in range(2):
        with pytest.raises(whorl.Drifted) as caught:
            scaled(1)
        assert caught.value.changes == ((f"global:{__name__}.SCALE", "2", "3"),)
        assert 'on_drift="rerun"' in str(caught.value)
    monkeypatch.setattr(here, "SCALE", 2)
    assert scaled(1) == 2
    assert ran(scaled) == 1
    with pytest.raises(TypeError, match="on_drift= is"):
        whorl.cached(on_drift="explode")  # type: ignore[call-overload]


def test_forgetting_one_result_and_all() -> None:
    same = whorl.cached(lambda x: x)
    for i in range(3):
        same(i)
    assert same.invalidate(1)
    assert not same.invalidate(1)
    assert [same.explain(i).outcome for i in range(3)] == ["hit", "miss", "hit"]
    assert same.invalidate_all() == 2
    assert same.explain(0).outcome == "miss"
    same(0)
    assert ran(same) == 4


def test_uncached_runs_and_keeps_nothing() -> None:
    same = whorl.cached(lambda x: x)
    assert same.uncached(1) == 1
    assert ran(same) == 0
    assert same.explain(1).outcome == "miss"


def test_events_are_told() -> None:
    same = whorl.cached(lambda x: x)
    with whorl.testing.recorded_events() as events:
        same(1)
        same(1)
    assert [event.what.value for event in events] == [
        "missed", "compiling", "compiled", "stored", "recalled",
    ]  # fmt: skip
    with whorl.testing.forbid_compile(), pytest.raises(whorl.testing.CompileForbidden):
        same(2)


def test_threads_that_ask_at_once_run_it_once() -> None:
    @whorl.cached(ignores=["barrier"])
    def slow(x: int) -> int:
        time.sleep(0.1)
        return x

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(slow(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8
    assert ran(slow) == 1


def test_a_cached_function_in_a_fingerprint_is_its_function() -> None:
    one = whorl.cached(lambda x: x + 1)
    other = whorl.cached(lambda x: x + 2)
    before = whorl.fingerprint(one)
    one(1)
    assert whorl.fingerprint(one) == before
    assert whorl.fingerprint(one) != whorl.fingerprint(other)
