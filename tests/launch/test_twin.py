"""The launcher's twin reads nothing but live objects, and says so where it would."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native, warmed
from tests.launch.twin_calls import checked_twin_call, twin_call
from whorl.launch.layout_search import object_layout
from whorl.launch.object_reads import constants_of
from whorl.launch.object_words import at
from whorl.launch.table_operations import KINDS, OPERATIONS
from whorl.systems.live_memory import DeadAddress

pytestmark = needs_native


class Slotted:
    __slots__ = ("n", "x")

    def __init__(self) -> None:
        self.x, self.n = np.arange(4.0), 3


class Plain:
    def __init__(self) -> None:
        self.x, self.n = np.arange(4.0), 3


FACTOR = 2


@whorl.kernel
def of_member(o: Any, k: Any) -> Any:
    return o.x[0] + o.x[o.n] * FACTOR, k


def in_a_dict() -> Any:
    made = Plain()
    made.__dict__ = dict(reversed(vars(made).items()))
    return made


def split() -> Any:
    made = Plain()
    assert vars(made)
    return made


@pytest.mark.parametrize(
    "make", [Slotted, Plain, split, in_a_dict, lambda: SimpleNamespace(x=np.arange(4.0), n=3)]
)
def test_every_address_that_is_read_lies_in_a_live_object(make: Any) -> None:
    kernel: Any = whorl.kernel(of_member.function)
    thing = make()
    assert warmed(kernel, thing, 1.5) == (6.0, 1.5)
    calls = kernel.python_calls
    assert checked_twin_call(kernel, thing, 1.5) == (6.0, 1.5)
    assert kernel.python_calls == calls


def test_an_address_of_nothing_is_named_and_not_read() -> None:
    kernel: Any = whorl.kernel(of_member.function)
    thing = Slotted()
    warmed(kernel, thing, 1)
    wrong = {**constants_of(object_layout()), "array_dtype": 1 << 40}
    with at.as_given(wrong), pytest.raises(DeadAddress, match="8 bytes at"):
        checked_twin_call(kernel, thing, 1)


def test_each_operation_has_a_row_with_a_function_and_words_for_its_operands() -> None:
    assert list(KINDS) == [row.name for row in OPERATIONS]
    assert len({row.perform for row in OPERATIONS}) == len(OPERATIONS)
    for row in OPERATIONS:
        assert row.operands
        assert row.perform.__code__.co_varnames[:4] == ("api", "op", "registers", "record")
        assert row.loads or not (row.keeps or row.borrows or row.runs_code)
        assert sys.modules[row.perform.__module__].__doc__


class Raising:
    error: BaseException | None = None

    @property
    def n(self) -> int:
        if self.error is not None:
            raise self.error
        return 3

    @property
    def x(self) -> Any:
        return ARRAY


ARRAY = np.arange(4.0)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("of a user"), KeyboardInterrupt(), RecursionError("deep")]
)
def test_what_code_of_the_user_raises_comes_out_of_the_twin(error: BaseException) -> None:
    kernel: Any = whorl.kernel(of_member.function)
    thing = Raising()
    assert warmed(kernel, thing, 1) == twin_call(kernel, thing, 1) == (6.0, 1)
    thing.error = error
    for call in (kernel, partial(twin_call, kernel)):
        with pytest.raises(type(error)) as caught:
            call(thing, 1)
        assert caught.value is error
    thing.error = None
    assert twin_call(kernel, thing, 1) == (6.0, 1)


def test_references_are_given_back_by_the_twin() -> None:
    kernel: Any = whorl.kernel(of_member.function)
    thing = Raising()
    warmed(kernel, thing, 1)
    held = (thing, ARRAY, Raising, kernel)
    before = [sys.getrefcount(each) for each in held]
    for _ in range(20):
        twin_call(kernel, thing, 1)
        twin_call(kernel, thing, k=1)
    assert [sys.getrefcount(each) for each in held] == before
