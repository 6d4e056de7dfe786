"""Lowers the kernel's own function: parameters, body, results."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Final

from whorl.errors import KernelError
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.source import code_digest, place_of_code
from whorl.kernels import ir
from whorl.kernels.function_source import source_tree
from whorl.kernels.types import is_scalar_value
from whorl.lazy import logger
from whorl.reads import Inputs, Path

from .annotated_types import parameter
from .arithmetic import NotPossible, cast, scalar_type
from .array_expressions import expression_of
from .array_memory import is_in_kernel, return_array
from .array_statements import materialised
from .attributes import ATTRIBUTES
from .comparisons import CHAINS
from .comprehensions import COMPREHENSIONS
from .conditionals import CONDITIONALS
from .data_classes import check_returned
from .exceptions import EXCEPTIONS
from .expressions import EXPRESSIONS
from .followed_calls import call
from .frame import Frame, Jump, Lowering, Syntax
from .graphs import note_checkpoints, with_statement
from .joins import merge
from .library_calls import library_call
from .loops import for_loop, while_loop
from .matrix_products import matrix_product
from .operands import ArrayOf, Items, Known, Operand, Unset, Value, Vec, ViewOperand, describe
from .operators import OPERATIONS
from .run_values import is_scalar, number, resolve
from .statements import STATEMENTS, assignment_expression, block

__all__ = ["Lowered", "lower"]

log = logger("whorl.kernels")
_ASYNC: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


SYNTAX: Final = Syntax(
    {
        **EXPRESSIONS,
        **ATTRIBUTES,
        **OPERATIONS,
        **CHAINS,
        **CONDITIONALS,
        ast.Call: call,
        ast.NamedExpr: assignment_expression,
        **COMPREHENSIONS,
    },
    {
        **STATEMENTS,
        **EXCEPTIONS,
        ast.For: for_loop,
        ast.While: while_loop,
        ast.With: with_statement,
    },
    lambda frame, node, value: materialised(frame, node, value).array,
    matrix_product,
    library_call,
)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program, and where in the world its slots are found."""

    function: ir.Function
    paths: tuple[Path, ...]


def _coroutine(function: types.FunctionType) -> KernelError:
    """The error about an async def, at the line that has these words."""
    code = function.__code__
    file, number = place_of_code(code)
    lines = code_digest(code).written
    below = next((i for i, line in enumerate(lines) if line.lstrip().startswith("async")), 0)
    text = lines[below].rstrip("\n") if lines else ""
    return KernelError(
        f"{function.__qualname__} is a coroutine, which cannot be a kernel",
        "Write def.",
        file,
        number + below,
        len(text) - len(text.lstrip()) + 1,
        text,
        len("async def"),
    )


def lower(inputs: Inputs, *, debug: bool = False, parallel: bool = False) -> Lowered:
    """Lower the function that is compiled."""
    code = inputs.function()
    if code.function.__code__.co_flags & _ASYNC:
        raise _coroutine(code.function)
    source = source_tree(code.function)
    lowering = Lowering(inputs, SYNTAX, code.function.__name__, debug=debug)
    lowering.function.parallel = parallel
    frame = Frame(lowering, code, source, {})
    frame.return_results()
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
    try:
        note_checkpoints(frame)
        _body(frame, tree)
    except RecursionError:
        frame.refuse(frame.statement, "this is nested too deeply", "Split it into several.")
    for line in lowering.silent:
        log.warning("%s prints nothing without debug (debug=True, or WHORL_DEBUG=1)", line)
    lowering.function.slots.extend(lowering.slots.values())
    return Lowered(lowering.function, tuple(lowering.slots))


def _body(frame: Frame, tree: ast.FunctionDef) -> None:
    lowering = frame.lowering
    written: ir.Block = []
    with lowering.writing(written):
        has_ended = block(frame, tree.body)
        if not has_ended:
            frame.returns.append(Jump(written, frame.names, Known(None)))
    lowering.emit(ir.Region(frame.leave, written))
    jumps = [
        Jump(jump.block, {"return": resolve(jump.value or Known(None))}) for jump in frame.returns
    ]
    if not jumps:
        return
    result = merge(frame, {}, jumps)["return"]
    at = next((jump.node for jump in reversed(frame.returns) if jump.node is not None), tree)
    if isinstance(result, Unset):
        frame.refuse(at, f"what is returned {result.reason}", result.remedy)
    is_none = isinstance(result, Known) and result.value is None
    if lowering.function.has_checkpoints and not is_none:
        frame.refuse(
            at,
            "a kernel with checkpoints returns its status, and nothing beside it",
            "Write the result into an array that is passed in.",
        )
    try:
        lowering.function.result = _result(frame, at, result)
    except NotPossible as error:
        frame.refuse(at, error.reason, error.remedy)


def _result(frame: Frame, at: ast.AST, operand: Operand) -> ir.Result:
    """The variables that results are left in."""
    match operand:
        case Known(None):
            return None
        case Items(items, cls=cls):
            parts = tuple(_result(frame, at, resolve(item)) for item in items)
            if cls is None:
                return parts
            check_returned(frame, at, cls)
            return ir.NamedResult.of(parts, cls.__module__, cls.__qualname__)
        case Known(value) if isinstance(value, tuple | list):
            return tuple(_result(frame, at, Known(item)) for item in value)
        case ViewOperand(view) if type(view.peek()) is tuple:
            places = (frame.place(view.item(i)) for i in range(view.len()))
            return tuple(_result(frame, at, resolve(place)) for place in places)
        case ArrayOf(array) if array.type.ndim:
            if is_in_kernel(frame, array):
                operand = materialised(frame, at, expression_of(frame, operand), is_result=True)
            return return_array(frame, operand)
        case Vec():
            value = expression_of(frame, operand)
            return return_array(frame, materialised(frame, at, value, is_result=True))
        case Value(ir.Get(local)):
            return local
        case Value() | ArrayOf() | Known() if _is_number(operand):
            expr = number(operand)
            expr = cast(expr, scalar_type(expr))
            local = ir.Local("result", expr.type)
            frame.lowering.emit(ir.Set(local, expr))
            return local
    frame.refuse(
        at,
        f"a kernel returns numbers, arrays, tuples of these or None, not {describe(operand)}",
        "Write other results into an array that is passed in.",
    )


def _is_number(operand: Operand) -> bool:
    """Whether an operand is returned as a number; the member of an enum is more than that."""
    return is_scalar_value(operand.value) if isinstance(operand, Known) else is_scalar(operand)
