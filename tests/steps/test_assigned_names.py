"""Names that are assigned to functions and classes are noticed by the next call."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import whorl


def plain() -> int:
    return 1


def wrapping(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    return wrapper


class Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]  # which Python lets it do
        return "made up"


class Plain:
    pass


class WithMeta(metaclass=Meta):
    pass


@dataclass
class Point:
    x: int = 1


class Colour(enum.Enum):
    RED = 1


wrapped = wrapping(plain)
remembered = functools.lru_cache(plain)
partial = functools.partial(plain)
kept = whorl.cached(plain)


@whorl.kernel
def kernel(x):  # type: ignore[no-untyped-def]  # as kernels are written
    return x[0] + SCALE


SCALE = 1.0
THINGS: dict[str, Any] = {
    "plain": plain, "wrapped": wrapped, "remembered": remembered, "partial": partial,
    "kept": kept, "kernel": kernel, "Plain": Plain,
}  # fmt: skip
NAMES = ("__name__", "__qualname__", "__module__")


def _read(thing: Any) -> list[Any]:
    return [getattr(thing, name, None) for name in NAMES]


READERS = {
    "plain": whorl.cached(lambda: _read(plain)),
    "wrapped": whorl.cached(lambda: _read(wrapped)),
    "remembered": whorl.cached(lambda: _read(remembered)),
    "partial": whorl.cached(lambda: _read(partial)),
    "kept": whorl.cached(lambda: _read(kept)),
    "kernel": whorl.cached(lambda: _read(kernel)),
    "Plain": whorl.cached(lambda: _read(Plain)),
}


@pytest.fixture
def restored() -> Iterator[None]:
    before = {(what, name): getattr(THINGS[what], name, None) for what in THINGS for name in NAMES}
    yield
    for (what, name), value in before.items():
        if value is None:
            vars(THINGS[what]).pop(name, None)
        else:
            setattr(THINGS[what], name, value)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", THINGS)
def test_a_name_that_is_assigned_between_two_calls(what: str, name: str) -> None:
    read = READERS[what]
    for value in ("one", "another"):
        assert read() == read.uncached()
        setattr(THINGS[what], name, value)
        assert read() == read.uncached()
        assert value in read()


@pytest.mark.parametrize("name", ["__name__", "__qualname__"])
def test_libraries_read_names_too(name: str) -> None:
    shown = whorl.cached(lambda: f"{Point()!r} {Colour.RED!r}")
    assert shown() == "Point(x=1) <Colour.RED: 1>"
    try:
        setattr(Point, name, "Named")
        setattr(Colour, name, "Named")
        assert shown() == shown.uncached()
        assert "Named" in shown()
    finally:
        setattr(Point, name, "Point")
        setattr(Colour, name, "Colour")
    assert shown() == "Point(x=1) <Colour.RED: 1>"


def test_the_names_of_a_class_are_those_of_the_class_and_not_what_its_metaclass_says() -> None:
    count = whorl.cached(lambda: WithMeta.__name__)
    assert [count(), count()] == ["made up"] * 2
    assert count.stats()["ran"] <= 1


def test_what_nobody_has_assigned_is_no_reason_to_run_again() -> None:
    f = whorl.cached(lambda: (plain(), wrapped(), Plain))
    f()
    before = f.stats()["ran"]
    f()
    assert f.stats()["ran"] == before


DOCS = {
    "wrapped": whorl.cached(lambda: wrapped.__doc__),
    "remembered": whorl.cached(lambda: remembered.__doc__),
    "partial": whorl.cached(lambda: partial.__doc__),
    "kept": whorl.cached(lambda: kept.__doc__),
    "kernel": whorl.cached(lambda: kernel.__doc__),
}


@pytest.mark.parametrize("what", DOCS)
def test_a_docstring_that_is_assigned_between_two_calls(what: str) -> None:
    read, thing = DOCS[what], THINGS[what]
    before = thing.__doc__
    try:
        for value in ("one", "another"):
            assert read() == read.uncached()
            thing.__doc__ = value
            assert read() == value
    finally:
        thing.__doc__ = before
    assert read() == before


@pytest.mark.parametrize("what", ["kept", "kernel"])
def test_an_attribute_of_a_cached_function_or_kernel(what: str) -> None:
    thing = THINGS[what]
    read = whorl.cached(lambda: (getattr(thing, "tag", None), thing.__wrapped__.__name__))
    own = thing.__wrapped__
    try:
        for value in (None, 1, 2):
            if value is not None:
                thing.tag = value
            assert read() == (value, own.__name__)
        thing.__wrapped__ = wrapping
        assert read() == (2, "wrapping")
    finally:
        del thing.tag
        thing.__wrapped__ = own
    assert read() == (None, own.__name__)


def test_a_kernel_of_a_module_counts_with_all_that_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = whorl.cached(lambda: kernel(np.ones(1)))
    assert [work(), work()] == [2.0, 2.0]
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5.0)
    assert work() == work.uncached() == 6.0


def test_an_assigned_name_of_an_enum_member() -> None:
    name = whorl.cached(lambda: Colour.RED.name)
    assert name() == "RED"
    try:
        Colour.RED._name_ = "GREEN"
        assert name() == "GREEN"
    finally:
        Colour.RED._name_ = "RED"
    assert name() == "RED"
