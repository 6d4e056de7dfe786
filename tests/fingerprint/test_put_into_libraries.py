"""What was put into a library counts; what the library has of its own is its name and version."""

from __future__ import annotations

import collections
import dataclasses
import fractions
import functools
import importlib
import json.encoder
import math
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.fingerprint.describe import Describer
from whorl.fingerprint.modes import Mode
from whorl.fingerprint.policy import Policy
from whorl.fingerprint.rules.libraries import put, put_into_class
from whorl.fingerprint.static_lookup import ABSENT


def root(x: float) -> float:
    return math.sqrt(x)


def aliased(x: float) -> float:
    module = math
    return module.sqrt(x)


def imported(x: float) -> float:
    import math as own

    return own.sqrt(x)


def nearest(x: float) -> Any:
    return fractions.Fraction(x).limit_denominator(7)


def attribute() -> Any:
    return fractions.Fraction.zork  # type: ignore[attr-defined]  # which the tests put there


def escaped() -> Any:
    return json.encoder.ESCAPE_DCT["zork"]


def short(text: str) -> str:
    return textwrap.shorten(text, 7)


class Mine:
    """An object that is called."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, x: float) -> float:
        return self.number


def _digests(function: Callable[..., Any], *put_there: Callable[[pytest.MonkeyPatch], None]) -> int:
    """How many digests a function has: as it is, and with each of these in a library."""
    found = {whorl.fingerprint(function)}
    for put_one in put_there:
        with pytest.MonkeyPatch.context() as patch:
            put_one(patch)
            found.add(whorl.fingerprint(function))
    return len(found)


@pytest.mark.parametrize("function", [root, aliased, imported])
def test_all_that_can_stand_in_the_place_of_a_function_counts(function: Any) -> None:
    things = [
        math.exp, np.sqrt, len, float, lambda x: 1, lambda x: 2, functools.partial(pow, 2),
        functools.partial(pow, 3), functools.partial(max, key=lambda x: 3), Mine, Mine(1), Mine(2),
        functools.lru_cache(lambda x: 4), {1: 2}.__getitem__, Mine(3).__call__,
    ]  # fmt: skip
    puts = [functools.partial(_set_root, thing) for thing in things]
    assert _digests(function, *puts) == 1 + len(things)


def _set_root(thing: object, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(math, "sqrt", thing)


def test_a_function_that_is_put_back_has_the_digest_it_had() -> None:
    before = whorl.fingerprint(root)
    own = math.sqrt
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(math, "sqrt", math.exp)
        patch.setattr(math, "sqrt", own)
        assert whorl.fingerprint(root) == before
    assert whorl.fingerprint(root) == before


def test_methods_and_attributes_that_are_set_on_a_class_of_a_library_count() -> None:
    def method(number: int) -> Callable[[pytest.MonkeyPatch], None]:
        def go(self: Any, most: int) -> int:
            return number

        return lambda patch: patch.setattr(fractions.Fraction, "limit_denominator", go)

    def value(number: object) -> Callable[[pytest.MonkeyPatch], None]:
        return lambda patch: patch.setattr(fractions.Fraction, "zork", number, raising=False)

    assert _digests(nearest, method(1), method(2)) == 3
    assert _digests(attribute, value(1), value(2), value(Mine(1)), value(Mine(2))) == 5


def test_a_method_on_a_class_counts_for_who_holds_an_instance_or_a_subclass() -> None:
    half = fractions.Fraction(1, 2)

    class Own(fractions.Fraction):
        pass

    def by_instance() -> Any:
        return half.limit_denominator(1)

    def by_subclass() -> Any:
        return Own(1).limit_denominator(1)

    def put_one(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(fractions.Fraction, "limit_denominator", lambda self, most: 1)

    assert _digests(by_instance, put_one) == 2
    assert _digests(by_subclass, put_one) == 2


def test_entries_of_a_dict_of_a_library_count() -> None:
    def entry(number: int) -> Callable[[pytest.MonkeyPatch], None]:
        return lambda patch: patch.setitem(json.encoder.ESCAPE_DCT, "zork", number)

    assert _digests(escaped, entry(1), entry(2)) == 3


def test_code_that_was_given_to_a_function_of_a_library_counts() -> None:
    def shorten(text: str, width: int, **rest: Any) -> str:
        return text * 2

    def put_one(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(textwrap.shorten, "__code__", shorten.__code__)

    assert _digests(short, put_one) == 2


def test_a_method_that_is_set_between_two_calls_is_called() -> None:
    runs = []

    @whorl.cached(store="process", ignores=["runs"])
    def kept(x: float) -> Any:
        runs.append(x)
        return fractions.Fraction(x).limit_denominator(7)

    assert kept(0.5) == fractions.Fraction(1, 2)
    assert kept(0.5) == fractions.Fraction(1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fractions.Fraction, "limit_denominator", lambda self, most: 3)
        assert kept(0.5) == 3
    assert kept(0.5) == fractions.Fraction(1, 2)
    assert len(runs) == 2


LIBRARIES = (
    "argparse", "ast", "attr", "collections", "dataclasses", "datetime", "decimal", "enum",
    "fractions", "functools", "inspect", "itertools", "json", "logging", "math", "numpy",
    "numpy.linalg", "numpy.random", "operator", "os", "pathlib", "random", "re", "statistics",
    "string", "textwrap", "typing", "urllib.parse", "uuid",
)  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_a_library_has_of_its_own_is_not_taken_for_something_put_there(name: str) -> None:
    describer = Describer(Policy(), Mode.CODE)
    module = importlib.import_module(name)
    home = describer.home(name)
    assert home.kind != "user"
    for key, held in vars(module).items():
        if isinstance(held, type):
            assert not put_into_class(held, describer), (key, held)
        found = put(key, held, home, describer)
        is_function = isinstance(found, types.FunctionType | types.BuiltinFunctionType | type)
        assert found is ABSENT or not is_function, (key, held)


def test_a_class_that_names_a_module_which_was_never_loaded_is_its_packages() -> None:
    describer = Describer(Policy())
    assert "numpy.never" not in sys.modules
    assert describer.home("numpy.never") == describer.home("numpy")


def test_named_tuples_and_dataclasses_of_a_library_are_its_own() -> None:
    describer = Describer(Policy(), Mode.CODE)
    for cls in (collections.UserDict, dataclasses.Field, type(np.linalg.eig(np.eye(1)))):
        assert put_into_class(cls, describer) == {}


def test_a_function_that_cython_compiled_is_its_modules() -> None:
    describer = Describer(Policy(), Mode.CODE)
    home = describer.home("numpy.random")
    assert put("default_rng", np.random.default_rng, home, describer) is ABSENT
