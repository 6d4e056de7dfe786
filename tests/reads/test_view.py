"""Views record what a compile has looked at, and no less."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.reads import AbsentRead, Inputs, Recorder, World
from whorl.reads.generated_replay import compiled_replay
from whorl.reads.replay import ReplaySetup, facts_now, live_facts


def annotated(n: int, label: dict[str, int] | None = None, plain: Any = 3) -> int:
    return n


def world(function: Any, **arguments: Any) -> World:
    return World(function, arguments)


def nothing(x: Any) -> None: ...


def bare(n):  # type: ignore[no-untyped-def] # that there is none is the point
    return n


def test_an_annotation_is_read_as_it_is_written() -> None:
    recorder = Recorder(world(annotated, n=1, f=annotated))
    inputs = Inputs(recorder)
    assert inputs.function().annotation("n") == "int"
    assert inputs.arg("f").code().annotation("label") == "dict[str, int] | None"
    assert [str(seen) for seen in recorder.trace.seen if "annotation" in str(seen)] == [
        "func:annotated.annotation('n') value = 'int'",
        "arg:f.annotation('label') value = 'dict[str, int] | None'",
    ]


def test_an_annotation_that_is_not_there_is_absent() -> None:
    recorder = Recorder(world(bare, n=1))
    with pytest.raises(AbsentRead):
        Inputs(recorder).function().annotation("n")
    assert [str(seen) for seen in recorder.trace.seen] == [
        "func:bare.annotation('n') present = False"
    ]


def test_an_evaluated_annotation_is_what_it_was_when_the_function_was_made() -> None:
    def make(kind: Any) -> Any:
        def function(n): ...  # type: ignore[no-untyped-def] # it gets one now

        function.__annotations__["n"] = kind
        return function

    function = make(complex)
    recorder = Recorder(world(function, n=1))
    view = Inputs(recorder).function().evaluated_annotation("n")
    assert view.type() == ("class", "builtins:complex")


@pytest.mark.parametrize(
    ("one", "other"),
    [([3, 4], {0: 3, 1: 4}), ((3, 4), {0: 3, 1: 4}), ({3, 4}, [3, 4]), ({3: 0, 4: 0}, [3, 4])],
)
def test_what_is_iterated_over_is_never_taken_for_something_of_other_items(
    one: Any, other: Any
) -> None:
    worlds = [world(nothing, x=value) for value in (one, other)]
    recorder = Recorder(worlds[0])
    for item in Inputs(recorder).arg("x"):
        item.value()
    shape = recorder.trace.shape
    assert facts_now(shape, worlds[0]) != facts_now(shape, worlds[1])
    plain = [live_facts(shape, each) for each in worlds]
    replay = compiled_replay(shape, ReplaySetup(worlds[0].function, ("x",)))
    assert plain[0] != plain[1]
    assert [replay((value,), {}) for value in (one, other)] == plain


def test_sequences_of_one_length_and_items_are_alike_to_who_iterates() -> None:
    recorder = Recorder(world(nothing, x=[3, 4]))
    for item in Inputs(recorder).arg("x"):
        item.value()
    shape = recorder.trace.shape
    facts = [facts_now(shape, world(nothing, x=value)) for value in ([3, 4], (3, 4))]
    assert facts[0] == facts[1]
