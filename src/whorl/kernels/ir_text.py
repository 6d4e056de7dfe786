"""The text of a program for people: what `kernel.inspect("ir")` shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from . import ir

__all__ = ["text_of"]

_SIGNS: Final = {
    "add": "+", "sub": "-", "mul": "*", "fdiv": "/", "floordiv": "//", "mod": "%", "and": "&",
    "or": "|", "xor": "^", "shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "ult": "<u",
}  # fmt: skip


def text_of(function: ir.Function) -> str:
    """The text of a program."""
    names = _LocalNames()
    lines = [f"kernel {function.name}"]
    lines += [f"  option {option}" for option in _options(function)]
    lines += [f"  slot {slot.index}: {slot.type} = {slot.path}" for slot in function.slots]
    lines += [
        f"  site {i}: {site.error or 'print'} at {site.line}"
        for i, site in enumerate(function.sites)
    ]
    for each in function.subroutines:
        params = ", ".join(f"{names(param)}: {param.type}" for param in each.params)
        lines.append(f"  def {each.name}({params}):")
        lines += [f"    {line}" for line in _block(each.body, names)]
        lines.append(f"    return {', '.join(map(names, each.results)) or 'None'}")
    for label, block in function.resumed:
        lines.append(f"  resume {label.words}:")
        lines += [f"    {line}" for line in _block(block, names)]
    lines += [f"  {line}" for line in _block(function.body, names)]
    lines.append(f"  return {_result(function.result, names)}")
    return "\n".join(lines) + "\n"


def _options(function: ir.Function) -> Iterator[str]:
    if function.parallel:
        yield "parallel"
    if function.fastmath:
        yield f"fastmath: {', '.join(function.fastmath)}"


class _LocalNames:
    """A name for each variable: its own, with a number if another has it already."""

    def __init__(self) -> None:
        self._names: dict[ir.Local, str] = {}
        self._taken: dict[str, int] = {}

    def __call__(self, local: ir.Local) -> str:
        text = self._names.get(local)
        if text is None:
            number = self._taken[local.name] = self._taken.get(local.name, 0) + 1
            text = self._names[local] = local.name if number == 1 else f"{local.name}~{number}"
        return text


def _result(result: ir.Result, names: _LocalNames) -> str:
    match result:
        case ir.Local():
            return names(result)
        case int():
            return f"array {result}"
        case ir.Slot(index):
            return f"${index}"
        case tuple():
            return f"({', '.join(_result(part, names) for part in result)})"
    return "None"


def _expr(expr: ir.Expr, names: _LocalNames) -> str:
    match expr:
        case ir.Const(type, value):
            return f"{value}" if type.weak else f"{type}({value})"
        case ir.Get(local):
            return names(local)
        case ir.SlotUse(slot):
            return f"${slot.index}"
        case ir.Extent(slot, axis):
            return f"${slot.index}.shape[{axis}]"
        case ir.Stride(slot, axis):
            return f"${slot.index}.strides[{axis}]"
        case ir.Both(is_or, left, right):
            return f"({_expr(left, names)} {'or' if is_or else 'and'} {_expr(right, names)})"
        case ir.Element(array, indices, direct):
            marks = ("" if known else "?" for known in direct)
            places = (f"{_expr(i, names)}{mark}" for i, mark in zip(indices, marks, strict=True))
            return f"{_expr(array.base, names)}[{', '.join(places)}]"
        case ir.Routine(name):
            return f"@{name}"
        case ir.Component(local, index):
            return f"{names(local)}[{_expr(index, names)}]"
        case ir.Op("cast", type, (inner,)):
            return f"{type}({_expr(inner, names)})"
        case ir.Op(name, _, (left, right)) if name in _SIGNS:
            return f"({_expr(left, names)} {_SIGNS[name]} {_expr(right, names)})"
        case ir.Op(name, _, args):
            return f"{name}({', '.join(_expr(arg, names) for arg in args)})"
    raise AssertionError(expr)


def _block(block: ir.Block, names: _LocalNames) -> Iterator[str]:
    for statement in block:
        yield from _statement(statement, names)
    if not block:
        yield "pass"


def _indented(block: ir.Block, names: _LocalNames) -> Iterator[str]:
    return (f"  {line}" for line in _block(block, names))


def _statement(statement: ir.Stmt, names: _LocalNames) -> Iterator[str]:
    match statement:
        case ir.Set(local, value):
            yield f"{names(local)}: {local.type} = {_expr(value, names)}"
        case ir.SetElement(element, value):
            yield f"{_expr(element, names)} = {_expr(value, names)}"
        case ir.SetComponent(component, value):
            yield f"{_expr(component, names)} = {_expr(value, names)}"
        case ir.Atomic(name, element, value, old):
            yield f"{names(old)} = atomic_{name} {_expr(element, names)}, {_expr(value, names)}"
        case ir.Update(element, old, body, value, is_own):
            how = "own" if is_own else "shared"
            yield f"update {how} {_expr(element, names)}, {names(old)}:"
            yield from _indented(body, names) if body else ()
            yield f"  to {_expr(value, names)}"
        case ir.If(test, then, orelse):
            yield f"if {_expr(test, names)}:"
            yield from _indented(then, names)
            if orelse:
                yield "else:"
                yield from _indented(orelse, names)
        case ir.For(label, local, start, stop, step, body):
            bounds = ", ".join(_expr(bound, names) for bound in (start, stop, step))
            yield f"{label}: for {names(local)} in range({bounds}):"
            yield from _indented(body, names)
        case ir.Parallel(label, local, start, stop, step, body, reductions, guards):
            bounds = ", ".join(_expr(bound, names) for bound in (start, stop, step))
            how = "".join(f", {each.name} {names(each.local)}" for each in reductions)
            yield f"{label}: parallel {names(local)} in range({bounds}){how}:"
            yield from (f"  serial unless {_expr(guard, names)}" for guard in guards)
            yield from _indented(body, names)
        case ir.While(label, before, test, body, is_sure):
            yield f"{label}: {'do while' if is_sure else 'while'}:"
            if before:
                yield from _indented(before, names)
            yield f"  until not {_expr(test, names)}"
            yield from _indented(body, names)
        case ir.Region(label, body):
            yield f"{label}:"
            yield from _indented(body, names)
        case ir.Leave(label):
            yield f"leave {label}"
        case ir.Next(label):
            yield f"next {label}"
        case ir.Raise(site, values):
            yield f"raise site {site} ({', '.join(_expr(value, names) for value in values)})"
        case ir.Allocate(local, size, _, is_zero, result):
            zeros = " of zeros" if is_zero else ""
            zeros += "" if result < 0 else f" for array {result}"
            yield f"{names(local)} = allocate {_expr(size, names)} bytes{zeros}"
        case ir.StackArray(local, memory):
            yield f"{names(local)} = zeros on the stack: {memory.type}"
        case ir.ReturnArray(number, array):
            extents = ", ".join(_expr(extent, names) for extent in array.extents)
            yield f"return array {number} = {_expr(array.base, names)} [{extents}]"
        case ir.Mark(local):
            yield f"{names(local)} = mark"
        case ir.Sweep(since, live):
            but = f" but {', '.join(_expr(each, names) for each in live)}" if live else ""
            yield f"free since {names(since)}{but}"
        case ir.SubroutineCall(callee, args, results):
            given = ", ".join(_expr(arg, names) for arg in args)
            into = f"{', '.join(map(names, results))} = " if results else ""
            yield f"{into}{callee.name}({given})"
        case ir.RoutineCall(name, args, result):
            into = f"{names(result)} = " if result is not None else ""
            yield f"{into}{name}({', '.join(_expr(arg, names) for arg in args)})"
        case ir.ForeignCall() | ir.Reserve():
            yield _of_systems(statement, names)
        case ir.Checkpoint(label, body):
            yield f"checkpoint {label.words}:"
            yield from _indented(body, names)
        case ir.Yield(label, flag):
            yield f"yield {label.words} if {_expr(flag, names)} != 0"
        case ir.Print(site, values):
            yield f"print site {site} ({', '.join(_expr(value, names) for value in values)})"


def _of_systems(statement: ir.ForeignCall | ir.Reserve, names: _LocalNames) -> str:
    """The statements that the systems dialect has beside those of kernels."""
    match statement:
        case ir.Reserve(local, words):
            return f"{names(local)}: {local.type} = stack({_expr(words, names)})"
        case ir.ForeignCall(name, address, args, result):
            given = ", ".join(_expr(arg, names) for arg in args)
            into = f"{names(result)}: {result.type} = " if result is not None else ""
            return f"{into}{name}@{_expr(address, names)}({given})"
