"""The typed program between Python's syntax tree and LLVM: variables, expressions, statements.

Expressions have a type and no effect. Statements run in order; control is structured: a scope
or a loop has a label, and `Leave` and `Next` go to its end or to its next iteration. Every name
has been looked up, every call has been followed, and every conversion is written out.

    Local               a variable of one type; it may be set again
    ArrayRef            where an array is: address, extents and strides, each an expression
    expressions         Const Get SlotUse Extent Stride Op Both Element Component Routine
    statements          Set SetElement SetComponent Atomic Update If For While Region Leave Next
                        Parallel Raise Print SubroutineCall Checkpoint Yield
                        Allocate StackArray Mark Sweep ReturnArray RoutineCall ForeignCall
                        Reserve, of the systems dialect alone
    Function            the whole: slots it is launched with, body, results
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from whorl.errors import KernelError
from whorl.fast_dataclasses import dataclass, field

from .types import POINTER, WEAK_BOOL, WEAK_INT, ArrayType, Pointer, Scalar, Type, VectorType

__all__ = [
    "NULL",
    "ONE",
    "ZERO",
    "Allocate",
    "ArrayRef",
    "Atomic",
    "Block",
    "Both",
    "Checkpoint",
    "CheckpointLabel",
    "Component",
    "Const",
    "Element",
    "Expr",
    "Extent",
    "For",
    "ForeignCall",
    "Function",
    "Get",
    "If",
    "Leave",
    "Local",
    "Mark",
    "NamedResult",
    "NewArray",
    "Next",
    "Op",
    "Parallel",
    "Print",
    "Raise",
    "Reduction",
    "Region",
    "Reserve",
    "Result",
    "ReturnArray",
    "Routine",
    "RoutineCall",
    "Set",
    "SetComponent",
    "SetElement",
    "Site",
    "Slot",
    "SlotUse",
    "SourceFrame",
    "StackArray",
    "Stmt",
    "Stride",
    "Subroutine",
    "SubroutineCall",
    "Sweep",
    "Update",
    "While",
    "Yield",
]


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A variable. Two of one name are two variables."""

    name: str
    type: Type


# -- what a kernel is launched with -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the launch record: a number, or an array with its extents and strides."""

    index: int
    type: Scalar | ArrayType
    path: str  # for people


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source that can fail at run time, or prints: what to say about it."""

    error: str  # the exception's name; "" if it prints
    text: str  # with {} for each value
    line: str
    types: tuple[Scalar, ...] = ()
    arguments: tuple[str | int, ...] | None = None
    """Of an exception that the program raises itself: texts, or which of the values it is."""
    frames: tuple[SourceFrame, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """A place in the source that a traceback shows: found again by its function, if it can be."""

    module: str
    qualname: str  # of the function around
    name: str  # of the function itself
    file: str
    line: int
    below: int  # how many lines below the function's first one
    column: int
    end: int


# -- expressions ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A number."""

    type: Scalar
    value: bool | int | float


@dataclass(frozen=True, slots=True)
class Get:
    """What a variable holds now."""

    local: Local

    @property
    def type(self) -> Type:
        """As the variable."""
        return self.local.type


@dataclass(frozen=True, slots=True)
class SlotUse:
    """A number from the launch record, or the address of an array there."""

    slot: Slot

    @property
    def type(self) -> Scalar | Pointer:
        """The number's, or a pointer."""
        return POINTER if isinstance(self.slot.type, ArrayType) else self.slot.type


@dataclass(frozen=True, slots=True)
class Extent:
    """The length of one axis of an array in the launch record; weak, as Python's `shape`."""

    slot: Slot
    axis: int
    type: Scalar = WEAK_INT


@dataclass(frozen=True, slots=True)
class Stride:
    """The distance in bytes between elements along one axis of an array in the launch record."""

    slot: Slot
    axis: int
    type: Scalar = WEAK_INT


@dataclass(frozen=True, slots=True)
class Op:
    """An operation by name; what each means is a row of a table in `emit`."""

    name: str
    type: Type
    args: tuple[Expr, ...]
    site: int = -1  # where to fail, in debug


@dataclass(frozen=True, slots=True)
class Both:
    """`left and right`, `left or right` of bools; the right side may not be evaluated."""

    is_or: bool
    left: Expr
    right: Expr
    type: Scalar = WEAK_BOOL


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """Where an array is. `strides` are in bytes; None if the layout says them."""

    type: ArrayType
    base: Expr
    extents: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None
    path: str
    part_of: tuple[ArrayRef, tuple[Expr | None, ...]] | None = None
    """The array that it is a part of, and the index along each axis of it; None for a slice."""
    owner: Expr | None = None
    """The address of the memory that was allocated for it in the kernel, if it was."""

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that say where it is."""
        return self.base, *self.extents, *(self.strides or ())

    @property
    def all_strides(self) -> tuple[Expr, ...]:
        """The strides in bytes, worked out from the layout if need be."""
        if self.strides is not None:
            return self.strides
        step: Expr = Const(WEAK_INT, self.type.element.bits // 8)
        strides: list[Expr] = []
        is_c = self.type.layout == "C"
        for extent in reversed(self.extents) if is_c else self.extents:
            strides.append(step)
            step = Op("mul", WEAK_INT, (step, extent))
        return tuple(reversed(strides) if is_c else strides)


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array. A negative index counts from the end, unless `direct` says that
    it never is one. Elements of one scope that are set are none of those of it that are read."""

    array: ArrayRef
    indices: tuple[Expr, ...]
    direct: tuple[bool, ...]
    site: int = -1
    scope: int = 0

    @property
    def type(self) -> Scalar:
        """Strong: it comes from an array."""
        return self.array.type.element


@dataclass(frozen=True, slots=True)
class Component:
    """A component of a small vector, by its place in memory."""

    local: Local
    index: Expr
    site: int = -1

    @property
    def type(self) -> Scalar:
        """Strong, as an array's."""
        assert isinstance(self.local.type, VectorType)
        return self.local.type.element


@dataclass(frozen=True, slots=True)
class Routine:
    """The address of a routine of another library; 0 where there is none."""

    name: str
    type: Scalar = WEAK_INT


ZERO: Final = Const(WEAK_INT, 0)
ONE: Final = Const(WEAK_INT, 1)
NULL: Final = Op("null", POINTER, ())
Expr: TypeAlias = (
    Const | Get | SlotUse | Extent | Stride | Op | Both | Element | Component | Routine
)


# -- statements -------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Set:
    """Set a variable."""

    local: Local
    value: Expr


@dataclass(slots=True, eq=False)
class SetElement:
    """Set an element of an array."""

    element: Element
    value: Expr


@dataclass(slots=True, eq=False)
class SetComponent:
    """Set a component of a small vector."""

    component: Component
    value: Expr


@dataclass(slots=True, eq=False)
class Atomic:
    """Add to an element, or take the smaller or larger, in one step; `old` is what it held."""

    name: str  # "add", "min" or "max"
    element: Element
    value: Expr
    old: Local


@dataclass(slots=True, eq=False)
class Update:
    """An augmented assignment to an element, in a parallel loop.

    `old` holds the element as it was read before. If other iterations may change the element, it is
    read again, and `body` and `value` are worked out again, until nobody has changed it between.
    """

    element: Element
    old: Local
    body: Block
    value: Expr
    is_own: bool = False  # no other iteration changes the element
    refusal: KernelError | None = None  # what to say if others may change it: no step does this


@dataclass(slots=True, eq=False)
class If:
    """One of two blocks."""

    test: Expr
    then: Block
    orelse: Block


@dataclass(slots=True, eq=False)
class For:
    """A counted loop. `step` is not zero; `local` holds the count when an iteration begins."""

    label: str
    local: Local
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    is_free: bool = False  # no iteration needs what another one does: they may run at once
    reductions: tuple[Reduction, ...] = ()  # what they add up, if they do
    is_rare: bool = False  # it hardly ever runs: its code may be small rather than fast


@dataclass(slots=True, eq=False)
class While:
    """A loop with a test at its head; the test may need statements of its own.

    If it is sure, the first iteration runs without the test.
    """

    label: str
    before: Block
    test: Expr
    body: Block
    is_sure: bool = False


@dataclass(slots=True, eq=False)
class Region:
    """A block that can be left."""

    label: str
    body: Block


@dataclass(slots=True, eq=False)
class Leave:
    """Go to the end of a scope or loop."""

    label: str


@dataclass(slots=True, eq=False)
class Next:
    """Go to the next iteration of a loop."""

    label: str


@dataclass(frozen=True, slots=True)
class Reduction:
    """A variable that every thread adds to (or multiplies, ...) on its own, and all at the end."""

    name: str  # "add", "mul", "min" or "max"; "fmin" and "fmax" where NaN wins
    local: Local


@dataclass(slots=True, eq=False)
class Parallel:
    """A counted loop whose iterations may run at the same time."""

    label: str
    local: Local
    start: Expr
    stop: Expr
    step: Expr
    body: Block
    reductions: tuple[Reduction, ...] = ()
    guards: tuple[Expr, ...] = ()  # where one does not hold, the iterations run one after the other


@dataclass(slots=True, eq=False)
class Allocate:
    """Set a variable to the address of new memory; end the launch at a site if there is none."""

    local: Local
    size: Expr  # in bytes
    site: int
    is_zero: bool = False  # whether all bytes of it are zero
    result: int = -1  # the number of the new ndarray whose memory it is
    extents: tuple[Expr, ...] = ()  # of that


@dataclass(slots=True, eq=False)
class StackArray:
    """Set a variable to the address of another one, all bytes of which become zero."""

    local: Local
    memory: Local


@dataclass(frozen=True, slots=True)
class NewArray:
    """An ndarray that the launch makes for the kernel, or that the kernel returns."""

    type: ArrayType
    is_zero: bool = False


@dataclass(slots=True, eq=False)
class ReturnArray:
    """Let the launch return an array, by its number."""

    number: int
    array: ArrayRef


@dataclass(slots=True, eq=False)
class Mark:
    """Set a variable to how much memory this thread has allocated so far."""

    local: Local


@dataclass(slots=True, eq=False)
class Sweep:
    """Free the memory that this thread has allocated since a mark, except for what is live."""

    since: Local
    live: tuple[Expr, ...] = ()


@dataclass(slots=True, eq=False)
class Raise:
    """End the launch with an error."""

    site: int
    values: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Print:
    """Print numbers, in debug."""

    site: int
    values: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class Subroutine:
    """A function that is called instead of being followed in place: it is large."""

    name: str
    params: tuple[Local, ...]
    body: Block
    results: tuple[Local, ...]
    inlining: str = ""  # of the systems dialect: "auto", "always" or "never"
    is_recursive: bool = False


@dataclass(slots=True, eq=False)
class SubroutineCall:
    """Run a subroutine; its results are left in variables."""

    callee: Subroutine
    args: tuple[Expr, ...]
    results: tuple[Local, ...]


@dataclass(slots=True, eq=False)
class ForeignCall:
    """Call a function of C at an address."""

    name: str  # for people
    address: Expr
    args: tuple[Expr, ...]
    result: Local | None


@dataclass(slots=True, eq=False)
class RoutineCall:
    """Call a routine of BLAS or LAPACK as Fortran does: with the addresses of numbers. A number of
    8 bits is a letter. The last argument is the address of the result, an integer, if there is one.
    """

    name: str
    args: tuple[Expr, ...]
    result: Local | None = None


@dataclass(slots=True, eq=False)
class Reserve:
    """Take so many words from the stack; the variable gets their address."""

    local: Local
    words: Expr


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointLabel:
    """The label of a checkpoint: its value, where it is found again, and how to speak of it."""

    value: int  # of a member of an enum: its number
    plain: Any  # the label as data: where the source's own object is found
    words: str
    error: Callable[[str, str], KernelError]  # about the place in the source
    names: dict[Local, str]  # what the variables are called there


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A block with which a launch can be resumed."""

    label: CheckpointLabel
    body: Block


@dataclass(slots=True, eq=False)
class Yield:
    """End the launch at a checkpoint, if the flag is not zero."""

    label: CheckpointLabel
    flag: Element


Stmt: TypeAlias = (
    Set | SetElement | SetComponent | Atomic | Update | If | For | While | Region | Leave | Next
    | Parallel | Raise | Print | SubroutineCall | Checkpoint | Yield | Allocate | Mark | Sweep
    | StackArray | ReturnArray | RoutineCall | ForeignCall | Reserve
)  # fmt: skip
Block: TypeAlias = list[Stmt]


# -- the whole --------------------------------------------------------------------------


class NamedResult(tuple[Any, ...]):
    """The results that become a named tuple, and where its class is found."""

    __slots__ = ()
    place: tuple[str, str]  # its module, and its name there

    @classmethod
    def of(cls, parts: tuple[Any, ...], module: str, name: str) -> NamedResult:
        """A named tuple of a class, with parts."""
        kind = type(name, (cls,), {"place": (module, name)})
        return cast("NamedResult", kind(parts))


Result: TypeAlias = Local | int | Slot | tuple["Result", ...] | None
"""What a kernel returns: a number, an array by its number, an argument that is an array, None, or a
tuple of these."""


@dataclass(slots=True)
class Function:
    """A kernel: what it is launched with, what it does, what it returns."""

    name: str
    slots: list[Slot] = field(default_factory=list)
    body: Block = field(default_factory=list)
    result: Result = None
    sites: list[Site] = field(default_factory=list)
    arrays: list[NewArray] = field(default_factory=list)
    streams: list[Slot] = field(default_factory=list)  # of random numbers: locked in a launch
    subroutines: list[Subroutine] = field(default_factory=list)
    parallel: bool = False  # whether statements over whole arrays run on threads
    fastmath: tuple[str, ...] = ()  # what LLVM may assume of floats
    has_checkpoints: bool = False  # in the source: static branches may have removed them
    resumed: list[tuple[CheckpointLabel, Block]] = field(default_factory=list)
    """The checkpoints in order, and what is worked out again before one is resumed from."""

    @property
    def blocks(self) -> list[Block]:
        """Its own, and those of its subroutines. What `resumed` holds is part of its own."""
        return [self.body, *(subroutine.body for subroutine in self.subroutines)]
