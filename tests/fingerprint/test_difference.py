"""Differences: every path, both sides, in words."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import whorl
from tests.fingerprint.programs import Programs


@dataclass
class Point:
    x: object = 0
    y: object = 0


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Text(str):
    pass


def words(left: object, right: object) -> list[str]:
    return [str(difference) for difference in whorl.diff(left, right)]


def paths(left: object, right: object) -> list[str]:
    return [difference.path for difference in whorl.diff(left, right)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 2, ["value: 1 -> 2"]),
        (1, True, ["value: 1 -> True"]),
        (0.0, -0.0, ["value: 0.0 -> -0.0"]),
        ("a", b"a", ["value: 'a' -> b'a'"]),
        (None, 0, ["value: None -> 0"]),
        ([1, 2], [1, 3], ["value[1]: 2 -> 3"]),
        ([1, 2], [1], ["value[1]: 2 -> nothing"]),
        ([1], [1, 2, 3], ["value[1]: nothing -> 2", "value[2]: nothing -> 3"]),
        ([1], (1,), ["value: [1] -> (1,)"]),
        ({"a": 1}, {"a": 2}, ["value['a']: 1 -> 2"]),
        ({"a": 1}, {"b": 1}, ["value['a']: 1 -> nothing", "value['b']: nothing -> 1"]),
        ({1: "x", "k": 1}, {1: "y", "k": 1}, ["value[1]: 'x' -> 'y'"]),
        ({"a": None}, {}, ["value['a']: None -> nothing"]),
        ({1, 2}, {2, 3}, ["value{1}: 1 -> nothing", "value{3}: nothing -> 3"]),
        ({1, "a"}, {1, "b"}, ["value{'a'}: 'a' -> nothing", "value{'b'}: nothing -> 'b'"]),
        (Point(1, 2), Point(1, 3), ["value.y: 2 -> 3"]),
        (Point([1]), Point([2]), ["value.x[0]: 1 -> 2"]),
        (Colour.RED, Colour.GREEN, ["value.name: 'RED' -> 'GREEN'", "value.value: 1 -> 2"]),
        (Text("a"), Text("b"), ["value: 'a' -> 'b'"]),
        (dt.date(2020, 1, 1), dt.date(2020, 1, 2), ["value.day: 1 -> 2"]),
        (list[int], list[str], ["value.__args__[0]: class int -> class str"]),
        (int, str, ["value: class int -> class str"]),
    ],
)
def test_a_difference_is_told_in_words(left: object, right: object, expected: list[str]) -> None:
    assert words(left, right) == expected


@pytest.mark.parametrize(
    "value",
    [
        1, float("nan"), "a", [1, [2]], {"a": {1, "x"}}, Point(1), Colour.RED, int, list[int],
        np.arange(3), np.array([np.nan, 1]), np.array([1, "a"], object), lambda: 1, whorl.diff,
    ],
)  # fmt: skip
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert whorl.diff(value, value) == []
    assert whorl.diff([value], [value]) == []


PAIRS: list[tuple[Any, Any]] = [
    (np.zeros(20), np.ones(20)),
    (np.zeros(2), np.zeros(2, "f4")),
    (np.zeros(2), np.zeros(3)),
    (np.zeros(2), np.array([0.0, -0.0])),
    (np.array([0j]), np.array([complex(0, -0.0)])),
    (np.array([np.nan]), -np.array([np.nan])),
    (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
    (np.array(["NaT"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
    (np.array([1], "m8[s]"), np.array([2], "m8[s]")),
    (np.array([1], "g"), np.array([2], "g")),
    (np.array(1), np.array(2)),
    (np.array(["a"]), np.array(["b"])),
    (np.array([(1, 2)], "i4,i4"), np.array([(1, 3)], "i4,i4")),
    (np.array([b"a"], "V1"), np.array([b"b"], "V1")),
    (np.array([1, "a"], object), np.array([1, "b"], object)),
    (np.ma.array([1, 2], mask=[False, True]), np.ma.array([1, 2], mask=[False, False])),
    (np.array(["a"], np.dtypes.StringDType()), np.array(["b"], np.dtypes.StringDType())),
    (np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2).T),
    (np.float32(0.0), np.float32(-0.0)),
    (np.dtype("f4"), np.dtype("f8")),
    (np.float32(1), np.float32(2)),
    (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
    (Point(lambda: 1), Point(lambda: 2)),
    (type("X", (), {"a": 1}), type("X", (), {"a": 2})),
    (type("X", (), {"a": 1})(), type("X", (), {"a": 2})()),
    (frozenset({(1, 2)}), frozenset({(1, 3)})),
    ({(1, 2): 1}, {(1, 2): 2}),
    (range(3), range(4)),
    (b"a" * 5000, b"b" * 5000),
    (bytearray(b"a"), bytearray(b"b")),
    (memoryview(b"a"), memoryview(b"b")),
    (ValueError(1), ValueError(2)),
    (int | None, int | str),
    (whorl.fingerprint, whorl.diff),
]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=[str(i) for i in range(len(PAIRS))])
def test_values_with_two_digests_have_a_difference_that_can_be_read(left: Any, right: Any) -> None:
    for a, b in ((left, right), ({"k": [left]}, {"k": [right]})):
        found = whorl.diff(a, b)
        assert found
        for difference in found:
            assert difference.path.startswith("value" if a is left else "value['k'][0]")
            assert "\\x" not in str(difference), "a digest means nothing to a reader"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (decimal.Decimal(1), decimal.Decimal(2)),
        (np.float32(1), np.float32(2)),
        (range(3), range(4)),
    ],
)
def test_the_path_of_a_difference_can_be_written_in_python(left: Any, right: Any) -> None:
    """`value[1]` of a number would be an error; its parts have names or none."""
    assert all("[" not in path for path in paths(left, right))


def test_the_elements_in_which_two_arrays_differ_are_named() -> None:
    left, right = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    right[1, 2] = 7
    assert words({"a": left}, {"a": right}) == ["value['a'][1, 2]: 5.0 -> 7.0"]


def test_arrays_of_another_type_or_shape_differ_in_that_and_nothing_else() -> None:
    assert paths(np.zeros(2), np.zeros(2, "f4")) == ["value.dtype"]
    assert [p.split("[")[0] for p in paths(np.zeros(2), np.zeros(3))] == ["value.shape"]


def test_every_path_is_found_in_order() -> None:
    left = {"a": [1, 2, {"x": Point(1)}], "b": 1}
    right = {"a": [1, 3, {"x": Point(2)}], "c": 1}
    assert paths(left, right) == [
        "value['a'][1]", "value['a'][2]['x'].x", "value['b']", "value['c']",
    ]  # fmt: skip


def test_a_difference_holds_both_sides_as_data() -> None:
    (found,) = whorl.diff({"a": [1]}, {"a": []})
    assert (found.path, found.left, found.right) == ("value['a'][0]", 1, whorl.NOTHING)


def test_a_changed_line_of_code_is_shown(programs: Programs) -> None:
    first = programs.get("def g(x):\n    return x + 1\ndef f(x):\n    return g(x)\n")
    second = programs.get("def g(x):\n    return x + 2\ndef f(x):\n    return g(x)\n")
    (found,) = whorl.diff({"k": first}, {"k": second})
    assert found.path.startswith("value['k'].__globals__['g']")
    assert "`return x + 1` -> `return x + 2`" in str(found)


def test_a_changed_global_of_a_function_is_shown(programs: Programs) -> None:
    first = programs.get("T = 1\ndef f(): return T\n")
    second = programs.get("T = 2\ndef f(): return T\n")
    assert words(first, second) == ["value.__globals__['T']: 1 -> 2"]


def test_no_code_of_the_values_runs() -> None:
    class Hostile:
        def __init__(self, x: int) -> None:
            self.x = x

        def __repr__(self) -> str:
            raise AssertionError

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]  # follows from __eq__

    assert words([Hostile(1)], [Hostile(2)]) == ["value[0].x: 1 -> 2"]
    assert len(words([Hostile(1)], [1])) == 1


def test_a_policy_decides_what_is_a_difference() -> None:
    own = whorl.Fingerprinter({Point: whorl.fields(exclude=["y"])})
    assert own.diff(Point(1, 1), Point(1, 2)) == []
    assert whorl.diff(Point(1, 1), Point(1, 2), by=own) == []
    assert len(own.diff(Point(1, 1), Point(2, 2))) == 1


def test_a_difference_in_a_shared_part_is_named_at_every_place_or_at_its_first() -> None:
    left, right = [1], [2]
    found = paths([left, left], [right, right])
    assert found[0] == "value[0][0]"


def test_a_difference_deep_inside_is_found() -> None:
    def chain(end: int) -> object:
        value: Any = end
        for _ in range(2000):
            value = [value]
        return value

    assert paths(chain(1), chain(2)) == ["value" + "[0]" * 2000]


class Measured(np.ndarray[Any, Any]):
    """An array with a class of its own."""


@pytest.mark.parametrize(
    ("left", "right", "path"),
    [
        (np.zeros(1).view(Measured), np.ones(1).view(Measured), "value"),
        (collections.deque([1], 3), collections.deque([1], 4), "value.maxlen"),
        ({10**5000: 1}, {10**5000: 2}, "value[<int>]"),
    ],
)
def test_odd_values_have_differences_too(left: object, right: object, path: str) -> None:
    assert [d.path for d in whorl.diff(left, right)] == [path]
    assert all(str(d) for d in whorl.diff(left, right))


def test_large_numbers_can_be_told_apart_and_refused_beside() -> None:
    assert str(whorl.diff(10**5000, 10**5000 + 1)[0])
    with pytest.raises(whorl.UnsupportedValue):
        whorl.fingerprint({10**5000: object()})


class Loud:
    def __init__(self, n: int) -> None:
        self.n = n

    def __repr__(self) -> str:
        raise AssertionError("nobody has asked")


def test_differences_are_shown_without_running_anybodys_code() -> None:
    (found,) = whorl.diff([Loud(1), 0], [0, 0])
    assert "Loud" in repr(found)
    (found,) = whorl.diff({"a": 1}, {"a": "b"})
    assert repr(found) == "Difference(path=\"value['a']\", left=1, right='b')"


def test_numbers_of_many_digits_are_shown() -> None:
    (found,) = whorl.diff(10**5000, 1)
    assert str(found).endswith("-> 1")
    assert repr(found).endswith("right=1)")
    (found,) = whorl.diff([[10**5000]], [7])
    assert repr(found).endswith("right=7)")
