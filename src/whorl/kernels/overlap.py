"""Tests of the run on where arrays lie in memory: whether they overlap, or are the same."""

from __future__ import annotations

from collections.abc import Sequence

from . import ir
from .types import WEAK_BOOL, WEAK_INT

__all__ = [
    "are_disjoint",
    "are_interleaved",
    "are_the_same",
    "arithmetic",
    "ends_of",
    "every",
    "item_size",
    "reaches",
    "test",
    "total",
]


def arithmetic(name: str, *args: ir.Expr) -> ir.Expr:
    """An operation on whole numbers."""
    return ir.Op(name, WEAK_INT, args)


def test(name: str, *args: ir.Expr) -> ir.Expr:
    """An operation whose result is a bool."""
    return ir.Op(name, WEAK_BOOL, args)


def total(exprs: Sequence[ir.Expr], name: str = "add") -> ir.Expr:
    """The sum of numbers, or what another operation makes of them all."""
    result, *others = exprs
    for expr in others:
        result = arithmetic(name, result, expr)
    return result


def every(tests: Sequence[ir.Expr], name: str = "and") -> ir.Expr:
    """That all tests hold, or with "or" that one does."""
    result, *others = tests
    for each in others:
        result = test(name, result, each)
    return result


def item_size(array: ir.ArrayRef) -> ir.Expr:
    """The size of an element."""
    return ir.Const(WEAK_INT, array.type.element.bits // 8)


def reaches(array: ir.ArrayRef) -> tuple[list[ir.Expr], list[ir.Expr]]:
    """How far apart neighbours are along each axis, and how far the last is from the first."""
    steps = [arithmetic("abs", stride) for stride in array.all_strides]
    spans = [
        arithmetic("mul", step, arithmetic("max", arithmetic("sub", extent, ir.ONE), ir.ZERO))
        for step, extent in zip(steps, array.extents, strict=True)
    ]
    return steps, spans


def ends_of(array: ir.ArrayRef) -> tuple[ir.Expr, ir.Expr]:
    """The addresses of the first byte of an array, and of the first one behind it."""
    begin = arithmetic("address", array.base)
    if array.strides is None:
        return begin, arithmetic("add", begin, total([item_size(array), *array.extents], "mul"))
    low = high = begin
    for stride, extent in zip(array.strides, array.extents, strict=True):
        reach = arithmetic(
            "mul", stride, arithmetic("max", arithmetic("sub", extent, ir.ONE), ir.ZERO)
        )
        low = arithmetic("add", low, arithmetic("min", reach, ir.ZERO))
        high = arithmetic("add", high, arithmetic("max", reach, ir.ZERO))
    return low, arithmetic("add", high, item_size(array))


def are_disjoint(one: ir.ArrayRef, other: ir.ArrayRef) -> ir.Expr:
    """That no byte of an array lies between the ends of another."""
    (low, high), (other_low, other_high) = ends_of(one), ends_of(other)
    return every([test("le", high, other_low), test("le", other_high, low)], "or")


def are_the_same(one: ir.ArrayRef, other: ir.ArrayRef) -> ir.Expr:
    """That equal indices lead to the same place in both."""
    pairs = [(arithmetic("address", one.base), arithmetic("address", other.base))]
    pairs += zip(one.all_strides, other.all_strides, strict=True)
    return every([test("eq", *pair) for pair in pairs])


def are_interleaved(one: ir.ArrayRef, other: ir.ArrayRef) -> ir.Expr:
    """That one lies in the gaps of the other, as columns of an array, or fields of records, do.

    All strides are multiples of the least, and the elements lie apart in what is left.
    """
    steps = reaches(one)[0] + reaches(other)[0]
    least = total(steps, "min")
    tests = [test("eq", arithmetic("fmod", step, least), ir.ZERO) for step in steps]
    apart = arithmetic("sub", arithmetic("address", other.base), arithmetic("address", one.base))
    place = arithmetic("mod", apart, least)
    tests.append(test("ge", place, item_size(one)))
    tests.append(test("le", arithmetic("add", place, item_size(other)), least))
    return every(tests)
