"""Members that are something else each time they are read: by a property, or by another thread."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import partial
from itertools import count, cycle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl

DOUBLE, FLOAT, INT = (np.ones(1000, dtype) for dtype in (np.float64, np.float32, np.int64))


class Turning:
    """Its members take turns at every look."""

    def __init__(self, *values: Any) -> None:
        self._values = cycle(values)

    @property
    def x(self) -> Any:
        return next(self._values)


def total_of() -> Any:
    @whorl.kernel
    def total(o: Any) -> float:
        s = 0.0
        for i in range(o.x.size):
            s += o.x[i]
        return s

    return total


@pytest.mark.parametrize("values", [(DOUBLE, FLOAT), (DOUBLE, DOUBLE, INT), (FLOAT, INT, DOUBLE)])
def test_a_property_with_another_dtype_at_every_look_is_never_taken_for_another(
    values: Any,
) -> None:
    total = total_of()
    turning = Turning(*values)
    for _ in range(6):
        with suppress(whorl.KernelError):  # it may be refused
            assert total(turning) == 1000.0
    for value in values:  # nothing that was compiled meanwhile is wrong
        assert total(SimpleNamespace(x=value)) == 1000.0


def test_what_is_another_array_at_every_look_is_named_when_it_is_refused() -> None:
    total, turning = total_of(), Turning(FLOAT, INT, DOUBLE)

    def call() -> None:
        for _ in range(6):
            total(turning)

    with pytest.raises(whorl.KernelError, match=r"arg:o\.x is of another type each time"):
        call()


@pytest.mark.parametrize("by_keyword", [False, True])
def test_a_property_that_begins_to_change_is_read_once_for_each_launch(by_keyword: bool) -> None:
    total = total_of()
    for value in (DOUBLE, FLOAT, INT):
        for _ in range(5):
            assert total(Turning(value)) == 1000.0
    turning = Turning(DOUBLE, FLOAT, FLOAT, INT)
    for _ in range(20):
        assert (total(o=turning) if by_keyword else total(turning)) == 1000.0


def test_a_number_that_is_an_int_or_a_float_stays_what_it_was_when_it_was_read() -> None:
    @whorl.kernel
    def twice(o: Any) -> Any:
        return o.x + o.x

    big = 2**53 + 1
    for _ in range(4):
        assert twice(SimpleNamespace(x=big)) == 2 * big
        assert twice(SimpleNamespace(x=0.5)) == 1.0
    turning = Turning(big, 0.5, 0.5)
    assert {twice(o=turning) for _ in range(20)} <= {2 * big, 1.0}


@pytest.mark.parametrize("options", [{}, {"cache": "process"}, {"nogil": True}])
def test_another_thread_may_rebind_a_member_during_calls(options: dict[str, Any]) -> None:
    @whorl.kernel(**options)
    def total(o: Any) -> float:
        s = 0.0
        for i in range(o.x.size):
            s += o.x[i]
        return s

    values = (DOUBLE, FLOAT, INT)
    held = SimpleNamespace(x=DOUBLE)
    for held.x in values:
        for _ in range(4):
            assert total(held) == 1000.0
    stop = threading.Event()

    def rebind() -> None:
        for number in count():
            held.x = values[number % 3]
            if stop.is_set():
                return

    thread = threading.Thread(target=rebind)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(20_000):
            assert total(o=held) == 1000.0
    finally:
        sys.setswitchinterval(before)
        stop.set()
        thread.join()


def test_a_graph_is_launched_with_what_it_was_compiled_for_or_not_at_all() -> None:
    @whorl.kernel
    def steps(o: Any, stop: Any) -> None:
        o.x[0] += 1
        with whorl.checkpoint(7, yield_on=stop):
            o.x[1] += 1

    stop = np.zeros((), np.int32)
    arrays = [np.zeros(2, dtype) for dtype in (np.float64, np.float32)]
    for array in arrays:
        steps(SimpleNamespace(x=array), stop)
        steps.resume(SimpleNamespace(x=array), stop, from_checkpoint=7)
    assert [array.tolist() for array in arrays] == [[1.0, 2.0]] * 2

    looks = Turning(arrays[0], arrays[1], arrays[1], arrays[0], arrays[1])
    every: tuple[Any, ...] = (steps, partial(steps.resume, from_checkpoint=7))
    for call in every:
        for _ in range(10):
            with suppress(whorl.KernelError):
                call(looks, stop)
    assert all(np.array_equal(array, np.round(array)) for array in arrays)
