"""That something is absent is a read like any other, and it keeps nothing alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import whorl
from tests.jit.compilers import Make, Thing, program_kernel
from whorl.reads import AbsentRead, Inputs


def test_that_a_member_was_there_is_a_read(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            inputs.arg("x").attr("extra")
        except AbsentRead:
            return "without"
        return "with"

    kernel = make(look)
    assert kernel(Thing(extra=1)) == "with"
    assert kernel(Thing()) == "without"


def test_what_lacks_a_part_is_told_from_what_lacks_the_whole(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            extra = inputs.arg("x").attr("extra")
        except AbsentRead:
            return "no extra"
        return "both" if extra.has("part") else "extra without part"

    kernel = make(look)
    assert kernel(Thing(extra=Thing())) == "extra without part"
    assert kernel(Thing()) == "no extra"


def test_a_tuple_that_says_absent_is_told_from_what_is_absent(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        try:
            return inputs.arg("x").attr("a").value()
        except AbsentRead:
            return "nothing"

    kernel = make(look)
    assert kernel(Thing(a=("absent",))) == ("absent",)
    assert kernel(Thing()) == "nothing"


def test_a_parameter_that_is_asked_for_and_is_not_there_does_no_harm_later(make: Make) -> None:
    def look(inputs: Inputs) -> str:
        try:
            inputs.arg("extra")
        except AbsentRead:
            return "none"
        return "some"

    kernel = make(look)
    assert [kernel(1) for _ in range(5)] == ["none"] * 5


def test_a_read_of_something_absent_keeps_nothing_alive() -> None:
    def look(program: whorl.Program, inputs: Inputs) -> Any:
        try:
            return inputs.arg("x").attr("missing").value()
        except AttributeError:
            return "absent"

    class Thing:
        pass

    kernel = program_kernel(look)
    thing = Thing()
    reference = weakref.ref(thing)
    gc.collect()
    gc.disable()
    try:
        assert kernel(thing) == "absent"
        del thing
        assert reference() is None
    finally:
        gc.enable()
