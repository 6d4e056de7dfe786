"""Which names stand for the same memory; refuses to change a vector that a join copied.

A small vector is a variable. Where branches meet and a name stands for different vectors,
the join copies them into one. In Python the name would go on standing for the very vector that
another name may have, and a change of one would be seen in the other. So both the copy and
what it was copied from may be read from then on, but not changed, unless no other name is left.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from whorl.kernels import ir

from .frame import Frame
from .operands import ArrayOf, Closure, Elementwise, Items, Named, Operand, Vec

__all__ = ["copied", "is_sole_owner", "note_change", "owners_in", "vectors_in"]


def owners_in(operands: Iterable[Operand]) -> Iterator[ir.Expr]:
    """The memory that some operands stand for."""
    for operand in operands:
        match operand:
            case ArrayOf(ir.ArrayRef(owner=owner)) if owner is not None:
                yield owner
            case Elementwise(arrays=arrays):
                yield from (array.owner for array in arrays if array.owner is not None)
            case Items(items):
                yield from owners_in(items)
            case Named(items):
                yield from owners_in(items.values())
            case Closure(defaults=defaults):
                yield from owners_in(defaults.values())


def is_sole_owner(frame: Frame, operand: Operand, others: Iterable[Operand]) -> bool:
    """Whether an operand is an array of memory that was allocated for it, and of no other."""
    if not isinstance(operand, ArrayOf):
        return False
    owner = operand.array.owner
    if not (isinstance(owner, ir.Get) and owner.local in frame.lowering.allocated):
        return False
    if owner in owners_in(others):
        return False
    around = (each for each in {*frame.callers, *frame.scopes} if each is not frame)
    return all(owner not in owners_in(each.names.values()) for each in around)


def vectors_in(operands: Iterable[Operand]) -> Iterator[ir.Local]:
    """The variables of the vectors among some operands."""
    for operand in operands:
        match operand:
            case Vec(local):
                yield local
            case Items(items):
                yield from vectors_in(items)


def copied(
    frame: Frame, variable: Operand, operand: Operand, others: Iterable[Operand], *labels: str
) -> None:
    """Take note that a join makes `found` of `operand`, while others keep what they stand for.

    `labels` are those of loops that the join belongs to, beside those that are around.
    """
    news = set(vectors_in([variable]))
    olds = set(vectors_in([operand])) - news
    if not olds:
        return
    alive = set(vectors_in(others))
    for caller in frame.callers:
        if caller is not frame:
            alive.update(vectors_in(caller.names.values()))
    if olds.isdisjoint(alive):
        return
    lowering = frame.lowering
    around = {*labels, *_labels(frame)}
    for local in olds | news:
        if not around.isdisjoint(lowering.changed.get(local, ())):
            _refuse(frame, frame.statement)
    lowering.shared |= olds | news


def note_change(frame: Frame, node: ast.AST, vec: Vec) -> None:
    """Take note that a vector is changed in place; refuse it if joins have copied it."""
    if vec.local in frame.lowering.shared:
        _refuse(frame, node)
    frame.lowering.changed.setdefault(vec.local, set()).update(_labels(frame))


def _labels(frame: Frame) -> Iterator[str]:
    return (loop.leave for around in frame.callers for loop in around.loops)


def _refuse(frame: Frame, node: ast.AST) -> None:
    frame.refuse(
        node,
        "a vector with two names is changed, and one of them is another vector in another branch",
        "Make a vector of its own before: v = v.copy().",
    )
