"""Checks of debug mode name what is out of range, as it was written."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

import numpy as np
import pytest

import whorl


@whorl.kernel(debug=True)
def asked(x, m, i):
    v = whorl.vec((1.0, 2.0), (3.0, 4.0))
    if i == -9:
        return x[i]
    if i == 8:
        return m[:, i][0]
    return v[0, i]


@pytest.mark.parametrize(
    ("i", "text"),
    [
        (-9, "index -9 is out of bounds for axis 0 of arg:x, of size 4"),
        (8, "index 8 is out of bounds for axis 1 of arg:m, of size 3"),
        (7, r"index 7 is out of bounds for axis 1 of a vector f64\[2, 2\], of size 2"),
    ],
)
def test_debug_names_the_index_as_it_was_asked_for_and_its_axis(i: int, text: str) -> None:
    with pytest.raises(IndexError, match=text):
        asked(np.zeros(4), np.zeros((2, 3)), i)


@whorl.kernel(debug=True)
def quotients(a, b):
    return divmod(a, b)


@whorl.kernel(debug=True)
def steps(n):
    s = 0
    for i in range(0, 5, n):
        s += i
    return s


@whorl.kernel(debug=True)
def too_few(x):
    x[:] = (1.0, 2.0, 3.0)


def test_debug_checks_divmod_ranges_and_the_size_of_parts() -> None:
    assert quotients(7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        quotients(7, 0)
    assert steps(2) == 6
    with pytest.raises(ValueError, match="the step of a range is zero"):
        steps(0)
    x = np.zeros(3)
    too_few(x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"a vector f64\[3\] does not fit into shape \(4,\)"):
        too_few(np.zeros(4))
