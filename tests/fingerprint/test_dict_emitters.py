"""Dicts by their fast way: the same tokens as the plain walk, whatever was met before."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whorl
from whorl.fingerprint import containers
from whorl.fingerprint.containers import FEW, OFTEN, STR_KEYED
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.emit import Emitters
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.run import EmitRun
from whorl.fingerprint.tokens import marshalled


class Text(str):
    __slots__ = ()


class Number(int):
    __slots__ = ()


def written(emitters: Emitters, value: dict[Any, Any]) -> bytes:
    out: list[object] = []
    emitters.quick[dict](value, out, EmitRun(inf))
    return marshalled(out)


def plain(emitters: Emitters, value: dict[Any, Any]) -> bytes:
    return marshalled(emitters.describer.graph(value).tokens)


@pytest.fixture
def emitters() -> Emitters:
    return Emitters(Describer(Policy()))


keys = st.one_of(
    st.sampled_from("abcdef"),
    st.sampled_from("abcdef").map(Text),
    st.integers(0, 4),
    st.integers(0, 4).map(Number),
    st.sampled_from([True, 1.0, None, (1,), b"a"]),
)


@given(st.lists(st.tuples(keys, st.booleans()), max_size=300))
def test_the_size_never_takes_another_key_for_a_str(steps: list[tuple[object, bool]]) -> None:
    value: dict[object, None] = {}
    for key, stays in steps:
        value[key] = None
        if not stays:
            del value[key]
        for same in (value, value.copy(), {**value}):
            if same.__sizeof__() in STR_KEYED:
                assert all(type(held) is str for held in same)


def test_the_size_tells_plain_dicts_of_str_from_others() -> None:
    for size in (1, 2, 5, 6, 10, 11, 100, 1000):
        assert {str(i): i for i in range(size)}.__sizeof__() in STR_KEYED
        assert {i: i for i in range(size)}.__sizeof__() not in STR_KEYED
        assert {Text(i): i for i in range(size)}.__sizeof__() not in STR_KEYED
    assert vars(Text).copy().__sizeof__() in STR_KEYED


values = st.one_of(
    st.sampled_from([None, True, 1, 1.5, "x", b"x", (), [], {}, {"a": 1}, {1: 2}, {1, 2}]),
    st.lists(st.sampled_from([1, "x", None, [2], b"y"]), max_size=3),
    st.sampled_from([[0] * 100, [0] * 101, (1, (2, 3)), Text("t"), Number(3)]),
)


@pytest.mark.parametrize("names", [["a"], ["b", "a"], list("qwertz"), [3, 1, 2], range(FEW)])
@given(rows=st.lists(st.lists(values, min_size=FEW, max_size=FEW), min_size=1, max_size=5))
def test_dicts_met_often_are_written_like_the_plain_walk(
    names: list[Any], rows: list[list[object]]
) -> None:
    emitters = Emitters(Describer(Policy()))
    dicts = [dict(zip(names, row, strict=False)) for row in rows]
    for _ in range(OFTEN + 1):
        written(emitters, dicts[0])
    for _ in range(9):
        for held in dicts:
            assert written(emitters, held) == plain(emitters, held)


@given(st.lists(st.lists(values, min_size=FEW + 4, max_size=FEW + 4), min_size=1, max_size=6))
def test_wide_dicts_are_written_like_the_plain_walk(rows: list[list[object]]) -> None:
    emitters = Emitters(Describer(Policy()))
    for row in [*rows, *rows]:
        held = {f"key{i}": value for i, value in enumerate(row)}
        assert written(emitters, held) == plain(emitters, held)
        backwards = dict(reversed(held.items()))
        assert written(emitters, backwards) == plain(emitters, held)


def test_dicts_with_the_same_first_key_are_told_apart(emitters: Emitters) -> None:
    for _ in range(OFTEN + 1):
        for held in ({"a": 1, "b": 2}, {"a": 1, "c": 2}, {"a": 1}, {"a": 1, "b": 2, "c": 3}):
            assert written(emitters, held) == plain(emitters, held)


def test_a_key_that_equals_a_known_one_but_is_of_another_class_is_told_apart() -> None:
    for _ in range(OFTEN + 1):
        assert whorl.fingerprint({"a": 1, "b": 2}) != whorl.fingerprint({"a": 1, Text("b"): 2})
        assert whorl.fingerprint({1: 1, 2: 2}) != whorl.fingerprint({1: 1, 2.0: 2})
        assert whorl.fingerprint({1: 1, 0: 2}) != whorl.fingerprint({True: 1, False: 2})


def test_a_dict_emptied_of_str_keys_is_an_empty_dict() -> None:
    emptied = {"a": 1}
    del emptied["a"]
    assert whorl.fingerprint(emptied) == whorl.fingerprint({})


def test_more_keys_than_are_remembered_change_nothing(
    emitters: Emitters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "MOST_KEYS", 30)
    monkeypatch.setattr(containers, "GENERATED", 2)
    for _ in range(OFTEN + 2):
        for i in range(12):
            held = {f"{i}_{j}": [j] for j in range(i * 4)}
            assert written(emitters, held) == plain(emitters, held)


def test_numbers_too_long_to_write_can_be_keys(emitters: Emitters) -> None:
    held = {10**5000: 1, 3: 2}
    for _ in range(OFTEN + 2):
        assert written(emitters, held) == plain(emitters, held)
