"""Kernels that are called until they are native, for the tests of native calls."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import whorl
from whorl.launch.level import host_level
from whorl.launch.native_tables import native_classes

needs_native = pytest.mark.skipif(
    sys.platform != "linux"
    or host_level() == "generic"
    or "t" in getattr(sys, "abiflags", ""),  # without a global lock
    reason="native launches are for Linux on x86-64 or aarch64, with a global lock",
)


def is_native(kernel: Any) -> bool:
    """Whether a kernel is called natively, and has a table."""
    classes = native_classes(whorl.NumericKernel)
    assert classes is not None
    is_one = isinstance(kernel, classes.native)
    return is_one and len(kernel.tables) > 0


def warmed(kernel: Any, *args: Any) -> Any:
    """What a kernel returns once it is native."""
    for _ in range(5):
        result = kernel(*args)
    assert is_native(kernel)
    return result
