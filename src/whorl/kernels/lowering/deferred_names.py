"""Names of expressions over arrays that are used once: nothing is stored if that changes nothing.

`t = a + b; c[:] = t * 2` is one loop nest. The expression is stored after all, where the name got
it, if the use is in another block of statements (a loop would evaluate it again and again), or if a
statement between the two may have changed what it reads.
"""

from __future__ import annotations

import ast

from whorl.kernels import ir
from whorl.kernels.function_source import names_used_once
from whorl.kernels.ir_walk import statements_in

from .array_statements import materialised
from .frame import Frame
from .operands import Deferred, Elementwise, Operand

__all__ = ["deferred", "used"]


def deferred(frame: Frame, node: ast.AST, name: str, value: Elementwise) -> Deferred | None:
    """An expression under a name that is used once; None if it has to be stored at once."""
    lowering = frame.lowering
    tree = frame.source.tree
    if tree not in lowering.used_once:
        lowering.used_once[tree] = names_used_once(tree)
    if name not in lowering.used_once[tree] or not value.extents:
        return None
    if lowering.function.has_checkpoints:  # where a name over a checkpoint is refused, if stored
        return None
    place: ir.Block = []
    lowering.emit(ir.Region(lowering.label("deferred"), place))
    return Deferred(value, name, node, lowering.block, place, [])


def used(frame: Frame, operand: Deferred) -> Operand:
    """What a name stands for where it is used."""
    lowering = frame.lowering
    if not operand.arrays:
        if lowering.block is operand.around and not _is_disturbed(frame, operand):
            return operand.value
        with lowering.writing(operand.place):
            operand.arrays.append(materialised(frame, operand.node, operand.value, operand.name))
    return operand.arrays[0]


def _is_disturbed(frame: Frame, operand: Deferred) -> bool:
    """Whether a statement since then may have changed what an expression reads."""
    block, allocated = operand.around, frame.lowering.allocated
    (begin,) = (
        place
        for place, each in enumerate(block)
        if isinstance(each, ir.Region) and each.body is operand.place
    )

    def is_own(owner: ir.Expr | None) -> bool:
        return isinstance(owner, ir.Get) and owner.local in allocated

    owners = [array.owner for array in operand.value.arrays]
    for statement in statements_in(block[begin + 1 :]):
        match statement:
            case ir.SetElement(element):
                owner = element.array.owner
                if not is_own(owner) or owner in owners:
                    return True
                if any(each is not None and not is_own(each) for each in owners):
                    return True
            case ir.SetComponent(component) if component.local in operand.value.vectors:
                return True
            case ir.Atomic() | ir.Update() | ir.SubroutineCall() | ir.ForeignCall():
                return True
    return False
