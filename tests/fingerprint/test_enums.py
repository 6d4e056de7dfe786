"""Enum members: by class, name and value."""

from __future__ import annotations

import enum
import functools
from typing import Any

import pytest

import whorl
from tests.fingerprint.comparing import different, same
from tests.fingerprint.programs import Programs


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    ROUGE = 1


class Mood(enum.Enum):
    RED = 1
    GREEN = 2


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Word(enum.StrEnum):
    ONE = "one"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Open(enum.IntFlag, boundary=enum.KEEP):
    READ = 1
    WRITE = 2


class Planet(enum.Enum):
    EARTH = (1, 2)

    def __init__(self, mass: int, radius: int) -> None:
        self.mass = mass
        self.radius = radius

    @functools.cached_property
    def density(self) -> float:
        return self.mass / self.radius


class Unhashable(enum.Enum):
    LIST = [1, 2]
    DICT = {"a": 1}


def test_equal_members_of_two_enum_classes_get_different_digests() -> None:
    assert different(Colour.RED, Mood.RED, Colour.GREEN, Mood.GREEN)


def test_members_differ_from_their_values_and_names() -> None:
    assert different(Number.ONE, 1, "ONE", "Number.ONE", True)
    assert different(Word.ONE, "one", "ONE")
    assert different(Open.READ, 1)


def test_an_alias_is_the_member_it_stands_for() -> None:
    assert same(Colour.RED, Colour.ROUGE)


def test_combinations_of_flags_count_by_what_is_in_them() -> None:
    assert same(Access.READ | Access.WRITE, Access(3), ~Access(0))
    assert different(Access(0), Access.READ, Access.WRITE, Access(3))
    assert different(Open(0), Open(1), Open(8), Open(9), 8, 9)


def test_a_combination_that_was_made_before_changes_nothing() -> None:
    before = whorl.fingerprint([Access.READ, Access])
    assert Access.READ | Access.WRITE
    assert whorl.fingerprint([Access.READ, Access]) == before


def test_members_with_values_that_cannot_be_hashed_work() -> None:
    assert different(Unhashable.LIST, Unhashable.DICT, [1, 2], {"a": 1})


def test_an_attribute_of_a_member_counts() -> None:
    before = whorl.fingerprint(Planet.EARTH)
    Planet.EARTH.mass = 7
    try:
        assert whorl.fingerprint(Planet.EARTH) != before
    finally:
        Planet.EARTH.mass = 1


def test_a_computed_cached_property_of_a_member_changes_nothing() -> None:
    before = whorl.fingerprint(Planet.EARTH)
    assert Planet.EARTH.density == 0.5
    assert whorl.fingerprint(Planet.EARTH) == before


def test_members_work_as_keys() -> None:
    assert same({Colour.RED: 1, Mood.RED: 2}, {Mood.RED: 2, Colour.RED: 1})
    assert different({Colour.RED: 1}, {Mood.RED: 1}, {Colour.GREEN: 1})


def test_local_enums_count_by_content() -> None:
    def make(value: int) -> Any:
        class Local(enum.Enum):
            A = value
            B = 2

        return Local

    assert same(make(1).A, make(1).A)
    assert different(make(1).A, make(3).A, make(1).B, make(3).B)


def test_local_enums_made_by_a_call_count_by_content() -> None:
    def make(kind: Any, names: str) -> Any:
        return kind("Made", names)["A"]

    assert same(make(enum.Enum, "A B"), make(enum.Enum, "A B"))
    assert different(
        make(enum.Enum, "A B"), make(enum.Enum, "B A"), make(enum.IntEnum, "A B"),
        make(enum.Enum, "A B C"),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["Enum", "IntEnum", "Flag"])
def test_the_order_of_members_is_part_of_an_enum_class(programs: Programs, kind: str) -> None:
    first = f"import enum\nclass f(enum.{kind}):\n    A = 1\n    B = 2\n"
    second = f"import enum\nclass f(enum.{kind}):\n    B = 2\n    A = 1\n"
    assert not programs.same(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A = 1", "A = 2"),
        ("A = 1", "B = 1"),
        ("A = 1", "A = 1\n    B = 1"),
        ("A = 1", "A = 1\n    def show(self): return 1"),
        ("A = 1\n    def __str__(self): return 'x'", "A = 1\n    def __str__(self): return 'y'"),
        ("A = 1", "A = 1\n    __str__ = object.__str__"),
        ("A = 1", "A = 1\n    @classmethod\n    def _missing_(cls, value): return cls.A"),
        ("A = 1", "A = True"),
        ("A = 1", "A = 1.0"),
    ],
)
def test_an_edited_enum_class_gets_another_digest(
    programs: Programs, first: str, second: str
) -> None:
    head = "import enum\nclass f(enum.Enum):\n    "
    assert not programs.same(head + first + "\n", head + second + "\n")


def test_the_string_of_a_text_enum_is_part_of_its_class(programs: Programs) -> None:
    plain = "import enum\nclass f(str, enum.Enum):\n    A = 'a'\n"
    shown = plain + "    __str__ = str.__str__\n"
    assert not programs.same(plain, shown)


def test_a_docstring_is_no_part_of_an_enum_class(programs: Programs) -> None:
    plain = "import enum\nclass f(enum.Enum):\n    A = 1\n"
    documented = "import enum\n\nclass f(enum.Enum):\n    'What it is.'\n    A = 1  # one\n"
    assert programs.same(plain, documented)


def test_a_hostile_enum_is_never_asked() -> None:
    class Meta(enum.EnumMeta):
        armed = False

        def __iter__(cls) -> object:  # type: ignore[override]  # never called
            raise AssertionError

        def __len__(cls) -> int:
            raise AssertionError

        def __getattr__(cls, name: str) -> object:
            if Meta.armed:
                raise AssertionError(name)
            raise AttributeError(name)

    class Hostile(enum.Enum, metaclass=Meta):
        A = 1
        B = 2

        @property
        def value(self) -> object:
            raise AssertionError

        @property
        def name(self) -> str:
            raise AssertionError

        def __hash__(self) -> int:
            raise AssertionError

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    Meta.armed = True
    assert different(Hostile.A, Hostile.B, Hostile)


def test_a_property_of_an_enum_counts(programs: Programs) -> None:
    text = "import enum\nclass f(enum.Enum):\n A = 1\n @enum.property\n def p(self): return {}\n"
    assert not programs.same(text.format(2), text.format(3))


class Sentinel(enum.Enum):
    MISSING = object()
    EMPTY = object()


def test_a_sentinel_enum_counts_by_name() -> None:
    assert different(Sentinel.MISSING, Sentinel.EMPTY)


def test_a_name_that_was_assigned_to_a_member_counts(programs: Programs) -> None:
    text = """
    import enum
    class Colour(enum.Enum):
        RED = 1
        GREEN = 2
        ROUGE = 1
    {assigned}
    def f(): return Colour.RED.name
    """
    names = ["BLUE", "GREEN", "ROUGE"]
    assigned = ["", *(f"Colour.RED._name_ = {name!r}" for name in names)]
    assert len({programs.digest(text.format(assigned=each)) for each in assigned}) == 4
    own = "Colour.RED._name_ = 'RED'"
    assert programs.same(text.format(assigned=""), text.format(assigned=own))
