"""A block of the program in, the text of one LLVM function out.

Variables are stack slots: LLVM turns them into registers. Slots of the launch record are read
once, where the function begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.kernels import ir
from whorl.kernels.types import ArrayType, Scalar, Type, VectorType
from whorl.launch.launch_record import STATUS, words_of

from .operations import INTRINSICS, LIBRARY, OPS
from .spelling import INLINED, literal, llvm_type, memory_type

if TYPE_CHECKING:
    from .module import Module

__all__ = ["Writer"]


class Writer:
    """One function of LLVM that is being written."""

    def __init__(
        self, module: Module, name: str, arguments: str, record: str, *,
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
        self.checkpoints: dict[ir.Mark, tuple[int, str]] = {}  # their numbers and labels
        self.numbers = 0
        self.is_open = True
        self.state = "%state"  # what the thread knows of signals, see `interrupts`
        self.is_paced = False  # whether who calls it measures how long its rounds take
        self.depth = 0  # how many loops of this function are around

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

    def open(self, label: str) -> None:
        """Begin a basic block after one that has ended."""
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
            for i in range(1, words_of(slot.type)):
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
            self.module.statements[type(statement)](self, statement)

    def leave_if_failed(self) -> None:
        """Go no further if a part, or a subroutine, has failed."""
        if not self.module.can_stop:
            return
        status = self.let(f"load atomic i64, ptr {self.word(STATUS)} monotonic, align 8")
        go_on, out = self.fresh("ok"), self.fresh("out")
        self.branch(self.let(f"icmp eq i64 {status}, 0"), go_on, out)
        self.lines.append(f"{out}:")
        self.is_open = True
        self.do(self.status)
        self.lines.append(f"{go_on}:")
        self.is_open = True

    def minimum(self, left: str, right: str) -> str:
        """The smaller of two integers."""
        test = self.let(f"icmp slt i64 {left}, {right}")
        return self.let(f"select i1 {test}, i64 {left}, i64 {right}")

    def maximum(self, left: str, right: str) -> str:
        """The larger of two integers."""
        test = self.let(f"icmp sgt i64 {left}, {right}")
        return self.let(f"select i1 {test}, i64 {left}, i64 {right}")
