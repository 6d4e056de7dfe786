"""What only this process can know is compiled once per process, and changes in it are noticed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Make, Thing, compiles, kernel_in_memory, program_kernel
from whorl.reads import Inputs


def test_what_changes_during_its_compile_is_not_kept_in_the_process_either(make: Make) -> None:
    thing = Thing(n=1)

    def look(inputs: Inputs) -> Any:
        value = inputs.arg("x").attr("n").value()
        thing.n = 2
        return value

    kernel = make(look, cache="process")
    assert kernel(thing) == 1
    assert kernel(Thing(n=2)) == 2


def test_a_compile_that_reads_nothing_is_kept_in_the_process(make: Make) -> None:
    kernel = make(lambda inputs: 1, cache="process")
    assert [kernel() for _ in range(3)] == [1, 1, 1]
    assert compiles(kernel) == 1


def test_what_can_be_recorded_is_stored_also_when_the_rest_is_compiled_each_time(
    make: Make,
) -> None:
    look = lambda inputs: inputs.arg("x").value()
    make(look, cache="call")(1)
    fresh = make(look, cache="call")
    assert fresh(1) == 1
    assert compiles(fresh) == 0


@whorl.by_identity("token")
class Session:
    def __init__(self, n: int) -> None:
        self.token = object()
        self.n = n


def test_two_objects_known_by_identity_are_two_calls(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").value().n)
    one, other = Session(1), Session(2)
    assert [kernel(one), kernel(other), kernel(one), kernel(other)] == [1, 2, 1, 2]


def test_nothing_is_known_by_identity_too() -> None:
    kernel = kernel_in_memory(lambda inputs: repr(inputs.arg("x").array()), cache="process")
    for value in (3, None):
        for _ in range(4):
            kernel(value)
    assert kernel.stats()["compiled"] == 2


class Holder:
    def __init__(self, n: int) -> None:
        self.n = n
        self.lock = threading.Lock()


@pytest.mark.parametrize("calls", [1, 5])
def test_what_is_known_in_this_process_alone_is_still_looked_into(calls: int) -> None:
    kernel = program_kernel(lambda program, inputs: inputs.arg("x").value()[0], cache="process")
    x: list[Any] = [1, threading.Lock()]
    assert [kernel(x) for _ in range(calls)] == [1] * calls
    x[0] = 2
    assert [kernel(x) for _ in range(calls)] == [2] * calls
    x[0] = 1
    assert kernel(x) == 1
    assert kernel.stats()["compiled"] == 2
    assert kernel([1, threading.Lock()]) == 1
    assert kernel.stats()["compiled"] == 3  # another lock


def test_an_object_that_is_known_in_this_process_alone_is_still_looked_into() -> None:
    kernel = program_kernel(lambda program, inputs: inputs.arg("x").value().n, cache="process")
    holder = Holder(1)
    assert kernel(holder) == 1
    holder.n = 2
    assert [kernel(holder) for _ in range(4)] == [2] * 4
    circle: Any = Holder(3)
    circle.me = {"again": [circle]}
    assert kernel(circle) == 3
    circle.n = 4
    assert kernel(circle) == 4
