"""Classes and modules as values."""

from __future__ import annotations

import collections
import gc
import json
import math
import types
import weakref
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import calls_of, different, same
from tests.fingerprint.programs import Programs


class Here:
    x = 1


def test_classes_differ_from_each_other_from_their_names_and_from_their_instances() -> None:
    assert different(
        int, bool, float, str, object, type, type(None), dict, collections.OrderedDict, Here,
        Here(), "Here", "int", types.FunctionType, ValueError,
    )  # fmt: skip


def test_a_class_counts_what_is_stored_in_it() -> None:
    assert same(type("Made", (), {"x": 1}), type("Made", (), {"x": 1}))
    assert different(
        type("Made", (), {}), type("Made", (), {"x": 1}), type("Made", (), {"x": True}),
        type("Made", (), {"y": 1}), type("Other", (), {"x": 1}), type("Made", (dict,), {"x": 1}),
        type("Made", (), {"x": 1, "__slots__": ()}),
    )  # fmt: skip


def test_a_class_attribute_that_changes_is_noticed() -> None:
    before = whorl.fingerprint(Here)
    Here.x = 2
    try:
        assert whorl.fingerprint(Here) != before
    finally:
        Here.x = 1
    assert whorl.fingerprint(Here) == before


def test_an_instance_of_an_importable_class_does_not_count_class_attributes() -> None:
    before = whorl.fingerprint(Here())
    Here.x = 2
    try:
        assert whorl.fingerprint(Here()) == before
    finally:
        Here.x = 1


def test_a_class_that_refers_to_itself_works() -> None:
    def make(x: int) -> type:
        Made = type("Made", (), {"x": x})
        Made.me = [Made]  # type: ignore[attr-defined]  # the cycle
        Made.one = Made()  # type: ignore[attr-defined]  # a cycle through an instance
        return Made

    assert same(make(1), make(1))
    assert different(make(1), make(2))
    assert same(make(1)(), make(1)())


class Raising(type):
    locals().update(
        calls_of(
            "__getattribute__", "__getattr__", "__eq__", "__hash__", "__repr__", "__str__",
            "__bool__", "__len__", "__iter__", "__instancecheck__", "__subclasscheck__",
            "__call__", "__dir__", "__contains__", "__prepare__x",
        )
    )  # fmt: skip


class Recursive(type):
    def __getattr__(cls, name: str) -> Any:
        return getattr(cls, name)


class NeverEqual(type):
    """Defines `__eq__`, and so its classes cannot be hashed."""

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("classes were compared")

    __hash__ = None  # type: ignore[assignment]  # what Python does by itself


class AlwaysEqual(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(int)


@pytest.mark.parametrize("metaclass", [Raising, Recursive, NeverEqual, AlwaysEqual])
def test_a_metaclass_is_never_asked(metaclass: Any) -> None:
    def make(x: int) -> Any:
        return type.__new__(metaclass, "Hostile", (), {"x": x})

    Hostile = make(1)
    first, second = object.__new__(Hostile), object.__new__(Hostile)
    object.__setattr__(first, "y", 1)
    object.__setattr__(second, "y", 2)
    assert whorl.fingerprint(first) != whorl.fingerprint(second)
    assert whorl.fingerprint(Hostile) == whorl.fingerprint(make(1)) != whorl.fingerprint(make(2))
    assert len(whorl.fingerprint({"k": [first, Hostile, {"i": second}]})) == 32


def test_the_metaclass_of_something_stored_in_a_class_is_never_asked() -> None:
    Hostile: Any = type.__new__(Raising, "Hostile", (), {})
    Holder = type("Holder", (), {"x": object.__new__(Hostile)})
    assert len(whorl.fingerprint(Holder())) == 32


def test_a_slotted_instance_of_a_hostile_metaclass_works() -> None:
    Hostile: Any = type.__new__(NeverEqual, "Hostile", (), {"__slots__": ("x",)})
    first: Any = object.__new__(Hostile)
    second: Any = object.__new__(Hostile)
    first.x, second.x = 1, 2
    assert whorl.fingerprint(first) != whorl.fingerprint(second)


def test_classes_that_are_dropped_can_be_collected() -> None:
    gone = 0

    def count(_: object) -> None:
        nonlocal gone
        gone += 1

    references = []
    for i in range(50):
        Made = type("Made", (), {"x": i})
        value = Made()
        whorl.fingerprint([value, Made])
        references.append(weakref.ref(value, count))
    del value
    gc.collect()
    assert gone == 50


def test_modules_of_the_standard_library_count_by_name() -> None:
    assert different(math, json, json.decoder, "math")


def test_a_module_of_the_users_own_counts_by_content(programs: Programs) -> None:
    first, second = programs.load("T = 1\n"), programs.load("T = 2\n")
    assert different(first, second)
    assert same(programs.load("T = 1\n"), programs.load("# comment\n\nT = 1\n"))


def test_a_module_made_at_run_time_counts_by_content() -> None:
    def make(x: int) -> types.ModuleType:
        made = types.ModuleType("made_at_run_time")
        made.x = x  # type: ignore[attr-defined]  # its content
        return made

    assert same(make(1), make(1))
    assert different(make(1), make(2))


def test_the_same_class_after_an_edit_of_a_method_differs(programs: Programs) -> None:
    first = "class f:\n    def m(self): return 1\n"
    second = "class f:\n    def m(self): return 2\n"
    assert not programs.same(first, second)


def test_descriptors_and_unbound_methods_count_by_class_and_name() -> None:
    assert different(
        list.append, list.extend, collections.deque.append, str.join, int.real, float.real,
        object.__repr__, int.__repr__,
    )  # fmt: skip
