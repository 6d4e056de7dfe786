"""Lowers Python statements: one function per kind, by a table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import numpy as np

from whorl.kernels import ir
from whorl.kernels.overlap import every
from whorl.kernels.small_vectors import swizzle
from whorl.kernels.types import WEAK_INT, Scalar

from . import vectors
from .annotated_types import annotated
from .arithmetic import OPERATORS, cast, compare, scalar_type
from .array_expressions import (
    expression_of,
    is_array,
    raise_if,
    shape_text,
    with_small_extents,
)
from .array_selection import is_selection, set_selection
from .array_statements import emit_update, materialised, set_elements, stored, update_elements
from .data_classes import is_instance
from .deferred_names import deferred
from .expressions import (
    closure,
    condition,
    errors_at,
    expression,
    index_operands,
    number_at,
    parts,
    resolved,
    snapshot,
)
from .frame import Frame, Jump, Loop, UnknownResult, flag_of
from .joins import merge
from .operands import (
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Known,
    Operand,
    Records,
    Unset,
    Value,
    Vec,
    ViewOperand,
    describe,
)
from .operators import apply
from .records import as_records, field_of, fields_of, item_of
from .run_values import decide, is_scalar, resolve
from .sharing import note_change
from .subscripts import array_part, check_writeable, element_of, spread
from .vector_components import vector_size

__all__ = ["STATEMENTS", "assign", "assignment_expression", "block"]

UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Try: ("try", "Check before; what a kernel raises ends its launch."),
    ast.ClassDef: ("a class", "Define it outside of the kernel."),
    ast.Import: ("import", "Import at the top of the module."),
    ast.ImportFrom: ("import", "Import at the top of the module."),
    ast.Global: ("global", "Write into an array, or return the value."),
    ast.Nonlocal: ("nonlocal", "Return the value."),
    ast.Match: ("match", "Write if, elif and else."),
}


def block(frame: Frame, body: list[ast.stmt]) -> bool:
    """Lower statements; whether control never comes to their end."""
    for statement in body:
        frame.at(statement)
        lower = frame.lowering.syntax.statements.get(type(statement))
        if lower is None:
            what, remedy = UNSUPPORTED.get(type(statement), (type(statement).__name__, ""))
            frame.refuse(statement, f"{what} is not supported in a kernel", remedy)
        try:
            with errors_at(frame, statement):
                if lower(frame, statement):
                    return True
        except UnknownResult:
            return True
    return False


# -- assignments ------------------------------------------------------------------------


def _assign(frame: Frame, node: ast.Assign) -> bool:
    is_returned = False
    match node.targets:
        case [ast.Name(name)]:
            is_returned = _is_returned(frame, name)
    with frame.lowering.evaluating(node.value, is_returned=is_returned):
        operand = expression(frame, node.value)
    if len(node.targets) > 1 or not isinstance(node.targets[0], ast.Name | ast.Subscript):
        operand = snapshot(frame, operand)
    match node.targets, operand:
        case [ast.Name(name)], Elementwise():
            operand = deferred(frame, node, name, operand) or operand
    for target in node.targets:
        assign(frame, target, operand)
    return False


def assign(frame: Frame, target: ast.expr, operand: Operand) -> None:
    """Give a name, an element, or several of these a value."""
    match target:
        case ast.Name(name):
            frame.names[name] = named(frame, name, operand)
            if flag_of(name) in frame.names:
                frame.names[flag_of(name)] = Known(True)
        case ast.Tuple(targets) | ast.List(targets):
            _unpack(frame, target, targets, operand)
        case ast.Subscript():
            if not isinstance(operand, Elementwise):
                operand = snapshot(frame, operand)
            operand, owner, indices = index_operands(frame, target, [operand])
            store(frame, target, owner, indices, operand)
        case ast.Attribute():
            part = _part_of_numbers(frame, target)
            if part is not None:
                assign(frame, part, operand)
                return
            owner = expression(frame, target.value)
            if is_instance(owner):
                frame.refuse(
                    target,
                    f"{describe(owner)} is a value, which is made and never changed",
                    "Make another one with the other values.",
                )
            frame.refuse(
                target,
                "attributes of objects are read in a kernel, never written",
                "Return the value, or keep it in an array: x[()] = value for a 0-d array.",
            )
        case _:
            frame.refuse(target, "this cannot be assigned to")


def _part_of_numbers(frame: Frame, target: ast.Attribute) -> ast.Subscript | None:
    """`z.real = x` of an array, as `z.real[...] = x`, and `v.y = x` of a vector, as `v[1] = x`;
    None for other attributes."""
    name, places = target.attr, swizzle(target.attr)
    owner = expression(frame, target.value)
    if as_records(owner) is not None:
        field = ast.copy_location(ast.Constant(name), target)
        return ast.copy_location(ast.Subscript(target.value, field, ast.Store()), target)
    if name not in ("real", "imag", "flat") and places is None:
        return None
    if places is not None and (isinstance(owner, Vec) or is_array(owner)):
        if len(places) > 1:
            frame.refuse(target, "several components are read, and not set", "Set one at a time.")
        if vector_size(frame, target, owner, name) <= places[0]:
            frame.refuse(target, f"{describe(resolve(owner))} has no component {name!r}")
        index = ast.copy_location(ast.Constant(places[0]), target)
        return ast.copy_location(ast.Subscript(target.value, index, ast.Store()), target)
    if places is not None or not is_array(owner):
        return None
    read = ast.copy_location(ast.Attribute(target.value, name, ast.Load()), target)
    every = ast.copy_location(ast.Constant(...), target)
    return ast.copy_location(ast.Subscript(read, every, ast.Store()), target)


def _is_returned(frame: Frame, name: str) -> bool:
    """Whether an array under a name will be returned by the kernel. In a loop each iteration might
    make another one."""
    return name in frame.returned and not frame.loops


def named(frame: Frame, name: str, operand: Operand) -> Operand:
    """An operand under a name: a number of the run is worked out now."""
    match operand:
        case Value(expr):
            return Value(frame.lowering.keep(expr, name))
        case Elementwise():
            is_result = _is_returned(frame, name)
            return materialised(frame, frame.statement, operand, name, is_result=is_result)
        case Iteration(is_list=True):
            return _stored_list(frame, name, operand)
        case Items(items):
            parts = [named(frame, f"{name}.{i}", item) for i, item in enumerate(items)]
            return operand.with_items(parts)
    return operand


def _stored_list(frame: Frame, name: str, operand: Iteration) -> Iteration:
    """A list under a name: its items are worked out now."""
    value = expression_of(frame, operand)
    array = materialised(frame, frame.statement, value, name).array

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        return Value(frame.lowering.keep(ir.Element(array, counts, (True,))))

    return Iteration(operand.words, operand.extents, item, is_list=True)


def _unpack(frame: Frame, node: ast.expr, targets: list[ast.expr], operand: Operand) -> None:
    if is_array(operand) and not any(isinstance(target, ast.Starred) for target in targets):
        items = _rows(frame, node, len(targets), operand)
    else:
        items = parts(frame, node, operand)
    # The numbers of a vector are taken out before one is set; rows of a matrix stay what they are.
    items = [snapshot(frame, item) for item in items]
    starred = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if starred:
        i = starred[0]
        after = len(targets) - i - 1
        if len(items) < len(targets) - 1:
            frame.refuse(node, f"{len(items)} values for {len(targets) - 1} or more names")
        middle = Items(tuple(items[i : len(items) - after]), is_list=True)
        items = [*items[:i], middle, *items[len(items) - after :]]
    elif len(items) != len(targets):
        frame.refuse(node, f"{len(items)} values for {len(targets)} names")
    for target, item in zip(targets, items, strict=True):
        assign(frame, target.value if isinstance(target, ast.Starred) else target, item)


def _rows(frame: Frame, node: ast.expr, count: int, operand: Operand) -> list[Operand]:
    """The numbers or rows of an array that has to have so many."""
    array = stored(frame, node, operand).array
    extent = array.extents[0]
    if isinstance(extent, ir.Const) and extent.value != count:
        frame.refuse(node, f"{extent.value} values for {count} names")
    if not isinstance(extent, ir.Const):
        is_wrong = compare("ne", extent, ir.Const(WEAK_INT, count))
        raise_if(frame, node, is_wrong, "ValueError", f"{{}} values for {count} names", [extent])
    return [array_part(frame, node, array, [Known(index)]) for index in range(count)]


def store(
    frame: Frame, node: ast.Subscript, owner: Operand, indices: list[Any], value: Operand
) -> None:
    """Set an element, a component, or a whole part."""
    if isinstance(owner, ViewOperand) and isinstance(owner.view.peek(), np.ndarray):
        owner = decide(owner)
    value = resolve(value)
    match owner:
        case ArrayOf(array):
            check_writeable(frame, node, array)
            _store_into(frame, node, array, spread(indices), value)
        case Records():
            check_writeable(frame, node, owner.array)
            _set_place(frame, node, item_of(frame, node, owner, indices), value)
        case Vec():
            _check_own(frame, node, owner)
            part = vectors.part_of(frame, node, owner, spread(indices))
            if isinstance(part, Vec):
                vectors.set_all(frame, part, value)
                return
            assert isinstance(part, Value)
            assert isinstance(part.expr, ir.Component)
            number = cast(number_at(frame, node, value), part.type)
            frame.lowering.emit(ir.SetComponent(part.expr, number))
        case _:
            frame.refuse(
                node,
                f"{describe(owner)} has no items that can be set",
                "Use an array, or whorl.vec(...).",
            )


def _check_own(frame: Frame, node: ast.AST, vec: Vec) -> None:
    note_change(frame, node, vec)
    if vec.local in frame.lowering.outside:
        frame.refuse(
            node,
            "a vector from outside of prange is changed inside: all iterations would share it",
            "Copy it inside of the loop, or use an array and atomics.",
        )


def _store_into(
    frame: Frame, node: ast.Subscript, array: ir.ArrayRef, indices: list[Any], value: Operand
) -> None:
    if is_selection(indices):
        set_selection(frame, node, array, indices, value)
        return
    _set_place(frame, node, array_part(frame, node, array, indices), value)


def _set_place(frame: Frame, node: ast.Subscript, part: Operand, value: Operand) -> None:
    """Set what an index has led to: an element, a part of an array, a record."""
    if isinstance(part, Value):
        assert isinstance(part.expr, ir.Element)
        number = cast(number_at(frame, node, value), part.type)
        frame.lowering.emit(ir.SetElement(part.expr, number))
        return
    if isinstance(part, Records):
        _set_record(frame, node, part, value)
        return
    assert isinstance(part, ArrayOf)
    if isinstance(value, Items):
        value = vectors.vector_of(frame, value.items)
    if isinstance(value, Vec) and len(value.shape) == part.array.type.ndim:
        _store_vector(frame, node, part.array, value)
        return
    if not (is_array(value) or is_scalar(value) or isinstance(value, Vec)):
        frame.refuse(node, f"{describe(value)} cannot be stored into {describe(part)}")
    set_elements(frame, frame.statement, part.array, value)


def _set_record(frame: Frame, node: ast.Subscript, records: Records, value: Operand) -> None:
    """Set all fields of a record, or of each of an array, to those of another or of a tuple."""
    names, other = list(fields_of(records)), as_records(value)
    if other is not None and other.dtype.names == records.dtype.names:
        values = [field_of(frame, node, other, name) for name in names]
    elif other is not None or is_array(value) or is_scalar(value):
        frame.refuse(
            node,
            f"{describe(value)} is no record with the fields {', '.join(names)}",
            "Set its fields, or give it a tuple.",
        )
    else:
        values = parts(frame, node, value)
    if len(values) != len(names):
        frame.refuse(node, f"{len(values)} values for the fields {', '.join(names)}")
    values = [snapshot(frame, resolve(each)) for each in values]
    for name, each in zip(names, values, strict=True):
        _set_place(frame, node, field_of(frame, node, records, name), each)


def _store_vector(frame: Frame, node: ast.AST, array: ir.ArrayRef, value: Vec) -> None:
    """Set a small part of an array to a vector of as many dimensions, component by component."""
    array = with_small_extents(frame, array, everywhere=True)
    sizes = zip(array.extents, value.shape, strict=True)
    if any(isinstance(extent, ir.Const) and extent.value != size for extent, size in sizes):
        set_elements(frame, frame.statement, array, value)  # stretched, or an error of the run
        return
    copy = vectors.copy_of(frame, value)
    is_wrong = [
        compare("ne", extent, ir.Const(WEAK_INT, size))
        for extent, size in zip(array.extents, value.shape, strict=True)
        if not isinstance(extent, ir.Const)
    ]
    if is_wrong:
        text = f"{describe(value)} does not fit into shape {shape_text(array.extents)}"
        raise_if(frame, node, every(is_wrong, "or"), "ValueError", text, array.extents)
    for place in product(*map(range, value.shape)):
        indices = [Known(i) for i in place]
        component = vectors.component_of(frame, node, copy, indices)
        element = element_of(frame, node, array, indices)
        frame.lowering.emit(ir.SetElement(element, cast(component, array.type.element)))


def _annassign(frame: Frame, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        operand = annotated(frame, node.annotation, resolved(frame, node.value))
        assign(frame, node.target, operand)
    return False


def assignment_expression(frame: Frame, node: ast.NamedExpr) -> Operand:
    """`(name := value)`."""
    operand = resolved(frame, node.value)
    assign(frame, node.target, operand)
    return frame.names[node.target.id]


def _augassign(frame: Frame, node: ast.AugAssign) -> bool:
    if isinstance(node.target, ast.Attribute):
        part = _part_of_numbers(frame, node.target)
        if part is not None:
            node = ast.copy_location(ast.AugAssign(part, node.op, node.value), node)
    match node.target:
        case ast.Name(name):
            read = ast.copy_location(ast.Name(name, ast.Load()), node.target)
            left = resolved(frame, read)
            if frame.lowering.is_in_prange and isinstance(left, ArrayOf) and is_scalar(left):
                _update(frame, node, ir.Element(left.array, (), ()), f"{name}[()]")
                return False
            right = expression(frame, node.value)
            if isinstance(left, Vec):  # in place, as NumPy: other names of it see the change
                _check_own(frame, node, left)
                vectors.set_all(frame, left, _in_place(frame, node, left, right, name))
                return False
            if isinstance(left, ArrayOf):
                if not is_scalar(left):
                    _change_array(frame, node, left.array, right, name)
                    return False
                element = Value(ir.Element(left.array, (), ()))
                result = _in_place(frame, node, element, right, f"{name}[()]")
                _set_element(frame, node, left, result)
                return False
            if isinstance(left, Items) and left.is_list:
                frame.refuse(node, "a list cannot be changed in a kernel", "Write a = a + [...].")
            frame.names[name] = named(frame, name, apply(frame, node, node.op, left, right))
        case ast.Subscript():
            owner, indices = index_operands(frame, node.target)
            keys = [_snapshot_of_index(frame, index) for index in spread(indices)]
            if is_selection(keys) and is_array(owner):
                _change_selection(frame, node, owner, keys)
                return False
            element_operand = item_of(frame, node.target, owner, keys)
            target = element_operand.expr if isinstance(element_operand, Value) else None
            if frame.lowering.is_in_prange and isinstance(target, ir.Element):
                _update(frame, node, target)
                return False
            read_target = snapshot(frame, element_operand)
            right = expression(frame, node.value)
            if isinstance(read_target, ArrayOf) and not is_scalar(read_target):
                _change_array(frame, node, read_target.array, right, ast.unparse(node.target))
                return False
            if isinstance(read_target, Vec):
                written = ast.unparse(node.target)
                result = _in_place(frame, node, read_target, right, written)
            else:
                result = apply(frame, node, node.op, read_target, right)
            store(frame, node.target, owner, keys, result)
        case _:
            assign(frame, node.target, Known(None))  # which raises the error
    return False


def _update(frame: Frame, node: ast.AugAssign, element: ir.Element, name: str = "") -> None:
    """Change an element that other iterations of prange may change at the same time.

    An array that has a name itself, and no dimensions, keeps its type as NumPy keeps it.
    """
    lowering = frame.lowering
    check_writeable(frame, node, element.array)
    old = ir.Local("old", element.type)
    lowering.emit(ir.Set(old, element))
    left = Value(ir.Get(old))
    right = snapshot(frame, resolved(frame, node.value))
    body: ir.Block = []
    with lowering.writing(body):
        if name:
            result = _in_place(frame, node, left, right, name)
        else:
            result = apply(frame, node, node.op, left, right)
        value = cast(number_at(frame, node, resolve(result)), element.type)
    emit_update(frame, node, ir.Update(element, old, body, value))


def _change_selection(
    frame: Frame, node: ast.AugAssign, owner: Operand, indices: list[Any]
) -> None:
    """Change the elements that a mask or an array of integers selects."""
    owner = resolve(owner)
    assert isinstance(owner, ArrayOf)
    check_writeable(frame, node, owner.array)
    right = snapshot(frame, resolved(frame, node.value))
    into = ast.unparse(node.target)
    set_selection(
        frame,
        node,
        owner.array,
        spread(indices),
        right,
        lambda old, operand: _in_place(frame, node, old, operand, into),
    )


def _change_array(
    frame: Frame, node: ast.AugAssign, array: ir.ArrayRef, right: Operand, into: str
) -> None:
    """Change every element of an array in place."""
    check_writeable(frame, node, array)
    right = resolve(right)
    if not frame.lowering.is_in_prange:
        value = _in_place(frame, node, ArrayOf(array), right, into)
        if isinstance(value, Vec) and len(value.shape) == array.type.ndim:
            _store_vector(frame, node, array, value)
        else:
            set_elements(frame, node, array, value)
        return
    # Other iterations may change the same elements: each is changed on its own.
    update_elements(
        frame, node, array, right, lambda old, operand: _in_place(frame, node, old, operand, into)
    )


def _in_place(
    frame: Frame, node: ast.AugAssign, left: Operand, right: Operand, into: str
) -> Operand:
    """What an operator makes of numbers that keep their type: refused if NumPy would not cast."""
    result = apply(frame, node, node.op, left, right)
    source, to = _element(frame, node, result), _element(frame, node, left)
    if not np.can_cast(source.dtype, to.dtype, "same_kind"):
        instead = ast.unparse(ast.BinOp(node.target, node.op, node.value))
        frame.refuse(
            node,
            f"`{_sign(node.op)}=` in place would put {source} into {to}, as NumPy refuses to",
            f"Make {ast.unparse(node.target)} one of {source}, or write {into} = {instead}.",
        )
    return result


def _element(frame: Frame, node: ast.AST, operand: Operand) -> Scalar:
    if isinstance(operand, Vec | Elementwise):
        return operand.element
    if isinstance(operand, ArrayOf):
        return operand.array.type.element
    return scalar_type(number_at(frame, node, operand))


def _sign(op: ast.operator) -> str:
    return "@" if isinstance(op, ast.MatMult) else OPERATORS[type(op)][1]


def _set_element(frame: Frame, node: ast.AST, owner: ArrayOf, value: Operand) -> None:
    """Set the one element of an array without dimensions."""
    array = owner.array
    check_writeable(frame, node, array)
    number = cast(number_at(frame, node, value), array.type.element)
    frame.lowering.emit(ir.SetElement(ir.Element(array, (), ()), number))


def _snapshot_of_index(frame: Frame, index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(None if side is None else snapshot(frame, side) for side in index)
    return snapshot(frame, index)


# -- control ----------------------------------------------------------------------------


def _if(frame: Frame, node: ast.If) -> bool:
    test = condition(frame, node.test)
    if isinstance(test, Known):
        return block(frame, node.body if test.value else node.orelse)
    before = frame.names
    jumps: list[Jump] = []
    blocks: list[ir.Block] = []
    for body in (node.body, node.orelse):
        frame.names = dict(before)
        written: ir.Block = []
        blocks.append(written)
        with frame.lowering.writing(written):
            if not block(frame, body):
                jumps.append(Jump(written, frame.names))
    frame.lowering.emit(ir.If(test, *blocks))
    frame.names = merge(frame, before, jumps)
    return not jumps


def _return(frame: Frame, node: ast.Return) -> bool:
    operand: Operand = Known(None)
    if node.value is not None:
        is_result = frame.is_result and not frame.loops
        with frame.lowering.evaluating(node.value, is_returned=is_result):
            operand = resolved(frame, node.value)
        if is_result or (frame.caller is None and frame.outer is None):
            operand = _result(frame, node, operand)
        operand = snapshot(frame, operand)
    for loop in frame.loops:
        if loop.is_parallel:
            _refuse_jump(frame, node, "return", loop)
    frame.leave_checkpoint(-1)
    frame.lowering.emit(ir.Leave(frame.leave))
    frame.returns.append(Jump(frame.lowering.block, frame.names, operand, node))
    return True


def _result(frame: Frame, node: ast.Return, operand: Operand) -> Operand:
    """What the kernel itself returns: expressions become new ndarrays."""
    match operand:
        case Elementwise():
            return materialised(frame, node, operand, "result", is_result=True)
        case Items(items):
            return operand.with_items(_result(frame, node, resolve(item)) for item in items)
    return operand


def _refuse_jump(frame: Frame, node: ast.AST, what: str, loop: Loop) -> None:
    if loop.kind == "section":
        frame.refuse(node, f"{what} out of a parallel section", "The others may still run.")
    frame.refuse(node, f"{what} inside of prange", "The iterations run at the same time.")


def _break(frame: Frame, node: ast.Break) -> bool:
    loop = frame.loops[-1]
    if loop.is_parallel:
        _refuse_jump(frame, node, "break", loop)
    frame.leave_checkpoint(len(frame.loops) - 1)
    frame.lowering.emit(ir.Leave(loop.leave))
    loop.breaks.append(Jump(frame.lowering.block, dict(frame.names)))
    return True


def _continue(frame: Frame, node: ast.Continue) -> bool:
    loop = frame.loops[-1]
    if loop.kind == "section":
        _refuse_jump(frame, node, "continue", loop)
    frame.leave_checkpoint(len(frame.loops) - 1)
    frame.lowering.emit(
        ir.Leave(loop.next) if loop.is_unrolled or loop.is_parallel else ir.Next(loop.next)
    )
    loop.continues.append(Jump(frame.lowering.block, dict(frame.names)))
    return True


# -- the rest ---------------------------------------------------------------------------


def _expr(frame: Frame, node: ast.Expr) -> bool:
    if isinstance(node.value, ast.Constant):
        return False
    operand = expression(frame, node.value)
    if isinstance(operand, Value):
        snapshot(frame, operand)
    return False


def _delete(frame: Frame, node: ast.Delete) -> bool:
    for target in node.targets:
        if not isinstance(target, ast.Name):
            frame.refuse(target, "only names can be deleted")
        frame.find(target)  # which has to exist
        frame.names[target.id] = Unset("is deleted before")
    return False


def _functiondef(frame: Frame, node: ast.FunctionDef) -> bool:
    if node.decorator_list:
        frame.refuse(node, "a decorated function inside of a kernel", "Define it outside.")
    frame.names[node.name] = closure(frame, node)
    return False


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Frame, Any], bool]]] = {
    ast.AnnAssign: _annassign,
    ast.Assign: _assign,
    ast.AugAssign: _augassign,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.Expr: _expr,
    ast.FunctionDef: _functiondef,
    ast.If: _if,
    ast.Pass: lambda frame, node: False,
    ast.Return: _return,
}
