"""The launcher as machine code and its twin in plain Python do the same with the same objects."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant

import whorl
from tests.launch.twin_calls import twin_call
from tests.properties import test_native
from tests.property_settings import MACHINES
from whorl.launch.level import host_level

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or host_level() == "generic", reason="the native way is for x86-64"
)


def same_in_both(kernel: Any, *args: Any, **kwargs: Any) -> None:
    """Call a kernel until its tables rest, then both ways: results and routes are the same."""
    for _ in range(3):
        ending(kernel, kernel, *args, **kwargs)
    if len(kernel.tables):
        before = ending(kernel, kernel, *args, **kwargs)
        twin = ending(kernel, lambda *a, **k: twin_call(kernel, *a, **k), *args, **kwargs)
        after = ending(kernel, kernel, *args, **kwargs)
        # A call in Python may make a table: then the route of the next one is another.
        assert twin in (before, after)


def ending(kernel: Any, call: Any, *args: Any, **kwargs: Any) -> tuple[Any, int]:
    """What a call returns or raises, and whether it went through Python."""
    calls = kernel.python_calls
    try:
        found = repr(call(*args, **kwargs))
    except (ArithmeticError, AttributeError, TypeError, LookupError, whorl.WhorlError) as error:
        found = type(error).__name__
    return found, kernel.python_calls - calls


class TwinOfMembers(test_native.MembersOfObjects):
    """Attributes come, go and move: the twin follows as the launcher does."""

    @invariant()
    def both_say_the_same(self) -> None:
        for thing in self.objects:
            same_in_both(test_native.of_members, thing)


class TwinOfMutations(test_native.Mutations):
    """Objects, classes and globals change: the twin notices what the launcher notices."""

    @invariant()
    def both_say_the_same(self) -> None:
        for thing in self.objects:
            same_in_both(test_native.kernel, thing, self.k)


for machine in (TwinOfMembers, TwinOfMutations):
    machine.TestCase.settings = settings(MACHINES, phases=[Phase.explicit, Phase.generate])
TestTwinOfMembers = TwinOfMembers.TestCase
TestTwinOfMutations = TwinOfMutations.TestCase


@whorl.kernel
def of_numbers(x: Any, n: Any, scale: Any = 2, *, shift: Any = 0) -> Any:
    x[0] = n * scale + shift
    return x[0], n, scale


ARRAYS = [
    np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros(6)[::2], np.zeros(2, "f4"),
    np.zeros((2, 2), "i8")[:, ::2].reshape(2), np.zeros(2, "u1"),
]  # fmt: skip
ARRAYS = [array for array in ARRAYS if array.ndim == 1]
NUMBERS: list[Any] = [
    0, 1, -1, 2**30 - 1, 2**30, -(2**62), 2**62, 2**63, True, 0.5, -0.0, np.float32(1.5),
    np.int16(-3), np.uint64(2**63), np.True_,
]  # fmt: skip


@settings(max_examples=40)
@given(
    st.sampled_from(ARRAYS),
    st.sampled_from(NUMBERS),
    st.dictionaries(st.sampled_from(["scale", "shift"]), st.sampled_from([*NUMBERS[:4], 0.5])),
)
def test_arguments_of_all_kinds_are_taken_alike(
    array: Any, number: Any, named: dict[str, Any]
) -> None:
    same_in_both(of_numbers, array, number, **named)
    same_in_both(of_numbers, array, **named, n=number)
