"""Members that are properties which fail, or which launch the kernel themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whorl

CALLS = (0, 1, 2, 3, 6)  # before something happens: in Python, and natively


class Failing:
    """Its member raises what it is told to."""

    raises: BaseException | None = None

    def __init__(self) -> None:
        self._x = np.ones(4)

    @property
    def x(self) -> Any:
        if self.raises is not None:
            raise self.raises
        return self._x


def called(calls: int) -> tuple[Any, Failing]:
    @whorl.kernel
    def first(o: Any) -> Any:
        return o.x[0]

    failing = Failing()
    for _ in range(calls):
        assert first(failing) == 1.0
    return first, failing


@pytest.mark.parametrize("calls", CALLS)
def test_an_error_of_a_property_is_told_and_the_next_call_is_right(calls: int) -> None:
    first, failing = called(calls)
    failing.raises = ValueError("not today")
    with pytest.raises(ValueError, match=r"^not today"):
        first(failing)
    failing.raises = None
    assert first(failing) == 1.0


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_program_is_passed_on(calls: int, error: BaseException) -> None:
    first, failing = called(calls)
    failing.raises = error
    with pytest.raises(type(error)):
        first(failing)
    failing.raises = None
    assert first(failing) == 1.0


@pytest.mark.parametrize("calls", CALLS)
def test_a_property_that_launches_its_kernel_without_end_is_an_error_at_once(calls: int) -> None:
    class Endless:
        is_endless = False

        @property
        def x(self) -> Any:
            if self.is_endless:
                first(self)
            return np.ones(4)

    @whorl.kernel
    def first(o: Any) -> Any:
        return o.x[0]

    endless = Endless()
    for _ in range(calls):
        assert first(endless) == 1.0
    endless.is_endless = True
    with pytest.raises((RecursionError, whorl.KernelError)):  # a compile says where it was
        first(endless)
    endless.is_endless = False
    assert first(endless) == 1.0
