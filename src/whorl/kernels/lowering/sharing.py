"""Refuses to change a vector that has two names after a join copied it.

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
from .operands import Items, Operand, Vec

__all__ = ["copied", "note_change", "vectors_in"]


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
