"""Memory for arrays that are made in a kernel.

A new array is a block of memory, see `emit/memory`. It belongs to the thread that has allocated
it. At the end of each iteration of a loop, what was allocated since the loop began is freed,
except for what a name still stands for; what is left then is freed where the launch ends.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod

from whorl.kernels import ir
from whorl.kernels.overlap import every, test, total
from whorl.kernels.types import F64, POINTER, WEAK_BOOL, WEAK_INT, ArrayType, Scalar

from .arithmetic import cast
from .array_expressions import raise_if, shape_text
from .frame import Frame
from .operands import ArrayOf

__all__ = ["check_extents", "is_in_kernel", "new_array", "return_array"]

_MOST = 2.0**62  # bytes: more than any machine has


def new_array(
    frame: Frame,
    node: ast.AST,
    element: Scalar,
    extents: Sequence[ir.Expr],
    name: str = "array",
    *,
    is_zero: bool = False,
    order: str = "C",
    is_checked: bool = False,
    is_result: bool = False,
) -> ir.ArrayRef:
    """An array of its own; its elements are not set, or all zero.

    `is_checked` if there is another array of these extents, which are therefore possible.
    `is_result` if it will be returned: then it is the memory of a new ndarray.
    """
    lowering = frame.lowering
    kept = tuple(lowering.keep(extent) for extent in extents)
    size = ir.Const(WEAK_INT, element.bits // 8)
    if not is_checked:
        _check_size(frame, node, size, kept)
    local = ir.Local(name, POINTER)
    lowering.allocated.add(local)
    text = "no memory for an array of {} bytes"
    site = lowering.site("MemoryError", text, frame.line(node), (WEAK_INT,))
    base = ir.Get(local)
    type = ArrayType(element, len(kept), "C" if len(kept) < 2 else order, writeable=True)
    statement = ir.Allocate(local, _product((size, *kept)), site, is_zero)
    if is_result:
        statement.result, statement.extents = len(lowering.function.arrays), kept
        lowering.function.arrays.append(ir.NewArray(type, is_zero))
        lowering.results[local] = statement
    lowering.emit(statement)
    return ir.ArrayRef(type, base, kept, None, name, owner=base)


def _product(exprs: Sequence[ir.Expr]) -> ir.Expr:
    """The product of numbers: known now, if all of them are."""
    known = [int(expr.value) for expr in exprs if isinstance(expr, ir.Const)]
    if len(known) == len(exprs):
        return ir.Const(WEAK_INT, prod(known, start=1))
    return total(exprs, "mul")


def return_array(frame: Frame, operand: ArrayOf) -> ir.Result:
    """Let the launch return an array: a whole argument, a new ndarray, or what it lies in."""
    array, lowering = operand.array, frame.lowering
    match array.base:
        case ir.SlotUse(slot) if operand.view is not None:
            return slot
        case ir.Get(local) if local in lowering.results:
            made = lowering.results[local]
            type = lowering.function.arrays[made.result].type
            if (array.type, array.extents) == (type, made.extents):
                return made.result
    number = len(lowering.function.arrays)
    lowering.function.arrays.append(ir.NewArray(array.type))
    lowering.emit(ir.ReturnArray(number, array))
    return number


def is_in_kernel(frame: Frame, array: ir.ArrayRef) -> bool:
    """Whether an array lies in memory that the kernel frees when it ends."""
    lowering, owner = frame.lowering, array.owner
    if not (isinstance(owner, ir.Get) and owner.local in lowering.allocated):
        return False
    return owner.local not in lowering.results


def check_extents(frame: Frame, node: ast.AST, extents: Sequence[ir.Expr]) -> None:
    """End the launch where an extent that the source gives is negative."""
    run = [extent for extent in extents if not isinstance(extent, ir.Extent)]
    for extent in run:
        if isinstance(extent, ir.Const) and extent.value < 0:
            frame.refuse(node, "an array has no negative dimensions")
    run = [extent for extent in run if not isinstance(extent, ir.Const)]
    if run:
        negative = every([test("lt", extent, ir.ZERO) for extent in run], "or")
        text = f"an array has no negative dimensions: {shape_text(extents)}"
        raise_if(frame, node, negative, "ValueError", text, extents)


def _check_size(frame: Frame, node: ast.AST, size: ir.Const, extents: Sequence[ir.Expr]) -> None:
    """End the launch where the size is no number of 64 bits."""
    if all(isinstance(extent, ir.Const) for extent in extents):
        return
    bytes_ = cast(size, F64)
    for extent in extents:
        bytes_ = ir.Op("mul", F64, (bytes_, cast(extent, F64)))
    is_large = ir.Op("ge", WEAK_BOOL, (bytes_, ir.Const(F64, _MOST)))
    text = f"no memory for an array of shape {shape_text(extents)}"
    raise_if(frame, node, is_large, "MemoryError", text, extents)
