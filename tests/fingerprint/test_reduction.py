"""Objects of unknown extension classes: by what they give for copying, and never less."""

from __future__ import annotations

import collections
import copyreg
import ctypes
import random
import re
from typing import Any

import numpy as np
import pytest

import whorl
from tests.fingerprint.comparing import different, refusal, same
from whorl.fingerprint.layout import has_hidden_state


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class Dice(random.Random):
    sides: int


def test_an_extension_object_counts_by_what_it_gives_for_copying() -> None:
    assert same(random.Random(1), random.Random(1))
    assert different(random.Random(1), random.Random(2))
    used = random.Random(1)
    used.random()
    assert different(random.Random(1), used)


def test_a_subclass_of_an_extension_class_counts_its_attributes_too() -> None:
    plain, marked = Dice(1), Dice(1)
    marked.sides = 6
    assert different(plain, marked, random.Random(1))


def test_foreign_structures_count_by_content() -> None:
    assert same(Point(1, 2), Point(1, 2))
    assert different(Point(1, 2), Point(2, 1), ctypes.c_int(1), ctypes.c_int(2), ctypes.c_long(1))


def test_iterators_count_what_is_left_and_are_not_used_up() -> None:
    values = iter([1, 2, 3])
    before = whorl.fingerprint(values)
    assert whorl.fingerprint(values) == before
    assert next(values) == 1
    assert whorl.fingerprint(values) != before
    assert list(values) == [2, 3]


def test_an_extension_object_that_cannot_be_copied_is_refused() -> None:
    assert refusal({"k": re.match("a", "a")}).path == "value['k']"


def test_a_reduction_that_drops_attributes_does_not_make_two_values_the_same() -> None:
    class Forgetful(random.Random):
        def __reduce__(self) -> Any:
            return random.Random, ()

    first, second = Forgetful(1), Forgetful(1)
    first.x, second.x = 1, 2  # type: ignore[attr-defined]  # set beside
    assert different(first, second)


def test_a_registered_reduction_is_used_for_extension_classes_only() -> None:
    class Plain:
        def __init__(self, x: int) -> None:
            self.x = x

    copyreg.pickle(Plain, lambda value: (Plain, (0,)))
    try:
        assert different(Plain(1), Plain(2))
    finally:
        del copyreg.dispatch_table[Plain]


def test_what_a_reduction_returns_is_looked_into() -> None:
    class Holder(random.Random):
        content: object

        def __reduce__(self) -> Any:
            return Holder, (self.content,)

        def __new__(cls, content: object = None) -> Holder:
            made = super().__new__(cls)
            made.content = content
            return made

        def __init__(self, content: object = None) -> None:
            super().__init__(0)

    assert different(Holder([1]), Holder([2]))
    assert refusal({"k": Holder(object())}).path.startswith("value['k']")


@pytest.mark.parametrize("reduced", [None, 1, (), (list,), [list, ()], (1, 2, 3, 4, 5, 6, 7)])
def test_a_reduction_that_makes_no_sense_is_refused(reduced: object) -> None:
    class Odd(random.Random):
        def __reduce_ex__(self, protocol: object) -> Any:
            return reduced

    assert refusal([Odd()]).path == "value[0]"


def test_a_reduction_that_raises_is_refused_with_its_reason() -> None:
    class Odd(random.Random):
        def __reduce_ex__(self, protocol: object) -> Any:
            raise ZeroDivisionError("no thanks")

    refused = refusal([Odd()])
    assert refused.path == "value[0]"
    assert "no thanks" in refused.reason


def test_a_hidden_part_below_a_known_base_is_never_dropped() -> None:
    """A compiled class on top of a builtin keeps state that the builtin's content does not show."""
    import os

    first = os.terminal_size((80, 24))
    assert same(first, os.terminal_size((80, 24)))
    assert different(first, os.terminal_size((81, 24)), (80, 24))


def test_super_objects_differ_by_what_they_are_bound_to() -> None:
    class Base:
        def __init__(self, x: int) -> None:
            self.x = x

    try:
        assert different(super(Base, Base(1)), super(Base, Base(2)))
    except whorl.UnsupportedValue as refused:
        assert refused.type_name == "super"  # noqa: PT017 - refusing is right as well


def test_bit_generators_and_default_factories_work() -> None:
    assert different(np.random.PCG64(1), np.random.PCG64(2), np.random.MT19937(1))
    assert same(collections.defaultdict(random.Random), collections.defaultdict(random.Random))


def test_a_subclass_of_an_extension_class_does_not_hide_what_that_keeps() -> None:
    for cls in _extension_classes():
        derived = type("Derived", (cls,), {})
        assert has_hidden_state(derived), cls


def _extension_classes() -> list[type]:
    """Classes of which part of the state is seen by nobody, and that can be derived from."""
    found: list[type] = []
    pending: list[type] = [object]
    while pending:
        derived: list[type] = type.__subclasses__(pending.pop())
        for cls in derived:
            pending.append(cls)
            if _is_extension(cls) and has_hidden_state(cls):
                found.append(cls)
    return found


def _is_extension(cls: type) -> bool:
    flags: int = type.__dict__["__flags__"].__get__(cls)
    is_heap, is_base = flags & 1 << 9, flags & 1 << 10
    return bool(is_base) and not is_heap and type(cls) is type
