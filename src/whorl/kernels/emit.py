"""The typed program in, LLVM's text out.

One function per kernel, which takes the launch record and returns nothing; one more per
parallel loop, which runs a part of its rounds. Variables are stack slots: LLVM turns them into
registers. What each operation becomes is a row of a table.

A parallel loop is cut into parts. Workers take one part after the other, so that uneven rounds
even out. With reductions the number of parts does not depend on the number of threads, and the
parts' results are put together in their order: the result is the same for every number of
threads.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from . import ir
from .record import ENTRY, PARALLEL, PRINT, STATUS, THREADS, offsets
from .types import ArrayType, Pointer, Scalar, Type, VectorType
from .walk import has_atomics, locals_in

__all__ = ["emit"]

PARTS: Final = 64  # of a loop with reductions
SHARE: Final = 8  # parts per thread of one without
INLINED: Final = "#0"  # the attributes of most functions, which `machine` defines
ALONE: Final = "#1"  # of those that LLVM compiles once, however often they are called

INTRINSICS: Final = {
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "exp": "exp", "exp2": "exp2", "log": "log",
    "log2": "log2", "log10": "log10", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "pow": "pow", "copysign": "copysign", "fmin": "minimum", "fmax": "maximum",
}  # fmt: skip
LIBRARY: Final = frozenset((
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1", "log1p", "cbrt", "erf",
    "erfc", "tgamma", "lgamma", "atan2", "hypot",
))  # fmt: skip
COMPARE: Final = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def llvm_type(type: Type) -> str:
    """A type as LLVM calls it, in a register."""
    match type:
        case Scalar("b"):
            return "i1"
        case Scalar("f", bits):
            return "float" if bits == 32 else "double"
        case Scalar(_, bits):
            return f"i{bits}"
        case Pointer():
            return "ptr"
        case VectorType(element):
            return f"[{type.size} x {memory_type(element)}]"
    raise AssertionError(type)


def memory_type(type: Scalar) -> str:
    """A type as it lies in an array."""
    return "i8" if type.kind == "b" else llvm_type(type)


def literal(type: Scalar, value: float) -> str:
    """A number as LLVM writes it."""
    if type.kind == "b":
        return "true" if value else "false"
    if not type.is_float:
        return str(int(value))
    if type.bits == 32 and math.isfinite(value):
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def emit(function: ir.Function) -> str:
    """The text of a program's module."""
    module = _Module(function)
    module.kernel()
    return module.text()


class _Module:
    """The functions of one kernel, and what they need declared."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.slot_words, self.result_word = offsets([slot.type for slot in function.slots])
        self.declared: dict[str, str] = {}
        self.bodies: list[str] = []
        self.names: set[str] = set()
        self.helpers: set[str] = set()

    def declare(self, name: str, result: str, *arguments: str) -> str:
        """A function of another module."""
        attributes = "" if name.startswith("llvm.") else " nounwind willreturn memory(none)"
        self.declared[name] = f"declare {result} @{name}({', '.join(arguments)}){attributes}"
        return name

    def kernel(self) -> None:
        """The function that is launched."""
        writer = _Writer(self, ENTRY, "ptr noalias nonnull %record", "%record", linkage="")
        writer.begin()
        writer.block(self.function.body)
        place = self.result_word
        for local in _results(self.function.result):
            writer.store_word(place, writer.get(local), local.type)
            place += 1
        writer.finish()

    def subroutine(self, each: ir.Subroutine, *, atomic: bool) -> str:
        """The function of a subroutine, written when it is first called; its name."""
        name = f"{each.name}_{'shared' if atomic else 'alone'}"
        if name in self.helpers:
            return name
        self.helpers.add(name)
        params = [f"{llvm_type(param.type)} %p{i}" for i, param in enumerate(each.params)]
        outs = [f"ptr %out{i}" for i in range(len(each.results))]
        arguments = ", ".join(("ptr noalias nonnull %record", *params, *outs))
        writer = _Writer(self, name, arguments, "%record", atomic=atomic)
        writer.begin()
        for i, param in enumerate(each.params):
            writer.set(param, f"%p{i}")
        writer.block(each.body)
        if writer.is_open:
            for i, local in enumerate(each.results):
                writer.do(f"store {llvm_type(local.type)} {writer.get(local)}, ptr %out{i}")
        writer.finish()
        return name

    def text(self) -> str:
        """The module."""
        return "\n".join([*self.declared.values(), *self.bodies, ""])


def _results(result: ir.Result) -> Iterator[ir.Local]:
    match result:
        case ir.Local():
            yield result
        case tuple():
            for part in result:
                yield from _results(part)


class _Writer:
    """One function of LLVM that is being written."""

    def __init__(
        self, module: _Module, name: str, arguments: str, record: str, *,
        linkage: str = "internal ", atomic: bool = True, status: str = "ret void",
        attributes: str = INLINED,
    ) -> None:  # fmt: skip
        self.module = module
        self.name = name
        self.arguments = arguments
        self.record = record
        self.linkage = linkage
        self.atomic = atomic
        self.status = status
        self.attributes = attributes
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.places: dict[ir.Local, str] = {}
        self.slots: dict[tuple[int, int], str] = {}
        self.targets: dict[str, tuple[str, str]] = {}  # label: leave, next
        self.numbers = 0
        self.is_open = True

    # -- text ---------------------------------------------------------------------------

    def fresh(self, name: str = "") -> str:
        """A name that nothing else has."""
        self.numbers += 1
        return f"{name}.{self.numbers}"

    def let(self, text: str) -> str:
        """An instruction with a result."""
        name = "%" + self.fresh("v")
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without one."""
        self.lines.append(f"  {text}")

    def mark(self, label: str) -> None:
        """Begin a basic block."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.is_open = True

    def jump(self, label: str) -> None:
        """End a basic block, if it has not ended."""
        if self.is_open:
            self.do(f"br label %{label}")
        self.is_open = False

    def branch(self, test: str, yes: str, no: str) -> None:
        """End a basic block by a test."""
        self.do(f"br i1 {test}, label %{yes}, label %{no}")
        self.is_open = False

    def alloca(self, type: str, name: str) -> str:
        """A place on the stack."""
        place = f"%{''.join(c if c.isalnum() and c.isascii() else '_' for c in name)}{self.fresh()}"
        self.allocas.append(f"  {place} = alloca {type}")
        return place

    def begin(self) -> None:
        """Slots are read once, at the begin."""
        for slot, first in zip(self.module.function.slots, self.module.slot_words, strict=True):
            if isinstance(slot.type, Scalar):
                self.slots[slot.index, 0] = self.load_word(first, slot.type)
                continue
            pointer = self.let(f"load ptr, ptr {self.word(first)}")
            self.slots[slot.index, 0] = pointer
            for i in range(1, 1 + slot.type.ndim * (1 if slot.type.layout in ("C", "F") else 2)):
                self.slots[slot.index, i] = self.let(f"load i64, ptr {self.word(first + i)}")

    def finish(self) -> None:
        """Add the function to the module."""
        if self.is_open:
            self.do("ret void")
        head = f"define {self.linkage}void @{self.name}({self.arguments}) {self.attributes} {{"
        self.module.bodies.append("\n".join([head, "entry:", *self.allocas, *self.lines, "}"]))

    # -- the record ---------------------------------------------------------------------

    def word(self, number: int) -> str:
        """The address of a word of the record."""
        return self.let(f"getelementptr inbounds i64, ptr {self.record}, i64 {number}")

    def load_word(self, number: int, type: Scalar) -> str:
        """A number from the record."""
        if type.kind == "b":
            found = self.let(f"load i8, ptr {self.word(number)}")
            return self.let(f"icmp ne i8 {found}, 0")
        return self.let(f"load {llvm_type(type)}, ptr {self.word(number)}")

    def store_word(self, number: int, value: str, type: Type) -> None:
        """A number into the record."""
        if isinstance(type, Scalar) and type.kind == "b":
            value = self.let(f"zext i1 {value} to i8")
            self.do(f"store i8 {value}, ptr {self.word(number)}")
            return
        self.do(f"store {llvm_type(type)} {value}, ptr {self.word(number)}")

    # -- variables ----------------------------------------------------------------------

    def place(self, local: ir.Local) -> str:
        """Where a variable is."""
        found = self.places.get(local)
        if found is None:
            found = self.places[local] = self.alloca(llvm_type(local.type), local.name)
        return found

    def get(self, local: ir.Local) -> str:
        """What a variable holds."""
        return self.let(f"load {llvm_type(local.type)}, ptr {self.place(local)}")

    def set(self, local: ir.Local, value: str) -> None:
        """Set a variable."""
        self.do(f"store {llvm_type(local.type)} {value}, ptr {self.place(local)}")

    # -- expressions --------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> str:
        """The value of an expression."""
        match expr:
            case ir.Const(type, value):
                return literal(type, value)
            case ir.Get(local):
                return self.get(local)
            case ir.SlotUse(slot):
                return self.slots[slot.index, 0]
            case ir.Extent(slot, axis):
                return self.slots[slot.index, 1 + axis]
            case ir.Stride(slot, axis):
                assert isinstance(slot.type, ArrayType)
                return self.slots[slot.index, 1 + slot.type.ndim + axis]
            case ir.Both(is_or, left, right):
                return self.both(is_or, left, right)
            case ir.Element():
                return self.load(expr.type, self.address(expr))
            case ir.Component(local, _):
                return self.load(expr.type, self.component(expr))
            case ir.Op():
                return self.op(expr)

    def load(self, type: Scalar, address: str) -> str:
        """A number from memory."""
        found = self.let(f"load {memory_type(type)}, ptr {address}")
        return self.let(f"icmp ne i8 {found}, 0") if type.kind == "b" else found

    def store(self, type: Scalar, value: str, address: str) -> None:
        """A number into memory."""
        if type.kind == "b":
            value = self.let(f"zext i1 {value} to i8")
        self.do(f"store {memory_type(type)} {value}, ptr {address}")

    def both(self, is_or: bool, left: ir.Expr, right: ir.Expr) -> str:
        """`and`, `or`: the right side only if need be."""
        result = self.alloca("i1", "both")
        self.do(f"store i1 {self.expr(left)}, ptr {result}")
        test = self.let(f"load i1, ptr {result}")
        more, end = self.fresh("more"), self.fresh("end")
        self.branch(test, *((end, more) if is_or else (more, end)))
        self.lines.append(f"{more}:")
        self.is_open = True
        self.do(f"store i1 {self.expr(right)}, ptr {result}")
        self.mark(end)
        return self.let(f"load i1, ptr {result}")

    def component(self, component: ir.Component) -> str:
        """Where a component of a vector is."""
        type = component.local.type
        assert isinstance(type, VectorType)
        index = self.expr(component.index)
        element = memory_type(type.element)
        return self.let(
            f"getelementptr inbounds {element}, ptr {self.place(component.local)}, i64 {index}"
        )

    def address(self, element: ir.Element) -> str:
        """Where an element of an array is."""
        array = element.array
        base = self.expr(array.base)
        if not element.indices:
            return base
        extents = [self.expr(extent) for extent in array.extents]
        indices = []
        for axis, (index, extent) in enumerate(zip(element.indices, extents, strict=True)):
            found = asked = self.expr(index)
            if not element.direct[axis]:
                found = self.wrapped(found, extent)
            if element.site >= 0:
                self.check(found, extent, element.site, (asked, str(axis), extent))
            indices.append(found)
        item = memory_type(array.type.element)
        if array.strides is not None:
            offset = "0"
            for index_value, stride in zip(indices, map(self.expr, array.strides), strict=True):
                part = self.let(f"mul nsw i64 {index_value}, {stride}")
                offset = part if offset == "0" else self.let(f"add nsw i64 {offset}, {part}")
            return self.let(f"getelementptr inbounds i8, ptr {base}, i64 {offset}")
        pairs = list(zip(indices, extents, strict=True))
        if array.type.layout == "F":
            pairs.reverse()
        place = pairs[0][0]
        for index_value, extent in pairs[1:]:
            scaled = self.let(f"mul nsw i64 {place}, {extent}")
            place = self.let(f"add nsw i64 {scaled}, {index_value}")
        return self.let(f"getelementptr inbounds {item}, ptr {base}, i64 {place}")

    def wrapped(self, index: str, extent: str) -> str:
        """An index with a negative one counted from the end."""
        if index.lstrip("-").isdigit():
            if not index.startswith("-"):
                return index
            return self.let(f"add i64 {extent}, {index}")
        is_negative = self.let(f"icmp slt i64 {index}, 0")
        from_end = self.let(f"add i64 {index}, {extent}")
        return self.let(f"select i1 {is_negative}, i64 {from_end}, i64 {index}")

    def check(self, index: str, extent: str, site: int, values: tuple[str, ...]) -> None:
        """Fail where an index is out of bounds."""
        inside = self.let(f"icmp ult i64 {index}, {extent}")
        self.fail_unless(inside, site, values)

    def fail_unless(self, test: str, site: int, values: tuple[str, ...]) -> None:
        """Leave the function where a test does not hold."""
        fail, go_on = self.fresh("fail"), self.fresh("ok")
        self.branch(test, go_on, fail)
        self.lines.append(f"{fail}:")
        self.is_open = True
        self.fail(site, values)
        self.lines.append(f"{go_on}:")
        self.is_open = True

    def fail(self, site: int, values: tuple[str, ...]) -> None:
        """Say which site failed, if it is the first, and leave."""
        status = self.word(STATUS)
        first = self.let(f"cmpxchg ptr {status}, i64 0, i64 {site + 1} monotonic monotonic")
        is_first = self.let(f"extractvalue {{ i64, i1 }} {first}, 1")
        say, leave = self.fresh("say"), self.fresh("out")
        self.branch(is_first, say, leave)
        self.lines.append(f"{say}:")
        self.is_open = True
        for i, value in enumerate(values):
            self.do(f"store i64 {value}, ptr {self.word(STATUS + 1 + i)}")
        self.mark(leave)
        self.do(self.status)
        self.is_open = False

    def op(self, op: ir.Op) -> str:
        """The value of an operation."""
        emit_op = OPS.get(op.name)
        args = [self.expr(arg) for arg in op.args]
        if emit_op is not None:
            return emit_op(self, op, *args)
        type = llvm_type(op.type)
        assert isinstance(op.type, Scalar)
        if op.name in INTRINSICS:
            suffix = f"f{op.type.bits}"
            name = self.module.declare(
                f"llvm.{INTRINSICS[op.name]}.{suffix}", type, *[type] * len(args)
            )
        else:
            assert op.name in LIBRARY, op.name
            name = op.name + ("f" if op.type.bits == 32 else "")
            self.module.declare(name, type, *[type] * len(args))
        return self.let(f"call {type} @{name}({', '.join(f'{type} {arg}' for arg in args)})")

    # -- statements ---------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        """Statements in order; what cannot be reached is left out."""
        for statement in block:
            if not self.is_open:
                return
            STATEMENTS[type(statement)](self, statement)

    def set_statement(self, statement: ir.Set) -> None:
        self.set(statement.local, self.expr(statement.value))

    def store_statement(self, statement: ir.Store) -> None:
        value = self.expr(statement.value)
        self.store(statement.element.type, value, self.address(statement.element))

    def set_component(self, statement: ir.SetComponent) -> None:
        value = self.expr(statement.value)
        component = statement.component
        self.store(component.type, value, self.component(component))

    def atomic_statement(self, statement: ir.Atomic) -> None:
        kind = statement.element.type
        value = self.expr(statement.value)
        address = self.address(statement.element)
        type = llvm_type(kind)
        if self.atomic:
            prefix = "f" if kind.is_float else "u" if kind.kind == "u" else ""
            name = (
                f"{prefix}{statement.name}" if statement.name != "add" or kind.is_float else "add"
            )
            old = self.let(f"atomicrmw {name} ptr {address}, {type} {value} monotonic")
            self.set(statement.old, old)
            return
        old = self.load(kind, address)
        self.set(statement.old, old)
        self.do(f"store {type} {combined(self, statement.name, kind, old, value)}, ptr {address}")

    def if_statement(self, statement: ir.If) -> None:
        then, orelse, end = self.fresh("then"), self.fresh("else"), self.fresh("end")
        self.branch(self.expr(statement.test), then, orelse if statement.orelse else end)
        self.lines.append(f"{then}:")
        self.is_open = True
        self.block(statement.then)
        self.jump(end)
        if statement.orelse:
            self.lines.append(f"{orelse}:")
            self.is_open = True
            self.block(statement.orelse)
            self.jump(end)
        self.lines.append(f"{end}:")
        self.is_open = True

    def for_statement(self, statement: ir.For) -> None:
        start, stop, step = map(self.expr, (statement.start, statement.stop, statement.step))
        self.count(statement.label, statement.local, (start, stop, step), statement.body)

    def count(
        self, label: str, local: ir.Local, bounds: tuple[str, str, str], body: ir.Block
    ) -> None:
        """A counted loop."""
        start, stop, step = bounds
        head, round_, next_, end = (self.fresh(n) for n in ("head", "round", "next", "end"))
        counter = self.alloca("i64", "count")
        self.do(f"store i64 {start}, ptr {counter}")
        self.mark(head)
        now = self.let(f"load i64, ptr {counter}")
        self.branch(self.is_inside(now, stop, step), round_, end)
        self.lines.append(f"{round_}:")
        self.is_open = True
        self.set(local, now)
        self.targets[label] = (end, next_)
        self.block(body)
        self.mark(next_)
        self.do(f"store i64 {self.let(f'add nsw i64 {now}, {step}')}, ptr {counter}")
        self.jump(head)
        self.lines.append(f"{end}:")
        self.is_open = True

    def is_inside(self, now: str, stop: str, step: str) -> str:
        """Whether a count has not reached its end."""
        if step.lstrip("-").isdigit():
            return self.let(f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {now}, {stop}")
        below, above = (
            self.let(f"icmp slt i64 {now}, {stop}"),
            self.let(f"icmp sgt i64 {now}, {stop}"),
        )
        up, down = self.let(f"icmp sgt i64 {step}, 0"), self.let(f"icmp slt i64 {step}, 0")
        rising, falling = self.let(f"and i1 {below}, {up}"), self.let(f"and i1 {above}, {down}")
        return self.let(f"or i1 {rising}, {falling}")

    def while_statement(self, statement: ir.While) -> None:
        head, round_, end = self.fresh("head"), self.fresh("round"), self.fresh("end")
        self.mark(head)
        self.block(statement.before)
        self.branch(self.expr(statement.test), round_, end)
        self.lines.append(f"{round_}:")
        self.is_open = True
        self.targets[statement.label] = (end, head)
        self.block(statement.body)
        self.jump(head)
        self.lines.append(f"{end}:")
        self.is_open = True

    def scope_statement(self, statement: ir.Scope) -> None:
        end = self.fresh("end")
        self.targets[statement.label] = (end, end)
        self.block(statement.body)
        self.mark(end)

    def leave_statement(self, statement: ir.Leave) -> None:
        self.jump(self.targets[statement.label][0])

    def next_statement(self, statement: ir.Next) -> None:
        self.jump(self.targets[statement.label][1])

    def raise_statement(self, statement: ir.Raise) -> None:
        self.fail(statement.site, tuple(map(self.expr, statement.values)))

    def print_statement(self, statement: ir.Print) -> None:
        count = len(statement.values)
        values = self.alloca(f"[{max(1, count)} x i64]", "print")
        for i, expr in enumerate(statement.values):
            type = expr.type
            assert isinstance(type, Scalar)
            place = self.let(f"getelementptr inbounds i64, ptr {values}, i64 {i}")
            self.do(f"store i64 0, ptr {place}")
            self.store(type, self.expr(expr), place)
        printer = self.let(f"load ptr, ptr {self.word(PRINT)}")
        self.do(f"call void {printer}(i64 {statement.site}, i64 {count}, ptr {values})")

    def call_statement(self, statement: ir.Call) -> None:
        callee = statement.callee
        args = [
            f"{llvm_type(param.type)} {self.expr(arg)}"
            for param, arg in zip(callee.params, statement.args, strict=True)
        ]
        outs = [f"ptr {self.place(local)}" for local in statement.results]
        name = self.module.subroutine(callee, atomic=self.atomic)
        self.do(f"call void @{name}({', '.join((f'ptr {self.record}', *args, *outs))})")
        self.leave_if_failed()

    # -- parallel loops -----------------------------------------------------------------

    def parallel_statement(self, loop: ir.Parallel) -> None:
        """Cut the rounds into parts, hand them to workers, put the reductions together."""
        start, stop, step = map(self.expr, (loop.start, loop.stop, loop.step))
        count = self.rounds(start, stop, step)
        threads = self.let(f"load i64, ptr {self.word(THREADS)}")
        runtime = self.let(f"load ptr, ptr {self.word(PARALLEL)}")
        most = str(PARTS) if loop.reductions else self.let(f"mul i64 {threads}, {SHARE}")
        parts = self.minimum(most, count)
        shared = locals_in(loop)
        context = _Context(self, loop, shared)
        context.fill(count, parts, start, step)
        part = self.module_function(loop, shared, context, atomic=True)
        alone = part
        if has_atomics(loop.body):
            alone = self.module_function(loop, shared, context, atomic=False)
        worker = self.worker_function(loop, part, context)

        several, one, end = self.fresh("several"), self.fresh("one"), self.fresh("end")
        may = self.let(f"icmp sgt i64 {self.minimum(threads, count)}, 1")
        has_runtime = self.let(f"icmp ne ptr {runtime}, null")
        self.branch(self.let(f"and i1 {may}, {has_runtime}"), several, one)
        self.lines.append(f"{several}:")
        self.is_open = True
        workers = self.let(f"trunc i64 {self.minimum(threads, parts)} to i32")
        self.do(f"call void {runtime}(ptr @{worker}, ptr {context.place}, i32 {workers}, i32 0)")
        self.jump(end)
        self.lines.append(f"{one}:")
        self.is_open = True
        if loop.reductions:
            number = ir.Local("part", Scalar("i", 64, weak=True))
            self.count_parts(
                number, parts, lambda: self.run_part(alone, context, number, count, parts)
            )
        else:
            self.do(f"call void @{alone}(ptr {context.place}, i64 0, i64 {count}, i64 0)")
        self.mark(end)
        for reduction in loop.reductions:
            self.combine(reduction, context, parts)
        self.leave_if_failed()

    def leave_if_failed(self) -> None:
        """Go no further if a part, or a subroutine, has failed."""
        if not self.module.function.sites:
            return
        status = self.let(f"load i64, ptr {self.word(STATUS)}")
        go_on, out = self.fresh("ok"), self.fresh("out")
        self.branch(self.let(f"icmp eq i64 {status}, 0"), go_on, out)
        self.lines.append(f"{out}:")
        self.is_open = True
        self.do(self.status)
        self.lines.append(f"{go_on}:")
        self.is_open = True

    def rounds(self, start: str, stop: str, step: str) -> str:
        """How many rounds there are."""
        if step == "1":
            room = stop if start == "0" else self.let(f"sub i64 {stop}, {start}")
            return self.maximum(room, "0")
        up = self.let(f"icmp sgt i64 {step}, 0")
        forward = self.let(f"sub i64 {stop}, {start}")
        backward = self.let(f"sub i64 {start}, {stop}")
        room = self.let(f"select i1 {up}, i64 {forward}, i64 {backward}")
        size = self.let(f"select i1 {up}, i64 {step}, i64 {self.let(f'sub i64 0, {step}')}")
        is_zero = self.let(f"icmp eq i64 {size}, 0")
        size = self.let(f"select i1 {is_zero}, i64 1, i64 {size}")
        rounded = self.let(f"add i64 {self.maximum(room, '0')}, {self.let(f'sub i64 {size}, 1')}")
        found = self.let(f"sdiv i64 {rounded}, {size}")
        return self.let(f"select i1 {is_zero}, i64 0, i64 {found}")

    def minimum(self, left: str, right: str) -> str:
        """The smaller of two integers."""
        test = self.let(f"icmp slt i64 {left}, {right}")
        return self.let(f"select i1 {test}, i64 {left}, i64 {right}")

    def maximum(self, left: str, right: str) -> str:
        """The larger of two integers."""
        test = self.let(f"icmp sgt i64 {left}, {right}")
        return self.let(f"select i1 {test}, i64 {left}, i64 {right}")

    def count_parts(self, number: ir.Local, parts: str, body: Callable[[], None]) -> None:
        """A loop over part numbers, written by a function."""
        head, round_, end = self.fresh("head"), self.fresh("round"), self.fresh("end")
        self.set(number, "0")
        self.mark(head)
        now = self.get(number)
        self.branch(self.let(f"icmp slt i64 {now}, {parts}"), round_, end)
        self.lines.append(f"{round_}:")
        self.is_open = True
        body()
        self.set(number, self.let(f"add nsw i64 {now}, 1"))
        self.jump(head)
        self.lines.append(f"{end}:")
        self.is_open = True

    def run_part(
        self, part: str, context: _Context, number: ir.Local, count: str, parts: str
    ) -> None:
        """Run the rounds of one part: an even share."""
        now = self.get(number)
        begin = self.let(f"sdiv i64 {self.let(f'mul i64 {now}, {count}')}, {parts}")
        after = self.let(f"add i64 {now}, 1")
        end = self.let(f"sdiv i64 {self.let(f'mul i64 {after}, {count}')}, {parts}")
        self.do(f"call void @{part}(ptr {context.place}, i64 {begin}, i64 {end}, i64 {now})")

    def module_function(
        self, loop: ir.Parallel, shared: list[ir.Local], context: _Context, *, atomic: bool
    ) -> str:
        """The function that runs the rounds of one part; its name."""
        name = f"{loop.label}_{'part' if atomic else 'alone'}"
        writer = _Writer(
            self.module, name, "ptr noalias %context, i64 %begin, i64 %end, i64 %part", "%record",
            atomic=atomic, attributes=ALONE,
        )  # fmt: skip
        writer.lines.append("  %record = load ptr, ptr %context")
        writer.begin()
        inner = context.inside(writer, "%context")
        for local in shared:
            place = inner.shared(local)
            type = llvm_type(local.type)
            writer.do(
                f"store {type} {writer.let(f'load {type}, ptr {place}')}, ptr {writer.place(local)}"
            )
        for reduction in loop.reductions:
            writer.set(reduction.local, neutral(reduction))
        start, step = inner.word(_Context.START), inner.word(_Context.STEP)
        if isinstance(loop.step, ir.Const):
            step = literal(loop.step.type, loop.step.value)
        if isinstance(loop.start, ir.Const):
            start = literal(loop.start.type, loop.start.value)
        index = ir.Local("round", Scalar("i", 64, weak=True))

        head, round_, end = writer.fresh("head"), writer.fresh("round"), writer.fresh("end")
        writer.set(index, "%begin")
        writer.mark(head)
        now = writer.get(index)
        writer.branch(writer.let(f"icmp slt i64 {now}, %end"), round_, end)
        writer.lines.append(f"{round_}:")
        writer.is_open = True
        scaled = now if step == "1" else writer.let(f"mul nsw i64 {now}, {step}")
        writer.set(
            loop.local, scaled if start == "0" else writer.let(f"add nsw i64 {start}, {scaled}")
        )
        writer.block(loop.body)
        if writer.is_open:
            writer.set(index, writer.let(f"add nsw i64 {now}, 1"))
            writer.jump(head)
        writer.lines.append(f"{end}:")
        writer.is_open = True
        for reduction in loop.reductions:
            type = llvm_type(reduction.local.type)
            place = inner.partial(reduction, "%part")
            writer.do(f"store {type} {writer.get(reduction.local)}, ptr {place}")
        writer.finish()
        return name

    def worker_function(self, loop: ir.Parallel, part: str, context: _Context) -> str:
        """The function that each thread runs: parts, as long as there are some."""
        name = f"{loop.label}_worker"
        writer = _Writer(self.module, name, "ptr %context", "%record")
        inner = context.inside(writer, "%context")
        count, parts = inner.word(_Context.COUNT), inner.word(_Context.PARTS)
        number = ir.Local("part", Scalar("i", 64, weak=True))
        head, round_, end = writer.fresh("head"), writer.fresh("round"), writer.fresh("end")
        writer.mark(head)
        ticket = inner.address(_Context.TICKET)
        now = writer.let(f"atomicrmw add ptr {ticket}, i64 1 monotonic")
        writer.branch(writer.let(f"icmp slt i64 {now}, {parts}"), round_, end)
        writer.lines.append(f"{round_}:")
        writer.is_open = True
        writer.set(number, now)
        writer.run_part(part, inner, number, count, parts)
        writer.jump(head)
        writer.lines.append(f"{end}:")
        writer.is_open = True
        writer.finish()
        return name

    def combine(self, reduction: ir.Reduction, context: _Context, parts: str) -> None:
        """Put the results of the parts together, in their order."""
        number = ir.Local("part", Scalar("i", 64, weak=True))
        local = reduction.local
        assert isinstance(local.type, Scalar)
        kind = local.type

        def add() -> None:
            place = context.partial(reduction, self.get(number))
            value = self.let(f"load {llvm_type(kind)}, ptr {place}")
            self.set(local, combined(self, reduction.name, kind, self.get(local), value))

        self.count_parts(number, parts, add)


def neutral(reduction: ir.Reduction) -> str:
    """The number that a part begins with."""
    kind = reduction.local.type
    assert isinstance(kind, Scalar)
    value: float
    if reduction.name in ("add", "mul"):
        value = 0 if reduction.name == "add" else 1
        # minus zero, so that a sum of nothing but minus zeros stays one
        return literal(kind, -0.0 if kind.is_float and value == 0 else value)
    if kind.is_float:
        return literal(kind, math.inf if reduction.name == "min" else -math.inf)
    low, high = (0, 2**kind.bits - 1) if kind.kind == "u" else (
        -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1)  # fmt: skip
    return literal(kind, high if reduction.name == "min" else low)


def combined(writer: _Writer, name: str, kind: Scalar, left: str, right: str) -> str:
    """Two results of a reduction, or an element and what is added to it, as one."""
    type = llvm_type(kind)
    if name in ("add", "mul"):
        return writer.let(f"{'f' if kind.is_float else ''}{name} {type} {left}, {right}")
    sign = "o" if kind.is_float else "u" if kind.kind == "u" else "s"
    compare = "fcmp" if kind.is_float else "icmp"
    test = writer.let(f"{compare} {sign}{'lt' if name == 'min' else 'gt'} {type} {right}, {left}")
    return writer.let(f"select i1 {test}, {type} {right}, {type} {left}")


class _Context:
    """What the parts of a parallel loop share: a block of memory on the caller's stack.

    The record's address, the numbers below, the variables from outside, and one row of results
    per part for each reduction.
    """

    RECORD, COUNT, PARTS, TICKET, START, STEP, FIRST = range(7)

    def __init__(self, writer: _Writer, loop: ir.Parallel, shared: list[ir.Local]) -> None:
        self._writer = writer
        self._offsets: dict[ir.Local, int] = {}
        self._rows: dict[ir.Local, int] = {}
        at = self.FIRST * 8
        for local in shared:
            self._offsets[local] = at
            at += _padded(local.type)
        for reduction in loop.reductions:
            self._rows[reduction.local] = at
            at += 8 * PARTS
        self._shared = shared
        self.place = writer.alloca(f"[{at} x i8], align 64", "context")

    def fill(self, count: str, parts: str, start: str, step: str) -> None:
        """Write everything into it."""
        writer = self._writer
        writer.do(f"store ptr {writer.record}, ptr {self.place}")
        words = ((self.COUNT, count), (self.PARTS, parts), (self.TICKET, "0"))
        for number, value in (*words, (self.START, start), (self.STEP, step)):
            writer.do(f"store i64 {value}, ptr {self.address(number)}")
        for local in self._shared:
            type = llvm_type(local.type)
            value = writer.let(f"load {type}, ptr {writer.place(local)}")
            writer.do(f"store {type} {value}, ptr {self.shared(local)}")

    def inside(self, writer: _Writer, place: str) -> _Context:
        """The same, seen by another function."""
        made = object.__new__(_Context)
        made._writer, made.place = writer, place
        made._offsets, made._rows, made._shared = self._offsets, self._rows, self._shared
        return made

    def address(self, number: int) -> str:
        """Where a number is."""
        return self._at(str(number * 8))

    def word(self, number: int) -> str:
        """A number."""
        return self._writer.let(f"load i64, ptr {self.address(number)}")

    def shared(self, local: ir.Local) -> str:
        """Where a variable from outside is."""
        return self._at(str(self._offsets[local]))

    def partial(self, reduction: ir.Reduction, part: str) -> str:
        """Where the result of a part is."""
        row = self._at(str(self._rows[reduction.local]))
        return self._writer.let(f"getelementptr inbounds i64, ptr {row}, i64 {part}")

    def _at(self, offset: str) -> str:
        return self._writer.let(f"getelementptr inbounds i8, ptr {self.place}, i64 {offset}")


def _padded(type: Type) -> int:
    size = type.size * type.element.bits // 8 if isinstance(type, VectorType) else 8
    return (size + 7) // 8 * 8


STATEMENTS: Final[dict[type, Callable[[_Writer, Any], None]]] = {
    ir.Atomic: _Writer.atomic_statement,
    ir.Call: _Writer.call_statement,
    ir.For: _Writer.for_statement,
    ir.If: _Writer.if_statement,
    ir.Leave: _Writer.leave_statement,
    ir.Next: _Writer.next_statement,
    ir.Parallel: _Writer.parallel_statement,
    ir.Print: _Writer.print_statement,
    ir.Raise: _Writer.raise_statement,
    ir.Scope: _Writer.scope_statement,
    ir.Set: _Writer.set_statement,
    ir.SetComponent: _Writer.set_component,
    ir.Store: _Writer.store_statement,
    ir.While: _Writer.while_statement,
}


# -- operations -------------------------------------------------------------------------


def _scalar(expr: ir.Expr) -> Scalar:
    assert isinstance(expr.type, Scalar)
    return expr.type


def _arithmetic(name: str) -> Callable[..., str]:
    def emit_op(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
        prefix = "f" if isinstance(op.type, Scalar) and op.type.is_float else ""
        return writer.let(f"{prefix}{name} {llvm_type(op.type)} {left}, {right}")

    return emit_op


def _bitwise(name: str) -> Callable[..., str]:
    return lambda writer, op, left, right: writer.let(
        f"{name} {llvm_type(op.type)} {left}, {right}"
    )


def _compare(name: str) -> Callable[..., str]:
    def emit_op(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
        kind = _scalar(op.args[0])
        if kind.is_float:
            test = f"fcmp {'une' if name == 'ne' else 'o' + name}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if kind.kind == "i" else "u"
            test = f"icmp {sign}{name}"
        return writer.let(f"{test} {llvm_type(kind)} {left}, {right}")

    return emit_op


def _cast(writer: _Writer, op: ir.Op, value: str) -> str:
    source, to = _scalar(op.args[0]), _scalar(op)
    a, b = llvm_type(source), llvm_type(to)
    if to.kind == "b":
        if source.kind == "b":
            return value
        test = "fcmp une" if source.is_float else "icmp ne"
        return writer.let(f"{test} {a} {value}, {literal(source, 0)}")
    if source.is_float and to.is_float:
        if a == b:
            return value
        return writer.let(f"{'fpext' if source.bits < to.bits else 'fptrunc'} {a} {value} to {b}")
    if to.is_float:
        return writer.let(f"{'sitofp' if source.kind == 'i' else 'uitofp'} {a} {value} to {b}")
    if source.is_float:
        return _float_to_int(writer, source, to, value)
    if a == b:
        return value
    if source.bits > to.bits and source.kind != "b":
        return writer.let(f"trunc {a} {value} to {b}")
    return writer.let(f"{'sext' if source.kind == 'i' else 'zext'} {a} {value} to {b}")


def _float_to_int(writer: _Writer, source: Scalar, to: Scalar, value: str) -> str:
    """Cut off towards zero; what does not fit is some number, but the same one everywhere."""
    a, b = llvm_type(source), llvm_type(to)

    def frozen(text: str, type: str) -> str:
        return writer.let(f"freeze {type} {writer.let(text)}")

    if to.kind == "u" and to.bits == 64:
        signed = frozen(f"fptosi {a} {value} to i64", "i64")
        unsigned = frozen(f"fptoui {a} {value} to i64", "i64")
        test = writer.let(f"fcmp olt {a} {value}, {literal(source, 2.0**63)}")
        return writer.let(f"select i1 {test}, i64 {signed}, i64 {unsigned}")
    if to.bits < 32 or to.kind == "u":
        wide = frozen(f"fptosi {a} {value} to i64", "i64")
        return writer.let(f"trunc i64 {wide} to {b}")
    return frozen(f"fptosi {a} {value} to {b}", b)


def _floordiv(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
    return _divided(writer, op, left, right)[0]


def _mod(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
    return _divided(writer, op, left, right)[1]


def _divided(writer: _Writer, op: ir.Op, left: str, right: str) -> tuple[str, str]:
    """Quotient and remainder as Python has them: rounded down, with the divisor's sign."""
    kind = _scalar(op)
    type = llvm_type(kind)
    let = writer.let
    if kind.is_float:
        return _divided_floats(writer, kind, left, right)
    if op.site >= 0:
        writer.fail_unless(let(f"icmp ne {type} {right}, 0"), op.site, ())
    is_known = right.lstrip("-").isdigit() and right not in ("0", "-1")
    if kind.kind == "u":
        divisor = right
        if not is_known:
            is_zero = let(f"icmp eq {type} {right}, 0")
            divisor = let(f"select i1 {is_zero}, {type} 1, {type} {right}")
        quotient = let(f"udiv {type} {left}, {divisor}")
        rest = let(f"urem {type} {left}, {divisor}")
        if not is_known:
            quotient = let(f"select i1 {is_zero}, {type} 0, {type} {quotient}")
            rest = let(f"select i1 {is_zero}, {type} 0, {type} {rest}")
        return quotient, rest
    divisor = right
    if not is_known:
        # Division by zero is 0 as in NumPy, and the lowest number by -1 wraps: never a trap.
        is_zero = let(f"icmp eq {type} {right}, 0")
        is_minus = let(f"icmp eq {type} {right}, -1")
        is_odd = let(f"or i1 {is_zero}, {is_minus}")
        divisor = let(f"select i1 {is_odd}, {type} 1, {type} {right}")
    cut = let(f"sdiv {type} {left}, {divisor}")
    over = let(f"srem {type} {left}, {divisor}")
    has_rest = let(f"icmp ne {type} {over}, 0")
    is_across = let(f"icmp slt {type} {let(f'xor {type} {over}, {divisor}')}, 0")
    is_off = let(f"and i1 {has_rest}, {is_across}")
    quotient = let(f"select i1 {is_off}, {type} {let(f'sub {type} {cut}, 1')}, {type} {cut}")
    rest = let(f"select i1 {is_off}, {type} {let(f'add {type} {over}, {divisor}')}, {type} {over}")
    if not is_known:
        turned = let(f"sub {type} 0, {left}")
        quotient = let(f"select i1 {is_minus}, {type} {turned}, {type} {quotient}")
        quotient = let(f"select i1 {is_zero}, {type} 0, {type} {quotient}")
        rest = let(f"select i1 {is_odd}, {type} 0, {type} {rest}")
    return quotient, rest


def _divided_floats(writer: _Writer, kind: Scalar, left: str, right: str) -> tuple[str, str]:
    type, let = llvm_type(kind), writer.let
    zero = literal(kind, 0.0)
    copysign = writer.module.declare(f"llvm.copysign.f{kind.bits}", type, type, type)
    floor = writer.module.declare(f"llvm.floor.f{kind.bits}", type, type)
    over = let(f"frem {type} {left}, {right}")
    cut = let(f"fdiv {type} {let(f'fsub {type} {left}, {over}')}, {right}")
    has_rest = let(f"fcmp une {type} {over}, {zero}")
    signs = [let(f"fcmp olt {type} {value}, {zero}") for value in (right, over)]
    differ = let(f"xor i1 {signs[0]}, {signs[1]}")
    is_off = let(f"and i1 {has_rest}, {differ}")
    moved = let(f"select i1 {is_off}, {type} {let(f'fadd {type} {over}, {right}')}, {type} {over}")
    signed_zero = let(f"call {type} @{copysign}({type} {zero}, {type} {right})")
    rest = let(f"select i1 {has_rest}, {type} {moved}, {type} {signed_zero}")
    lower = let(f"fsub {type} {cut}, {literal(kind, 1.0)}")
    cut = let(f"select i1 {is_off}, {type} {lower}, {type} {cut}")
    down = let(f"call {type} @{floor}({type} {cut})")
    far = let(f"fcmp ogt {type} {let(f'fsub {type} {cut}, {down}')}, {literal(kind, 0.5)}")
    up = let(f"fadd {type} {down}, {literal(kind, 1.0)}")
    near = let(f"select i1 {far}, {type} {up}, {type} {down}")
    plain = let(f"fdiv {type} {left}, {right}")
    small = let(f"call {type} @{copysign}({type} {zero}, {type} {plain})")
    is_zero = let(f"fcmp oeq {type} {cut}, {zero}")
    quotient = let(f"select i1 {is_zero}, {type} {small}, {type} {near}")
    by_zero = let(f"fcmp oeq {type} {right}, {zero}")
    return let(f"select i1 {by_zero}, {type} {plain}, {type} {quotient}"), rest


def _shift(name: str) -> Callable[..., str]:
    def emit_op(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
        kind = _scalar(op)
        type, let = llvm_type(kind), writer.let
        is_small = let(f"icmp ult {type} {right}, {kind.bits}")
        safe = let(f"select i1 {is_small}, {type} {right}, {type} 0")
        if name == "shl":
            shifted = let(f"shl {type} {left}, {safe}")
            return let(f"select i1 {is_small}, {type} {shifted}, {type} 0")
        if kind.kind == "u":
            shifted = let(f"lshr {type} {left}, {safe}")
            return let(f"select i1 {is_small}, {type} {shifted}, {type} 0")
        most = let(f"select i1 {is_small}, {type} {right}, {type} {kind.bits - 1}")
        return let(f"ashr {type} {left}, {most}")

    return emit_op


def _extreme(name: str) -> Callable[..., str]:
    def emit_op(writer: _Writer, op: ir.Op, left: str, right: str) -> str:
        return combined(writer, name, _scalar(op), left, right)

    return emit_op


def _absolute(writer: _Writer, op: ir.Op, value: str) -> str:
    kind = _scalar(op)
    type = llvm_type(kind)
    if kind.is_float:
        name = writer.module.declare(f"llvm.fabs.f{kind.bits}", type, type)
        return writer.let(f"call {type} @{name}({type} {value})")
    name = writer.module.declare(f"llvm.abs.i{kind.bits}", type, type, "i1")
    return writer.let(f"call {type} @{name}({type} {value}, i1 false)")


def _magnitude(writer: _Writer, kind: Scalar, value: str) -> str:
    type = llvm_type(kind)
    name = writer.module.declare(f"llvm.fabs.f{kind.bits}", type, type)
    return writer.let(f"call {type} @{name}({type} {value})")


def _class_test(test: str) -> Callable[..., str]:
    def emit_op(writer: _Writer, op: ir.Op, value: str) -> str:
        kind = _scalar(op.args[0])
        type = llvm_type(kind)
        if test == "uno":
            return writer.let(f"fcmp uno {type} {value}, {value}")
        size = _magnitude(writer, kind, value)
        return writer.let(f"fcmp {test} {type} {size}, {literal(kind, math.inf)}")

    return emit_op


def _negative(writer: _Writer, op: ir.Op, value: str) -> str:
    type = llvm_type(op.type)
    if isinstance(op.type, Scalar) and op.type.is_float:
        return writer.let(f"fneg {type} {value}")
    return writer.let(f"sub {type} 0, {value}")


def _select(writer: _Writer, op: ir.Op, test: str, left: str, right: str) -> str:
    type = llvm_type(op.type)
    return writer.let(f"select i1 {test}, {type} {left}, {type} {right}")


def _offset(writer: _Writer, op: ir.Op, base: str, bytes_: str) -> str:
    return writer.let(f"getelementptr inbounds i8, ptr {base}, i64 {bytes_}")


def _wrap(writer: _Writer, op: ir.Op, index: str, extent: str) -> str:
    found = writer.wrapped(index, extent)
    if op.site >= 0:
        writer.check(found, extent, op.site, (index, "0", extent))
    return found


def _power(writer: _Writer, op: ir.Op, base: str, exponent: str) -> str:
    """A whole power: by squaring, in a function of its own."""
    type = llvm_type(op.type)
    is_signed = _scalar(op).kind == "i"
    name = f"whorl_power_{'' if is_signed else 'u'}{type}"
    if name not in writer.module.helpers:
        writer.module.helpers.add(name)
        signed = "sgt" if is_signed else "ugt", "slt" if is_signed else "ult"
        writer.module.bodies.append(_POWER.format(name=name, type=type, gt=signed[0], lt=signed[1]))
    return writer.let(f"call {type} @{name}({type} {base}, {type} {exponent})")


_POWER: Final = """define internal {type} @{name}({type} %b, {type} %e) #0 {{
entry:
  br label %head
head:
  %base = phi {type} [ %b, %entry ], [ %square, %round ]
  %left = phi {type} [ %e, %entry ], [ %half, %round ]
  %found = phi {type} [ 1, %entry ], [ %chosen, %round ]
  %more = icmp {gt} {type} %left, 0
  br i1 %more, label %round, label %end
round:
  %odd = trunc {type} %left to i1
  %times = mul {type} %found, %base
  %chosen = select i1 %odd, {type} %times, {type} %found
  %square = mul {type} %base, %base
  %half = lshr {type} %left, 1
  br label %head
end:
  %negative = icmp {lt} {type} %e, 0
  %result = select i1 %negative, {type} 0, {type} %found
  ret {type} %result
}}"""

OPS: Final[dict[str, Callable[..., str]]] = {
    "abs": _absolute,
    "add": _arithmetic("add"),
    "and": _bitwise("and"),
    "cast": _cast,
    "fdiv": _arithmetic("div"),
    "floordiv": _floordiv,
    "fmod": lambda writer, op, a, b: writer.let(f"frem {llvm_type(op.type)} {a}, {b}"),
    "inv": lambda writer, op, value: writer.let(f"xor {llvm_type(op.type)} {value}, -1"),
    "ipow": _power,
    "isfinite": _class_test("olt"),
    "isinf": _class_test("oeq"),
    "isnan": _class_test("uno"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "mod": _mod,
    "mul": _arithmetic("mul"),
    "neg": _negative,
    "not": lambda writer, op, value: writer.let(f"xor i1 {value}, true"),
    "offset": _offset,
    "or": _bitwise("or"),
    "select": _select,
    "shl": _shift("shl"),
    "shr": _shift("shr"),
    "sub": _arithmetic("sub"),
    "ult": lambda writer, op, a, b: writer.let(f"icmp ult i64 {a}, {b}"),
    "wrap": _wrap,
    "xor": _bitwise("xor"),
    **{name: _compare(llvm) for name, llvm in COMPARE.items()},
}
