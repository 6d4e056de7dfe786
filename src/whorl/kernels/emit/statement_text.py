"""Writes the statements of the program: one function per kind, by a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import every_part
from whorl.kernels.types import Scalar, Type
from whorl.launch.launch_record import PRINT, words_of

from .allocation import allocate, mark, return_array, stack_array, sweep
from .checkpoints import checkpoint, yield_
from .counting import CountedLoop, Payment, payment
from .evaluation import alignment_of, component_address, element_address, routine_address, value_of
from .instructions import combined
from .llvm_types import llvm_type
from .module import Module
from .parallel import parallel_loop
from .polling import spend, state_argument
from .writer import FunctionWriter

__all__ = ["STATEMENTS"]


def _set(writer: FunctionWriter, statement: ir.Set) -> None:
    writer.set(statement.local, value_of(writer, statement.value))


def _store(writer: FunctionWriter, statement: ir.SetElement) -> None:
    value = value_of(writer, statement.value)
    element = statement.element
    note = f", !alias.scope {writer.module.scope(element.scope)}" if element.scope else ""
    writer.store(
        element.type, value, element_address(writer, element), alignment_of(element) + note
    )


def _set_component(writer: FunctionWriter, statement: ir.SetComponent) -> None:
    value = value_of(writer, statement.value)
    component = statement.component
    writer.store(component.type, value, component_address(writer, component))


def _atomic(writer: FunctionWriter, statement: ir.Atomic) -> None:
    kind = statement.element.type
    value = value_of(writer, statement.value)
    address = element_address(writer, statement.element)
    type = llvm_type(kind)
    if kind.is_complex:
        writer.set(statement.old, _by_parts(writer, "fadd", kind, address, value))
        return
    if writer.atomic:
        prefix = "f" if kind.is_float else "u" if kind.kind == "u" else ""
        name = f"{prefix}{statement.name}" if statement.name != "add" or kind.is_float else "add"
        old = writer.let(f"atomicrmw {name} ptr {address}, {type} {value} monotonic")
        writer.set(statement.old, old)
        return
    old = writer.load(kind, address)
    writer.set(statement.old, old)
    writer.do(f"store {type} {combined(writer, statement.name, kind, old, value)}, ptr {address}")


def _by_parts(writer: FunctionWriter, how: str, kind: Scalar, address: str, value: str) -> str:
    """Add to both parts of a complex number, or subtract: each in one step, if there are other
    threads. What they were."""
    type, old = llvm_type(kind.part), []
    places = writer.part_places(kind, address)
    for place, part in zip(places, writer.split(kind, value), strict=True):
        if writer.atomic:
            old.append(writer.let(f"atomicrmw {how} ptr {place}, {type} {part} monotonic"))
            continue
        old.append(writer.load(kind.part, place))
        writer.store(kind.part, writer.let(f"{how} {type} {old[-1]}, {part}"), place)
    return writer.joined(kind, *old)


_AT_ONCE: Final = frozenset(("add", "sub", "and", "or", "xor"))  # as one instruction


def _update(writer: FunctionWriter, statement: ir.Update) -> None:
    kind, old = statement.element.type, statement.old
    if statement.is_own or not writer.atomic:
        writer.block(statement.body)
        value = value_of(writer, statement.value)
        address = element_address(writer, statement.element)
        writer.store(kind, value, address, alignment_of(statement.element))
        return
    address = element_address(writer, statement.element)
    match statement.value:
        case ir.Op(name, args=(ir.Get(local), right)) if (
            local is old
            and name in _AT_ONCE
            and statement.value.type == kind
            and kind.kind != "b"
            and not statement.body
            and ir.Get(old) not in every_part(right)
        ):
            how = f"f{name}" if kind.is_inexact else name
            if kind.is_complex:
                _by_parts(writer, how, kind, address, value_of(writer, right))
                return
            value = f"{llvm_type(kind)} {value_of(writer, right)}"
            writer.let(f"atomicrmw {how} ptr {address}, {value} monotonic")
            return
    _exchange(writer, statement, address)


def _exchange(writer: FunctionWriter, statement: ir.Update, address: str) -> None:
    """Work out what an element becomes, and do so again if it has changed since it was read."""
    kind = statement.element.type
    type, bits = llvm_type(kind), f"i{kind.bits}"
    seen = writer.alloca(bits, "seen")
    first = writer.let(f"load atomic {bits}, ptr {address} monotonic, align {kind.bits // 8}")
    writer.do(f"store {bits} {first}, ptr {seen}")
    head = writer.fresh("head")
    writer.mark(head)
    before = writer.let(f"load {bits}, ptr {seen}")
    if kind.kind == "b":
        writer.set(statement.old, writer.let(f"icmp ne {bits} {before}, 0"))
    else:
        writer.set(statement.old, writer.let(f"bitcast {bits} {before} to {type}"))
    writer.block(statement.body)
    value = value_of(writer, statement.value)
    how = "zext" if kind.kind == "b" else "bitcast"
    after = writer.let(f"{how} {type} {value} to {bits}")
    swap = writer.let(f"cmpxchg ptr {address}, {bits} {before}, {bits} {after} monotonic monotonic")
    is_done = writer.let(f"extractvalue {{ {bits}, i1 }} {swap}, 1")
    with writer.only_if(is_done, "again", holds=False):
        now = writer.let(f"extractvalue {{ {bits}, i1 }} {swap}, 0")
        writer.do(f"store {bits} {now}, ptr {seen}")
        writer.jump(head)


def _if(writer: FunctionWriter, statement: ir.If) -> None:
    then, orelse, end = writer.fresh("then"), writer.fresh("else"), writer.fresh("end")
    test = value_of(writer, statement.test)
    writer.branch(test, then, orelse if statement.orelse else end)
    writer.open(then)
    writer.block(statement.then)
    writer.jump(end)
    if statement.orelse:
        writer.open(orelse)
        writer.block(statement.orelse)
        writer.jump(end)
    writer.open(end)


def _for(writer: FunctionWriter, statement: ir.For) -> None:
    bounds = (statement.start, statement.stop, statement.step)
    start, stop, step = (value_of(writer, bound) for bound in bounds)
    paid = Payment.NEVER
    if writer.module.loops.is_long(statement):
        paid = payment(writer, statement.body, statement.local)
    loop = CountedLoop(writer, statement.label, statement.body, paid, statement.is_rare)
    loop.write((start, stop, step), lambda now: writer.set(statement.local, now))


def _while(writer: FunctionWriter, statement: ir.While) -> None:
    head, body, end = map(writer.fresh, ("head", "body", "end"))
    if statement.is_sure:  # the first iteration runs without the test
        writer.jump(body)
        writer.open(head)
    else:
        writer.mark(head)
    writer.block(statement.before)
    writer.branch(value_of(writer, statement.test), body, end)
    writer.open(body)
    spend(writer, str(writer.module.loops.cost(statement.body)))
    writer.loop_body(statement.label, end, head, statement.body)
    writer.jump(head)
    writer.open(end)


def _scope(writer: FunctionWriter, statement: ir.Region) -> None:
    end = writer.fresh("end")
    writer.targets[statement.label] = (end, end)
    writer.block(statement.body)
    writer.mark(end)


def _leave(writer: FunctionWriter, statement: ir.Leave) -> None:
    writer.jump(writer.targets[statement.label][0])


def _next(writer: FunctionWriter, statement: ir.Next) -> None:
    writer.jump(writer.targets[statement.label][1])


def _raise(writer: FunctionWriter, statement: ir.Raise) -> None:
    writer.fail(statement.site, tuple(_words(writer, statement.values)))


def _words(writer: FunctionWriter, values: Sequence[ir.Expr]) -> list[str]:
    """The words in which numbers are handed to Python: see `launch_errors`."""
    words = []
    for expr in values:
        type = expr.type
        assert isinstance(type, Scalar)
        size = words_of(type)
        place = writer.alloca(f"[{size} x i64]", "value")
        writer.do(f"store [{size} x i64] zeroinitializer, ptr {place}")
        writer.store(type, value_of(writer, expr), place)
        for i in range(size):
            word = writer.let(f"getelementptr inbounds i64, ptr {place}, i64 {i}")
            words.append(writer.let(f"load i64, ptr {word}"))
    return words


def _print(writer: FunctionWriter, statement: ir.Print) -> None:
    words = _words(writer, statement.values)
    count = len(words)
    values = writer.alloca(f"[{max(1, count)} x i64]", "print")
    for i, word in enumerate(words):
        place = writer.let(f"getelementptr inbounds i64, ptr {values}, i64 {i}")
        writer.do(f"store i64 {word}, ptr {place}")
    printer = writer.let(f"load ptr, ptr {writer.word(PRINT)}")
    writer.do(f"call void {printer}(i64 {statement.site}, i64 {count}, ptr {values})")


def _call(writer: FunctionWriter, statement: ir.SubroutineCall) -> None:
    callee = statement.callee
    args = [
        f"{llvm_type(param.type)} {value_of(writer, arg)}"
        for param, arg in zip(callee.params, statement.args, strict=True)
    ]
    outs = [f"ptr {writer.place(local)}" for local in statement.results]
    name = _subroutine(writer.module, callee, atomic=writer.atomic)
    heads = ("ptr %record", state_argument(writer))
    writer.do(f"call void @{name}({', '.join((*heads, *args, *outs))})")
    writer.leave_if_failed()


def _routine_call(writer: FunctionWriter, statement: ir.RoutineCall) -> None:
    args: list[str] = []
    letters = 0
    for expr in statement.args:
        value, type = value_of(writer, expr), llvm_type(expr.type)
        if type != "ptr":
            letters += type == "i8"
            place = writer.alloca(type, "argument")
            writer.do(f"store {type} {value}, ptr {place}")
            value = place
        args.append(f"ptr {value}")
    if statement.result is not None:
        status = writer.alloca("i64", "status")
        writer.do(f"store i64 0, ptr {status}")
        args.append(f"ptr {status}")
    args += ["i64 1"] * letters  # Fortran passes how long texts are, behind everything else
    address = routine_address(writer, statement.name)
    writer.do(f"call void {address}({', '.join(args)})")
    if statement.result is not None:  # of 32 or 64 bits: the lower half says it
        low = writer.let(f"load i32, ptr {status}")
        writer.set(statement.result, writer.let(f"sext i32 {low} to i64"))


def _foreign_call(writer: FunctionWriter, statement: ir.ForeignCall) -> None:
    args = ", ".join(f"{_c_type(arg.type)} {value_of(writer, arg)}" for arg in statement.args)
    address = writer.let(f"inttoptr i64 {value_of(writer, statement.address)} to ptr")
    if statement.result is None:
        writer.do(f"call void {address}({args})")
    else:
        type = statement.result.type
        extended = _c_type(type).removeprefix(llvm_type(type)).strip()
        returned = f"{extended} {llvm_type(type)}".strip()
        writer.set(statement.result, writer.let(f"call {returned} {address}({args})"))


def _c_type(type: Type) -> str:
    """A parameter of C: small integers fill a register."""
    match type:
        case Scalar("u" | "b", 8 | 16):
            return f"{llvm_type(type)} zeroext"
        case Scalar("i", 8 | 16):
            return f"{llvm_type(type)} signext"
    return llvm_type(type)


def _subroutine(module: Module, each: ir.Subroutine, *, atomic: bool) -> str:
    """The function of a subroutine, written when it is first called; its name."""
    name = f"{each.name}_{'shared' if atomic else 'alone'}"
    if not module.begins(name):
        return name
    params = [f"{llvm_type(param.type)} %p{i}" for i, param in enumerate(each.params)]
    outs = [f"ptr %out{i}" for i in range(len(each.results))]
    heads = ("ptr noalias nonnull %record", "ptr noalias %state")
    writer = FunctionWriter(module, name, ", ".join((*heads, *params, *outs)), atomic=atomic)
    writer.load_slots()
    for i, param in enumerate(each.params):
        writer.set(param, f"%p{i}")
    writer.block(each.body)
    if writer.is_open:
        for i, local in enumerate(each.results):
            writer.do(f"store {llvm_type(local.type)} {writer.get(local)}, ptr %out{i}")
    writer.finish()
    return name


STATEMENTS: Final[dict[type, Callable[[FunctionWriter, Any], None]]] = {
    ir.Allocate: allocate,
    ir.Atomic: _atomic,
    ir.SubroutineCall: _call,
    ir.Checkpoint: checkpoint,
    ir.For: _for,
    ir.If: _if,
    ir.Leave: _leave,
    ir.Mark: mark,
    ir.Next: _next,
    ir.Parallel: parallel_loop,
    ir.Print: _print,
    ir.Raise: _raise,
    ir.Region: _scope,
    ir.ReturnArray: return_array,
    ir.RoutineCall: _routine_call,
    ir.ForeignCall: _foreign_call,
    ir.Set: _set,
    ir.SetComponent: _set_component,
    ir.SetElement: _store,
    ir.StackArray: stack_array,
    ir.Sweep: sweep,
    ir.Update: _update,
    ir.While: _while,
    ir.Yield: yield_,
}
