"""Writes the instructions that evaluate an expression, or find the address of an element."""

from __future__ import annotations

from functools import cache, partial

from whorl.kernels import ir
from whorl.kernels.types import ArrayType, VectorType
from whorl.launch.image import PREFIX

from .instructions import checked_index, operation
from .llvm_types import literal, memory_type
from .writer import FunctionWriter

__all__ = ["alignment_of", "component_address", "element_address", "routine_address", "value_of"]


def value_of(writer: FunctionWriter, expr: ir.Expr) -> str:
    """The value of an expression."""
    match expr:
        case ir.Const(type, value):
            return literal(type, value)
        case ir.Get(local):
            return writer.get(local)
        case ir.SlotUse(slot):
            return writer.slot(slot)
        case ir.Extent(slot, axis):
            return writer.slot(slot, 1 + axis)
        case ir.Stride(slot, axis):
            assert isinstance(slot.type, ArrayType)
            return writer.slot(slot, 1 + slot.type.ndim + axis)
        case ir.Both():
            return _both(writer, expr)
        case ir.Element():
            note = f", !noalias {writer.module.scope(expr.scope)}" if expr.scope else ""
            note = alignment_of(expr) + note
            return writer.load(expr.type, element_address(writer, expr), note)
        case ir.Component():
            return writer.load(expr.type, component_address(writer, expr))
        case ir.Routine(name):
            return writer.let(f"ptrtoint ptr {routine_address(writer, name)} to i64")
        case ir.Op():
            return operation(writer, expr, *(value_of(writer, arg) for arg in expr.args))


def alignment_of(element: ir.Element) -> str:
    """What an instruction says where an element may lie at any address, as in packed records."""
    return "" if element.array.type.alignment == "sure" else ", align 1"


def routine_address(writer: FunctionWriter, name: str) -> str:
    """A routine of BLAS or LAPACK, which may be missing: then its address is 0."""
    symbol = f"{PREFIX}{name}"
    writer.module.declare_as(symbol, f"@{symbol} = extern_weak global i8")
    return f"@{symbol}"


def _both(writer: FunctionWriter, expr: ir.Both) -> str:
    """`and`, `or`: the right side is only evaluated if need be."""
    result = writer.alloca("i1", "both")
    writer.do(f"store i1 {value_of(writer, expr.left)}, ptr {result}")
    test = writer.let(f"load i1, ptr {result}")
    with writer.only_if(test, "more", holds=not expr.is_or):
        writer.do(f"store i1 {value_of(writer, expr.right)}, ptr {result}")
    return writer.let(f"load i1, ptr {result}")


def component_address(writer: FunctionWriter, component: ir.Component) -> str:
    """The address of a component of a vector."""
    type = component.local.type
    assert isinstance(type, VectorType)
    index = value_of(writer, component.index)
    place = f"ptr {writer.place(component.local)}, i64 {index}"
    return writer.let(f"getelementptr inbounds {memory_type(type.element)}, {place}")


def element_address(writer: FunctionWriter, element: ir.Element) -> str:
    """The address of an element of an array."""
    array = element.array
    base = value_of(writer, array.base)
    if not element.indices:
        return base

    @cache
    def extent(axis: int) -> str:
        return value_of(writer, array.extents[axis])

    indices = [
        checked_index(
            writer, value_of(writer, index), partial(extent, axis), element.site, axis,
            wraps=not element.direct[axis],
        )
        for axis, index in enumerate(element.indices)
    ]  # fmt: skip
    if array.strides is not None:
        offset = "0"
        for index, stride in zip(indices, array.strides, strict=True):
            part = writer.let(f"mul nsw i64 {index}, {value_of(writer, stride)}")
            offset = part if offset == "0" else writer.let(f"add nsw i64 {offset}, {part}")
        return writer.let(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
    axes = list(range(len(indices)))
    if array.type.layout == "F":
        axes.reverse()
    place = indices[axes[0]]
    for axis in axes[1:]:
        scaled = writer.let(f"mul nsw i64 {place}, {extent(axis)}")
        place = writer.let(f"add nsw i64 {scaled}, {indices[axis]}")
    item = memory_type(array.type.element)
    return writer.let(f"getelementptr inbounds {item}, ptr {base}, i64 {place}")
