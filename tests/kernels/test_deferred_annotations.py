"""Annotations that are text at run time: those that tell a kernel nothing are ignored."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, index"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import whorl

if TYPE_CHECKING:
    from somewhere import OnlyForTypeCheckers  # type: ignore[import-not-found] # there is none


@whorl.kernel
def annotated(x: OnlyForTypeCheckers, y: whorl.Array, z: np.floating):
    return x + y[0] + z


def test_annotations_that_say_nothing_to_a_kernel_are_ignored() -> None:
    kernel: Any = annotated
    assert kernel(1, np.ones(2), np.float32(3)) == 5.0
