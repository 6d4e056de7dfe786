"""Fingerprints and differences by type: what a value is, and not what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

import whorl
from tests.fingerprint.comparing import different, same


@dataclass
class Inner:
    data: Annotated[Any, whorl.by_type]


@dataclass
class Outer:
    inner: Annotated[Inner, whorl.by_type]


def test_a_field_by_type_inside_a_value_by_type_keeps_its_type() -> None:
    small, large = Outer(Inner(np.zeros(3))), Outer(Inner(np.zeros((4, 4), "f4")))
    assert different(small, large)
    assert same(small, Outer(Inner(np.ones(3))))


def test_a_lock_has_a_type() -> None:
    import threading

    assert same_by_type(threading.Lock(), threading.Lock())
    assert whorl.fingerprint([object()], by="type") != whorl.fingerprint([1], by="type")


def same_by_type(left: object, right: object) -> bool:
    return whorl.fingerprint(left, by="type") == whorl.fingerprint(right, by="type")


def test_differences_can_be_asked_for_by_type() -> None:
    assert whorl.diff([1, "a"], [2, "b"], by="type") == []
    (found,) = whorl.diff({"p": np.zeros(3)}, {"p": np.zeros(4)}, by="type")
    assert found.path == "value['p'].shape[0]"
