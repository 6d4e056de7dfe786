"""Sums of floats and complex numbers as NumPy's: pairwise.

The error grows with the logarithm of their number: blocks of 128 elements have eight sums each, and
the blocks are added by twos.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from whorl.kernels import ir
from whorl.kernels.overlap import test, total
from whorl.kernels.types import WEAK_INT, Scalar, VectorType

from .arithmetic import binary, constant, minus_zero
from .array_memory import new_array
from .frame import Frame

__all__ = ["Cascade", "add_row", "count_from", "sum_by_chunks"]

_BLOCK: Final = 128
_SUMS: Final = 8
_CHUNK: Final = 64  # blocks that one thread adds
_LEVELS: Final = 48  # of blocks by twos: more than memory has


class Cascade:
    """A sum of many numbers that are added by twos."""

    def __init__(self, frame: Frame, type: Scalar) -> None:
        self._lowering = frame.lowering
        self.type = type
        self._sums = ir.Local("sums", VectorType(type, (_LEVELS,)))
        self._count = ir.Local("blocks", WEAK_INT)
        self._lowering.emit(ir.Set(self._count, ir.ZERO))

    def _walk(
        self, body: Callable[[ir.Expr, ir.Expr], None], test_of: Callable[[ir.Expr], ir.Expr]
    ) -> ir.Expr:
        """Go through the levels as long as a test of the rest of the count holds."""
        lowering = self._lowering
        level, rest = ir.Local("level", WEAK_INT), ir.Local("rest", WEAK_INT)
        lowering.emit(ir.Set(level, ir.ZERO))
        lowering.emit(ir.Set(rest, ir.Get(self._count)))
        block: ir.Block = []
        with lowering.writing(block):
            body(ir.Get(level), ir.Get(rest))
            lowering.emit(ir.Set(level, binary("add", ir.Get(level), ir.ONE)))
            lowering.emit(ir.Set(rest, binary("shr", ir.Get(rest), ir.ONE)))
        lowering.emit(ir.While(lowering.label("levels"), [], test_of(ir.Get(rest)), block))
        return ir.Get(level)

    def _is_odd(self, rest: ir.Expr) -> ir.Expr:
        return test("ne", binary("and", rest, ir.ONE), ir.ZERO)

    def add(self, number: ir.Expr) -> None:
        """Add a number: two of a level become one of the next."""
        lowering = self._lowering
        carry = ir.Local("carry", self.type)
        lowering.emit(ir.Set(carry, number))

        def up(level: ir.Expr, rest: ir.Expr) -> None:
            both = binary("add", ir.Component(self._sums, level), ir.Get(carry))
            lowering.emit(ir.Set(carry, both))

        level = self._walk(up, self._is_odd)
        lowering.emit(ir.SetComponent(ir.Component(self._sums, level), ir.Get(carry)))
        lowering.emit(ir.Set(self._count, binary("add", ir.Get(self._count), ir.ONE)))

    def total(self, first: ir.Expr | None = None) -> ir.Expr:
        """The sum of what was added, and of a number before it."""
        lowering = self._lowering
        result = ir.Local("sum", self.type)
        if first is None:
            is_empty = test("eq", ir.Get(self._count), ir.ZERO)
            zeros = constant(0.0, self.type), minus_zero(self.type)  # -0.0 + x is x
            first = ir.Op("select", self.type, (is_empty, *zeros))
        lowering.emit(ir.Set(result, first))

        def collect(level: ir.Expr, rest: ir.Expr) -> None:
            more = binary("add", ir.Get(result), ir.Component(self._sums, level))
            lowering.emit(ir.If(self._is_odd(rest), [ir.Set(result, more)], []))

        self._walk(collect, lambda rest: test("ne", rest, ir.ZERO))
        return ir.Get(result)


def add_row(
    frame: Frame, length: ir.Expr, at: Callable[[ir.Expr], ir.Expr], cascade: Cascade
) -> None:
    """Add the elements of a row to a sum, block by block."""
    lowering = frame.lowering
    size = ir.Const(WEAK_INT, _BLOCK)
    begin = ir.Local("begin", WEAK_INT)
    block: ir.Block = []
    with lowering.writing(block):
        _add_block(frame, ir.Get(begin), length, at, cascade)
    label = lowering.label("blocks")
    lowering.emit(ir.For(label, begin, ir.ZERO, length, size, block))


def _add_block(
    frame: Frame,
    first: ir.Expr,
    length: ir.Expr,
    at: Callable[[ir.Expr], ir.Expr],
    cascade: Cascade,
) -> None:
    """Add the elements of a block of a row, which begins here, to a sum."""
    lowering, type = frame.lowering, cascade.type
    size = ir.Const(WEAK_INT, _BLOCK)
    end = lowering.keep(ir.Op("min", WEAK_INT, (binary("add", first, size), length)))
    count = binary("sub", end, first)
    eights = binary("and", count, ir.Const(WEAK_INT, -_SUMS))
    middle = lowering.keep(binary("add", first, eights))
    sums = [ir.Local(f"sum{i}", type) for i in range(_SUMS)]
    for each in sums:
        lowering.emit(ir.Set(each, minus_zero(type)))

    def add_eight(index: ir.Expr) -> None:
        for offset, each in enumerate(sums):
            more = binary("add", ir.Get(each), at(_plus(index, offset)))
            lowering.emit(ir.Set(each, more))

    count_from(frame, first, middle, add_eight, step=_SUMS)
    parts: list[ir.Expr] = [ir.Get(each) for each in sums]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [binary("add", one, other) for one, other in pairs]
    result = ir.Local("sum", type)
    lowering.emit(ir.Set(result, parts[0]))

    def add_one(index: ir.Expr) -> None:
        lowering.emit(ir.Set(result, binary("add", ir.Get(result), at(index))))

    count_from(frame, middle, end, add_one)
    cascade.add(ir.Get(result))


def sum_by_chunks(
    frame: Frame,
    node: ast.AST,
    type: Scalar,
    extents: Sequence[ir.Expr],
    at: Callable[[tuple[ir.Expr, ...]], ir.Expr],
) -> ir.Expr:
    """The sum of all elements of an expression, whose chunks of blocks may be added at once.

    It is the very sum that `add_row` makes of all rows: a chunk has a power of two blocks, so what
    it becomes is what its blocks become by twos. Only the last chunk may have fewer: it is the
    lower levels of the whole.
    """
    lowering, keep = frame.lowering, frame.lowering.keep
    size, chunk = ir.Const(WEAK_INT, _BLOCK), ir.Const(WEAK_INT, _CHUNK)
    *rows, length = extents
    in_row = keep(_divided_up(length, size))
    blocks = keep(total((in_row, *rows), "mul"))
    chunks = keep(_divided_up(blocks, chunk))
    sums = new_array(frame, node, type, (chunks,), "sums", is_checked=True)

    def place(number: ir.Expr) -> ir.Element:
        return ir.Element(sums, (number,), (True,))

    def add_chunk(number: ir.Expr) -> None:
        cascade = Cascade(frame, type)
        begin = keep(binary("mul", number, chunk))
        end = keep(ir.Op("min", WEAK_INT, (binary("add", begin, chunk), blocks)))

        def add_block(block: ir.Expr) -> None:
            row = block
            indices: list[ir.Expr] = []
            for extent in (in_row, *reversed(rows)):
                indices.insert(0, keep(binary("mod", row, extent)))
                row = keep(binary("floordiv", row, extent))
            *outer, first = indices
            first = keep(binary("mul", first, size))
            _add_block(frame, first, length, lambda i: at((*outer, i)), cascade)

        count_from(frame, begin, end, add_block)
        lowering.emit(ir.SetElement(place(number), cascade.total()))

    count_from(frame, ir.ZERO, chunks, add_chunk, is_free=True)
    cascade = Cascade(frame, type)
    whole = keep(binary("floordiv", blocks, chunk))
    count_from(frame, ir.ZERO, whole, lambda number: cascade.add(place(number)))
    first = ir.Local("first", type)
    is_empty = test("eq", blocks, ir.ZERO)
    zeros = constant(0.0, type), minus_zero(type)
    lowering.emit(ir.Set(first, ir.Op("select", type, (is_empty, *zeros))))
    rest: ir.Block = [ir.Set(first, place(whole))]
    lowering.emit(ir.If(test("lt", whole, chunks), rest, []))
    return cascade.total(ir.Get(first))


def _divided_up(number: ir.Expr, by: ir.Const) -> ir.Expr:
    """A quotient of numbers that are not negative, rounded up."""
    more = binary("add", number, ir.Const(WEAK_INT, int(by.value) - 1))
    return binary("floordiv", more, by)


def _plus(index: ir.Expr, offset: int) -> ir.Expr:
    return binary("add", index, ir.Const(WEAK_INT, offset)) if offset else index


def count_from(
    frame: Frame,
    start: ir.Expr,
    stop: ir.Expr,
    body: Callable[[ir.Expr], None],
    *,
    step: int = 1,
    is_free: bool = False,
) -> None:
    """A loop over numbers; `is_free` as for `loop_nest`."""
    count = ir.Local("i", WEAK_INT)
    block: ir.Block = []
    with frame.lowering.writing(block):
        body(ir.Get(count))
    label = frame.lowering.label("elements")
    by = ir.Const(WEAK_INT, step)
    frame.lowering.emit(ir.For(label, count, start, stop, by, block, is_free))
