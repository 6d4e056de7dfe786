"""What a cached function reads is read on every call: a change of any of it is noticed at once."""

# ruff: noqa: PLW0108  # a lambda that calls is what is tested: what it calls is one call away

from __future__ import annotations

import enum
import functools
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import whorl

SCALE = 2
CONFIG: dict[str, Any] = {"tile": 64, "deep": {"list": [1, 2]}}
ITEMS = [1, 2, 3]
MEMBERS = {1, 2}
TABLE = np.arange(4)
QUEUE = deque([1])
ORDERED = OrderedDict(a=1, b=2)
GROUPED: defaultdict[str, list[int]] = defaultdict(list)
SPACE = types.SimpleNamespace(a=1)
RAW = bytearray(b"ab")
PASSES: list[Callable[[int], int]] = []


class Kind(enum.Enum):
    SMALL = 1


class Base:
    unit = 10

    def step(self, x: int) -> int:
        return self.inner(x) + self.unit

    def inner(self, x: int) -> int:
        return x


class Sub(Base):
    def inner(self, x: int) -> int:
        return 2 * x


@dataclass
class Options:
    level: int = 1


OPTIONS = Options()
THING = Sub()


def helper(x: int) -> int:
    return x * SCALE


def with_default(x: int, by: int = 3, *, plus: int = 0) -> int:
    return x * by + plus


def one(x: int) -> int:
    return x + 1


def two(x: int) -> int:
    return x + 2


class Counted:
    """A cached function that knows how often it ran."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.cached = whorl.cached(**options)(function)

    def __call__(self, *args: Any) -> Any:
        return self.cached(*args)

    @property
    def runs(self) -> int:
        return self.cached.stats()["ran"]


def check(function: Callable[..., Any], change: Callable[[], None], *args: Any) -> None:
    """The change is noticed by the very next call, and what it gives is what a run would give."""
    cached = Counted(function)
    for _ in range(3):
        assert cached(*args) == function(*args)
    assert cached.runs == 1, "nothing has changed"
    change()
    expected = function(*args)
    for _ in range(3):
        assert cached(*args) == expected
    assert cached.runs == 2, "something has changed"


@pytest.fixture(autouse=True)
def _module_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test changes in this module is put back."""
    here = sys.modules[__name__]
    fresh = {
        "SCALE": 2,
        "CONFIG": {"tile": 64, "deep": {"list": [1, 2]}},
        "ITEMS": [1, 2, 3],
        "MEMBERS": {1, 2},
        "TABLE": np.arange(4),
        "QUEUE": deque([1]),
        "ORDERED": OrderedDict(a=1, b=2),
        "GROUPED": defaultdict(list),
        "SPACE": types.SimpleNamespace(a=1),
        "RAW": bytearray(b"ab"),
        "PASSES": [one],
        "OPTIONS": Options(),
        "THING": Sub(),
        "helper": helper,
    }
    for name, value in fresh.items():
        monkeypatch.setattr(here, name, value)


def rebind(name: str, value: object) -> Callable[[], None]:
    return lambda: setattr(sys.modules[__name__], name, value)


def test_a_global_that_is_rebound() -> None:
    check(lambda x: x * SCALE, rebind("SCALE", 5), 2)


def test_a_global_two_calls_away() -> None:
    def middle(x: int) -> int:
        return helper(x)

    check(lambda x: middle(x), rebind("SCALE", 5), 2)


def test_a_function_that_is_replaced() -> None:
    check(lambda x: helper(x), rebind("helper", lambda x: -x), 2)


def test_the_code_of_a_function_that_is_exchanged() -> None:
    def inner(x: int) -> int:
        return x

    def other(x: int) -> int:
        return -x

    def change() -> None:
        inner.__code__ = other.__code__

    check(lambda x: inner(x), change, 2)


def test_a_default_of_a_helper() -> None:
    def inner(x: int, by: int = 3) -> int:
        return x * by

    def change() -> None:
        inner.__defaults__ = (4,)

    check(lambda x: inner(x), change, 2)


def test_a_keyword_default_of_a_helper() -> None:
    def inner(x: int, *, by: int = 3) -> int:
        return x * by

    def change() -> None:
        assert inner.__kwdefaults__ is not None
        inner.__kwdefaults__["by"] = 4

    check(lambda x: inner(x), change, 2)


def test_a_default_of_the_function_itself() -> None:
    def function(x: int, by: int = 3) -> int:
        return x * by

    def change() -> None:
        function.__defaults__ = (4,)

    check(function, change, 2)


def test_a_captured_variable() -> None:
    by = 3

    def function(x: int) -> int:
        return x * by

    def change() -> None:
        nonlocal by
        by = 4

    check(function, change, 2)


def test_a_captured_list() -> None:
    held = [1]
    check(lambda x: x + sum(held), lambda: held.append(2), 2)


@pytest.mark.parametrize(
    ("read", "change"),
    [
        (lambda x: CONFIG["tile"] + x, lambda: CONFIG.update(tile=32)),
        (lambda x: len(CONFIG) + x, lambda: CONFIG.update(new=1)),
        (lambda x: CONFIG["deep"]["list"][0] + x, lambda: CONFIG["deep"]["list"].insert(0, 9)),
        (lambda x: ITEMS[0] + x, lambda: ITEMS.reverse()),
        (lambda x: (ITEMS[0] is True, x), lambda: ITEMS.__setitem__(0, True)),
        (lambda x: sum(MEMBERS) + x, lambda: MEMBERS.add(7)),
        (lambda x: int(TABLE.sum()) + x, lambda: TABLE.__setitem__(0, 9)),
        (lambda x: len(QUEUE) + x, lambda: QUEUE.append(1)),
        (lambda x: (list(ORDERED), x), lambda: ORDERED.move_to_end("a")),
        (lambda x: [*GROUPED.get("a", []), x], lambda: GROUPED["a"].append(1)),
        (lambda x: SPACE.a + x, lambda: setattr(SPACE, "a", 5)),
        (lambda x: RAW[0] + x, lambda: RAW.__setitem__(0, 9)),
        (lambda x: OPTIONS.level + x, lambda: setattr(OPTIONS, "level", 5)),
        (lambda x: [run(x) for run in PASSES], lambda: PASSES.append(two)),
    ],
)
def test_something_mutable_in_a_global(
    read: Callable[[int], Any], change: Callable[[], None]
) -> None:
    check(read, change, 2)


def test_a_function_in_a_list_in_a_global_is_followed() -> None:
    check(
        lambda x: [run(x) for run in PASSES],
        lambda: PASSES.__setitem__(0, lambda x: -x),
        2,
    )


def test_a_global_that_is_not_there_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: int) -> int:
        try:
            return x + LATER  # type: ignore[name-defined,no-any-return]
        except NameError:
            return -1

    check(
        function, lambda: monkeypatch.setattr(sys.modules[__name__], "LATER", 5, raising=False), 2
    )


def test_a_global_that_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LATER", 5, raising=False)

    def function(x: int) -> int:
        try:
            return x + LATER  # type: ignore[name-defined,no-any-return]
        except NameError:
            return -1

    check(function, lambda: monkeypatch.delattr(sys.modules[__name__], "LATER"), 2)


def test_a_builtin_that_is_shadowed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = sys.modules[__name__]
    check(
        lambda x: len([x]),
        lambda: monkeypatch.setattr(here, "len", lambda held: 7, raising=False),
        2,
    )


def test_an_attribute_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = types.ModuleType("cfg_of_this_test")
    cfg.__dict__.update(TILE=64, UNUSED=1)
    monkeypatch.setitem(sys.modules, "cfg_of_this_test", cfg)
    check(lambda x: x * cfg.TILE, lambda: setattr(cfg, "TILE", 32), 2)


def test_an_attribute_of_a_module_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("cfg_of_this_test")
    module.__dict__.update(TILE=64, UNUSED=1)
    monkeypatch.setitem(sys.modules, "cfg_of_this_test", module)
    monkeypatch.setattr(sys.modules[__name__], "cfg", module, raising=False)
    cached = Counted(lambda x: x * cfg.TILE)  # type: ignore[name-defined]  # noqa: F821
    cached(2)
    module.__dict__["UNUSED"] = 2
    cached(2)
    assert cached.runs == 1


def test_a_module_imported_inside_of_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    late = types.ModuleType("late_of_this_test")
    late.__dict__.update(SHIFT=7)
    monkeypatch.setitem(sys.modules, "late_of_this_test", late)

    def function(x: int) -> int:
        from late_of_this_test import SHIFT  # type: ignore[import-not-found]

        return x + int(SHIFT)

    check(function, lambda: setattr(late, "SHIFT", 8), 2)


def test_a_class_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    check(lambda x: Base().step(x), lambda: monkeypatch.setattr(Base, "unit", 11), 2)


def test_a_class_attribute_of_a_base(monkeypatch: pytest.MonkeyPatch) -> None:
    check(lambda x: THING.step(x), lambda: monkeypatch.setattr(Base, "unit", 11), 2)


def test_a_method_that_is_overridden_later(monkeypatch: pytest.MonkeyPatch) -> None:
    check(
        lambda x: THING.step(x),
        lambda: monkeypatch.setattr(Sub, "step", lambda self, x: -x, raising=False),
        2,
    )


def test_the_bases_of_a_class() -> None:
    class Left:
        def go(self) -> int:
            return 1

    class Right:
        def go(self) -> int:
            return 2

    class Child(Left):
        pass

    def change() -> None:
        Child.__bases__ = (Right,)

    check(lambda x: Child().go() + x, change, 2)


def test_an_implementation_that_singledispatch_learns() -> None:
    @functools.singledispatch
    def shown(x: object) -> str:
        return "object"

    def change() -> None:
        shown.register(int, lambda x: "int")

    check(lambda x: shown(x), change, 2)


def test_the_keywords_of_a_partial() -> None:
    partial = functools.partial(with_default, plus=1)
    check(lambda x: partial(x), lambda: partial.keywords.update(plus=5), 2)


def test_the_attribute_of_a_function() -> None:
    def inner(x: int) -> int:
        return x

    inner.flag = 1  # type: ignore[attr-defined]
    check(lambda x: inner.flag + x, lambda: setattr(inner, "flag", 2), 2)  # type: ignore[attr-defined]


def test_the_methods_of_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    thing = Sub()
    check(
        lambda thing: thing.step(1),
        lambda: monkeypatch.setattr(Sub, "inner", lambda self, x: 7),
        thing,
    )


def test_the_methods_of_something_deep_in_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    check(
        lambda held: held["things"][0][1].step(1),
        lambda: monkeypatch.setattr(Base, "unit", 12),
        {"things": [(0, Sub())]},
    )


def test_the_class_of_an_argument_under_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(step: int) -> Any:
        class Point:
            def go(self) -> int:
                return step

        Point.__qualname__ = "Point"
        return Point

    here = sys.modules[__name__]
    cached = Counted(lambda point: point.go())
    monkeypatch.setattr(here, "Point", made(1), raising=False)
    old = here.Point()
    assert [cached(old), cached(old)] == [1, 1]
    monkeypatch.setattr(here, "Point", made(2))
    new = here.Point()
    assert [cached(old), cached(new), cached(old), cached(new)] == [1, 2, 1, 2]
    assert cached.runs == 2


def test_a_change_that_is_taken_back_is_a_hit_again() -> None:
    cached = Counted(lambda x: x + CONFIG["tile"])
    cached(1)
    CONFIG["tile"] = 32
    cached(1)
    CONFIG["tile"] = 64
    assert cached(1) == 65
    assert cached.runs == 2


def test_an_equal_object_in_the_place_of_another_is_a_hit() -> None:
    cached = Counted(lambda x: x + len(CONFIG))
    cached(1)
    rebind("CONFIG", {"tile": 64, "deep": {"list": [1, 2]}})()
    cached(1)
    assert cached.runs == 1


def test_a_global_dict_in_another_order_is_another() -> None:
    cached = Counted(lambda x: x + len(CONFIG))
    cached(1)
    rebind("CONFIG", {"deep": {"list": [1, 2]}, "tile": 64})()
    cached(1)
    assert cached.runs == 2


def test_what_is_not_read_is_not_noticed() -> None:
    cached = Counted(lambda x: x + 1)
    cached(1)
    CONFIG["tile"] = 1
    rebind("SCALE", 9)()
    cached(1)
    assert cached.runs == 1


def test_a_cached_function_that_calls_another() -> None:
    inner = whorl.cached(lambda x: x * SCALE)
    check(lambda x: inner(x) + 1, rebind("SCALE", 7), 2)


def test_a_recursive_cached_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def fibonacci(n: int) -> int:
        return n if n < 2 else int(fib(n - 1) + fib(n - 2))

    fib = whorl.cached(fibonacci)
    monkeypatch.setattr(sys.modules[__name__], "fib", fib, raising=False)
    assert fib(30) == 832040
    assert fib.stats()["ran"] == 31
