"""Lowers functions of the systems dialect: the syntax of kernels, and what `whorl.systems` adds.

Memory is an array without dimensions at an address, so loads and stores are those of kernels.
Numbers of different types never meet unasked: a literal takes the type of the other side.
"""

from __future__ import annotations

import ast
import types
from functools import partial
from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.function_source import source_tree
from whorl.kernels.ir_walk import sets_of, statements_of
from whorl.kernels.types import F32, F64, POINTER, WEAK_BOOL, WEAK_INT, ArrayType, Scalar
from whorl.reads import Inputs, World
from whorl.reads.view import Recorder
from whorl.systems import (
    CFunction,
    Constants,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    inlining_of,
    load,
    stack,
    store,
    u8,
    u16,
    u32,
    u64,
    upto,
)  # fmt: skip

from .arithmetic import COMPARISONS, cast, constant, scalar_type
from .expressions import expression, number_at, operands_of, resolved
from .followed_calls import arguments_of, call, run_body
from .frame import Frame, Lowering
from .known_calls import Handler, KnownCall
from .loops import count_up, for_loop
from .operands import Known, Operand, Value, ViewOperand, describe
from .operators import apply
from .root import SYNTAX
from .run_values import is_scalar, number
from .statements import STATEMENTS, assign

__all__ = ["lower_entry"]

U64: Final = Scalar("u", 64)
TYPES: Final[dict[type, Scalar]] = {
    **{cls: Scalar("u", cls.bits) for cls in (u8, u16, u32, u64)},
    **{cls: Scalar("i", cls.bits) for cls in (i8, i16, i32, i64)},
    f32: F32,
    f64: F64,
}


class _Lowering(Lowering):
    def inlining(self, function: types.FunctionType) -> str:
        return inlining_of(function)


def lower_entry(function: Any, name: str) -> ir.Function:
    """The program of an entry point and all that it calls: its last subroutine is the entry."""
    inputs = Inputs(Recorder(World(function, {}), by_identity=True))
    lowering = _Lowering(inputs, _SYNTAX, name, debug=False)
    source = source_tree(function)
    frame = Frame(lowering, inputs.function(), source, {})
    assert isinstance(source.tree, ast.FunctionDef)
    params = []
    for argument in source.tree.args.args:
        param = ir.Local(argument.arg, _declared(frame, argument, argument.annotation))
        params.append(param)
        frame.names[argument.arg] = Value(ir.Get(param))
    body: ir.Block = []
    results = []
    with lowering.writing(body):
        returned = run_body(frame, source.tree, frame)
        if not (isinstance(returned, Known) and returned.value is None):
            to = _declared(frame, source.tree, source.tree.returns)
            result = ir.Local("result", to)
            lowering.emit(ir.Set(result, _given(frame, source.tree, returned, to)))
            results.append(result)
    entry = ir.Subroutine(name, tuple(params), body, tuple(results), "entry")
    lowering.function.subroutines.append(entry)
    _check_types(frame, lowering.function)
    return lowering.function


def _declared(frame: Frame, node: ast.AST, annotation: ast.expr | None) -> Scalar:
    """The type that an annotation of an entry point names."""
    found = None if annotation is None else _value(expression(frame, annotation))
    if found not in TYPES:
        frame.refuse(node, "an entry point declares the types of its signature: u64, i32, f64")
    return TYPES[found]


def _check_types(frame: Frame, function: ir.Function) -> None:
    """See that no variable is an int of Python's, whose size nobody has said."""
    for statement in statements_of(function):
        for local in () if isinstance(statement, ir.For) else sets_of(statement):
            if isinstance(local.type, Scalar) and local.type.weak and local.type.kind != "b":
                frame.refuse(frame.source.tree, f"{local.name!r} has no type: write u64(...)")


def _value(operand: Operand) -> Any:
    """What an operand is right now, unless it is a value of the run."""
    match operand:
        case ViewOperand(view):
            return view.peek()
        case Known(value):
            return value
    return None


def _given(frame: Frame, node: ast.AST, operand: Operand, to: Scalar) -> ir.Expr:
    """A number of a type: one that is known takes it, any other has to have it."""
    expr = number_at(frame, node, operand)
    if isinstance(expr, ir.Const):
        return constant(expr.value, to)
    if scalar_type(expr) != to:
        frame.refuse(
            node, f"this is {describe(operand)}, where {to} is needed", f"Write {to}(...)."
        )
    return expr


# -- calls ------------------------------------------------------------------------------


def _call(frame: Frame, node: ast.Call) -> Operand:
    function = _value(expression(frame, node.func))
    handler: Handler | None = None
    if isinstance(function, CFunction):
        handler = partial(_foreign, function)
    elif isinstance(function, type) and function in TYPES:
        handler = partial(_convert, function)
    elif isinstance(function, types.FunctionType):
        handler = _INTRINSICS.get(function)
    if handler is None:
        return call(frame, node)
    return handler(KnownCall(frame, node, *arguments_of(frame, node)))


def _convert(to: type, call: KnownCall) -> Operand:
    (operand,) = call.decided(1)
    if isinstance(operand, Known):
        return Known(TYPES[to].dtype.type(to(operand.value)))
    return Value(cast(call.number(operand), TYPES[to]))


def _memory(call: KnownCall, address: Operand, kind: Scalar) -> ir.Element:
    pointer = ir.Op("pointer", POINTER, (_given(call.frame, call.node, address, U64),))
    array = ir.ArrayRef(ArrayType(kind, 0, "C", True), pointer, (), None, "memory")
    return ir.Element(array, (), ())


def _load(call: KnownCall) -> Operand:
    address, kind = call.positional(2)
    return Value(_memory(call, address, TYPES[_value(kind)]))


def _store(call: KnownCall) -> Operand:
    address, operand = call.decided(2)
    value = call.number(operand)
    kind = scalar_type(value)
    if kind.weak:
        call.refuse("what is stored has no type", "Write u64(...), or another type.")
    call.frame.lowering.emit(ir.SetElement(_memory(call, address, kind), value))
    return Known(None)


def _stack(call: KnownCall) -> Operand:
    (words,) = call.decided(1)
    place = ir.Local("stack", U64)
    size = _given(call.frame, call.node, words, U64)
    call.frame.lowering.emit(ir.Reserve(place, size))
    return Value(ir.Get(place))


def _foreign(function: CFunction[Any], call: KnownCall) -> Operand:
    place, *args = call.decided(1 + len(function.parameters))
    lowering = call.frame.lowering
    if function.word is None:
        address = _given(call.frame, call.node, place, U64)
    else:
        table = apply(call.frame, call.node, ast.Add(), place, Known(8 * function.word))
        address = _memory(call, table, U64)
    given = tuple(
        _given(call.frame, call.node, arg, TYPES[kind])
        for arg, kind in zip(args, function.parameters, strict=True)
    )
    kind = TYPES.get(function.result)
    result = None if kind is None else ir.Local(function.name, kind)
    lowering.emit(ir.ForeignCall(function.name, address, given, result))
    return Known(None) if result is None else Value(ir.Get(result))


_INTRINSICS: Final[dict[Any, Handler]] = {load: _load, stack: _stack, store: _store}


# -- operators, constants, loops --------------------------------------------------------


def _alike(frame: Frame, node: ast.AST, operands: list[Operand]) -> None:
    """Refuse numbers of two types; a literal takes the type of the other side."""
    exprs = [number(each) for each in operands if is_scalar(each)]
    for expr in exprs:
        if scalar_type(expr) == WEAK_INT and not isinstance(expr, ir.Const):
            frame.refuse(node, "this is an int without a type", "Begin with u64(...).")
    if len({kind for kind in map(scalar_type, exprs) if not kind.weak}) > 1:
        both = " and ".join(map(describe, operands))
        frame.refuse(node, f"{both} are of different types", "Convert one of them.")


def _binop(frame: Frame, node: ast.BinOp) -> Operand:
    left, right = operands_of(frame, (node.left, node.right))
    _alike(frame, node, [left, right])
    return apply(frame, node, node.op, left, right)


def _compare(frame: Frame, node: ast.Compare) -> Operand:
    if len(node.ops) > 1:
        frame.refuse(node, "a chain of comparisons", "Write `and` between them.")
    left, right = operands_of(frame, (node.left, node.comparators[0]))
    _alike(frame, node, [left, right])
    if type(node.ops[0]) not in COMPARISONS or not isinstance(left, Value | ViewOperand):
        return SYNTAX.expressions[ast.Compare](frame, node)
    sides = [number_at(frame, node, side) for side in (left, right)]
    kind = next((scalar_type(each) for each in sides if not isinstance(each, ir.Const)), None)
    if kind is None:
        return SYNTAX.expressions[ast.Compare](frame, node)
    name, _ = COMPARISONS[type(node.ops[0])]
    given = (_given(frame, node, side, kind) for side in (left, right))
    return Value(ir.Op(name, WEAK_BOOL, tuple(given)))


def _augassign(frame: Frame, node: ast.AugAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        frame.refuse(node, "only names are changed in place", "Write store(...).")
    read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    left, right = operands_of(frame, (read, node.value))
    _alike(frame, node, [left, right])
    assign(frame, node.target, apply(frame, node, node.op, left, right))
    return False


def _attribute(frame: Frame, node: ast.Attribute) -> Operand:
    owner = expression(frame, node.value)
    constants = owner.view.peek() if isinstance(owner, ViewOperand) else None
    if isinstance(constants, Constants):
        return Known(getattr(constants, node.attr))
    return SYNTAX.expressions[ast.Attribute](frame, node)


def _name(frame: Frame, node: ast.Name) -> Operand:
    operand = frame.find(node)
    value = operand.view.peek() if isinstance(operand, ViewOperand) else None
    if type(value) in TYPES:
        return Known(TYPES[type(value)].dtype.type(value))
    return operand


def _for(frame: Frame, node: ast.For) -> bool:
    if not isinstance(node.iter, ast.Call) or _value(expression(frame, node.iter.func)) is not upto:
        return for_loop(frame, node)
    stop = _given(frame, node.iter, resolved(frame, node.iter.args[0]), U64)
    bounds = (ir.ZERO, cast(frame.lowering.keep(stop), WEAK_INT), ir.ONE)
    return count_up(frame, node, [bounds], lambda counts: Value(cast(counts[0], U64)))


_SYNTAX: Final = replace(
    SYNTAX,
    expressions={
        **SYNTAX.expressions,
        ast.Attribute: _attribute,
        ast.BinOp: _binop,
        ast.Call: _call,
        ast.Compare: _compare,
        ast.Name: _name,
    },
    statements={**STATEMENTS, **SYNTAX.statements, ast.AugAssign: _augassign, ast.For: _for},
)
