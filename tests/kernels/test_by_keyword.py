"""Calls by keyword, or that leave arguments to their defaults: natively, and as right."""

from __future__ import annotations

import linecache
import sys
import typing
from typing import Any, Protocol

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import is_native, needs_native

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
        total(n=2)  # type: ignore[call-arg] # the bad call is what is tested


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

    kernel: Any = first
    assert kernel(np.ones(2), np.ones(5)) == 9.0


# -- natively ------------------------------------------------------------------------------


@whorl.kernel
def mixed(a, b=2, /, c=3, *, d=4, e):  # type: ignore[no-untyped-def]
    return a + 10 * b + 100 * c + 1000 * d + 10000 * e


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {"e": 5}),
    ((1, 3), {"e": 5}),
    ((1,), {"c": 7, "e": 5}),
    ((1, 2, 3), {"d": 6, "e": 5}),
    ((1,), {"e": 5, "d": 6}),
    ((1, 4), {"e": 5, "d": 6, "c": 9}),
    ((1.5,), {"e": np.float32(2)}),
]


@needs_native
def test_calls_of_every_signature_become_native() -> None:
    kernel: Any = whorl.kernel(mixed.function)
    for args, kwargs in CALLS:
        for _ in range(5):
            assert kernel(*args, **kwargs) == mixed.function(*args, **kwargs)
    calls = kernel.python_calls
    for _ in range(3):
        for args, kwargs in CALLS:
            assert kernel(*args, **kwargs) == mixed.function(*args, **kwargs)
    assert is_native(kernel)
    assert kernel.python_calls == calls


WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {"e": 5}),  # nothing for a
    ((1,), {}),  # nothing for e
    ((1, 2, 3, 4), {"e": 5}),  # d by position
    ((1, 2, 3, 4, 5), {}),
    ((1, 2, 3), {"c": 3, "e": 5}),  # c twice
    ((), {"a": 1, "e": 5}),  # by position alone
    ((1,), {"b": 1, "e": 5}),
    ((1,), {"e": 5, "f": 6}),
    ((1,), {"e": 5, "": 6}),
]


@pytest.mark.parametrize(("args", "kwargs"), WRONG, ids=str)
def test_what_no_signature_has_is_refused_natively_too(args: Any, kwargs: Any) -> None:
    kernel: Any = whorl.kernel(mixed.function)
    for good in CALLS:
        for _ in range(4):
            kernel(*good[0], **good[1])
    for _ in range(3):
        with pytest.raises(TypeError):
            kernel(*args, **kwargs)


def test_names_that_are_equal_and_not_the_same_object_are_the_same_names() -> None:
    @whorl.kernel
    def divided(dividend, divisor):  # type: ignore[no-untyped-def]
        return dividend / divisor

    made = {"".join(["divi", "sor"]): 4.0, "".join(["divi", "dend"]): 3.0}
    for _ in range(8):
        assert divided(**made) == divided(divisor=4.0, dividend=3.0) == 0.75


@needs_native
def test_defaults_by_keyword_that_are_exchanged_are_seen_natively() -> None:
    def scaled(x, *, by=2.0):  # type: ignore[no-untyped-def]
        return x[0] * by

    kernel: Any = whorl.kernel(scaled)
    x = np.ones(2)
    assert [kernel(x) for _ in range(6)] == [2.0] * 6
    assert is_native(kernel)
    before = scaled.__kwdefaults__
    assert before is not None
    before["by"] = 3.0  # in the very dict
    assert [kernel(x) for _ in range(6)] == [3.0] * 6
    before["by"] = 4
    assert [kernel(x) for _ in range(6)] == [4.0] * 6
    scaled.__kwdefaults__ = {"by": 5.0}
    assert [kernel(x) for _ in range(6)] == [5.0] * 6
    del scaled.__kwdefaults__["by"]
    for _ in range(3):
        with pytest.raises(TypeError, match="by"):
            kernel(x)
    scaled.__kwdefaults__ = None
    with pytest.raises(TypeError, match="by"):
        kernel(x)
    assert kernel(x, by=7.0) == 7.0


def test_a_parameter_named_as_the_label_is_not_the_label() -> None:
    @whorl.kernel
    def steps(x, stop, from_checkpoint=1.0):  # type: ignore[no-untyped-def]
        with whorl.checkpoint(7, yield_on=stop):
            x[0] += from_checkpoint

    kernel: Any = steps
    x, stop = np.zeros(1), np.zeros((), np.int32)
    for _ in range(6):
        kernel(x, stop, from_checkpoint=2.0)
        kernel.resume(x, stop, from_checkpoint=7)
        kernel.resume(x, stop, 3.0, from_checkpoint=7)
    assert x[0] == 36.0


@needs_native
def test_more_parameters_than_a_word_has_bits() -> None:
    names = [f"p{i}" for i in range(70)]
    text = f"def many({', '.join(names)}):\n    return {' + '.join(names)}\n"
    assert len(names) > 64
    kernel = from_text(text, "many")
    values = list(range(70))
    for _ in range(6):
        assert kernel(*values) == sum(values)
        assert kernel(*values[:60], **dict(zip(names[60:], values[60:], strict=True))) == 2415
    assert is_native(kernel)


def from_text(text: str, name: str) -> Any:
    """A kernel whose source is a text."""
    filename = f"<{name} of {__name__}>"
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, filename, "exec"), scope)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return whorl.kernel(scope[name])


@needs_native
def test_nothing_leaks_in_calls_by_keyword() -> None:
    kernel: Any = whorl.kernel(mixed.function)
    values = [10**9, 10**9 + 1, 10**9 + 2]
    for _ in range(5):
        kernel(values[0], c=values[1], e=values[2])
    before = [sys.getrefcount(value) for value in values]
    for _ in range(1000):
        kernel(values[0], c=values[1], e=values[2])
        kernel(values[0], e=values[2])
    assert [sys.getrefcount(value) for value in values] == before
