# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Objects that can be called are followed in kernels as their `__call__` is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl


@pytest.fixture(autouse=True)
def _fresh(fresh_cache: Path) -> None:
    """Each test has a cache of its own."""


class Affine:
    def __init__(self, slope: float, shift: float) -> None:
        self.slope = slope
        self.shift = shift

    def __call__(self, x: Any) -> Any:
        return self.slope * x + self.shift


class Square(Affine):
    def __call__(self, x: Any) -> Any:
        return x * x


class Model:
    def __init__(self, shape: Any) -> None:
        self.shape = shape

    @whorl.kernel
    def total(self, x):
        sum = 0.0
        for i in range(x.size):
            sum += self.shape(x[i])
        return sum


def half(x: Any) -> Any:
    return x / 2


def test_an_object_that_can_be_called_is_followed() -> None:
    x, model = np.full(2, 3.0), Model(Affine(2.0, 1.0))
    before = Model.total.stats()["compiled"]
    for _ in range(5):
        assert model.total(x) == 14.0
    model.shape.slope = 3.0  # travels
    assert model.total(x) == 20.0
    assert Model.total.stats()["compiled"] - before == 1
    for shape, expected in 2 * [(Square(0, 0), 18.0), (half, 3.0), (Affine(1.0, 0.0), 6.0)]:
        model.shape = shape
        assert model.total(x) == expected
    assert Model.total.stats()["compiled"] - before == 3


def test_another_call_of_the_class_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    x, model = np.full(2, 3.0), Model(Affine(2.0, 1.0))
    assert [model.total(x) for _ in range(5)] == [14.0] * 5
    monkeypatch.setattr(Affine, "__call__", lambda self, x: -x)
    assert model.total(x) == -6.0
    monkeypatch.undo()
    assert model.total(x) == 14.0


TABLE = Affine(2.0, 1.0)


def test_static_follows_it_too() -> None:
    @whorl.kernel
    def scaled(x):
        return x * whorl.static(TABLE(3.0))

    assert scaled(2.0) == 14.0


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_coroutine_is_refused_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "awaited.py"
    file.write_text("import whorl\n\n\n@whorl.kernel\nasync def k(x):\n    return x\n")
    with pytest.raises(whorl.KernelError) as caught:
        loaded(file).k(1.0)
    assert (caught.value.line, caught.value.text) == (5, "async def k(x):")
    assert "    ^^^^^^^^^\n" in str(caught.value)


def named(**rest: Any) -> Any:
    return rest["x"]


def without() -> float:
    return 1.0


def other(**rest: Any) -> Any:
    return rest["y"]


def test_arguments_by_name_have_their_names() -> None:
    @whorl.kernel
    def calls(x):
        return named(x=x) + named(y=1, x=2)

    assert calls(1.5) == 3.5


@pytest.mark.parametrize(
    ("function", "said"),
    [(other, r"none of the arguments by name \(x\)"), (without, "There are none")],
)
def test_a_keyword_that_there_is_no_parameter_for(function: Any, said: str) -> None:
    @whorl.kernel
    def calls(x):
        return function(x=x)

    with pytest.raises(whorl.KernelError, match=said):
        calls(1.0)


class Base:
    def shape(self, x):
        return x + 1


class Above(Base):
    def shape(self, x):
        return super().shape(x)


class Named(Base):
    def shape(self, x):
        return 10 * Base.shape(self, x)


@whorl.kernel
def shaped(of, x):
    return of.shape(x)


def test_super_is_refused_with_what_to_write_and_that_works() -> None:
    with pytest.raises(whorl.KernelError, match=r"whose method is meant: Base\.method\(self"):
        shaped(Above(), 1.0)
    assert shaped(Named(), 1.0) == 20.0
