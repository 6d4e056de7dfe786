"""Lowers comprehensions: to items that are known now, or to something to iterate over.

`sum`, `any`, `max`, `np.array` and the like take the latter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from whorl.kernels import ir

from .expressions import condition, resolved, snapshot
from .frame import Frame
from .iterables import Count, iterable
from .operands import LIST, Items, Iteration, Known, Operand
from .run_values import resolve
from .statements import assign

__all__ = ["COMPREHENSIONS"]


@contextmanager
def _own_names(frame: Frame) -> Iterator[None]:
    """The names of a comprehension are its own."""
    before, frame.names = frame.names, dict(frame.names)
    try:
        yield
    finally:
        frame.names = before


def _comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> Operand:
    is_list = isinstance(node, ast.ListComp)
    first, *others = node.generators
    if first.is_async:
        frame.refuse(node, "an asynchronous comprehension")
    source = iterable(frame, first.iter)
    if isinstance(source, Count):
        if others or first.ifs or len(source.extents) != 1:
            frame.refuse(
                node,
                "a comprehension over what only the run can count has one `for` and no `if`",
                "Write a loop.",
            )
        return _counted(frame, node, first.target, source)
    return Items(tuple(_items(frame, node, node.generators)), is_list)


def _items(
    frame: Frame, node: ast.ListComp | ast.GeneratorExp, generators: list[ast.comprehension]
) -> Iterator[Operand]:
    """The items of a comprehension over what is known now."""
    if not generators:
        yield snapshot(frame, resolved(frame, node.elt))
        return
    first, *others = generators
    source = iterable(frame, first.iter)
    if isinstance(source, Count):
        frame.refuse(node, "a comprehension over what only the run can count", "Write a loop.")
    for item in source:
        with _own_names(frame):
            assign(frame, first.target, item)
            tests = [condition(frame, test) for test in first.ifs]
            if not all(isinstance(test, Known) for test in tests):
                frame.refuse(node, "a comprehension with a test of the run", "Write a loop.")
            if all(isinstance(test, Known) and test.value for test in tests):
                yield from _items(frame, node, others)


def _counted(
    frame: Frame, node: ast.ListComp | ast.GeneratorExp, target: ast.expr, source: Count
) -> Iteration:
    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        with _own_names(frame):
            assign(frame, target, source.item(counts))
            return snapshot(frame, resolve(resolved(frame, node.elt)))

    is_list = isinstance(node, ast.ListComp)
    return Iteration(LIST if is_list else "a generator", source.extents, item, is_list=is_list)


COMPREHENSIONS: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
