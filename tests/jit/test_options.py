"""Options count with what they hold and read, in every call."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jit.compilers import Config, Make, program_kernel
from whorl.reads.value_fact import is_settled


def test_an_option_that_is_changed_in_place_is_noticed(make: Make) -> None:
    flags = ["fast"]
    kernel = make(lambda inputs: list(inputs.option("flags")), options={"flags": flags})
    assert kernel() == ["fast"]
    flags.append("loose")
    # either the option was copied when it was given, or the change is seen
    fresh = make(lambda inputs: list(inputs.option("flags")), options=kernel.choices.options)
    assert kernel() == fresh()


ALPHA = 1


def act(x: int) -> int:
    return x * ALPHA


class Act:
    alpha = 1


@pytest.mark.parametrize("calls", [1, 5])  # the plain replay, the generated one
def test_what_a_function_among_the_options_reads_is_looked_at_in_every_call(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = program_kernel(lambda program, inputs: inputs.option("act")(2), options={"act": act})
    assert {kernel() for _ in range(calls)} == {2}
    monkeypatch.setitem(globals(), "ALPHA", 5)
    assert {kernel() for _ in range(calls)} == {10}


def test_what_a_class_among_the_options_holds_is_looked_at_in_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = program_kernel(
        lambda program, inputs: inputs.option("all")[0].alpha, options={"all": [Act]}
    )
    assert [kernel() for _ in range(4)] == [1] * 4
    monkeypatch.setattr(Act, "alpha", 7)
    assert [kernel() for _ in range(4)] == [7] * 4


class Called:
    alpha = 1

    def __call__(self) -> int:
        return self.alpha


def test_the_class_of_an_option_that_is_called_is_looked_at_in_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = program_kernel(
        lambda program, inputs: inputs.option("act")(), options={"act": Called()}
    )
    assert [kernel() for _ in range(4)] == [1] * 4
    monkeypatch.setattr(Called, "alpha", 7)
    assert [kernel() for _ in range(4)] == [7] * 4


class Level(enum.Enum):
    FAST = 1


@pytest.mark.parametrize(
    "option", [3, [1, {"a": "b"}], Level.FAST, np.dtype("f4"), frozenset({1}), Path("x"), Config()]
)
def test_options_without_code_in_them_are_looked_at_once(option: Any) -> None:
    assert is_settled(option)
    assert not is_settled([option, act])
