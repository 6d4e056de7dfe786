"""Runs a function as a kernel and as plain Python over NumPy, and compares what they leave."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import whorl

__all__ = ["agree", "assert_same"]


def agree(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], ulps: int = 0) -> Any:
    """Call a function as a kernel and as it is, each with arguments that `make` has made anew.

    Results and arguments have to be the same, bit for bit, or within some units in the last place.
    An error of NumPy has to be one of the kernel, and to leave the arguments as NumPy leaves them.
    """
    expected_args, args = make(), make()
    kernel = whorl.kernel(function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = function(*expected_args)
    except ValueError:
        try:
            kernel(*args)
        except ValueError:
            assert_same(args, expected_args, ulps)
            return None
        raise AssertionError("NumPy raises ValueError, and the kernel does not") from None
    result = kernel(*args)
    assert_same(args, expected_args, ulps)
    assert_same(result, expected, ulps)
    return result


def assert_same(value: Any, expected: Any, ulps: int = 0) -> None:
    """Compare values, arrays and tuples of these: types, shapes and bits."""
    if isinstance(expected, tuple):
        assert isinstance(value, tuple)
        assert len(value) == len(expected)
        for one, other in zip(value, expected, strict=True):
            assert_same(one, other, ulps)
        return
    if isinstance(expected, np.ndarray):
        assert isinstance(value, np.ndarray)
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
    value, expected = np.asarray(value), np.asarray(expected)
    if ulps and expected.dtype.kind == "f":
        np.testing.assert_array_max_ulp(value, expected.astype(value.dtype), ulps)
    else:
        np.testing.assert_array_equal(value, expected)
        if expected.dtype.kind == "f" and value.dtype == expected.dtype:
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(value)[numbers], np.signbit(expected)[numbers])
