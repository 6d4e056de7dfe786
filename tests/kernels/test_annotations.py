"""Annotations by names of the functions around a kernel, and by names for type checkers alone."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whorl

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found] # what is tested

# This module has no `from __future__ import annotations`: its annotations are objects.
# mypy: disable-error-code="no-untyped-def, valid-type, no-untyped-call"

kind = int  # which the functions here hide


def test_a_parameter_is_annotated_by_the_variable_of_the_function_around() -> None:
    def made(kind: Any) -> Any:
        @whorl.kernel
        def kernel(n: kind):
            return n

        return kernel

    for wanted in (float, int, np.float32):
        for _ in range(6):
            assert type(made(wanted)(2)) is (int if wanted is int else float)


def test_a_local_is_never_annotated_by_a_global_that_the_function_around_hides() -> None:
    def made(kind: Any) -> Any:
        @whorl.kernel
        def kernel(n):
            total: kind = n
            return total

        return kernel

    if sys.version_info < (3, 14):  # Python keeps the variable for the kernel
        assert type(made(float)(2)) is float
        return
    with pytest.raises(
        whorl.KernelError, match="'kind' is a variable of the function around"
    ) as no:
        made(float)(2)
    assert "total: kind = n" in str(no.value)


def test_what_the_error_proposes_helps() -> None:
    def used(kind: Any) -> Any:
        @whorl.kernel
        def kernel(n):
            total = kind(n)
            return total

        return kernel

    def declared(kind: Any) -> Any:
        @whorl.kernel
        def kernel(n: kind):
            return n

        return kernel

    assert type(used(float)(2)) is type(declared(float)(2)) is float


@pytest.mark.skipif(sys.version_info < (3, 14), reason="such a function cannot be defined before")
def test_a_name_for_type_checkers_hides_no_other_annotation() -> None:
    def made(kind: Any) -> Any:
        @whorl.kernel
        def kernel(x: "Unknown", y: Unknown, n: kind):
            return n

        return kernel

    for wanted in (float, int):
        assert type(made(wanted)(1, 1, 2)) is wanted
