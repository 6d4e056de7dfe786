"""What a function takes from outside is found by whichever name it comes."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl


@pytest.fixture(autouse=True)
def _fresh(fresh_cache: Path) -> None:
    """Each test has a cache of its own."""


def captured_module() -> Callable[[], object]:
    import time as clock

    return lambda: clock.time()  # noqa: PLW0108  # the lambda is the case


def captured_function() -> Callable[[], object]:
    from os import getenv

    return lambda: getenv("HOME")


def captured_and_passed_on() -> Callable[[], object]:
    import os as system

    def inner() -> object:
        return [name for name in system.environ]  # noqa: C416  # so is the loop

    return inner


def captured_and_called_with_nothing() -> Callable[[], object]:
    from numpy.random import default_rng

    return lambda: default_rng().random()


def under_a_local_name() -> object:
    source = random
    return source.random()


def under_a_local_name_of_a_part() -> object:
    source = np.random
    return source.rand()


CLOCKS = {"wall": time.time}


def in_a_table() -> object:
    return CLOCKS["wall"]()


def stamped(now: Callable[[], float] = time.time) -> float:
    return now()


def behind_a_default() -> object:
    return stamped()


class Watch:
    clock = staticmethod(time.time)

    def read(self) -> float:
        return self.clock()


def in_a_class() -> object:
    return Watch().read()


def home() -> object:
    return os.path.expanduser("~")  # noqa: PTH111  # what is refused


def resolved() -> object:
    return Path("a").resolve()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (captured_module(), "the time of day"),
        (captured_function(), "the environment"),
        (captured_and_passed_on(), "the environment"),
        (captured_and_called_with_nothing(), "random numbers"),
        (under_a_local_name, "random numbers"),
        (under_a_local_name_of_a_part, "random numbers"),
        (in_a_table, "the time of day"),
        (behind_a_default, "the time of day"),
        (in_a_class, "the time of day"),
        (home, "the environment"),
        (resolved, "the file system"),
    ],
)
def test_the_outside_is_found_under_any_name(function: Callable[[], object], kind: str) -> None:
    with pytest.raises(whorl.UnsupportedFunction, match=f"depends on {kind}"):
        whorl.cached(function).key()


@dataclass
class Named:
    value: int
    name: uuid.UUID = field(default_factory=uuid.uuid4)
    clock: Any = field(default=time.time, metadata=whorl.exclude)


def test_an_argument_may_have_been_made_with_something_from_outside() -> None:
    double = whorl.cached(lambda named: 2 * named.value)
    assert double(Named(3)) == 6


def test_a_parameter_with_a_clock_as_its_default_can_be_given_another() -> None:
    @whorl.cached(exclude=["now"])
    def timed(x: int, now: Callable[[], float] = time.time) -> int:
        return x + 1

    assert timed(1) == 2


def test_a_module_that_is_passed_on_is_not_refused_for_what_others_take() -> None:
    import math as numbers

    def root(source: Any, x: float) -> float:
        return float(source.sqrt(x))

    assert whorl.cached(lambda x: root(numbers, x))(4.0) == 2.0
    assert whorl.cached(lambda x: root(np, x))(4.0) == 2.0
