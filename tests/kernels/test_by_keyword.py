"""Calls by keyword, or that leave arguments to their defaults: in Python, and as right."""

from __future__ import annotations

import typing
from typing import Any, Protocol

import numpy as np
import pytest

import whorl

SCALE = 2.0


@whorl.kernel
def total(x, n=2, *, shift=0.0):  # type: ignore[no-untyped-def]
    s = shift
    for i in range(n):
        s += SCALE * x[i]
    return s


def test_by_keyword_and_by_default_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1.0, 5.0)
    for _ in range(6):
        assert total(x) == total(x=x) == total(n=2, x=x) == 6.0
        assert total(x, n=3) == 12.0
        assert total(x, shift=1.0) == 7.0
    monkeypatch.setattr(f"{__name__}.SCALE", 3.0)
    for _ in range(6):
        assert total(x) == total(n=2, x=x) == 9.0
    x = x.astype(np.float32)
    for _ in range(6):
        assert total(x) == total(n=2, x=x) == 9.0
    with pytest.raises(TypeError, match="x"):
        total(n=2)


def test_a_default_that_is_exchanged_is_seen() -> None:
    x = np.arange(1.0, 5.0)
    assert [total(x) for _ in range(6)] == [6.0] * 6
    before = total.function.__defaults__
    total.function.__defaults__ = (3,)
    try:
        assert [total(x) for _ in range(6)] == [12.0] * 6
    finally:
        total.function.__defaults__ = before
    assert [total(x) for _ in range(6)] == [6.0] * 6


def test_methods_by_keyword() -> None:
    class Body:
        def __init__(self, mass: Any) -> None:
            self.mass = mass

        @whorl.kernel
        def weight(self, g=10.0):  # type: ignore[no-untyped-def]
            s = 0.0
            for i in range(self.mass.size):
                s += g * self.mass[i]
            return s

    one, other = Body(np.ones(3)), Body(np.ones(4))
    for _ in range(6):
        assert (one.weight(), one.weight(g=1.0), other.weight(g=2.0)) == (30.0, 3.0, 8.0)
    one.mass = np.ones(5, np.float32)
    assert [one.weight() for _ in range(4)] == [50.0] * 4


class Sized(Protocol):
    """What type checkers compare with, and nobody else."""

    size: int


def test_annotations_that_no_value_is_an_instance_of_say_nothing() -> None:
    @whorl.kernel
    def first(x: Any, y: Sized, n: typing.Any = 3):  # type: ignore[no-untyped-def]
        return x[0] + y.size + n

    assert first(np.ones(2), np.ones(5)) == 9.0
