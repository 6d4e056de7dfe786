"""Drops statements that nothing can reach."""

from __future__ import annotations

from whorl.kernels import ir
from whorl.kernels.ir_walk import blocks_of

__all__ = ["prune"]


def prune(function: ir.Function) -> None:
    """Drop what follows a jump, and jumps to where control goes anyway."""
    for block in function.blocks:
        _block(block)


def _block(block: ir.Block) -> None:
    block[:] = [each for each in block if not (isinstance(each, ir.Region) and not each.body)]
    for place, statement in enumerate(block):
        if isinstance(statement, ir.Leave | ir.Next | ir.Raise):
            del block[place + 1 :]
            break
        for inner in blocks_of(statement):
            _block(inner)
        if isinstance(statement, ir.Region) and statement.body:
            last = statement.body[-1]
            if isinstance(last, ir.Leave) and last.label == statement.label:
                statement.body.pop()
