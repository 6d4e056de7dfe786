"""Programs that nobody wrote: compiled and as plain Python they give the same results."""

from __future__ import annotations

import importlib.util
import itertools
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import whorl
from tests.properties.kernel_programs import Program, program
from tests.property_settings import PROGRAMS

T = TypeVar("T")

OUTSIDE = (
    OverflowError,
    RuntimeWarning,
    TypeError,
    UnboundLocalError,
    ValueError,
    ZeroDivisionError,
)
"""What plain Python raises where the two are not meant to agree: such a program is left out."""
_numbers = itertools.count()


pytestmark = pytest.mark.usefixtures("no_cache")


class Drawn:
    """Decisions that Hypothesis makes, and can make smaller."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return program(Drawn(draw))


def loaded(source: str, folder: Path) -> ModuleType:
    """The module of a source text: kernels need a file."""
    name = f"made_up_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(value: Any) -> Any:
    """A copy with the same strides."""
    if not isinstance(value, np.ndarray):
        return value
    memory = np.zeros(
        sum(abs(s) * n for s, n in zip(value.strides, value.shape, strict=True)), "u1"
    )
    offset = sum(-s * (n - 1) for s, n in zip(value.strides, value.shape, strict=True) if s < 0)
    made = np.ndarray(value.shape, value.dtype, memory, offset, value.strides)
    made[...] = value
    return made


def agree(left: Any, right: Any) -> bool:
    """Whether two results are the same, types and signs of zeros too."""
    if isinstance(left, tuple):
        return isinstance(right, tuple) and all(map(agree, left, right))
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right) and str(left) == str(right)


@PROGRAMS
@given(made=programs())
def test_compiled_and_interpreted_programs_agree(
    tmp_path_factory: pytest.TempPathFactory, made: Program
) -> None:
    kernel = loaded(made.source, tmp_path_factory.mktemp("programs")).program
    ours, theirs = (tuple(map(copied, made.arguments)) for _ in range(2))
    try:
        with warnings.catch_warnings(), np.errstate(all="warn"):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message=".*in cast.*")
            kernel.function(*map(copied, made.arguments))
        expected = kernel.interpret(*theirs)
    except OUTSIDE:
        reject()
    try:
        found = kernel(*ours)
    except whorl.KernelError as error:
        # Types are checked on ways that plain Python did not take, too.
        text = str(error)
        assume(not any(w in text for w in ("is for integers", "this raises", "does not fit")))
        raise
    assert agree(found, expected), made.source
    for left, right in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(left, right, made.source)


# -- functions that are not exact -------------------------------------------------------

FUNCTIONS = (
    "math.sin", "math.cos", "math.tan", "math.exp", "math.log", "math.log2", "math.log10",
    "math.sqrt", "math.atan", "math.sinh", "math.tanh", "math.expm1", "math.log1p", "math.cbrt",
    "math.erf", "math.gamma", "math.lgamma", "math.radians", "np.sin", "np.exp", "np.log",
    "np.sqrt", "np.tanh", "np.arctan", "np.cbrt", "np.exp2", "np.log1p", "np.square",
)  # fmt: skip
ULPS = 4
# Python has gamma functions of its own, which are as far from the truth as those of the C library.
MORE_ULPS = {"math.gamma": 32, "math.lgamma": 64}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    calls = ", ".join(f"{name}(x)" for name in FUNCTIONS)
    source = f"import math\nimport numpy as np\nimport whorl\n@whorl.kernel\ndef every(x):\n    return {calls}\n"  # noqa: E501 # a module in one line
    return loaded(source, tmp_path_factory.mktemp("functions")).every


@given(
    x=st.floats(1e-3, 50.0)
    | st.floats(0.125, 50.0, width=32).map(np.float32)
    | st.integers(1, 50)
    | st.integers(1, 50).map(np.int16)
    | st.integers(1, 50).map(np.uint64)
)
def test_functions_are_within_a_few_ulps(functions: Any, x: Any) -> None:
    found, expected = functions(x), functions.interpret(x)
    for name, left, right in zip(FUNCTIONS, found, expected, strict=True):
        # NumPy's functions of 16 and 32 bits compute with 32.
        is_narrow = name.startswith("np.") and isinstance(x, np.float32 | np.int16)
        eps = np.finfo(np.float32 if is_narrow else np.float64).eps
        assert type(left) is type(right), name
        ulps = MORE_ULPS.get(name, ULPS)
        assert math.isclose(left, right, rel_tol=float(ulps * eps), abs_tol=1e-15), name
