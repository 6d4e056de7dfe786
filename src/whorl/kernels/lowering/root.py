"""The kernel's own function in, the whole program out: parameters, body, results."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from whorl.kernels import ir
from whorl.kernels.source import source_tree
from whorl.kernels.types import is_scalar_value
from whorl.reads import Inputs, Path

from .annotations import parameter
from .expressions import looked_at
from .frame import Frame, Jump, Lowering
from .operands import Items, Known, Operand, Unset, Value, describe
from .statements import block, merge
from .values import number

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and where in the world its slots are found."""

    function: ir.Function
    paths: tuple[Path, ...]


def lower(inputs: Inputs, *, debug: bool = False) -> Lowered:
    """Lower the function that is compiled."""
    code = inputs.function()
    source = source_tree(code.function)
    lowering = Lowering(inputs, code.function.__name__, debug=debug)
    frame = Frame(lowering, code, source, {})
    frame.at(source.tree)
    tree = source.tree
    if isinstance(tree, ast.Lambda):
        source.refuse(tree, "a lambda cannot be a kernel", "Write a def.")
    for kind in (tree.args.vararg, tree.args.kwarg):
        if kind is not None:
            source.refuse(kind, "kernels take no *args and **kwargs", "Name the parameters.")
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        frame.names[argument.arg] = frame.place(inputs.arg(argument.arg))
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        if argument.annotation is not None:
            operand = frame.names[argument.arg]
            frame.names[argument.arg] = parameter(frame, argument, operand)
    _body(frame, tree)
    return Lowered(lowering.function, tuple(lowering.paths))


def _body(frame: Frame, tree: ast.FunctionDef) -> None:
    lowering = frame.lowering
    written: ir.Block = []
    with lowering.writing(written):
        has_ended = block(frame, tree.body)
        if not has_ended:
            frame.returns.append(Jump(written, frame.names, Known(None)))
    lowering.emit(ir.Scope(frame.leave, written))
    jumps = [
        Jump(jump.block, {"return": looked_at(jump.value or Known(None))}) for jump in frame.returns
    ]
    if not jumps:
        return
    found = merge({}, jumps)["return"]
    if isinstance(found, Unset):
        frame.refuse(tree, f"what is returned {found.reason}")
    lowering.function.result = _result(frame, tree, found)


def _result(frame: Frame, tree: ast.FunctionDef, operand: Operand) -> ir.Result:
    """The variables that results are left in."""
    match operand:
        case Known(None):
            return None
        case Items(items):
            return tuple(_result(frame, tree, looked_at(item)) for item in items)
        case Known(value) if isinstance(value, tuple | list):
            return tuple(_result(frame, tree, Known(item)) for item in value)
        case Value(ir.Get(local)):
            return local
        case Value() | Known() if isinstance(operand, Value) or is_scalar_value(operand.value):
            expr = number(operand)
            local = ir.Local("result", expr.type)
            frame.lowering.emit(ir.Set(local, expr))
            return local
    frame.refuse(
        tree,
        f"a kernel returns numbers, tuples of numbers or None, not {describe(operand)}",
        "Write other results into an array that is passed in.",
    )
