"""Lowers Python expressions to operands: one function per kind of node, by a table."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.kernels import ir
from whorl.kernels.ir_walk import writes_memory
from whorl.reads.static_expressions import written_defaults
from whorl.reads.static_functions import TESTED, checked
from whorl.reads.view import AbsentRead

from . import vectors
from .arithmetic import (
    NotPossible,
    truth,
)
from .array_expressions import expression_of, is_array, read_extents
from .array_selection import is_selection, selection
from .array_statements import materialised
from .data_classes import is_instance
from .deferred_names import used
from .frame import Frame
from .joins import Apart
from .operands import (
    ArrayOf,
    Closure,
    Deferred,
    Elementwise,
    Items,
    Iteration,
    Known,
    Named,
    Operand,
    Value,
    Vec,
    ViewOperand,
    describe,
)
from .records import item_of
from .run_values import Undecided, is_scalar, number, resolve
from .subscripts import array_part, spread

__all__ = [
    "EXPRESSIONS",
    "PLAIN",
    "TRUTH",
    "closure",
    "condition",
    "errors_at",
    "expression",
    "index_operands",
    "number_at",
    "operands_of",
    "parts",
    "refuse_truth",
    "remedy_for",
    "remedy_for_subclass",
    "resolved",
    "snapshot",
    "starred",
]

UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Dict: ("a dict", "Use arrays, or parameters of their own."),
    ast.Set: ("a set", "Use arrays."),
    ast.SetComp: ("a set comprehension", "Write a loop over an array."),
    ast.DictComp: ("a dict comprehension", "Write a loop over an array."),
    ast.JoinedStr: (
        "an f-string",
        "Give print the values: print('x is', x). For a text that is known at compile time: "
        "whorl.static(f'...').",
    ),
    ast.Await: ("await", ""),
    ast.Yield: ("yield", "Write results into an array."),
    ast.YieldFrom: ("yield from", "Write results into an array."),
    ast.Starred: ("a starred expression", "Write the items out."),
}
TRUTH: Final = "a truth value"
PLAIN: Final = (
    bool, int, float, complex, str, bytes, tuple, type(None), enum.Enum, np.generic, np.dtype,
    np.finfo, np.iinfo,
)  # fmt: skip


def expression(frame: Frame, node: ast.expr) -> Operand:
    """What an expression stands for."""
    lower = frame.lowering.syntax.expressions.get(type(node))
    if lower is None:
        what, remedy = UNSUPPORTED.get(type(node), (type(node).__name__, ""))
        frame.refuse(node, f"{what} is not supported in a kernel", remedy)
    with errors_at(frame, node):
        return lower(frame, node)


@contextmanager
def errors_at(frame: Frame, node: ast.AST) -> Iterator[None]:
    """Turn what is wrong inside into a `KernelError` at a node."""
    try:
        yield
    except (NotPossible, Undecided) as error:
        frame.refuse(node, error.reason, error.remedy)
    except Apart as error:
        frame.refuse(node, f"this {error}", error.remedy)
    except AbsentRead as error:
        raise frame.source.error(node, str(error)) from error
    except UnsupportedRead as error:
        raise frame.source.error(
            node, f"{error.path} is a {error.type_name} that cannot be read: {error.reason}",
            "Pass what counts of it as an argument: a number, an array.",
        ) from error  # fmt: skip


def resolved(frame: Frame, node: ast.expr) -> Operand:
    """What an expression stands for; a place becomes what the run needs of it."""
    return resolve(expression(frame, node))


def remedy_for(*operands: Operand) -> str:
    """What to do where numbers are needed and one of these is something else."""
    for operand in operands:
        value = operand.view.peek() if isinstance(operand, ViewOperand) else operand
        if isinstance(value, np.ndarray | ArrayOf | Elementwise):
            return "Index it down to a number, or assign to a part of an array: x[:] = ..."
        if isinstance(value, Known) and value.value is None:
            return "Pass a number, or ask `is None` before."
        remedy = remedy_for_subclass(value)
        if remedy:
            return remedy
    return ""


def remedy_for_subclass(value: object) -> str:
    """What to do about an object that is a number and may be more than that."""
    for kind in (int, float):
        if isinstance(value, kind) and not isinstance(value, np.generic | enum.Enum | bool):
            is_more = type(value) is not kind
            return f"Pass a plain {kind.__name__}: {kind.__name__}(...)." if is_more else ""
    return ""


def refuse_truth(frame: Frame, node: ast.AST) -> NoReturn:
    """Refuse an array where one truth value is needed."""
    frame.refuse(
        node,
        "an array is used as a truth value, which NumPy refuses too: it has many elements",
        "Write np.any(...) or np.all(...); & and | and ~ for the elements; chained comparisons "
        "as (a < b) & (b < c).",
    )


def number_at(frame: Frame, node: ast.AST, operand: Operand, what: str = "a number") -> ir.Expr:
    """The number that an operand is; a `KernelError` at a node if it is none."""
    if not is_scalar(operand):
        if what == TRUTH and is_array(operand):
            refuse_truth(frame, node)
        what = f"this is {describe(operand)}, where {what} is needed"
        frame.refuse(node, what, remedy_for(operand))
    try:
        return number(operand)
    except (Undecided, NotPossible) as error:
        frame.refuse(node, error.reason, error.remedy)


def condition(frame: Frame, node: ast.expr) -> Known | ir.Expr:
    """A test: known now, or a bool of the run."""
    operand = resolved(frame, node)
    if isinstance(operand, Known):
        try:
            return Known(bool(checked(operand.value, TESTED)))
        except TypeError as error:
            frame.refuse(node, str(error))
    if isinstance(operand, Items):
        return Known(bool(operand.items))
    return truth(number_at(frame, node, operand, TRUTH))


def operands_of(
    frame: Frame, nodes: Sequence[ast.expr], first: Sequence[Operand] = ()
) -> list[Operand]:
    """Operands of expressions that are evaluated one after the other, and after the first ones.

    If a later one needs statements, what the earlier ones are is kept before these.
    """
    lowering = frame.lowering
    operands = list(first)
    for node in nodes:
        block, before = lowering.block, len(lowering.block)
        operand = expression(frame, node)
        if len(block) > before:
            is_written = writes_memory(block[before:])
            before_them: ir.Block = []
            with lowering.writing(before_them):
                operands = [
                    operand
                    if isinstance(operand, Elementwise) and not is_written
                    else snapshot(frame, operand)
                    for operand in operands
                ]
            block[before:before] = before_them
        operands.append(operand)
    return operands


def snapshot(frame: Frame, operand: Operand) -> Operand:
    """An operand whose value is that of this moment."""
    match operand:
        case Value(expr):
            return Value(frame.lowering.keep(expr))
        case Items(items):
            return operand.with_items(snapshot(frame, item) for item in items)
        case Named(items):
            return Named({name: snapshot(frame, item) for name, item in items.items()})
        case Elementwise():
            return materialised(frame, frame.statement, operand)
    return operand


# -- leaves -----------------------------------------------------------------------------


def _constant(frame: Frame, node: ast.Constant) -> Operand:
    return Known(node.value)


def _name(frame: Frame, node: ast.Name) -> Operand:
    operand = frame.find(node)
    return used(frame, operand) if isinstance(operand, Deferred) else operand


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Operand:
    items: list[Operand] = []
    plain = [item.value if isinstance(item, ast.Starred) else item for item in node.elts]
    for item, operand in zip(node.elts, operands_of(frame, plain), strict=True):
        if isinstance(item, ast.Starred):
            items.extend(starred(frame, item, operand))
        else:
            items.append(operand)
    return Items(tuple(items), is_list=isinstance(node, ast.List))


def parts(frame: Frame, node: ast.AST, operand: Operand, limit: int = 4096) -> list[Operand]:
    """The items of something whose length is known now."""
    match operand:
        case Items(items) if not is_instance(operand):
            return list(items)
        case Vec():
            return vectors.rows(operand)
        case ArrayOf(ir.ArrayRef(extents=(ir.Const(_, count), *_)) as array) if count <= limit:
            return [array_part(frame, node, array, [Known(i)]) for i in range(int(count))]
        case Known(value) if isinstance(value, tuple | list | range | str | frozenset | dict):
            if len(value) > limit:
                frame.refuse(
                    node,
                    f"it has {len(value)} items, and each becomes code of its own",
                    "Loop over range(...) instead.",
                )
            return [Known(item) for item in value]
        case ViewOperand(view) if isinstance(view.peek(), tuple | list):
            return [operand.then(view.item(i)) for i in range(view.len())]
        case ViewOperand(view) if isinstance(view.peek(), range | frozenset | dict | enum.EnumMeta):
            return [Known(item) for item in view.value()]
        case Iteration(bounds=bounds) if bounds is not None:
            known = [int(each.value) for each in bounds if isinstance(each, ir.Const)]
            if len(known) == 3 and len(range(*known)) <= limit:
                return [Known(number) for number in range(*known)]
        case Known(enum.EnumMeta() as value):
            return [Known(member) for member in vars(value)["_member_map_"].values()]
    frame.refuse(
        node,
        f"{describe(operand)} has no length that is known at compile time",
        "Write range(...) to count."
        if is_scalar(operand)
        else "Loop over range(len(...)) and use an index.",
    )


def starred(frame: Frame, node: ast.AST, operand: Operand) -> list[Operand]:
    """What a star writes out: also the rows of an argument, whose number becomes a fact."""
    array = resolve(operand) if is_array(operand) else None
    if isinstance(array, ArrayOf):
        (extent,) = read_extents(frame, array.array.extents[:1], vectors.LARGEST)
        if isinstance(extent, ir.Const):
            places = range(int(extent.value))
            return [array_part(frame, node, array.array, [Known(place)]) for place in places]
    return parts(frame, node, operand)


def _lambda(frame: Frame, node: ast.Lambda) -> Operand:
    return closure(frame, node)


def closure(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> Closure:
    """A function that is defined here; its defaults are those of this moment."""
    written = written_defaults(node.args)
    defaults = {name: snapshot(frame, expression(frame, value)) for name, value in written.items()}
    return Closure(node, frame, defaults)


def _subscript(frame: Frame, node: ast.Subscript) -> Operand:
    owner, indices = index_operands(frame, node)
    if is_array(owner) and is_selection(indices := spread(indices)):
        owner = resolve(owner)
        if isinstance(owner, Elementwise):
            owner = materialised(frame, node, owner)
        assert isinstance(owner, ArrayOf)
        return selection(frame, node, owner.array, indices)
    part = item_of(frame, node, owner, indices)
    # A part of x.flat is a copy, unlike a part of x.
    is_flat = isinstance(node.value, ast.Attribute) and node.value.attr == "flat"
    if is_flat and is_array(part) and is_array(owner) and not isinstance(owner, ViewOperand):
        return expression_of(frame, part)
    return part


def index_operands(
    frame: Frame, node: ast.Subscript, first: Sequence[Operand] = ()
) -> tuple[Any, ...]:
    """The first operands, which are evaluated before, then what is indexed, and by what: operands,
    and slices of operands."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    nodes: list[ast.expr] = [node.value]
    for index in indices:
        if isinstance(index, ast.Slice):
            nodes += [part for part in (index.lower, index.upper, index.step) if part is not None]
        else:
            nodes.append(index)
    every = operands_of(frame, nodes, first)
    before, owner, operands = every[: len(first)], every[len(first)], every[len(first) + 1 :]
    keys: list[Any] = []
    rest = iter(operands)
    for index in indices:
        if isinstance(index, ast.Slice):
            sides = (index.lower, index.upper, index.step)
            keys.append(tuple(None if side is None else next(rest) for side in sides))
        else:
            keys.append(next(rest))
    return *before, owner, keys


EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Frame, Any], Operand]]] = {
    ast.Constant: _constant,
    ast.Lambda: _lambda,
    ast.List: _tuple,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
}
