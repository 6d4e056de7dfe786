"""What a Python expression stands for while a kernel is lowered.

Known       a value that is known now: a literal, what `static` worked out, a global number
ViewOperand a view of something in the world that is not read yet
Value       a number of the run
ArrayOf     an array of the run, in memory
Records     an array of records, or one record of it
Elementwise an array of the run that is nowhere: what its elements are
Deferred    such an array under a name
Vec         a small vector that lives in the kernel
Items       a tuple or list of operands
Iteration   a range, a zip or a list, of so many items as only the run knows
Closure     a function that is defined in the kernel
Unset       a name that has no value, or no single one, and why
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint import fingerprint
from whorl.kernels import ir
from whorl.kernels.types import ArrayType, Scalar, VectorType
from whorl.reads import Path
from whorl.reads.view import View

__all__ = [
    "LIST",
    "Access",
    "ArrayOf",
    "Closure",
    "Deferred",
    "Elementwise",
    "Items",
    "Iteration",
    "Known",
    "Operand",
    "Records",
    "Slots",
    "Unset",
    "Value",
    "Vec",
    "ViewOperand",
    "describe",
    "kind_of",
    "same",
]


class Slots(dict[Path, ir.Slot]):
    """The places in the launch record, by where in the world their values are found."""

    def __init__(self) -> None:
        super().__init__()
        self.arrays: dict[ir.Slot, View] = {}  # what is in the places of arrays

    def at(self, path: Path, type: Scalar | ArrayType) -> ir.Slot:
        """The place for what is at a path: a new one, if there is none."""
        if path not in self:
            self[path] = ir.Slot(len(self), type, str(path))
        return self[path]


class DefiningScope(Protocol):
    """Where a function is defined inside of the kernel: a frame."""

    def captured(self, node: ast.FunctionDef | ast.Lambda) -> dict[str, Operand]:
        """What a function that is defined here uses of the names here and around."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is known now."""

    value: Any


@dataclass(frozen=True, slots=True)
class ViewOperand:
    """Something in the world. Looking at it is a read, so that is done as late as possible."""

    view: View
    slots: Slots

    def then(self, view: View) -> ViewOperand:
        """Something that was reached from here."""
        return ViewOperand(view, self.slots)


@dataclass(frozen=True, slots=True)
class Value:
    """A number of the run."""

    expr: ir.Expr

    @property
    def type(self) -> Scalar:
        """The number's type."""
        type = self.expr.type
        assert isinstance(type, Scalar)
        return type


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array of the run; `view` is where it was found, if it is a whole one."""

    array: ir.ArrayRef
    view: View | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """An array of records, or with indices one of them. The array's elements stand for bytes."""

    array: ir.ArrayRef
    dtype: Any
    indices: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """How the elements of an expression are read in a loop.

    Without `is_broadcast` no axis of length 1 is stretched that is not known to be one. With a
    scope, no element that the loop reads is one that it sets, except those of `target`, which
    are read at the very index that is set.
    """

    is_broadcast: bool = True
    scope: int = 0
    target: ir.ArrayRef | None = None
    places: Mapping[ir.ArrayRef, ir.ArrayRef] = MappingProxyType({})
    """Arrays with their address and strides worked out before the loop."""
    stretched: Mapping[ir.ArrayRef, ir.ArrayRef] = MappingProxyType({})
    """The same with a stride of 0 along axes of length 1: each index leads to the one element."""


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise:
    """An array that is not in memory. `at` is what the element at some indices is: it may write
    statements into the block of the loop that needs it."""

    element: Scalar
    extents: tuple[ir.Expr, ...]
    at: Callable[[tuple[ir.Expr, ...], Access], ir.Expr]
    arrays: tuple[ir.ArrayRef, ...] = ()  # that it reads
    vectors: tuple[ir.Local, ...] = ()
    conditions: tuple[ir.Expr, ...] = ()  # that no axis of length 1 is stretched, tests of the run
    is_plain: bool = False  # whether its elements are those of an array in memory
    is_costly: bool = False  # whether an element is worth more than storing it

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.extents)


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """An expression over arrays under a name that is used once: stored if need be, where the name
    got it."""

    value: Elementwise
    name: str
    node: ast.AST  # the statement that gave it the name
    around: ir.Block  # where that statement is
    place: ir.Block  # in it, for what stores the expression
    arrays: list[ArrayOf]  # the array that it was stored in, if it was


@dataclass(frozen=True, slots=True)
class Vec:
    """A small vector: part of a variable, by where it begins there, its shape and its steps."""

    local: ir.Local
    shape: tuple[int, ...]
    begin: int
    steps: tuple[int, ...]

    @property
    def element(self) -> Scalar:
        """The type of its components."""
        assert isinstance(self.local.type, VectorType)
        return self.local.type.element

    def __str__(self) -> str:
        return str(VectorType(self.element, self.shape))


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple, or a list display, of operands; of a named tuple with its class."""

    items: tuple[Operand, ...]
    is_list: bool = False
    cls: Any = None

    def with_items(self, items: Iterable[Operand]) -> Items:
        """Others in their place."""
        return Items(tuple(items), self.is_list, self.cls)


LIST: Final = "a list whose length only the run knows"


@dataclass(frozen=True, slots=True, eq=False)
class Iteration:
    """Something to iterate over whose length only the run knows: a range, a zip, a list.

    `item` is what the counts of its loops lead to.
    """

    words: str
    extents: tuple[ir.Expr, ...]
    item: Callable[[tuple[ir.Expr, ...]], Operand]
    bounds: tuple[ir.Expr, ir.Expr, ir.Expr] | None = None  # of a range
    is_list: bool = False
    place: object = None  # of an iterator: the function and the loops that it was made in


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function or lambda that is defined inside of the kernel."""

    node: ast.FunctionDef | ast.Lambda
    scope: DefiningScope
    defaults: Mapping[str, Operand]

    @property
    def captured(self) -> dict[str, Operand]:
        """What it uses of the names around it, and what it was given when it was defined."""
        return {**self.scope.captured(self.node), **self.defaults}


@dataclass(frozen=True, slots=True)
class Unset:
    """No value, or not a single one: reading it is an error that says why."""

    reason: str
    remedy: str = "Give it a value before."
    values: tuple[Operand, ...] = ()  # in the branches where it has one


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What a `**parameter` holds, to be passed on."""

    items: Mapping[str, Operand]


Operand: TypeAlias = (
    Known
    | ViewOperand
    | Value
    | ArrayOf
    | Records
    | Elementwise
    | Deferred
    | Vec
    | Items
    | Iteration
    | Named
    | Closure
    | Unset
)


def same(left: Operand, right: Operand) -> bool:
    """Whether two operands stand for the very same thing."""
    return _same(left, right, frozenset())


def _same(left: Operand, right: Operand, around: frozenset[ast.AST]) -> bool:
    """The same; `around` are functions that are being compared, and may use themselves."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    match left, right:
        case Known(a), Known(b):
            return a is b or (type(a) is type(b) and fingerprint_or_id(a) == fingerprint_or_id(b))
        case ViewOperand(a), ViewOperand(b):
            return bool(a.path == b.path)
        case Items(a, is_list), Items(b, other):
            pairs = zip(a, b, strict=False)
            are_same = len(a) == len(b) and all(_same(*pair, around) for pair in pairs)
            return is_list is other and left.cls is right.cls and are_same
        case ArrayOf(a), ArrayOf(b):
            return bool(a == b)
        case Closure(a), Closure(b):
            if a is not b or a in around:
                return a is b
            here, there = left.captured, right.captured
            return here.keys() == there.keys() and all(
                _same(here[name], there[name], around | {a}) for name in here
            )
        case _:
            return left == right


def fingerprint_or_id(value: Any) -> Any:
    """What tells two known values apart."""
    try:
        return fingerprint(value)
    except TypeError:
        return id(value)


def kind_of(value: object) -> str:
    """What a value is an instance of, with its article."""
    name = "module" if isinstance(value, types.ModuleType) else type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeio" or name == "ndarray" else f"a {name}"


def describe(operand: Operand) -> str:
    """An operand's type for people."""
    match operand:
        case Known(value):
            name = type(value).__name__
            if isinstance(value, bool | int | float | complex | str):
                return f"{name} ({value!r})"
            return "None" if value is None else name
        case ViewOperand(view):
            return f"{view.path} ({kind_of(view.peek())})"
        case Value():
            return str(operand.type)
        case ArrayOf(array):
            return f"an array {array.type}" + (f" ({array.path})" if array.path else "")
        case Records(array, dtype):
            what = "a record" if operand.indices or not array.type.ndim else "an array of records"
            return f"{what} {{{', '.join(dtype.names)}}}" + (
                f" ({array.path})" if array.path else ""
            )
        case Deferred(value):
            return describe(value)
        case Elementwise():
            return f"an array {operand.element}[{', '.join(':' * operand.ndim)}]"
        case Vec():
            return f"a vector {operand}"
        case Items(items):
            inside = ", ".join(map(describe, items))
            if hasattr(operand.cls, "__dataclass_fields__"):
                return f"{operand.cls.__name__}({inside})"
            return f"[{inside}]" if operand.is_list else f"({inside})"
        case Iteration(words):
            return words
        case Named(items):
            return f"arguments by name ({', '.join(items) or 'none'})"
        case Closure(node):
            return getattr(node, "name", "a lambda")
        case Unset(reason):
            return reason
