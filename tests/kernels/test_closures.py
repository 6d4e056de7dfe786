"""Functions that are returned, and lambdas, with the variables of the function around them."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.

from __future__ import annotations

from typing import Any

import pytest

import whorl

table: dict[str, Any] = {"a": abs,
         "b": lambda x: x * 4.0}  # fmt: skip


fourfold = table["b"]


if len(table) > 5:
    chosen: Any = abs
else: chosen = lambda x: x + 1.0  # noqa: E701  # what is tested  # fmt: skip


def test_lambdas_in_the_middle_of_something_are_found() -> None:
    @whorl.kernel
    def both(x):
        return fourfold(x) + chosen(x)

    assert both(1.0) == 6.0


def test_what_is_wrong_in_one_is_said_with_its_line() -> None:
    odd: Any = {"a": 1,
           "b": lambda x: input(x) or 1}["b"]  # fmt: skip

    @whorl.kernel
    def k(x):
        return odd(x)

    with pytest.raises(whorl.KernelError) as caught:
        k(1.0)
    assert "lambda x: input(x)" in caught.value.text


def picked_early(q):
    z = 1

    def f():
        return z

    if q > 2:
        return f
    z = 2
    return f


def picked_in_a_loop(q):
    z = 0

    def f():
        return z * 10

    while True:
        if z >= q:
            return f
        z += 1


def picked_alike(q):
    z = q + 1

    def f(by=2):
        return z * by

    def g():
        return f(3)

    if q > 2:
        return f, g
    beside = q * 2
    if beside > 100:
        return f, g
    return f, g


def made_twice(q):
    def outer():
        def inner():
            return z + q

        return inner

    z = 1
    inner = outer()
    z = 2
    if q > 2:
        return inner
    return inner


@whorl.kernel
def of_early(q):
    return picked_early(q)()


def picked_by_number(q):
    z = q * 2

    def f():
        return z

    if q > 2:
        return f
    z = q * 3
    return f


@whorl.kernel
def of_other_numbers(q):
    return picked_by_number(q)()


@whorl.kernel
def of_loop(q):
    return picked_in_a_loop(q)()


@whorl.kernel
def of_alike(q):
    f, g = picked_alike(q)
    return f(), g(), f(7)


@whorl.kernel
def of_twice(q):
    return made_twice(q)()


@pytest.mark.parametrize("kernel", [of_loop, of_alike, of_twice])
@pytest.mark.parametrize("q", [0, 3])
def test_a_function_keeps_the_names_of_its_maker_as_they_were(kernel: Any, q: int) -> None:
    assert kernel(q) == kernel.interpret(q)


def test_a_function_that_is_returned_with_other_values_of_a_name_is_refused() -> None:
    with pytest.raises(whorl.KernelError) as caught:
        of_early(3)
    words = "what is returned is f, whose 'z' is int (1) in one branch and int (2) in another"
    assert words in str(caught.value)
    assert "Pass 'z' to f as an argument" in str(caught.value)
    with pytest.raises(whorl.KernelError, match="whose 'z' is not the same in every branch"):
        of_other_numbers(3)
