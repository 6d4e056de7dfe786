"""Checks that a program is well formed after each pass.

A kernel of a user never fails here: its errors are raised before. This finds mistakes of the
compiler itself.
"""

from __future__ import annotations

from typing import Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import blocks_of, every_expression, statements_of
from whorl.kernels.types import ArrayType, Scalar

__all__ = ["BrokenProgram", "verify"]

_ADDRESS: Final = Scalar("u", 64)


class BrokenProgram(AssertionError):
    """A pass has left a program that does not hold together."""


def verify(function: ir.Function, after: str) -> None:
    """Check that types fit, that jumps have a target, and that slots exist."""

    def check(holds: bool, what: str, *types: object) -> None:
        if not holds:
            raise BrokenProgram(f"{function.name}, after {after}: {what.format(*types)}")

    slots = set(function.slots)
    for statement in statements_of(function):
        match statement:
            case ir.Set(local, value):
                check(local.type == value.type, "{}: {} := {}", local.name, local.type, value.type)
            case ir.SetElement(element, value):
                check(element.type == value.type, "{}[...] := {}", element.array.path, value.type)
                check(element.array.type.writeable, "{} is read-only", element.array.path)
            case ir.Update(element, old, value=value):
                is_same = element.type == value.type == old.type
                check(is_same, "{} := {}", element.array.path, value.type)
                check(element.array.type.writeable, "{} is read-only", element.array.path)
            case ir.SetComponent(component, value):
                check(component.type == value.type, "component := {}", value.type)
            case ir.SubroutineCall(callee, args, results):
                given = [arg.type for arg in args], [local.type for local in results]
                taken = (
                    [each.type for each in callee.params],
                    [each.type for each in callee.results],
                )
                check(given == taken, f"a call of {callee.name}")
            case ir.ForeignCall(name, address) if address.type != _ADDRESS:
                check(False, f"{name} is called at an address of type {address.type}")
            case ir.Reserve(local, words):
                check(local.type == words.type == _ADDRESS, "words of the stack")
            case ir.If(test=test) | ir.While(test=test):
                check(_is_bool(test), "a test of type {}", test.type)
    for expr in (expr for block in function.blocks for expr in every_expression(block)):
        match expr:
            case ir.Element(array, indices, direct):
                check(len(indices) == array.type.ndim == len(direct), "indices of {}", array.path)
            case ir.SlotUse(slot) | ir.Extent(slot) | ir.Stride(slot):
                check(slot in slots, "no slot {}", slot.path)
                if not isinstance(expr, ir.SlotUse):
                    check(isinstance(slot.type, ArrayType), "{} is no array", slot.path)
    everywhere = [each.label for each in statements_of(function) if isinstance(each, ir.Checkpoint)]
    for label, _ in function.resumed:
        check(everywhere.count(label) == 1, f"{label.words} is resumed, and is not there once")
    for block in function.blocks:
        _check_jumps(block, frozenset(), frozenset(), check)


def _is_bool(expr: ir.Expr) -> bool:
    return isinstance(expr.type, Scalar) and expr.type.kind == "b"


def _check_jumps(block: ir.Block, leave: frozenset[str], loops: frozenset[str], check) -> None:  # type: ignore[no-untyped-def] # a local function
    for statement in block:
        match statement:
            case ir.Leave(label):
                check(label in leave, f"leaving {label}, which is not around")
            case ir.Next(label):
                check(label in loops, f"next iteration of {label}, which is not around")
            case ir.Region(label, body):
                _check_jumps(body, leave | {label}, loops, check)
            case ir.For(label=label, body=body) | ir.While(label=label, body=body):
                _check_jumps(body, leave | {label}, loops | {label}, check)
            case ir.Parallel(body=body):
                _check_jumps(body, frozenset(), frozenset(), check)
            case _:
                for inner in blocks_of(statement):
                    _check_jumps(inner, leave, loops, check)
