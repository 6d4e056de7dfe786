"""Dataclasses that kernels make: values with names, in registers."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.properties.test_kernels import loaded


@dataclass
class Ray:
    origin: Any
    direction: Any
    reach: float = 10.0

    def at(self, distance):
        return self.origin + self.direction * distance

    def moved(self, distance):
        return Ray(self.at(distance), self.direction, self.reach - distance)


@dataclass(frozen=True, slots=True)
class Hit:
    distance: float
    index: int = -1


@dataclass
class Checked:
    x: float

    def __post_init__(self) -> None:
        self.x += 1


@dataclass
class ByKeyword:
    x: float
    y: float = field(default=0.0, kw_only=True)


def nearest(ray, points):
    best = Hit(ray.reach)
    for k in range(len(points)):
        distance = whorl.vec(points[k] - ray.origin).dot(ray.direction)
        if 0 < distance < best.distance:
            best = Hit(distance, index=k)
    return best


@whorl.kernel
def traced(points, slope):
    ray = Ray(whorl.vec(0.0, 0.0, 0.0), direction=whorl.vec(1.0, slope, 0.0).normalized())
    hit, moved = nearest(ray, points), ray
    for _ in range(3):
        moved = moved.moved(0.5)
    for k in whorl.prange(len(points)):
        each = Hit(slope, k)
        points[k] += each.distance * each.index
    return hit, hit.index, ray.at(2.0), moved, isinstance(moved, Ray), type(hit) is Hit


@pytest.mark.parametrize("slope", [0.25, -3.0])
def test_dataclasses_are_made_read_and_returned(slope: float) -> None:
    ours, theirs = (np.arange(12.0).reshape(4, 3) / 5 for _ in range(2))
    found, expected = traced(ours, slope), traced.interpret(theirs, slope)
    assert repr(found) == repr(expected)
    assert type(found[0]) is Hit
    np.testing.assert_array_equal(ours, theirs)
    with whorl.testing.forbid_compile():
        again = traced.with_options(debug=None)(np.arange(12.0).reshape(4, 3) / 5, slope)
    assert again[0] == expected[0]


def test_a_changed_default_or_method_compiles_anew(tmp_path: Any) -> None:
    source = """
from dataclasses import dataclass
import whorl

@dataclass
class Point:
    x: float
    y: float = 2.0

    def total(self):
        return self.x + self.y

@whorl.kernel
def program(x):
    return Point(x).total()
"""
    module = loaded(source, tmp_path)
    assert module.program(1.0) == 3.0
    module.Point.__dataclass_fields__["y"].default = 5.0
    assert module.program(1.0) == 6.0
    module.Point.total = lambda self: self.x * self.y
    assert module.program(2.0) == 10.0


WRONG = {
    "return Checked(s).x": "Checked objects are made by code of their own",
    "return ByKeyword(s).x": "fields that are given by keyword alone",
    "return Hit(s)[0]": "has no items",
    "a, b = Hit(s)": "has no length that is known at compile time",
    "return len(Hit(s))": "has no length",
    "return Hit(s).nothing": "has no attribute 'nothing'",
    "return Hit()": "there is no value for the field 'distance'",
    "return Hit(s, 1, 2)": "3 values for the fields distance, index",
    "return Hit(s, distance=s)": "takes the fields distance, index, each once",
    "return Hit(s) == Hit(s)": "is compared with Hit(",
    "return Hit(s) + Hit(s)": "is no number",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_dataclasses_cannot_do_is_refused_with_its_place(line: str, tmp_path: Any) -> None:
    names = (
        "from tests.kernels.test_data_classes import ByKeyword, Checked, Hit, Ray\nimport whorl\n"
    )
    kernel = loaded(f"{names}\n@whorl.kernel\ndef program(s):\n    {line}\n", tmp_path).program
    with pytest.raises(whorl.KernelError) as caught:
        kernel(1.5)
    assert WRONG[line] in str(caught.value)


@whorl.kernel
def changed(s):
    ray = Ray(s, s)
    ray.reach = 3.0
    return ray.reach


def test_a_field_is_not_set() -> None:
    with pytest.raises(whorl.KernelError, match="is a value, which is made and never changed"):
        changed(1.5)
