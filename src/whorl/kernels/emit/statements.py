"""A statement of the program in, LLVM's text for it out: one function per kind, by a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whorl.kernels import ir
from whorl.kernels.types import Scalar
from whorl.kernels.walk import every_part
from whorl.launch.launch_record import PRINT

from .checkpoints import checkpoint, yield_
from .counting import CountedLoop, Payment, payment
from .interrupts import spend
from .operations import combined
from .parallel import parallel_loop
from .spelling import llvm_type
from .writer import Writer

__all__ = ["STATEMENTS"]


def _set(writer: Writer, statement: ir.Set) -> None:
    writer.set(statement.local, writer.expr(statement.value))


def _store(writer: Writer, statement: ir.Store) -> None:
    value = writer.expr(statement.value)
    writer.store(statement.element.type, value, writer.address(statement.element))


def _set_component(writer: Writer, statement: ir.SetComponent) -> None:
    value = writer.expr(statement.value)
    component = statement.component
    writer.store(component.type, value, writer.component(component))


def _atomic(writer: Writer, statement: ir.Atomic) -> None:
    kind = statement.element.type
    value = writer.expr(statement.value)
    address = writer.address(statement.element)
    type = llvm_type(kind)
    if writer.atomic:
        prefix = "f" if kind.is_float else "u" if kind.kind == "u" else ""
        name = f"{prefix}{statement.name}" if statement.name != "add" or kind.is_float else "add"
        old = writer.let(f"atomicrmw {name} ptr {address}, {type} {value} monotonic")
        writer.set(statement.old, old)
        return
    old = writer.load(kind, address)
    writer.set(statement.old, old)
    writer.do(f"store {type} {combined(writer, statement.name, kind, old, value)}, ptr {address}")


_AT_ONCE: Final = frozenset(("add", "sub", "and", "or", "xor"))  # as one instruction


def _update(writer: Writer, statement: ir.Update) -> None:
    kind, old = statement.element.type, statement.old
    if statement.is_own or not writer.atomic:
        writer.block(statement.body)
        value = writer.expr(statement.value)
        writer.store(kind, value, writer.address(statement.element))
        return
    address = writer.address(statement.element)
    match statement.value:
        case ir.Op(name, args=(ir.Get(local), right)) if (
            local is old
            and name in _AT_ONCE
            and statement.value.type == kind
            and kind.kind != "b"
            and not statement.body
            and ir.Get(old) not in every_part(right)
        ):
            how = f"f{name}" if kind.is_float else name
            value = f"{llvm_type(kind)} {writer.expr(right)}"
            writer.let(f"atomicrmw {how} ptr {address}, {value} monotonic")
            return
    _exchange(writer, statement, address)


def _exchange(writer: Writer, statement: ir.Update, address: str) -> None:
    """Work out what an element becomes, and do so again if it has changed since it was read."""
    kind = statement.element.type
    type, bits = llvm_type(kind), f"i{kind.bits}"
    seen = writer.alloca(bits, "seen")
    first = writer.let(f"load atomic {bits}, ptr {address} monotonic, align {kind.bits // 8}")
    writer.do(f"store {bits} {first}, ptr {seen}")
    head, again, end = writer.fresh("head"), writer.fresh("again"), writer.fresh("end")
    writer.mark(head)
    before = writer.let(f"load {bits}, ptr {seen}")
    if kind.kind == "b":
        writer.set(statement.old, writer.let(f"icmp ne {bits} {before}, 0"))
    else:
        writer.set(statement.old, writer.let(f"bitcast {bits} {before} to {type}"))
    writer.block(statement.body)
    value = writer.expr(statement.value)
    if kind.kind == "b":
        after = writer.let(f"zext {type} {value} to {bits}")
    else:
        after = writer.let(f"bitcast {type} {value} to {bits}")
    found = writer.let(
        f"cmpxchg ptr {address}, {bits} {before}, {bits} {after} monotonic monotonic"
    )
    writer.branch(writer.let(f"extractvalue {{ {bits}, i1 }} {found}, 1"), end, again)
    writer.lines.append(f"{again}:")
    writer.is_open = True
    now = writer.let(f"extractvalue {{ {bits}, i1 }} {found}, 0")
    writer.do(f"store {bits} {now}, ptr {seen}")
    writer.jump(head)
    writer.lines.append(f"{end}:")
    writer.is_open = True


def _if(writer: Writer, statement: ir.If) -> None:
    then, orelse, end = writer.fresh("then"), writer.fresh("else"), writer.fresh("end")
    writer.branch(writer.expr(statement.test), then, orelse if statement.orelse else end)
    writer.lines.append(f"{then}:")
    writer.is_open = True
    writer.block(statement.then)
    writer.jump(end)
    if statement.orelse:
        writer.lines.append(f"{orelse}:")
        writer.is_open = True
        writer.block(statement.orelse)
        writer.jump(end)
    writer.lines.append(f"{end}:")
    writer.is_open = True


def _for(writer: Writer, statement: ir.For) -> None:
    start, stop, step = map(writer.expr, (statement.start, statement.stop, statement.step))
    paid = Payment.NEVER
    if writer.module.loops.is_long(statement):
        paid = payment(writer, statement.body, statement.local)
    loop = CountedLoop(writer, statement.label, statement.body, paid)
    loop.write((start, stop, step), lambda now: writer.set(statement.local, now))


def _while(writer: Writer, statement: ir.While) -> None:
    head, round_, end = writer.fresh("head"), writer.fresh("round"), writer.fresh("end")
    if statement.is_sure:
        writer.jump(round_)
        writer.lines.append(f"{head}:")
        writer.is_open = True
    else:
        writer.mark(head)
    writer.block(statement.before)
    writer.branch(writer.expr(statement.test), round_, end)
    writer.lines.append(f"{round_}:")
    writer.is_open = True
    spend(writer, str(writer.module.loops.cost(statement.body)))
    writer.targets[statement.label] = (end, head)
    writer.depth += 1
    writer.block(statement.body)
    writer.depth -= 1
    writer.jump(head)
    writer.lines.append(f"{end}:")
    writer.is_open = True


def _scope(writer: Writer, statement: ir.Scope) -> None:
    end = writer.fresh("end")
    writer.targets[statement.label] = (end, end)
    writer.block(statement.body)
    writer.mark(end)


def _leave(writer: Writer, statement: ir.Leave) -> None:
    writer.jump(writer.targets[statement.label][0])


def _next(writer: Writer, statement: ir.Next) -> None:
    writer.jump(writer.targets[statement.label][1])


def _raise(writer: Writer, statement: ir.Raise) -> None:
    writer.fail(statement.site, tuple(map(writer.expr, statement.values)))


def _print(writer: Writer, statement: ir.Print) -> None:
    count = len(statement.values)
    values = writer.alloca(f"[{max(1, count)} x i64]", "print")
    for i, expr in enumerate(statement.values):
        type = expr.type
        assert isinstance(type, Scalar)
        place = writer.let(f"getelementptr inbounds i64, ptr {values}, i64 {i}")
        writer.do(f"store i64 0, ptr {place}")
        writer.store(type, writer.expr(expr), place)
    printer = writer.let(f"load ptr, ptr {writer.word(PRINT)}")
    writer.do(f"call void {printer}(i64 {statement.site}, i64 {count}, ptr {values})")


def _call(writer: Writer, statement: ir.Call) -> None:
    callee = statement.callee
    args = [
        f"{llvm_type(param.type)} {writer.expr(arg)}"
        for param, arg in zip(callee.params, statement.args, strict=True)
    ]
    outs = [f"ptr {writer.place(local)}" for local in statement.results]
    name = writer.module.subroutine(callee, atomic=writer.atomic)
    heads = (f"ptr {writer.record}", f"ptr {writer.state if writer.module.polls else 'null'}")
    writer.do(f"call void @{name}({', '.join((*heads, *args, *outs))})")
    writer.leave_if_failed()


STATEMENTS: Final[dict[type, Callable[[Writer, Any], None]]] = {
    ir.Atomic: _atomic,
    ir.Call: _call,
    ir.Checkpoint: checkpoint,
    ir.For: _for,
    ir.If: _if,
    ir.Leave: _leave,
    ir.Next: _next,
    ir.Parallel: parallel_loop,
    ir.Print: _print,
    ir.Raise: _raise,
    ir.Scope: _scope,
    ir.Set: _set,
    ir.SetComponent: _set_component,
    ir.Store: _store,
    ir.Update: _update,
    ir.While: _while,
    ir.Yield: yield_,
}
