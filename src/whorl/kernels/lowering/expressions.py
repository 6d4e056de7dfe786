"""Lowers Python expressions to operands: one function per kind of node, by a table."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from whorl.errors import UnsupportedRead
from whorl.kernels import ir
from whorl.kernels.ir_walk import writes_memory
from whorl.kernels.types import WEAK_BOOL, WEAK_INT, Scalar
from whorl.reads.evaluate import written_defaults
from whorl.reads.implicit_calls import OPERATED, TESTED, checked
from whorl.reads.view import AbsentRead, View
from whorl.signals import pass_on

from . import vectors
from .arithmetic import (
    COMPARISONS,
    NEGATIVE_POWER,
    OPERATORS,
    UNARY,
    ZERO_DIVISION,
    NotPossible,
    binary,
    cast,
    compare,
    truth,
    unary,
)
from .array_expressions import array_binary, elementwise, is_array, turned
from .array_statements import materialised
from .chosen_elements import chooses, chosen
from .frame import Frame, Jump
from .joins import Apart, all_at_once, join, merge, new_variable, settings
from .operands import (
    ArrayOf,
    Closure,
    Elementwise,
    Items,
    Known,
    Named,
    Operand,
    Value,
    Vec,
    ViewOperand,
    describe,
    kind_of,
)
from .run_values import Undecided, decide, is_scalar, number, resolve
from .sharing import copied
from .subscripts import subscript, transposed

__all__ = [
    "EXPRESSIONS",
    "apply",
    "attribute_of",
    "closure",
    "condition",
    "errors_at",
    "expression",
    "index_operands",
    "number_at",
    "operands_of",
    "parts",
    "remedy_for_subclass",
    "resolved",
    "snapshot",
]

UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Dict: ("a dict", "Use arrays, or parameters of their own."),
    ast.Set: ("a set", "Use arrays."),
    ast.ListComp: ("a list comprehension", "Write a loop over an array."),
    ast.SetComp: ("a set comprehension", "Write a loop over an array."),
    ast.DictComp: ("a dict comprehension", "Write a loop over an array."),
    ast.GeneratorExp: ("a generator expression", "Write a loop."),
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
_OF_ARRAYS: Final = "Arrays have .shape, .ndim, .size, .dtype and .T; write loops for the rest."
TRUTH: Final = "a truth value"
_PLAIN: Final = (bool, int, float, str, bytes, tuple, type(None), enum.Enum, np.generic, np.dtype)


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


def _refuse_truth(frame: Frame, node: ast.AST) -> NoReturn:
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
            _refuse_truth(frame, node)
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
    return frame.find(node)


def _tuple(frame: Frame, node: ast.Tuple | ast.List) -> Operand:
    items: list[Operand] = []
    plain = [item.value if isinstance(item, ast.Starred) else item for item in node.elts]
    for item, operand in zip(node.elts, operands_of(frame, plain), strict=True):
        if isinstance(item, ast.Starred):
            items.extend(parts(frame, item, operand))
        else:
            items.append(operand)
    return Items(tuple(items), is_list=isinstance(node, ast.List))


def parts(frame: Frame, node: ast.AST, operand: Operand, limit: int = 4096) -> list[Operand]:
    """The items of something whose length is known now."""
    match operand:
        case Items(items):
            return list(items)
        case Vec():
            return vectors.rows(operand)
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
        case Known(enum.EnumMeta() as value):
            return [Known(member) for member in vars(value)["_member_map_"].values()]
    frame.refuse(
        node,
        f"{describe(operand)} has no length that is known at compile time",
        "Write range(...) to count."
        if is_scalar(operand)
        else "Loop over range(len(...)) and use an index.",
    )


def _attribute(frame: Frame, node: ast.Attribute) -> Operand:
    return attribute_of(frame, node, expression(frame, node.value))


def attribute_of(frame: Frame, node: ast.Attribute, owner: Operand) -> Operand:
    """An attribute of an operand."""
    name = node.attr
    if isinstance(owner, ViewOperand) and isinstance(owner.view.peek(), np.ndarray):
        if name not in ARRAY_ATTRIBUTES:
            return _member(frame, node, owner)
        owner = decide(owner)
    match owner:
        case ViewOperand():
            return _member(frame, node, owner)
        case ArrayOf() | Elementwise() if name in ARRAY_ATTRIBUTES:
            return _array_attribute(frame, owner, name)
        case ArrayOf(view=View() as view):
            return _member(frame, node, frame.place(view))
        case Vec() if name in vectors.ATTRIBUTES:
            return vectors.ATTRIBUTES[name](owner)
        case Known(value) if isinstance(value, _PLAIN) and hasattr(value, name):
            return Known(getattr(value, name))
        case Value() if name in ("real", "imag"):
            return owner if name == "real" else Known(0)
    kind, remedy = describe(owner), ""
    if isinstance(owner, ArrayOf | Elementwise | Vec):
        remedy = _OF_ARRAYS
    elif isinstance(owner, Value):
        remedy = "Convert a number with int(...), float(...), np.float32(...) and the like."
    elif isinstance(owner, Items):
        kind = "a list" if owner.is_list else "a tuple"
        remedy = "It cannot grow or change: write into an array that is passed in."
    frame.refuse(node, f"{kind} has no attribute {name!r} in a kernel", remedy)


def _member(frame: Frame, node: ast.Attribute, owner: ViewOperand) -> Operand:
    try:
        return owner.then(owner.view.attr(node.attr))
    except AbsentRead as absent:
        error = absent.__cause__
    value, remedy, path = owner.view.peek(), "", owner.view.path
    is_there = hasattr(type(value), node.attr)
    if error is not None and (is_there or not isinstance(error, AttributeError)):
        # A property: what it raised says more, and its traceback leads to its line.
        what = f"{path}.{node.attr} raises {type(error).__name__}: {error}"
        place = frame.source.error(node, what)
        if isinstance(error, AttributeError):  # which also says that there is none
            raise place from error
        if str(place) not in getattr(error, "__notes__", ()):
            error.add_note(str(place))
        raise error  # it is the caller's, as it is when the kernel is found
    if isinstance(value, np.ndarray):
        remedy = _OF_ARRAYS
    elif isinstance(value, list | tuple) and node.attr in ARRAY_ATTRIBUTES:
        remedy = "Pass a NumPy array: np.asarray(...)."
    frame.refuse(node, f"{path} is {kind_of(value)} without an attribute {node.attr!r}", remedy)


def _shape(frame: Frame, element: Scalar, extents: tuple[ir.Expr, ...]) -> Operand:
    return Items(tuple(Value(extent) for extent in extents))


def _size(frame: Frame, element: Scalar, extents: tuple[ir.Expr, ...]) -> Operand:
    size: ir.Expr = ir.ONE
    for extent in extents:
        size = extent if size == ir.ONE else ir.Op("mul", WEAK_INT, (size, extent))
    return Value(frame.lowering.keep(size))


_TYPE_ATTRIBUTES: Final[dict[str, Callable[[Frame, Scalar, tuple[ir.Expr, ...]], Operand]]] = {
    "shape": _shape,
    "size": _size,
    "ndim": lambda frame, element, extents: Known(len(extents)),
    "dtype": lambda frame, element, extents: Known(element.dtype),
    "itemsize": lambda frame, element, extents: Known(element.bits // 8),
}
ARRAY_ATTRIBUTES: Final = frozenset((*_TYPE_ATTRIBUTES, "T"))


def _array_attribute(frame: Frame, owner: ArrayOf | Elementwise, name: str) -> Operand:
    """What an array says of itself, and the array with its axes in reverse."""
    if isinstance(owner, ArrayOf):
        if name == "T":
            return ArrayOf(transposed(owner.array))
        array = owner.array
        return _TYPE_ATTRIBUTES[name](frame, array.type.element, array.extents)
    if name == "T":
        return turned(owner)
    return _TYPE_ATTRIBUTES[name](frame, owner.element, owner.extents)


# -- operators --------------------------------------------------------------------------


def _binop(frame: Frame, node: ast.BinOp) -> Operand:
    left, right = operands_of(frame, (node.left, node.right))
    return apply(frame, node, node.op, left, right)


def apply(frame: Frame, node: ast.AST, op: ast.operator, left: Operand, right: Operand) -> Operand:
    """What an operator makes of two operands."""
    left, right = resolve(left), resolve(right)
    if isinstance(left, Known) and isinstance(right, Known):
        return _known_binary(frame, node, op, left.value, right.value)
    if (is_array(left) or is_array(right)) and not isinstance(op, ast.MatMult):
        name, sign, _ = OPERATORS[type(op)]
        try:
            return array_binary(frame, node, name, left, right)
        except NotPossible as error:
            frame.refuse(node, f"`{sign}`: {error.reason}", error.remedy, _origins(left, right))
    if isinstance(left, Items) and isinstance(right, Items) and isinstance(op, ast.Add):
        if left.is_list is not right.is_list:
            frame.refuse(node, "a list and a tuple cannot be added")
        return left.with_items((*left.items, *right.items))
    is_product = isinstance(op, ast.MatMult) and (is_array(left) or is_array(right))
    if (isinstance(left, Vec) or isinstance(right, Vec)) and not is_product:
        return vectors.binary_of(frame, node, op, left, right)
    if is_product:
        return frame.lowering.syntax.product(frame, node, left, right)
    if isinstance(op, ast.MatMult):
        frame.refuse(
            node, f"`@` of {describe(left)} and {describe(right)}",
            "Write the loops, or use small vectors: whorl.vec(...).",
        )  # fmt: skip
    name, sign, _ = OPERATORS[type(op)]
    for side in (left, right):
        if not is_scalar(side):
            frame.refuse(
                node,
                f"`{sign}` of {describe(left)} and {describe(right)}: {describe(side)} "
                "is no number",
                remedy_for(side),
            )
    site = frame.check(node, *_CHECKED[name]) if name in _CHECKED else -1
    try:
        first = number(left)
        if name == "pow":  # it may be used more than once
            first = frame.lowering.keep(first)
        return Value(binary(name, first, number(right), site))
    except NotPossible as error:
        frame.refuse(node, f"`{sign}`: {error.reason}", error.remedy, _origins(left, right))


_CHECKED: Final = {
    "floordiv": ZERO_DIVISION,
    "mod": ZERO_DIVISION,
    "pow": ("ValueError", NEGATIVE_POWER),
}
"""What is checked of an operation under `debug`."""


def _origins(*operands: Operand) -> tuple[str, ...]:
    return tuple(f"{side} is {describe(operand)}" for side, operand in zip(
        ("the left side", "the right side"), operands, strict=False))  # fmt: skip


def _known_binary(frame: Frame, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Operand:
    for side in (left, right):
        if not isinstance(side, _PLAIN):
            frame.refuse(node, f"a {type(side).__name__} is no operand in a kernel")
    try:
        checked((left, right), OPERATED)
        with np.errstate(all="ignore"):
            return Known(OPERATORS[type(op)][2](left, right))
    except Exception as error:
        pass_on(error)
        remedy = remedy_for(Known(left), Known(right))
        frame.refuse(node, f"this raises {type(error).__name__}: {error}", remedy)


def _unaryop(frame: Frame, node: ast.UnaryOp) -> Operand:
    operand = resolved(frame, node.operand)
    name, known = UNARY[type(node.op)]
    if isinstance(operand, Known) and isinstance(operand.value, _PLAIN):
        try:
            checked(operand.value, OPERATED)
            with np.errstate(all="ignore"):
                return Known(known(operand.value))
        except Exception as error:
            pass_on(error)
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if name == "not" and isinstance(operand, Items):
        return Known(not operand.items)
    if isinstance(operand, Vec):
        return vectors.unary_of(frame, name, operand)
    if is_array(operand):
        if name == "not":
            _refuse_truth(frame, node)
        return elementwise(frame, node, partial(unary, name), (operand,))
    return Value(unary(name, number_at(frame, node, operand)))


def _compare(frame: Frame, node: ast.Compare) -> Operand:
    if len(node.ops) == 1:
        left, right = operands_of(frame, (node.left, node.comparators[0]))
        return _compared(frame, node, node.ops[0], left, right)
    # A chain: each side is evaluated once, and the rest only if the first holds.
    left, right = operands_of(frame, (node.left, node.comparators[0]))
    right = snapshot(frame, resolve(right))
    first = _compared(frame, node, node.ops[0], left, right)
    name = f"*{id(node)}"  # no name that a program can have
    frame.names[name] = right
    rest = ast.Compare(ast.Name(name, ast.Load()), node.ops[1:], node.comparators[1:])
    ast.copy_location(rest, node)
    ast.copy_location(rest.left, node)
    try:
        return _short_circuit(frame, node, False, first, rest)
    finally:
        del frame.names[name]


def _compared(frame: Frame, node: ast.AST, op: ast.cmpop, left: Operand, right: Operand) -> Operand:
    if isinstance(op, ast.Is | ast.IsNot):
        return _identical(frame, node, left, right, isinstance(op, ast.IsNot))
    left, right = resolve(left), resolve(right)
    left, right = _class_beside(right, left), _class_beside(left, right)
    if isinstance(op, ast.In | ast.NotIn):
        return _contained(frame, node, left, right, isinstance(op, ast.NotIn))
    name, known = COMPARISONS[type(op)]
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            checked((left.value, right.value), OPERATED)
            with np.errstate(all="ignore"):
                return Known(bool(known(left.value, right.value)))
        except Exception as error:
            pass_on(error)
            what = f"this raises {type(error).__name__}: {error}"
            frame.refuse(node, what, remedy_for(left, right))
    if isinstance(left, Items) and isinstance(right, Items) and name in ("eq", "ne"):
        return _equal_items(frame, node, left, right, name)
    if is_array(left) or is_array(right):
        return elementwise(frame, node, partial(compare, name), (left, right), keeps=False)
    for side, other in ((left, right), (right, left)):
        if not is_scalar(side):
            if isinstance(side, Known) and name in ("eq", "ne") and is_scalar(other):
                return Known(name == "ne")  # a number is never a text, nor None
            what = f"{describe(left)} cannot be compared with {describe(right)}"
            frame.refuse(node, what, remedy_for(side))
    return Value(compare(name, number(left), number(right)))


def _class_beside(dtype: Operand, operand: Operand) -> Operand:
    """A class as a value, where it is compared with a dtype: `x.dtype == np.float32`."""
    if not (isinstance(dtype, Known) and isinstance(dtype.value, np.dtype)):
        return operand
    if isinstance(operand, ViewOperand) and isinstance(operand.view.peek(), type):
        return Known(operand.view.value())
    return operand


def _equal_items(frame: Frame, node: ast.AST, left: Items, right: Items, name: str) -> Operand:
    if len(left.items) != len(right.items) or left.is_list is not right.is_list:
        return Known(name == "ne")
    result: ir.Expr = ir.Const(WEAK_BOOL, True)
    for a, b in zip(left.items, right.items, strict=True):
        is_equal = _compared(frame, node, ast.Eq(), a, b)
        result = ir.Op("and", WEAK_BOOL, (result, cast(number(is_equal), WEAK_BOOL)))
    return Value(unary("not", result) if name == "ne" else result)


def _identical(frame: Frame, node: ast.AST, left: Operand, right: Operand, is_not: bool) -> Operand:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Known) and other.value is None:
            if isinstance(one, ViewOperand):
                return Known(one.view.is_none() is not is_not)
            return Known((isinstance(one, Known) and one.value is None) is not is_not)
    left, right = resolve(left), resolve(right)
    known = [side.value for side in (left, right) if isinstance(side, Known)]
    if len(known) == 2 and any(isinstance(value, bool | enum.Enum) for value in known):
        return Known((known[0] is known[1]) is not is_not)
    here, there = _class(left), _class(right)
    if here is not None and there is not None:
        return Known((here is there) is not is_not)
    frame.refuse(
        node, "`is` is for None, bools, enum members and classes", "Write == to compare numbers."
    )


def _class(operand: Operand) -> type | None:
    """The class that an operand is, read by value; None if it is no class."""
    match operand:
        case Known(type() as value):
            return value
        case ViewOperand(view) if isinstance(view.peek(), type):
            cls: type = view.value()
            return cls
    return None


def _contained(frame: Frame, node: ast.AST, left: Operand, right: Operand, is_not: bool) -> Operand:
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            checked((left.value, right.value), OPERATED)
            with np.errstate(all="ignore"):
                return Known((left.value in right.value) is not is_not)
        except TypeError as error:
            frame.refuse(node, f"this raises {type(error).__name__}: {error}")
    if is_array(left) or is_array(right):
        _refuse_truth(frame, node)
    result: Operand = Known(False)
    for item in parts(frame, node, right):
        is_equal = _compared(frame, node, ast.Eq(), left, item)
        if isinstance(is_equal, Known):
            if is_equal.value:
                return Known(not is_not)
            continue
        assert isinstance(is_equal, Value)
        result = is_equal if isinstance(result, Known) else Value(
            ir.Op("or", WEAK_BOOL, (number(result), is_equal.expr)))  # fmt: skip
    if isinstance(result, Known):
        return Known(is_not)
    return Value(unary("not", number(result))) if is_not else result


def _boolop(frame: Frame, node: ast.BoolOp) -> Operand:
    is_or = isinstance(node.op, ast.Or)
    first, *others = node.values
    rest = others[0] if len(others) == 1 else ast.BoolOp(node.op, others)
    ast.copy_location(rest, others[0])
    return _short_circuit(frame, node, is_or, resolved(frame, first), rest)


def _short_circuit(
    frame: Frame, node: ast.AST, is_or: bool, first: Operand, rest: ast.expr
) -> Operand:
    """`first and rest`, `first or rest`: the rest is only evaluated if need be."""
    if isinstance(first, Known):
        return first if bool(first.value) is is_or else expression(frame, rest)
    if isinstance(first, Items):
        return first if bool(first.items) is is_or else expression(frame, rest)
    left = number_at(frame, node, first, TRUTH)
    written: ir.Block = []
    before, frame.names = frame.names, dict(frame.names)
    with frame.lowering.writing(written):
        second = resolved(frame, rest)
        right = number_at(frame, rest, second, TRUTH)
    are_bools = _kind(left) == "b" and _kind(right) == "b"
    if are_bools and not written and not _differ(frame.names, before):
        return Value(ir.Both(is_or, left, right))
    left = frame.lowering.keep(left)
    test = truth(left)
    blocks: tuple[ir.Block, ir.Block] = ([], written) if is_or else (written, [])
    skipped = blocks[0] if is_or else blocks[1]
    _merge_names(frame, [Jump(skipped, before), Jump(written, frame.names)])
    return _either(frame, test, blocks, (Value(left), Value(right)) if is_or else
                   (Value(right), Value(left)))  # fmt: skip


def _kind(expr: ir.Expr) -> str:
    assert isinstance(expr.type, Scalar)
    return expr.type.kind


def _ifexp(frame: Frame, node: ast.IfExp) -> Operand:
    test = condition(frame, node.test)
    if isinstance(test, Known):
        return expression(frame, node.body if test.value else node.orelse)
    test = frame.lowering.keep(test)
    blocks: tuple[ir.Block, ir.Block] = ([], [])
    sides = []
    before, jumps = frame.names, []
    for block, side in zip(blocks, (node.body, node.orelse), strict=True):
        frame.names = dict(before)
        with frame.lowering.writing(block):
            side_operand = resolved(frame, side)
            if isinstance(side_operand, Elementwise):
                side_operand = snapshot(frame, side_operand)
            sides.append(side_operand)
        jumps.append(Jump(block, frame.names))
    _merge_names(frame, jumps)
    return _either(frame, test, blocks, (sides[0], sides[1]))


def _merge_names(frame: Frame, jumps: list[Jump]) -> None:
    """The names after two branches of an expression, which `:=` may have left different."""
    first, second = jumps
    if _differ(first.names, second.names):
        frame.names = merge(frame, first.names, jumps)


def _differ(left: dict[str, Operand], right: dict[str, Operand]) -> bool:
    return left.keys() != right.keys() or any(left[name] is not right[name] for name in left)


def _either(
    frame: Frame,
    test: ir.Expr,
    blocks: tuple[ir.Block, ir.Block],
    sides: tuple[Operand, Operand],
) -> Operand:
    """One of two operands, by a test of the run."""
    template = join(sides)
    variable = new_variable(template, "either")
    for block, side in zip(blocks, sides, strict=True):
        copied(frame, variable, side, frame.names.values())
        block.extend(all_at_once(settings(variable, side)))
    frame.lowering.emit(ir.If(test, *blocks))
    return variable


# -- the rest ---------------------------------------------------------------------------


def _lambda(frame: Frame, node: ast.Lambda) -> Operand:
    return closure(frame, node)


def closure(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> Closure:
    """A function that is defined here; its defaults are those of this moment."""
    written = written_defaults(node.args)
    defaults = {name: snapshot(frame, expression(frame, value)) for name, value in written.items()}
    return Closure(node, frame, defaults)


def _subscript(frame: Frame, node: ast.Subscript) -> Operand:
    owner, indices = index_operands(frame, node)
    if is_array(owner) and chooses(indices):
        owner = resolve(owner)
        if isinstance(owner, Elementwise):
            owner = materialised(frame, node, owner)
        assert isinstance(owner, ArrayOf)
        return chosen(frame, node, owner.array, indices)
    return subscript(frame, node, owner, indices)


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
    ast.Attribute: _attribute,
    ast.BinOp: _binop,
    ast.BoolOp: _boolop,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.IfExp: _ifexp,
    ast.Lambda: _lambda,
    ast.List: _tuple,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unaryop,
}
