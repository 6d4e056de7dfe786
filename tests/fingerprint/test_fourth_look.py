"""What a fourth attack on fingerprints found."""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import whorl


def reader(held: Any) -> Callable[[], Any]:
    return lambda: held


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([{1: 1, "b": 2}], [{"b": 2, 1: 1}]),
        (SimpleNamespace(a=1, b=2), SimpleNamespace(b=2, a=1)),
        (typing.Literal["a", "b"], typing.Literal["b", "a"]),
        (int | str, str | int),
    ],
    ids=["dict", "unsorted", "namespace", "literal", "union"],
)
def test_the_order_of_what_a_function_captured_counts_and_that_of_data_does_not(
    one: Any, other: Any
) -> None:
    assert whorl.fingerprint(one) == whorl.fingerprint(other)
    assert whorl.diff(one, other) == []
    assert whorl.fingerprint(reader(one)) != whorl.fingerprint(reader(other))
    assert whorl.fingerprint(reader(one)) == whorl.fingerprint(reader(one))
    assert whorl.diff(reader(one), reader(other)) != []


def test_a_captured_dict_that_holds_itself_counts_with_its_order() -> None:
    def ring(*names: str) -> dict[str, Any]:
        held: dict[str, Any] = dict.fromkeys(names)
        for name in names:
            held[name] = [held]
        return held

    digests = {whorl.fingerprint(reader(ring(*names))) for names in ("ab", "ba", "ab")}
    assert len(digests) == 2
