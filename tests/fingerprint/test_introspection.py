"""Orders, annotations and docstrings count for the functions that can see them."""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import whorl
from tests.fingerprint.programs import Programs


def reader(held: Any) -> Callable[[], Any]:
    return lambda: held


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([{1: 1, "b": 2}], [{"b": 2, 1: 1}]),
        (SimpleNamespace(a=1, b=2), SimpleNamespace(b=2, a=1)),
        (typing.Literal["a", "b"], typing.Literal["b", "a"]),
        (int | str, str | int),
    ],
    ids=["dict", "unsorted", "namespace", "literal", "union"],
)
def test_the_order_of_what_a_function_captured_counts_and_that_of_data_does_not(
    one: Any, other: Any
) -> None:
    assert whorl.fingerprint(one) == whorl.fingerprint(other)
    assert whorl.diff(one, other) == []
    assert whorl.fingerprint(reader(one)) != whorl.fingerprint(reader(other))
    assert whorl.fingerprint(reader(one)) == whorl.fingerprint(reader(one))
    assert whorl.diff(reader(one), reader(other)) != []


def test_a_captured_dict_that_holds_itself_counts_with_its_order() -> None:
    def ring(*names: str) -> dict[str, Any]:
        held: dict[str, Any] = dict.fromkeys(names)
        for name in names:
            held[name] = [held]
        return held

    digests = {whorl.fingerprint(reader(ring(*names))) for names in ("ab", "ba", "ab")}
    assert len(digests) == 2


LOOKS = '''
import dataclasses, typing

class Inner:
    value = {value}

@dataclasses.dataclass
class Outer:
    """{text}"""
    x: Inner
    y: "Outer | None" = None

def types(): return typing.get_type_hints(Outer)
def text(): return Outer.__doc__
def neither(): return Outer
'''


@pytest.mark.parametrize(
    ("thing", "other"),
    [("types", {"value": 2}), ("text", {"text": "Two."})],
)
def test_what_a_function_looks_at_counts_for_it_and_for_no_other(
    programs: Programs, thing: str, other: dict[str, Any]
) -> None:
    before = LOOKS.format(**{"value": 1, "text": "One."})
    after = LOOKS.format(**{"value": 1, "text": "One.", **other})
    assert not programs.same(before, after, thing=thing)
    assert whorl.diff(programs.get(before, thing), programs.get(after, thing)) != []
    assert programs.same(before, after, thing="neither")
    assert programs.same(before, before, thing=thing)


def test_what_one_function_looks_at_does_not_depend_on_who_was_asked_before(
    programs: Programs,
) -> None:
    module = programs.load(LOOKS.format(value=1, text="One."))
    one, both = whorl.fingerprint([module.text]), whorl.fingerprint([module.text, module.types])
    again = programs.load(LOOKS.format(value=1, text="One."))
    assert whorl.fingerprint([again.text, again.types]) == both
    assert whorl.fingerprint([again.text]) == one
