# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Every row of the table of scalar functions compiles, links and agrees with Python."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.kernels.emit import polling
from whorl.launch.image import EXTERNALS, PYTHON
from whorl.launch.level import host_level
from whorl.launch.scalar_functions import C_FUNCTIONS, SCALAR_FUNCTIONS

NAMED = [
    pytest.param(getattr(module, name), row.arguments, id=f"{module.__name__}.{name}")
    for row in SCALAR_FUNCTIONS
    for module, name in ((np, row.numpy), (math, row.math))
    if name
]
X, Y = np.linspace(0.1, 0.9, 9), np.linspace(0.7, 0.2, 9)


def kernel_of(function: Callable[..., Any], arguments: int) -> Any:
    """A kernel that applies a function of one or two floats to all elements."""
    if arguments == 1:

        @whorl.kernel
        def of_one(x, y, out):
            for i in range(x.size):
                out[i] = function(x[i])

        return of_one

    @whorl.kernel
    def of_two(x, y, out):
        for i in range(x.size):
            out[i] = function(x[i], y[i])

    return of_two


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("function", "arguments"), NAMED)
def test_a_row_gives_what_python_gives(
    function: Callable[..., Any], arguments: int, dtype: Any
) -> None:
    if function is math.trunc and dtype is np.float32:
        pytest.skip("Python's has no such floats")
    x, y = X.astype(dtype), Y.astype(dtype)
    if function in (np.arccosh, math.acosh):
        x = 1 + x
    out, plain = np.zeros_like(x), np.zeros_like(x)
    kernel = kernel_of(function, arguments)
    kernel(x, y, out)
    kernel.interpret(x, y, plain)
    expected = [function(*each[:arguments]) for each in zip(x, y, strict=True)]
    assert plain.tolist() == np.asarray(expected, dtype).tolist()
    np.testing.assert_allclose(out, plain, rtol=1e-5 if dtype is np.float32 else 1e-13)


@pytest.mark.skipif(
    sys.platform != "linux" or not host_level().startswith("x86-64"), reason="images are for Linux"
)
@pytest.mark.parametrize("level", ["x86-64", host_level()])
@pytest.mark.parametrize(("function", "arguments"), NAMED)
def test_a_row_is_linked_into_an_image(
    function: Callable[..., Any], arguments: int, level: str
) -> None:
    whorl.configure(target=level)
    kernel = kernel_of(function, arguments)
    kernel(X, Y, np.zeros_like(X))
    assert "image" in kernel.specializations()[-1].artifact.metadata


@pytest.mark.skipif(sys.platform != "linux", reason="images are for Linux")
def test_the_c_library_has_every_function_of_the_table() -> None:
    library = ctypes.CDLL("libm.so.6")
    assert [name for name in sorted(C_FUNCTIONS) if not hasattr(library, name)] == []


def test_images_may_call_all_that_a_long_loop_calls() -> None:
    assert polling.DECLARATIONS.keys() <= EXTERNALS | PYTHON


def test_operations_and_names_occur_once() -> None:
    for names in zip(
        *((row.operation, row.numpy, row.math) for row in SCALAR_FUNCTIONS), strict=True
    ):
        given = [name for name in names if name]
        assert len(given) == len(set(given))
