"""The shipped kernels compute what NumPy does; with WHORL_REQUIRE_HIT=1, none is compiled."""

from __future__ import annotations

from typing import Any

import heat
import numpy as np
import pytest


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_step_of_the_heat_equation(kind: type) -> None:
    old: Any = np.random.default_rng(1).random((6, 7)).astype(kind)
    new = old.copy()
    heat.diffuse(new, old, 0.25)
    inner = old[1:-1, 1:-1].astype(float)
    around = old[:-2, 1:-1].astype(float) + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
    np.testing.assert_allclose(new[1:-1, 1:-1], inner + 0.25 * (around - 4 * inner), rtol=1e-5)
    np.testing.assert_array_equal(new[[0, -1]], old[[0, -1]])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_largest_absolute_value(kind: type) -> None:
    assert heat.largest(np.array([[1, -3], [2, 0]], kind)) == 3.0
    assert heat.largest(np.zeros((0, 4), kind)) == 0.0


def test_the_mean_of_neighbours() -> None:
    assert heat.smoothed(np.arange(4.0), 1).tolist() == [0.5, 1.0, 2.0, 2.5]
    assert heat.smoothed(np.zeros(0), 1).tolist() == []
