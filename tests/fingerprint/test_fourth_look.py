"""What a fourth attack on fingerprints found."""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pydantic
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


class Given(pydantic.BaseModel):
    a: int = 1
    uid: Annotated[int, whorl.exclude] = 0


def test_a_field_of_a_model_that_was_not_given_differs_from_one_that_was() -> None:
    assert Given().model_dump(exclude_unset=True) != Given(a=1).model_dump(exclude_unset=True)
    assert whorl.fingerprint(Given()) != whorl.fingerprint(Given(a=1))
    assert [str(found) for found in whorl.diff(Given(), Given(a=1))] != []
    assert whorl.fingerprint(Given(a=1)) == whorl.fingerprint(Given.model_validate({"a": 1}))


def test_whether_a_field_that_does_not_count_was_given_does_not_count() -> None:
    assert whorl.fingerprint(Given()) == whorl.fingerprint(Given(uid=3))
    assert whorl.diff(Given(), Given(uid=3)) == []
    by_rule = whorl.Fingerprinter(rules={Given: whorl.fields(exclude=["a"])})
    assert by_rule(Given()) == by_rule(Given(a=2))
    assert whorl.fingerprint([Given(), Given(uid=3)]) == whorl.fingerprint([Given(), Given()])


def test_scalars_of_two_classes_of_numpy_that_are_as_wide_differ() -> None:
    canonical = {np.dtype(cls).type for cls in (np.int64, np.uint64)}
    for cls in (np.longlong, np.ulonglong, np.int_, np.uint, np.intc, np.uintc):
        same_width = np.dtype(np.dtype(cls).str).type
        is_same = whorl.fingerprint(cls(1)) == whorl.fingerprint(same_width(1))
        assert is_same == (cls is same_width), cls
    assert {np.dtype(np.longlong).type, np.dtype(np.int_).type} & canonical, "or nothing is tested"
