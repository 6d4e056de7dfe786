"""Kernels around a function: one that calls it for each element, or for each part, of its operands.

`each` is `range`, or `prange` for threads. The operands of a kernel are a tuple of arrays, whose
length is known when it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["MOST_OPERANDS", "element_loop", "first_result", "part_loop"]

Function = Callable[..., Any]

MOST_OPERANDS: Final = 8


def element_loop(f: Function, each: Any) -> Function:
    """A kernel that sets each element of its last operand to what the function returns."""

    def loop(operands: Any) -> None:
        out = operands[-1]
        for i in each(out.size):
            out[i] = _of_elements(f, operands, i)

    return loop


def first_result(f: Function) -> Function:
    """A kernel that returns the result for the first elements: its type is that of the output."""

    def first(operands: Any) -> Any:
        return _of_elements(f, operands, 0)

    return first


def part_loop(f: Function, each: Any, outputs: tuple[bool, ...]) -> Function:
    """A kernel that calls the function with the parts of its operands."""

    def loop(operands: Any) -> None:
        for i in each(operands[0].shape[0]):
            _of_parts(f, operands, i, outputs)

    return loop


def _of_elements(f: Function, x: Any, i: int) -> Any:
    """The function of the elements of all operands but the last."""
    if len(x) == 2:
        return f(x[0][i])
    if len(x) == 3:
        return f(x[0][i], x[1][i])
    if len(x) == 4:
        return f(x[0][i], x[1][i], x[2][i])
    if len(x) == 5:
        return f(x[0][i], x[1][i], x[2][i], x[3][i])
    if len(x) == 6:
        return f(x[0][i], x[1][i], x[2][i], x[3][i], x[4][i])
    if len(x) == 7:
        return f(x[0][i], x[1][i], x[2][i], x[3][i], x[4][i], x[5][i])
    return f(x[0][i], x[1][i], x[2][i], x[3][i], x[4][i], x[5][i], x[6][i])


def _of_parts(f: Function, x: Any, i: int, out: tuple[bool, ...]) -> None:
    """Call the function with parts of all operands."""
    a = _part(x[0], i, out[0])
    if len(x) == 1:
        f(a)
        return
    b = _part(x[1], i, out[1])
    if len(x) == 2:
        f(a, b)
        return
    c = _part(x[2], i, out[2])
    if len(x) == 3:
        f(a, b, c)
        return
    d = _part(x[3], i, out[3])
    if len(x) == 4:
        f(a, b, c, d)
        return
    e = _part(x[4], i, out[4])
    if len(x) == 5:
        f(a, b, c, d, e)
        return
    g = _part(x[5], i, out[5])
    if len(x) == 6:
        f(a, b, c, d, e, g)
        return
    h = _part(x[6], i, out[6])
    if len(x) == 7:
        f(a, b, c, d, e, g, h)
        return
    f(a, b, c, d, e, g, h, _part(x[7], i, out[7]))


def _part(x: Any, i: int, is_output: bool) -> Any:
    """What the function gets of an operand: a part, a number, or a place for a number."""
    if is_output and x.ndim == 1:
        return x[i : i + 1]
    return x[i]
