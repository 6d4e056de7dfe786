"""Fields and slots: each is a place of its own, and a model knows which were given."""

from __future__ import annotations

from typing import Annotated, Any

import pydantic

import whorl
from tests.fingerprint.comparing import different


def test_classes_that_their_metaclass_calls_equal_have_fields_of_their_own() -> None:
    class ByName(type):
        def __eq__(cls, other: object) -> bool:
            return isinstance(other, ByName) and cls.__name__ == other.__name__

        def __hash__(cls) -> int:
            return hash(cls.__name__)

    first = ByName("P", (), {"__slots__": ("x",)})
    second = ByName("P", (), {"__slots__": ("x", "y")})

    def make(cls: type, **fields: int) -> object:
        value = cls()
        for name, held in fields.items():
            setattr(value, name, held)
        return value

    assert len(whorl.fingerprint(make(first, x=1))) == 32
    assert different(make(second, x=1, y=2), make(second, x=1, y=3))


def test_a_slot_and_an_entry_of_its_name_in_the_dictionary_are_two_places() -> None:
    class Both:
        __slots__ = ("__dict__", "x")

    slot: Any = Both()
    entry = Both()
    slot.x = 1
    entry.__dict__["x"] = 1
    assert different(slot, entry)


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
