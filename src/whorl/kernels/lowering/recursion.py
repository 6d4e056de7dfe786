"""Functions that call themselves: subroutines whose results are known before their bodies are.

The type of the result is found by trying. At first a recursive call is taken not to return: what
the function returns on its other paths, or what its annotation says, is the first guess. The body
is lowered with the guess, and again with a wider one, until it returns what was guessed.

Each call is given where the stack was when the recursion began, and raises RecursionError before
the stack is at its end.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.ir_walk import statements_in
from whorl.kernels.overlap import arithmetic, test
from whorl.kernels.types import WEAK_INT, is_scalar_value

from .frame import Frame, Lowering, UnknownResult
from .joins import (
    Apart,
    Itself,
    OneArray,
    Template,
    all_at_once,
    join,
    new_variable,
    settings,
    template_of,
)
from .operands import ArrayOf, Items, Known, Operand, Value
from .run_values import is_scalar, number, resolve
from .subroutines import NotPassed, passed, tree_name

__all__ = ["call_recursively"]

_TRIES: Final = 8
_STACK: Final = 1 << 20  # bytes that a recursion may use
_ANNOTATE: Final = "Write what it returns as an annotation: def f(n: int) -> int."


@dataclass(slots=True)
class Recursion:
    """A function that calls itself, for arguments of some types."""

    subroutine: ir.Subroutine
    result: Template | None  # None: not known yet
    base: ir.Local  # where the stack was when it began


def call_recursively(
    frame: Frame,
    node: ast.Call,
    names: dict[str, Operand],
    begin: Callable[[dict[str, Operand]], Frame],
    run: Callable[[Frame], Operand],
    declared: Template | None,
) -> Operand:
    """What a call of a function returns that is being lowered already.

    `begin` makes its frame, with names; `run` lowers the body of that.
    """
    lowering = frame.lowering
    args: list[ir.Expr] = []
    params: list[ir.Local] = []
    inside: dict[str, Operand] = {}
    parts: list[Any] = []
    for name, operand in names.items():
        try:
            inside[name], part = passed(_of_run(operand), name, params, args, is_owned=True)
        except NotPassed:
            frame.refuse(
                node,
                f"{ast.unparse(node.func)} calls itself, and its parameter {name!r} is neither a "
                "number nor an array",
                "Pass numbers and arrays, or write a loop.",
            )
        parts.append((name, part))
    function = begin({}).code.function
    key = (function, lowering.parallel_depth > 0, lowering.is_in_prange, *parts)
    recursion = lowering.recursions.get(key)
    if recursion is None:
        tree = begin({}).source.tree
        base = ir.Local("stack", WEAK_INT)
        name = f"{tree_name(tree)}_{len(lowering.recursions)}_again"
        subroutine = ir.Subroutine(name, (*params, base), [], (), is_recursive=True)
        recursion = lowering.recursions[key] = Recursion(subroutine, declared, base)
        lowering.function.subroutines.append(subroutine)
        _lower(frame, node, recursion, lambda: begin(dict(inside)), run)
    if recursion.result is None:
        raise UnknownResult
    result = new_variable(recursion.result, "returned")
    call = ir.SubroutineCall(
        recursion.subroutine, (*args, _stack_base(lowering)), tuple(_locals(result))
    )
    lowering.emit(call)
    return result


def _of_run(operand: Operand) -> Operand:
    """An operand with numbers that are known now as numbers of the run: they differ from call to
    call."""
    operand = resolve(operand)
    match operand:
        case Known(value) if is_scalar_value(value):
            return Value(number(operand))
        case Items(items):
            return operand.with_items(map(_of_run, items))
        case ArrayOf() if is_scalar(operand):
            return Value(number(operand))
    return operand


def _stack_base(lowering: Lowering) -> ir.Expr:
    """Where the stack was when the recursion around began; where it is now, if there is none."""
    if lowering.stack_bases:
        base, depth = lowering.stack_bases[-1]
        if depth == lowering.parallel_depth:
            return ir.Get(base)
    return ir.Op("frame_address", WEAK_INT, ())


def _lower(
    frame: Frame,
    node: ast.Call,
    recursion: Recursion,
    begin: Callable[[], Frame],
    run: Callable[[Frame], Operand],
) -> None:
    """Lower the body until it returns what it was taken to return."""
    lowering = frame.lowering
    for _ in range(_TRIES):
        before = lowering.subroutines.copy(), lowering.recursions.copy()
        count = len(lowering.function.subroutines)
        lowering.stack_bases.append((recursion.base, lowering.parallel_depth))
        outside, lowering.outside = lowering.outside, set()
        try:
            with lowering.writing([]) as body:
                _check_stack(frame, node, recursion.base)
                inner = begin()
                result = run(inner)
                found = _together(frame, node, recursion.result, _result_of(inner, result))
                if found == recursion.result and found is not None:
                    _finish(frame, node, recursion, body, result)
                    return
        finally:
            lowering.outside = outside
            lowering.stack_bases.pop()
        if found is None:
            break
        # What was made with the old guess is made again with the new one.
        recursion.result = found
        lowering.subroutines, lowering.recursions = before
        del lowering.function.subroutines[count:]
    frame.refuse(
        node, f"it is not known what {ast.unparse(node.func)}, which calls itself, returns",
        _ANNOTATE,
    )  # fmt: skip


def _result_of(inner: Frame, result: Operand) -> Template | None:
    """The kind of variable that holds what a function returns; None if it never does."""
    if not inner.returns and inner.has_ended:
        return None
    if isinstance(result, Known) and not is_scalar_value(result.value):
        return Itself(result)
    template = template_of(result)
    if isinstance(template, OneArray):
        return OneArray(template.type, is_owned=True)
    return template


def _together(
    frame: Frame, node: ast.AST, guess: Template | None, found: Template | None
) -> Template | None:
    if guess is None or found is None:
        return found or guess
    try:
        joined = join([new_variable(each, "returned") for each in (guess, found)])
    except Apart as error:
        frame.refuse(node, f"what it returns {error}", error.remedy)
    if isinstance(joined, OneArray):
        return OneArray(joined.type, is_owned=True)
    return joined


def _check_stack(frame: Frame, node: ast.AST, base: ir.Local) -> None:
    """Raise RecursionError where the recursion has used its share of the stack."""
    now = ir.Op("frame_address", WEAK_INT, ())
    used = arithmetic("abs", arithmetic("sub", ir.Get(base), now))
    text = "maximum recursion depth exceeded"
    site = frame.lowering.site("RecursionError", text, frame.line(node))
    is_deep = test("gt", used, ir.Const(WEAK_INT, _STACK))
    frame.lowering.emit(ir.If(is_deep, [ir.Raise(site, ())], []))


def _finish(
    frame: Frame, node: ast.AST, recursion: Recursion, body: ir.Block, result: Operand
) -> None:
    """Let the subroutine set its results, and have its body."""
    assert recursion.result is not None
    if any(isinstance(each, ir.Checkpoint) for each in statements_in(body)):
        frame.refuse(node, "a checkpoint in a function that calls itself", "Write a loop.")
    variable = new_variable(recursion.result, "result")
    try:
        body.extend(all_at_once(settings(variable, result)))
    except Apart as error:
        frame.refuse(node, f"what it returns {error}", error.remedy)
    recursion.subroutine.body = body
    recursion.subroutine.results = tuple(_locals(variable))


def _locals(variable: Operand) -> list[ir.Local]:
    """The variables that an operand consists of."""
    match variable:
        case Value(ir.Get(local)):
            return [local]
        case Items(items):
            return [local for item in items for local in _locals(item)]
        case ArrayOf(array):
            parts = (*array.parts, array.owner)
            return [part.local for part in parts if isinstance(part, ir.Get)]
    return []
