"""Kernels and objects whose calls are recorded, in a module that other processes import."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import whorl

__all__ = ["CALLS", "Body", "Mode", "Pair", "Shape", "Slotted", "scaled"]


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


class Pair(NamedTuple):
    left: int
    right: float


@dataclass(frozen=True)
class Shape:
    width: int
    height: float


class Slotted:
    __slots__ = ("count", "values")

    def __init__(self, count: int) -> None:
        self.count = count
        self.values = np.zeros(count)


@dataclass
class Body:
    x: Any = field(default_factory=lambda: np.zeros(4))
    mass: float = 2.0
    tile: int = 4
    handle: Any = None  # what nobody can describe, and no kernel reads
    parent: Any = None

    @property
    def double_tile(self) -> int:
        return self.tile * 2

    @whorl.kernel
    def step(self, dt):  # type: ignore[no-untyped-def]  # a kernel
        for i in range(whorl.static(self.tile)):
            self.x[i] += dt * self.mass

    @whorl.kernel
    def stepped(self):  # type: ignore[no-untyped-def]
        return whorl.static(self.double_tile)


@whorl.kernel
def total(x):  # type: ignore[no-untyped-def]
    sum = 0.0
    for i in range(x.size):
        sum += x[i]
    return sum


@whorl.kernel
def corner(x):  # type: ignore[no-untyped-def]
    return x[0, 0]


@whorl.kernel
def constant_length(x):  # type: ignore[no-untyped-def]
    return whorl.static(x.shape[0])


@whorl.kernel
def constant_element(x):  # type: ignore[no-untyped-def]
    return whorl.static(int(x[2]))


@whorl.kernel
def chosen(mode, x):  # type: ignore[no-untyped-def]
    if whorl.static(mode is Mode.FAST):
        return x
    return x + 1


@whorl.kernel
def area(shape):  # type: ignore[no-untyped-def]
    return shape.width * shape.height


@whorl.kernel
def in_slots(s):  # type: ignore[no-untyped-def]
    return s.values[0] * s.count


@whorl.kernel
def pair_sum(pair):  # type: ignore[no-untyped-def]
    return pair[0] + pair[1]


@whorl.kernel
def keyword(x, *, n=3):  # type: ignore[no-untyped-def]
    return x[0] * n


def scaled(v: float) -> float:
    return 3 * v


@whorl.kernel
def applied(f, v):  # type: ignore[no-untyped-def]
    return f(v)


@whorl.kernel
def slope(x):  # type: ignore[no-untyped-def]
    x.grad[0] = 1.0
    return x[0]


@whorl.kernel
def setting(table):  # type: ignore[no-untyped-def]
    return whorl.static(table["a"][1])


def _body() -> Body:
    body = Body(handle=open)  # the function itself
    body.parent = body
    return body


CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "an array": (total, (np.ones(5),), {}),
    "a strided array": (total, (np.ones(10)[::2],), {}),
    "a read-only array": (total, (np.broadcast_to(np.ones(1, np.float32), (4,)),), {}),
    "an array in Fortran order": (corner, (np.asfortranarray(np.ones((3, 4))),), {}),
    "a large array": (total, (np.zeros(2_000_000, np.int16),), {}),
    "an empty array": (total, (np.zeros(0),), {}),
    "a length that is a constant": (constant_length, (np.zeros((7, 2)),), {}),
    "an element that is a constant": (constant_element, (np.arange(5),), {}),
    "an enum": (chosen, (Mode.EXACT, 2.5), {}),
    "a frozen dataclass": (area, (Shape(3, 0.5),), {}),
    "slots": (in_slots, (Slotted(3),), {}),
    "a named tuple": (pair_sum, (Pair(1, 2.0),), {}),
    "a keyword": (keyword, (np.ones(2),), {"n": 2.5}),
    "a default": (keyword, (np.ones(2),), {}),
    "a function": (applied, (scaled, 2.0), {}),
    "a gradient": (slope, (whorl.array(3, grad=True),), {}),
    "a dictionary": (setting, ({"a": [1, 2], "b": None},), {}),
    "a method": (Body.step, (_body(), 0.5), {}),
    "a property": (Body.stepped, (_body(),), {}),
    "other options": (total.with_options(debug=True), (np.ones(5),), {}),
}
