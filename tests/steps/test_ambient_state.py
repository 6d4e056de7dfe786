"""State of the process that no argument shows: it counts, or it is refused, or the guide says so.

Each row of the table in `docs/guides/caching.md` has a test here.
"""

from __future__ import annotations

import decimal
import locale
import os
import random
import sys
import time
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import whorl


def third() -> str:
    return str(Decimal(1) / 3)


# -- counted --------------------------------------------------------------------------------


@whorl.cached
def of_decimals() -> str:
    return third()


@whorl.cached
def of_a_decimal(x: Any) -> Any:
    return x / 3


@whorl.cached
def of_decimals_in_the_body() -> str:
    from decimal import Decimal as Number

    return str(Number(1) / 3)


@whorl.cached
def of_an_instance(x: Any) -> Any:
    return [x[0]["d"] / 3]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (of_decimals, ()),
        (of_a_decimal, (Decimal(1),)),
        (of_decimals_in_the_body, ()),
        (of_an_instance, ([{"d": Decimal(1)}],)),
    ],
)
def test_the_decimal_context_counts(function: Any, arguments: tuple[Any, ...]) -> None:
    with decimal.localcontext() as context:
        before = function(*arguments)
        context.prec = 5
        assert function(*arguments) == function.uncached(*arguments) != before
        ran = function.stats()["ran"]
        context.prec = 28
        assert function(*arguments) == before
        context.rounding = decimal.ROUND_UP
        assert function(*arguments) == function.uncached(*arguments) != before
        assert function.stats()["ran"] == ran + 1


def test_the_decimal_context_can_be_left_out() -> None:
    @whorl.cached(ignores=["decimal context"])
    def sets() -> str:
        decimal.getcontext().prec = 6
        return third()

    with decimal.localcontext():
        sets()
    with decimal.localcontext():
        sets()
    assert sets.stats()["ran"] == 1


def test_a_function_without_decimals_does_not_mind_the_context() -> None:
    @whorl.cached
    def plain(x: int) -> int:
        return x + 1

    plain(1)
    with decimal.localcontext() as context:
        context.prec = 5
        plain(1)
    assert plain.stats()["ran"] == 1


@whorl.cached
def text_of_array(x: Any) -> str:
    return str(x)


@whorl.cached
def text_of_global() -> str:
    return f"{np.ones(3) / 3}"


@whorl.cached
def by_pattern() -> str:
    return "%s" % (np.ones(3) / 3,)  # noqa: UP031  # what is tested


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(text_of_array, (np.ones(3) / 3,)), (text_of_global, ()), (by_pattern, ())],
)
def test_the_print_options_count_where_an_array_may_become_a_text(
    function: Any, arguments: tuple[Any, ...]
) -> None:
    before = function(*arguments)
    with np.printoptions(precision=2):
        assert function(*arguments) == function.uncached(*arguments) != before
    with np.printoptions(formatter={"float": lambda x: "?"}):
        assert function(*arguments) == function.uncached(*arguments) != before
    assert function(*arguments) == before


def test_the_print_options_do_not_count_where_no_text_is_made() -> None:
    @whorl.cached
    def total(x: Any) -> float:
        return float(np.sum(x))

    total(np.ones(3))
    with np.printoptions(precision=2):
        total(np.ones(3))
    assert total.stats()["ran"] == 1


# -- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "function"),
    [
        ("hash", lambda: hash("a")),
        ("sys.getrecursionlimit", lambda: sys.getrecursionlimit()),  # noqa: PLW0108
        ("sys.path", lambda: len(sys.path)),
        ("sys.flags", lambda: sys.flags.optimize),
        ("warnings.filters", lambda: len(warnings.filters)),
        ("numpy.geterr", lambda: np.geterr()),  # noqa: PLW0108
        ("locale.getlocale", lambda: locale.getlocale()),  # noqa: PLW0108
        ("locale.strxfrm", lambda: locale.strxfrm("a")),
        ("time.mktime", lambda: time.mktime((2000, 1, 1, 0, 0, 0, 0, 0, 0))),
        ("os.getcwd", lambda: os.getcwd()),  # noqa: PLW0108, PTH109
        ("random.random", lambda: random.random()),  # noqa: PLW0108
        ("numpy.random.rand", lambda: np.random.rand()),  # noqa: PLW0108
    ],
)
def test_state_that_is_asked_for_by_name_is_refused(used: str, function: Any) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=f"uses {used},"):
        whorl.cached(function)()
    assert whorl.cached(ignores=[used])(function)() == function() or "random" in used


class Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    def __hash__(self) -> int:
        return hash(self.x)


def test_a_class_with_a_hash_of_its_own_is_not_refused() -> None:
    @whorl.cached
    def count(points: list[Point]) -> int:
        return len(set(points))

    assert count([Point(1), Point(1), Point(2)]) == 2


# -- neither, as the guide says ---------------------------------------------------------------


def test_whether_an_array_can_be_written_to_does_not_count() -> None:
    @whorl.cached
    def writable(x: Any) -> bool:
        return bool(x.flags.writeable)

    first, second = np.ones(3), np.ones(3)
    second.flags.writeable = False
    assert writable(first) is writable(second) is True


def test_addresses_do_not_count() -> None:
    @whorl.cached
    def address(x: list[int]) -> int:
        return id(x)

    assert address([1]) == address([1])
    assert address.stats()["ran"] == 1


def test_floating_point_errors_and_warnings_are_those_of_the_run() -> None:
    @whorl.cached
    def divided(x: Any) -> Any:
        return np.array([1.0]) / x

    with np.errstate(divide="ignore"):
        assert divided(np.array([0.0]))[0] == np.inf
    with np.errstate(divide="raise"):
        assert divided(np.array([0.0]))[0] == np.inf


def test_options_that_a_library_keeps_count_if_they_are_declared() -> None:
    options = {"width": 80}  # as a library would hold them

    @whorl.cached(reads=[options])
    def shown() -> int:
        return 1

    shown()
    options["width"] = 60
    shown()
    assert shown.stats()["ran"] == 2
