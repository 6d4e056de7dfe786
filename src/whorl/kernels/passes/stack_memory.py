"""Puts small arrays of known size on the stack, where LLVM turns them into registers.

Every place that allocates has one place on the stack, whatever loop it is in. That is right where
nothing of an earlier iteration is left when the next one allocates: where the address comes into
no variable that a loop carries on, nor into the result of a subroutine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import blocks_of, every_part, statements_of
from whorl.kernels.types import F64, POINTER, VectorType

__all__ = ["stack_memory"]

_LARGEST: Final = 2048  # bytes


def stack_memory(function: ir.Function) -> None:
    """Turn allocations into places on the stack, and drop what frees nothing any more."""
    lasting = _lasting(function)

    @cache
    def memory(local: ir.Local, size: int) -> ir.Local:
        return ir.Local(local.name, VectorType(F64, (-(-size // 8),)))

    blocks = [*function.blocks, *(block for _, block in function.resumed)]
    for block in blocks:
        _put_on_stack(block, lasting, memory)
    is_all = not any(map(_is_allocation, statements_of(function)))
    for block in blocks:
        _drop_sweeps(block, is_all)
    swept = {each.since for each in statements_of(function) if isinstance(each, ir.Sweep)}
    for block in blocks:
        _drop_marks(block, swept)


def _lasting(function: ir.Function) -> set[ir.Local]:
    """The variables with addresses that loops carry on, or that subroutines return."""
    sources: dict[ir.Local, set[ir.Local]] = {}
    waiting = [local for each in function.subroutines for local in each.results]
    for statement in statements_of(function):
        match statement:
            case ir.Set(local, value) if local.type == POINTER:
                sources.setdefault(local, set()).update(_addresses(value))
            case ir.Sweep(live=live):
                waiting += [local for expr in live for local in _addresses(expr)]
            case ir.SubroutineCall(args=args, results=results):
                addresses = {local for arg in args for local in _addresses(arg)}
                for local in results:
                    sources.setdefault(local, set()).update(addresses)
    lasting: set[ir.Local] = set()
    while waiting:
        local = waiting.pop()
        if local not in lasting:
            lasting.add(local)
            waiting += sources.get(local, ())
    return lasting


def _addresses(expr: ir.Expr) -> set[ir.Local]:
    return {
        part.local
        for part in every_part(expr)
        if isinstance(part, ir.Get) and part.local.type == POINTER
    }


def _put_on_stack(
    block: ir.Block, lasting: set[ir.Local], memory: Callable[[ir.Local, int], ir.Local]
) -> None:
    for place, statement in enumerate(block):
        match statement:
            case ir.Allocate(local, ir.Const(_, size), result=-1) if local not in lasting:
                if size <= _LARGEST:
                    block[place] = ir.StackArray(local, memory(local, int(size)))
        for inner in blocks_of(statement):
            _put_on_stack(inner, lasting, memory)


def _is_allocation(statement: ir.Stmt) -> bool:
    """Whether a statement allocates memory that is freed: not that of an array to be returned."""
    return isinstance(statement, ir.Allocate) and statement.result < 0


def _allocates(block: ir.Block) -> bool:
    return any(
        _is_allocation(each)
        or isinstance(each, ir.SubroutineCall)
        or any(map(_allocates, blocks_of(each)))
        for each in block
    )


def _drop_sweeps(block: ir.Block, frees_nothing: bool) -> None:
    """Drop what frees memory in loops that allocate none."""
    if frees_nothing:
        block[:] = [each for each in block if not isinstance(each, ir.Sweep)]
    for statement in block:
        inside = blocks_of(statement)
        is_loop = isinstance(statement, ir.For | ir.While | ir.Parallel)
        allocates = is_loop and any(map(_allocates, inside))
        for inner in inside:
            _drop_sweeps(inner, frees_nothing or (is_loop and not allocates))


def _drop_marks(block: ir.Block, swept: set[ir.Local]) -> None:
    block[:] = [
        each for each in block if not (isinstance(each, ir.Mark) and each.local not in swept)
    ]
    for statement in block:
        for inner in blocks_of(statement):
            _drop_marks(inner, swept)
