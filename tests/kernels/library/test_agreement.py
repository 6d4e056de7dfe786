"""Every function of the library gives what NumPy gives for the same call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import whorl
from tests.kernels.library.expressions import EXPRESSIONS
from tests.properties.test_kernels import loaded
from whorl.kernels.library import LIBRARY

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning"),  # since 2.5
]
PARAMETERS: Final = ("a", "b", "m", "n", "i", "w", "t", "s", "p")
TOGETHER: Final = 12  # calls in one kernel: compiling takes longer than all else


def arguments() -> dict[str, Any]:
    """The arguments that `expressions` describes: some contiguous, some with gaps, one turned."""
    random = np.random.default_rng(3)
    a = random.standard_normal(7)
    s = a.copy()
    s[[1, 4]] = np.nan
    return {
        "a": a,
        "b": with_gaps(np.sort(random.standard_normal(9))),
        "m": np.asfortranarray(random.standard_normal((3, 4))),
        "n": random.standard_normal((4, 4)),
        "i": np.array([5, 3, 2, 7, 3, 2, 0, 1]),
        "w": with_gaps(np.array([4, 0, 2, 2, 1, 4, 3, 0, 2])),
        "t": with_gaps(random.standard_normal((3, 4, 2))),
        "s": s,
        "p": a > 0.1,
    }


def with_gaps(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same elements, not side by side."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def batches() -> Iterator[tuple[str, int, tuple[str, ...]]]:
    for subject, calls in EXPRESSIONS.items():
        for begin in range(0, len(calls), TOGETHER):
            yield subject, begin, calls[begin : begin + TOGETHER]


def program(calls: tuple[str, ...], folder: Path) -> Callable[..., Any]:
    """A function that returns the results of some calls."""
    lines = ", ".join(calls)
    source = f"import numpy as np\ndef program({', '.join(PARAMETERS)}):\n    return ({lines},)\n"
    function: Callable[..., Any] = loaded(source, folder).program
    return function


def assert_alike(value: Any, expected: Any, call: str, tolerance: float = 1e-12) -> None:
    """Compare results: shapes and types, integers exactly, floats within rounding."""
    if isinstance(expected, tuple | list):
        assert len(value) == len(expected), call
        for one, other in zip(value, expected, strict=True):
            assert_alike(one, other, call, tolerance)
        return
    value, wanted = np.asarray(value), np.asarray(expected)
    assert value.shape == wanted.shape, call
    if wanted.ndim:
        assert value.dtype == wanted.dtype, call
    np.testing.assert_allclose(value, wanted, tolerance, tolerance, err_msg=call)


@pytest.mark.parametrize(
    ("calls"), [pytest.param(calls, id=f"{name}{at}") for name, at, calls in batches()]
)
def test_functions_give_what_numpy_gives(calls: tuple[str, ...], tmp_path: Path) -> None:
    function = program(calls, tmp_path)
    kernel = whorl.kernel(function)
    results, wanted = kernel(**arguments()), function(**arguments())
    for call, value, expected in zip(calls, results, wanted, strict=True):
        assert_alike(value, expected, call)


def test_every_function_of_these_modules_is_called_here() -> None:
    text = "\n".join(call for calls in EXPRESSIONS.values() for call in calls)
    rows = [row for row in LIBRARY if row.function.__module__.rpartition(".")[2] in EXPRESSIONS]
    names = [name.removeprefix("numpy.") for row in rows for name in row.names]
    called = set(re.findall(r"np\.(\w+)\(", text))
    assert [name for name in names if name not in called] == CHANGING


CHANGING: Final = ["put", "fill_diagonal"]
"""They return nothing: see `test_changing`."""
