"""`x in array` is whether any element is equal, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl


@whorl.kernel
def both(x: Any, a: Any) -> Any:
    return x in a, x not in a[1:]


@pytest.mark.parametrize("x", [1, 2.5, 7, np.nan, True])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (0,)])
def test_a_number_in_an_array(x: Any, shape: tuple[int, ...]) -> None:
    a = np.resize(np.array([1.0, 2.5, np.nan]), shape)
    assert both(x, a) == (x in a, x not in a[1:])
