"""Classes and modules as values."""

from __future__ import annotations

import collections
import copy
import gc
import json
import math
import subprocess
import sys
import types
import weakref
from typing import Any

import pydantic
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


def executed(text: str, name: str, **scope: Any) -> Any:
    space: dict[str, Any] = dict(scope)
    exec(compile(text, "<string>", "exec", dont_inherit=True), space)
    return space[name]


def test_classes_made_by_exec_in_a_bare_scope_count_by_content() -> None:
    one, two = (executed(f"class A:\n def m(self): return {k}", "A") for k in (1, 2))
    assert one.__module__ == "builtins"
    assert different(one, two)
    assert different(one(), two())


def test_a_class_looked_at_before_its_name_is_bound_counts_by_name_afterwards(
    programs: Programs,
) -> None:
    text = """
import whorl
def register(cls):
    whorl.fingerprint(cls()); return cls
{early}
class A:
    def __init__(self): self.x = 1
    def run(self): return 1
"""
    early = programs.load(text.format(early="@register"))
    assert whorl.fingerprint(early.A()) == whorl.fingerprint(early.A())
    assert whorl.diff(early.A(), early.A()) == []
    first = whorl.fingerprint(early.A())
    other = type("A", (), {"__module__": early.__name__})()
    other.x = 1
    assert whorl.fingerprint(other) == first  # by name, as every instance counts


def test_a_module_that_computes_its_attributes_counts_with_what_it_computes(
    programs: Programs,
) -> None:
    text = """
import sys, types
class M(types.ModuleType):
    @property
    def TILE(self): return {tile}
cfg = M("cfg")
def f(): return cfg.TILE
"""
    one, two = (programs.load(text.format(tile=tile)).f for tile in (1, 2))
    assert different(one, two)


def test_methods_written_in_a_dataclass_count_wherever_its_text_is_from() -> None:
    text = """
from dataclasses import dataclass
@dataclass
class D:
    x: int
    def __lt__(self, other): return {answer}
"""
    one, two = (executed(text.format(answer=a), "D", __name__="made") for a in (1, 2))
    assert different(one, two)


VALIDATED = """x: int
 y: int
 @pydantic.field_validator({!r})
 @classmethod
 def v(cls, a): return a"""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x: int = pydantic.Field(1, validation_alias='a')", "x: int = pydantic.Field(1)"),
        ("x: int = pydantic.Field(1, frozen=True)", "x: int = pydantic.Field(1)"),
        (VALIDATED.format("x"), VALIDATED.format("y")),
    ],
)
def test_what_is_said_of_a_pydantic_model_counts(programs: Programs, one: str, two: str) -> None:
    head = "import pydantic\nclass f(pydantic.BaseModel):\n "
    assert issubclass(programs.get(head + one + "\n"), pydantic.BaseModel)
    assert not programs.same(head + one + "\n", head + two + "\n")


def test_a_local_class_beside_its_instances_counts_with_what_its_methods_read(
    programs: Programs,
) -> None:
    module = programs.load(
        """
from dataclasses import dataclass
K = 1
def make():
    @dataclass(slots=True)
    class L:
        x: int
        def m(self): return K
    return L
L = make()
"""
    )
    values = [[module.L(1), module.L], [module.L, module.L(1)]]
    before = [whorl.fingerprint(value) for value in values]
    module.K = 2
    assert all(whorl.fingerprint(v) != b for v, b in zip(values, before, strict=True))


def test_copying_an_instance_does_not_change_its_class() -> None:
    class Plain:
        def __init__(self) -> None:
            self.x = 1

    value = Plain()
    before = whorl.fingerprint(Plain), whorl.fingerprint(value)
    copy.copy(value)
    assert (whorl.fingerprint(Plain), whorl.fingerprint(value)) == before


ATTRS = """
import attr, whorl

@attr.frozen
class A:
    x: int = 1

@attr.s(auto_attribs=True, hash=True, cache_hash=True)
class B:
    x: int = 1

@attr.define(eq=False)
class C:
    x: int = 1

found = [str(whorl.fingerprint(cls)) for cls in (A, B, C)]
print(found, len(set(found)))
"""


def test_classes_of_attrs_do_not_depend_on_the_hash_seed() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", ATTRS],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(found) == 1
    assert found.pop().endswith("3\n")
