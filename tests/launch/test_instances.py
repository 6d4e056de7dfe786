"""Where instances keep their attributes is found, and followed wherever CPython moves them."""

from __future__ import annotations

import copy
import ctypes
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.launch.instances import (
    Attributes,
    attributes_in_dict,
    attributes_of,
    shared_number,
    slot_offset,
)
from whorl.launch.layout_search import object_layout

needs_instances = pytest.mark.skipif(
    not object_layout().instance.dict, reason="instances of this Python are not known"
)
NAMES = tuple(sys.intern(f"attribute_{i}") for i in range(40))


def found(thing: object) -> Attributes | None:
    return attributes_of(thing, object_layout().inside, object_layout().instance)


def attributes(place: Attributes | None) -> dict[str, int] | None:
    """The address of each attribute that is found, by name."""
    if place is None:
        return None
    numbers = {name: place.number(name) for name in NAMES}
    return {
        name: place.value(number)
        for name, number in numbers.items()
        if number >= 0 and place.value(number)
    }


def test_this_python_is_known() -> None:
    if sys.version_info[:2] in ((3, 11), (3, 12), (3, 13)):
        assert object_layout().instance.inline in ("pointer", "tagged", "embedded")
        assert object_layout().ints in ("sized", "tagged")
        assert object_layout().none in ("for ever", "counted", "call")


@needs_instances
def test_attributes_are_found_inline_in_a_split_dict_and_in_a_dict_of_its_own() -> None:
    class Plain: ...

    thing: Any = Plain()
    for name in NAMES[:3]:
        setattr(thing, name, [name])
    inline = found(thing)
    assert inline is not None
    assert not inline.dict
    assert not inline.is_combined
    own = vars(thing)
    split = found(thing)
    assert split is not None
    assert split.dict == id(own)
    assert not split.is_combined
    thing.__dict__ = dict(own)
    combined = found(thing)
    assert combined is not None
    assert combined.dict == id(thing.__dict__)
    assert combined.is_combined
    assert attributes(combined) == {name: id(getattr(thing, name)) for name in NAMES[:3]}
    assert shared_number(Plain, NAMES[1], object_layout().inside, object_layout().instance) == 1
    assert shared_number(Plain, NAMES[9], object_layout().inside, object_layout().instance) == -1


@needs_instances
def test_looking_does_not_give_an_instance_a_dict() -> None:
    class Plain: ...

    thing: Any = Plain()
    setattr(thing, NAMES[0], 1)
    for _ in range(3):
        place = found(thing)
        assert place is not None
        assert not place.dict


def test_a_dict_with_keys_that_are_no_texts_is_not_read() -> None:
    held_by_text: dict[Any, int] = {"one": 1}
    at = object_layout()
    assert attributes_in_dict(id(held_by_text), at.inside, at.instance) is not None
    held_by_text[1] = 1
    assert attributes_in_dict(id(held_by_text), at.inside, at.instance) is None
    assert found(3) is None
    assert found(np.zeros(2)) is None


def test_slots_are_found_by_their_descriptors() -> None:
    class Base:
        __slots__ = ("first", "second")

    class Thing(Base):
        __slots__ = ("third",)

    thing: Any = Thing()
    thing.first = thing.second = thing.third = same = object()
    places = []
    for cls, name in ((Base, "first"), (Base, "second"), (Thing, "third")):
        offset = slot_offset(vars(cls)[name], object_layout().descriptor)
        assert ctypes.c_int64.from_address(id(thing) + offset).value == id(same)
        places.append(offset)
    assert len(set(places)) == 3
    assert slot_offset(vars(Base)["first"], 0) == 0


def test_a_name_that_stands_there_as_another_object_is_not_found() -> None:
    class Unshared: ...

    thing: Any = Unshared()
    vars(thing)["".join(NAMES[0])] = 1
    setattr(thing, NAMES[0], 2)
    setattr(thing, NAMES[1], 3)
    place = found(thing)
    assert place is not None
    assert place.number(NAMES[0]) == -1
    assert place.value(place.number(NAMES[1])) == id(3)


class Plain: ...


class Derived(Plain):
    __slots__ = ("other",)


@dataclass
class Data:
    attribute_0: Any = None
    attribute_1: Any = 3


class Open:
    __slots__ = ("__dict__", "slot")


class Error(Exception): ...


class Number(int): ...


MADE: list[Callable[[], Any]] = [
    Plain, Derived, Data, Open, Error, Number, types.SimpleNamespace,
]  # fmt: skip
CHANGES: list[Callable[[Any, str], object]] = [
    lambda thing, name: setattr(thing, name, object()),
    lambda thing, name: setattr(thing, name, object()),
    lambda thing, name: vars(thing).pop(name, None),
    lambda thing, name: delattr(thing, name) if name in vars(thing) else None,
    lambda thing, name: vars(thing).__setitem__(name, object()),
    lambda thing, name: vars(thing).__setitem__(name + "_longer", object()),
    lambda thing, name: setattr(type(thing)(), name, object()),  # its class has one more key
    lambda thing, name: vars(thing),
    lambda thing, name: vars(thing).update({each: object() for each in NAMES}),
    lambda thing, name: vars(thing).clear(),
    lambda thing, name: copy.copy(thing),
    lambda thing, name: _exchange(thing, dict(reversed(vars(thing).items()))),
    lambda thing, name: _exchange(thing, {}),
]


def _exchange(thing: Any, other: dict[str, Any]) -> None:
    if not isinstance(thing, types.SimpleNamespace):
        thing.__dict__ = other


@settings(max_examples=200, deadline=None)
@given(
    made=st.sampled_from(MADE),
    changes=st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(NAMES)), max_size=60),
)
def test_whatever_becomes_of_an_instance_its_attributes_are_found_or_nothing_is(
    made: Callable[[], Any], changes: list[tuple[Callable[[Any, str], object], str]]
) -> None:
    thing = made()
    for change, name in changes:
        change(thing, name)
        place = attributes(found(thing))
        if place is not None:  # asking for `__dict__` gives it one, so this comes last
            assert place == {
                name: id(value) for name, value in vars(thing).items() if name in NAMES
            }
