"""Dataclasses and named tuples that are finished when used, against those of the library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from whorl import fast_dataclasses


def classes(make: Any, field: Any) -> dict[str, Any]:
    """The same classes, by whichever maker."""

    @make(frozen=True, slots=True)
    class Point:
        """A place."""

        x: int
        y: float = 0.5

        @property
        def double(self) -> int:
            return 2 * self.x

    @make(frozen=True, slots=True)
    class Named(Point):
        name: str = "origin"
        tags: list[int] = field(default_factory=list)

    @make(slots=True)
    class Open:
        value: int
        seen: dict[str, int] = field(default_factory=dict)

    @make(slots=True, eq=False)
    class Node:
        left: Any = None

    @make(frozen=True, slots=True)
    class Checked:
        share: float

        def __post_init__(self) -> None:
            if self.share > 1:
                raise ValueError("a share")

    @make(frozen=True, slots=True)
    class Nothing:
        """Without fields."""

    @make(frozen=True, slots=True)
    class Shown:
        value: int

        def __repr__(self) -> str:
            return "shown"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @make(frozen=True, slots=True)
    class Odd:
        """Fields that are called like what surrounds them."""

        instance: int
        cls: int = 2
        fields: int = 3
        value: int = 4

    return {
        each.__name__: each for each in (Point, Named, Open, Node, Checked, Nothing, Shown, Odd)
    }


FAST = classes(fast_dataclasses.dataclass, fast_dataclasses.field)
PLAIN = classes(dataclasses.dataclass, dataclasses.field)


def told(do: Callable[[dict[str, Any]], Any], of: dict[str, Any]) -> Any:
    """What comes of it, or what is raised, in words that do not tell the makers apart."""
    try:
        return do(of)
    except Exception as error:
        words = str(error).replace("classes.<locals>.", "")
        return type(error).__name__, words.replace("cannot assign to field", "cannot assign")


@pytest.mark.parametrize(
    "do",
    [
        lambda c: repr(c["Point"](1)),
        lambda c: repr(c["Named"](1, 2.0, "a", [3])),
        lambda c: c["Named"](1).tags,
        lambda c: c["Named"](1).tags is c["Named"](1).tags,
        lambda c: c["Point"](y=1.0, x=2).double,
        lambda c: c["Point"](1) == c["Point"](1, 0.5),
        lambda c: c["Point"](1) == c["Point"](2),
        lambda c: c["Point"](1) == c["Named"](1),
        lambda c: c["Point"](1) == (1, 0.5),
        lambda c: c["Point"](1) != c["Point"](1),
        lambda c: len({c["Point"](1), c["Point"](1), c["Point"](2)}),
        lambda c: hash(c["Open"](1)),
        lambda c: c["Open"](1) == c["Open"](1),
        lambda c: c["Node"]() == c["Node"](),
        lambda c: len({c["Node"](), c["Node"]()}),
        lambda c: c["Nothing"]() == c["Nothing"](),
        lambda c: repr(c["Nothing"]()),
        lambda c: (repr(c["Shown"](1)), c["Shown"](1) == 3, hash(c["Shown"](1))),
        lambda c: repr(c["Odd"](instance=1, fields=5)),
        lambda c: c["Checked"](0.5).share,
        lambda c: c["Checked"](2.0),
        lambda c: setattr(c["Point"](1), "x", 3),
        lambda c: delattr(c["Point"](1), "x"),
        lambda c: c["Point"]().x,
        lambda c: c["Point"](1, 2, 3),
        lambda c: c["Point"](1, z=3),
        lambda c: [field.name for field in dataclasses.fields(c["Named"])],
        lambda c: [field.type for field in dataclasses.fields(c["Named"](1))],
        lambda c: dataclasses.asdict(c["Named"](1, 2.0)),
        lambda c: dataclasses.astuple(c["Named"](1, 2.0)),
        lambda c: repr(dataclasses.replace(c["Named"](1, 2.0), x=5)),
        lambda c: repr(fast_dataclasses.replace(c["Named"](1, 2.0), x=5)),
        lambda c: dataclasses.replace(c["Checked"](0.5), share=2.0),
        lambda c: dataclasses.is_dataclass(c["Node"]),
        lambda c: c["Named"].__match_args__,
        lambda c: c["Point"].__doc__,
        lambda c: c["Point"].__dataclass_params__.frozen,
        lambda c: repr(copy.copy(c["Named"](1))),
        lambda c: repr(copy.deepcopy(c["Open"](1, {"a": 1}))),
        lambda c: hasattr(c["Point"](1), "__dict__"),
        lambda c: c["Point"].x.__get__(c["Point"](4)),
    ],
)  # fmt: skip
def test_they_do_what_those_of_dataclasses_do(do: Callable[[dict[str, Any]], Any]) -> None:
    assert told(do, FAST) == told(do, PLAIN)


def test_they_match() -> None:
    match FAST["Named"](1, 2.0, "a"):
        case LATE_POINT if isinstance(LATE_POINT, FAST["Point"]):
            x = LATE_POINT.x
    assert x == 1


def test_a_circle_has_a_repr() -> None:
    node = FAST["Node"]()
    node.left = node
    assert repr(node) == "classes.<locals>.Node(left=...)"


@fast_dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """Can be sent to another process."""

    number: int
    words: tuple[str, ...] = ()


@fast_dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Watched:
    """Can be referred to weakly."""

    number: int


def test_they_are_pickled_and_copied() -> None:
    sent = Sent(1, ("a",))
    assert pickle.loads(pickle.dumps(sent)) == sent
    assert copy.deepcopy(sent) == sent


def test_they_are_referred_to_weakly_if_they_say_so() -> None:
    import weakref

    watched = Watched(1)
    assert weakref.ref(watched)() is watched


def test_a_plain_subclass_may_have_attributes_of_its_own() -> None:
    class More(Sent):
        pass

    more = More(1)
    more.other = 2  # type: ignore[attr-defined]
    assert more.other == 2  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        more.number = 3  # type: ignore[misc]


def test_a_dataclass_may_be_derived_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Derived(Sent):
        extra: int = 3

    made = Derived(1, ("a",), 4)
    assert (made.number, made.words, made.extra) == (1, ("a",), 4)
    assert [field.name for field in dataclasses.fields(made)] == ["number", "words", "extra"]


def test_a_fingerprint_does_not_depend_on_what_has_been_looked_at() -> None:
    import whorl

    before = whorl.fingerprint(Sent(1))
    dataclasses.fields(Sent)
    assert whorl.Fingerprinter()(Sent(1)) == before


def test_a_default_that_is_made_is_shown_as_dataclasses_shows_it() -> None:
    import inspect

    @fast_dataclasses.dataclass(frozen=True, slots=True)
    class Held:
        name: str
        parts: list[int] = fast_dataclasses.field(default_factory=list)

    assert str(inspect.signature(Held)) == "(name: 'str', parts: 'list[int]' = <factory>)"


def tuples(named: Any) -> dict[str, Any]:
    """The same named tuples, by whichever maker."""

    class Place(named):  # type: ignore[misc]  # which of the two is only known here
        """Somewhere."""

        x: int
        y: float = 0.5

        def __str__(self) -> str:
            return f"at {self.x}"

        def moved(self, by: int) -> Any:
            """Another place."""
            return self._replace(x=self.x + by)

    class Nothing(named):  # type: ignore[misc]  # as above
        """Without fields."""

    return {"Place": Place, "Nothing": Nothing}


FAST_TUPLES = tuples(fast_dataclasses.NamedTuple)
PLAIN_TUPLES = tuples(typing.NamedTuple)


@pytest.mark.parametrize(
    "do",
    [
        lambda c: c["Place"](1),
        lambda c: c["Place"](1, 2.0),
        lambda c: c["Place"](y=2.0, x=1),
        lambda c: c["Place"](1, y=2.0),
        lambda c: repr(c["Place"](1)),
        lambda c: str(c["Place"](1)),
        lambda c: repr(c["Nothing"]()),
        lambda c: c["Place"](),
        lambda c: c["Place"](y=1.0),
        lambda c: c["Place"](1, 2, 3),
        lambda c: c["Place"](1, x=2),
        lambda c: c["Place"](1, z=3),
        lambda c: c["Place"](1).moved(3),
        lambda c: c["Place"](1)._asdict(),
        lambda c: c["Place"]._make([1, 2]),
        lambda c: c["Place"]._make([1, 2, 3]),
        lambda c: c["Place"](1) == (1, 0.5),
        lambda c: hash(c["Place"](1)) == hash((1, 0.5)),
        lambda c: c["Place"](1) < c["Place"](2),
        lambda c: setattr(c["Place"](1), "x", 3),
        lambda c: hasattr(c["Place"](1), "__dict__"),
        lambda c: (c["Place"]._fields, c["Place"]._field_defaults, c["Place"].__match_args__),
        lambda c: (c["Place"].__doc__, c["Place"].__name__, c["Place"].__bases__),
        lambda c: typing.get_type_hints(c["Place"]),
        lambda c: copy.deepcopy(c["Place"](1, [2])),
        lambda c: type(copy.copy(c["Place"](1))) is c["Place"],
    ],
)  # fmt: skip
def test_named_tuples_do_what_those_of_typing_do(do: Callable[[dict[str, Any]], Any]) -> None:
    said = [
        repr(told(do, each)).replace("tuples.<locals>.", "") for each in (FAST_TUPLES, PLAIN_TUPLES)
    ]
    assert said[0] == said[1]


class SentTuple(fast_dataclasses.NamedTuple):
    """Can be sent to another process."""

    number: int
    words: tuple[str, ...] = ()


def test_named_tuples_are_pickled_and_match() -> None:
    sent = SentTuple(1, ("a",))
    again = pickle.loads(pickle.dumps(sent))
    assert type(again) is SentTuple
    assert again == sent
    match again:
        case SentTuple(number, words=[word]):
            assert (number, word) == (1, "a")
        case _:
            raise AssertionError(again)


def test_an_unknown_field_is_not_replaced() -> None:
    with pytest.raises(TypeError, match="unexpected field names: \\['z'\\]"):
        SentTuple(1)._replace(z=3)  # type: ignore[call-arg]  # wrong on purpose


def test_a_class_derived_from_a_named_tuple_is_a_plain_one() -> None:
    class More(SentTuple):
        def twice(self) -> int:
            return 2 * self.number

    assert More(2).twice() == 4
    assert repr(More(2)) == "More(number=2, words=())"
