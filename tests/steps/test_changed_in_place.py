"""What is changed in place, by less usual means, is noticed by the next call."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest

import whorl

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
