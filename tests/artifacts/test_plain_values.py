"""Plain values come back from JSON as the very types and bits they were."""

from __future__ import annotations

import json
import math
import struct
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.artifacts.entry import NotPlain
from whorl.artifacts.record import from_json, to_json

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.complex_numbers(allow_nan=True, allow_infinity=True),
    st.text(),
    st.binary(),
)
keys = st.one_of(st.integers(), st.text(), st.binary(), st.booleans(), st.none())
plain_values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=12,
)


def bits(value: Any) -> object:
    """The value with its types and bits, for comparison."""
    kind = type(value)
    if kind is float:
        return ("float", struct.pack(">d", value))
    if kind is complex:
        return ("complex", struct.pack(">dd", value.real, value.imag))
    if kind in (list, tuple):
        return (kind.__name__, [bits(item) for item in value])
    if kind is dict:
        return ("dict", [(bits(key), bits(held)) for key, held in value.items()])
    return (kind.__name__, value)


def through_json(value: object) -> Any:
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


@given(plain_values)
def test_every_plain_value_comes_back_with_its_types_and_bits(value: object) -> None:
    assert bits(through_json(value)) == bits(value)


@pytest.mark.parametrize(
    "value",
    [
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0],
        2**63,
        -(2**63) - 1,
        10**5000,
        "\ud800 lone",
        "",
        b"",
        (),
        [],
        {},
        {1: "int", "1": "str", None: ()},
        {"tuple": [1]},
        [{"int": "0x1"}],
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_odd_ones_come_back(value: object) -> None:
    assert bits(through_json(value)) == bits(value)


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, {2}]}, "value['a'][1]"),
        ((Colour.RED,), "value[0]"),
        ([object()], "value[0]"),
        ({"x": bytearray(b"")}, "value['x']"),
        ({frozenset(): 1}, "value key"),
    ],
)
def test_what_is_not_plain_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(NotPlain) as caught:
        to_json(value)
    assert caught.value.path == path
    assert "payload" in str(caught.value)


def test_a_value_nested_too_deeply_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(NotPlain):
        to_json(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"tuple": 1}',
        '{"tuple": [1], "dict": []}',
        "{}",
        '{"dict": [[1]]}',
        '{"dict": [[[], 1]]}',
        '{"bytes": "xy"}',
        '{"bytes": 1}',
        '{"int": "zz"}',
        '{"float": "00"}',
        '{"complex": [1]}',
        '{"object": "os.system"}',
    ],
)
def test_what_is_not_written_by_us_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        from_json(json.loads(text))
