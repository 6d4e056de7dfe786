"""Calls that nobody wrote: followed in place and as subroutines they give the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.test_kernels import agree, loaded
from whorl.kernels.lowering import subroutines

NAMES = ("a", "b", "c")


pytestmark = pytest.mark.usefixtures("no_cache")


def numbers(depth: int = 1) -> st.SearchStrategy[str]:
    """An expression over `a`, `b`, `c` and the array `x`; ints stay small."""
    leaf = st.sampled_from([*NAMES, "2", "-3", "0.5", "x[1]", "x[-1]"])
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    return leaf | st.builds("({} {} {}) % 97".format, inner, st.sampled_from("+-*"), inner)


def statements(depth: int, calls: int) -> st.SearchStrategy[list[str]]:
    """Some lines, without their indentation; `calls` functions can be called."""
    name, number = st.sampled_from(NAMES), numbers()
    kinds = [
        st.builds("{} = {}".format, name, number).map(lambda line: [line]),
        st.builds("x[{}] = {}".format, st.integers(0, 2), number).map(lambda line: [line]),
        st.builds("if {} > {}:\n    return {}, {}".format, number, number, name, number).map(
            str.splitlines
        ),
    ]
    if calls:
        which = st.integers(0, calls - 1)
        kinds.append(
            st.builds("a, b = f{}(x, {}, {}, {})".format, which, number, number, name).map(
                lambda line: [line]
            )
        )
    if depth:
        inner = statements(depth - 1, calls).map(lambda lines: [f"    {line}" for line in lines])
        test = st.builds("if {} < {}:".format, number, number)
        heads = test | st.builds("for i in range({}):".format, st.integers(0, 3))
        kinds.append(st.builds(lambda head, body: [head, *body], heads, inner))
    several = st.lists(st.one_of(kinds), min_size=1, max_size=4)
    return several.map(lambda parts: [line for part in parts for line in part])


def function(number: int) -> st.SearchStrategy[str]:
    """A function that may call those before it; all of them have one name of their own."""

    def text(lines: list[str], result: str) -> str:
        body = "\n    ".join([*lines, f"return {result}, c"])
        return f"def step(x, a, b, c):\n    {body}\n\nf{number} = step\n"

    return st.builds(text, statements(2, number), numbers())


RUN = """
@whorl.kernel
def run(x, a, b, c):
    a, c = f2(x, a, b, c)
    return f2(x, c, a, b)
"""
MODULES = st.builds(
    lambda *parts: "\n".join(["import whorl", *parts, RUN]), *map(function, range(3))
)


@given(text=MODULES, a=st.integers(-5, 5), b=st.floats(-4, 4, width=16))
def test_functions_do_the_same_in_place_and_as_subroutines(
    tmp_path_factory: pytest.TempPathFactory, text: str, a: int, b: float
) -> None:
    folder: Path = tmp_path_factory.mktemp("calls")
    found: list[Any] = []
    for size in (0, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subroutines, "LARGE", size)
            x = np.array([1.0, -2.5, 4.0])
            found.append((loaded(text, folder).run(x, a, b, 3), x))
    assert agree(found[0][0], found[1][0]), text
    np.testing.assert_array_equal(found[0][1], found[1][1], text)
