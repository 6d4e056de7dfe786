"""The state of lowering one kernel: the block that is written, and a frame per followed call."""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from whorl.fast_dataclasses import dataclass, field
from whorl.kernels import ir
from whorl.kernels.function_source import Source, bound_names, free_names, returned_names
from whorl.kernels.ir_walk import every_part
from whorl.kernels.types import Scalar
from whorl.reads import CodeView, Inputs
from whorl.reads.view import AbsentRead, View
from whorl.reads.world import failed_import

from .operands import (
    Closure,
    DefiningScope,
    Elementwise,
    Items,
    Known,
    Named,
    Operand,
    Slots,
    Unset,
    Value,
    ViewOperand,
)

__all__ = [
    "ActiveCheckpoint",
    "Frame",
    "Jump",
    "Loop",
    "Lowering",
    "Syntax",
    "UnknownResult",
    "flag_of",
    "outliving",
    "place_of",
]


_SMALL: Final = 24  # expressions in an expression


class UnknownResult(Exception):
    """What a recursive call returns is not known yet: what comes after it is left out."""


@dataclass(slots=True)
class Jump:
    """A jump out of a block: where it is written, and the names as they are there.

    What has to be set before it goes to the end of the block, before a `Leave` or `Next`.
    """

    block: ir.Block
    names: dict[str, Operand]
    value: Operand | None = None  # of a return
    node: ast.Return | None = None

    def set(self, *statements: ir.Stmt) -> None:
        """Write statements that run before it."""
        ends = bool(self.block) and isinstance(self.block[-1], ir.Leave | ir.Next)
        self.block[len(self.block) - ends : len(self.block) - ends] = statements


@dataclass(slots=True)
class Loop:
    """A loop that is being lowered, and the jumps out of its iterations."""

    leave: str
    next: str
    is_unrolled: bool = False
    is_parallel: bool = False
    kind: str = "for"  # "for", "while", "unrolled", "prange" or "section"
    breaks: list[Jump] = field(default_factory=list)
    continues: list[Jump] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ActiveCheckpoint:
    """The checkpoint that is being lowered: what ends it, and where it began."""

    label: ir.CheckpointLabel
    flag: ir.Element | None
    frame: Frame
    depth: int  # how many loops of its frame are around it

    def leave(self, lowering: Lowering) -> None:
        """Write what happens at its end."""
        if self.flag is not None:
            lowering.emit(ir.Yield(self.label, self.flag))


@dataclass(frozen=True, slots=True)
class Syntax:
    """What lowers each kind of node.

    It comes from above, so that what lowers one kind need not import what lowers the others.
    """

    expressions: Mapping[type[ast.expr], Callable[[Frame, Any], Operand]]
    statements: Mapping[type[ast.stmt], Callable[[Frame, Any], bool]]
    stored: Callable[[Frame, ast.AST, Elementwise], ir.ArrayRef]  # an expression, in memory
    product: Callable[[Frame, ast.AST, Operand, Operand], Operand]  # of matrices
    library: Callable[[Any, Callable[..., Any]], Operand]  # a call of a function in `library/`


class Lowering:
    """What is being made of one kernel."""

    def __init__(self, inputs: Inputs, syntax: Syntax, name: str, *, debug: bool) -> None:
        self.inputs = inputs
        self.syntax = syntax
        self.function = ir.Function(name)
        self.slots = Slots()
        self.debug = debug
        self.block: ir.Block = self.function.body
        self.parallel_depth = 0
        self.is_in_prange = False  # where others may change an element at the same time
        self.checkpoint: ActiveCheckpoint | None = None
        self.outside: set[ir.Local] = set()  # vectors that belong to all iterations of a prange
        self.shared: set[ir.Local] = set()  # vectors that a join copied under another name's eyes
        self.changed: dict[ir.Local, set[str]] = {}  # vectors changed in place, in which loops
        self.guesses: dict[tuple[int, ...], dict[str, object]] = {}  # of loops, from the last try
        self.subroutines: dict[Any, Any] = {}  # by function and how it is called
        self._result_nodes: tuple[ast.AST, ...] = ()
        self.results: dict[ir.Local, ir.Allocate] = {}  # variables with the memory of new ndarrays
        self.allocated: set[ir.Local] = set()  # variables that nothing but an allocation sets
        self.used_iterators: dict[Any, tuple[int, int]] = {}  # and where
        self.recursions: dict[Any, Any] = {}  # functions that call themselves, by how
        self.stack_bases: list[tuple[ir.Local, int]] = []  # where the stack was, in which loops
        self.classes: dict[type, ViewOperand] = {}  # of dataclasses that were made: where they are
        self.used_once: dict[ast.AST, frozenset[str]] = {}  # names of functions
        self.silent: dict[str, None] = {}  # lines of prints that print nothing
        self._labels = 0
        self._scopes = 0

    def emit(self, statement: ir.Stmt) -> None:
        """Write a statement."""
        self.block.append(statement)

    @contextmanager
    def writing(self, block: ir.Block) -> Iterator[ir.Block]:
        """Write into another block for a while."""
        before, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = before

    @contextmanager
    def evaluating(self, node: ast.expr, *, is_returned: bool) -> Iterator[None]:
        """Evaluate an expression, or the items of a tuple, that the kernel returns, or does not."""
        before = self._result_nodes
        items = node.elts if isinstance(node, ast.Tuple) else [node]
        self._result_nodes = tuple(items) if is_returned else ()
        try:
            yield
        finally:
            self._result_nodes = before

    def is_result(self, node: ast.AST) -> bool:
        """Whether what a node makes will be returned by the kernel."""
        return any(each is node for each in self._result_nodes)

    def keep(self, expr: ir.Expr, name: str = "t") -> ir.Expr:
        """An expression that can be used later, and more than once."""
        if isinstance(expr, ir.Const | ir.Get | ir.SlotUse | ir.Extent | ir.Stride):
            return expr
        local = ir.Local(name, expr.type)
        self.emit(ir.Set(local, expr))
        return ir.Get(local)

    def inlining(self, function: types.FunctionType) -> str:
        """How a function that is always a subroutine is inlined; "" for all others."""
        return ""

    def keep_large(self, expr: ir.Expr) -> ir.Expr:
        """The same, but small arithmetic stays what it is: it is the same later, and two that
        are equal can be seen to be equal."""
        parts = list(every_part(expr))
        is_small = len(parts) <= _SMALL and not any(
            isinstance(part, ir.Element | ir.Component | ir.Both) for part in parts
        )
        return expr if is_small else self.keep(expr)

    def label(self, name: str) -> str:
        """A label that no other scope has."""
        self._labels += 1
        return f"{name}{self._labels}"

    def scope(self) -> int:
        """The number of a scope of elements, which no other has."""
        self._scopes += 1
        return self._scopes

    def site(self, error: str, text: str, line: str, types: tuple[Scalar, ...] = ()) -> int:
        """The number of a place that can fail, or prints."""
        self.function.sites.append(ir.Site(error, text, line, types))
        return len(self.function.sites) - 1


class Frame(DefiningScope):
    """A function that is being followed: its names, and the jumps out of it."""

    def __init__(
        self,
        lowering: Lowering,
        code: CodeView,
        source: Source,
        names: dict[str, Operand],
        caller: Frame | None = None,
        outer: Frame | None = None,
        path: tuple[int, ...] = (),
    ) -> None:
        self.lowering = lowering
        self.code = code
        self.source = source
        self.names = names
        self.caller = caller
        self.outer = outer  # the frame that a nested function is defined in
        self.path_of_call = tuple(path)
        self.path = list(path)  # which calls and unrolled iterations this is inside of
        self.loops: list[Loop] = []
        self.returns: list[Jump] = []
        self.leave = lowering.label("return")
        self.has_ended = False  # whether control never comes to the end of its body
        self.statement: ast.AST = source.tree
        self.bound = bound_names(source.tree)
        self.is_result = False  # whether the kernel returns what this function returns
        self.returned: frozenset[str] = frozenset()  # names that the kernel itself returns
        self.reduced: frozenset[str] = frozenset()  # names that a prange is adding up

    @property
    def callers(self) -> Iterator[Frame]:
        """This frame, the one that calls it, and so on."""
        yield self
        if self.caller is not None:
            yield from self.caller.callers

    @property
    def scopes(self) -> Iterator[Frame]:
        """This frame, the one that it is defined in, and so on."""
        yield self
        if self.outer is not None:
            yield from self.outer.scopes

    def find(self, node: ast.Name) -> Operand:
        """What a name stands for here."""
        name = node.id
        for frame in self.scopes:
            operand = frame.names.get(name)
            if isinstance(operand, Unset):
                self.refuse(node, f"{name!r} {operand.reason}", operand.remedy)
            if flag_of(name) in frame.names:
                self._check_set(node, frame.names[flag_of(name)])
            if operand is not None:
                if frame is not self and name in frame.reduced:
                    self.refuse(
                        node, f"{name!r} is not known before all iterations of prange are done"
                    )
                return operand
            if name in frame.bound:
                self.refuse(node, f"{name!r} has no value here", "Give it a value before.")
        if name in self.code.cell_names:
            return self.place(self.code.cell(name))
        try:
            return self.place(self.code.glob(name))
        except AbsentRead:
            error = failed_import(self.code.function.__globals__, name)
            if error is None:
                self.refuse(node, f"the name {name!r} is not defined")
            self.refuse(node, f"the lazy import of {name!r} fails: {type(error).__name__}: {error}")

    def _check_set(self, node: ast.Name, flag: Operand) -> None:
        """Raise what Python raises, if the loop that sets a name has had no iteration."""
        match flag:
            case Known(True):
                return
            case Known():
                self.refuse(node, f"{node.id!r} has no value here", "Give it a value before.")
            case Value(expr):
                what = f"cannot access local variable '{node.id}'"
                what += " where it is not associated with a value"
                site = self.lowering.site("UnboundLocalError", what, self.line(node))
                self.lowering.emit(ir.If(expr, [], [ir.Raise(site, ())]))

    def captured(self, node: ast.FunctionDef | ast.Lambda) -> dict[str, Operand]:
        """What a function that is defined here uses of the names here and around."""
        visible: dict[str, Operand] = {}
        for frame in self.scopes:
            visible = {**frame.names, **visible}
        return {name: visible[name] for name in free_names(node) if name in visible}

    def place(self, view: View) -> ViewOperand:
        """An operand for something in the world."""
        return ViewOperand(view, self.lowering.slots)

    def return_results(self) -> None:
        """From here on, what this function returns is what the kernel returns."""
        self.is_result, self.returned = True, returned_names(self.source.tree)

    def leave_checkpoint(self, depth: int) -> None:
        """Before a jump to where so many loops are around: end the checkpoint if that is outside.

        With -1 the jump is out of the function.
        """
        active = self.lowering.checkpoint
        if active is not None and active.frame is self and depth < active.depth:
            active.leave(self.lowering)

    def refuse(
        self, node: ast.AST, what: str, remedy: str = "", notes: tuple[str, ...] = ()
    ) -> NoReturn:
        """Say what cannot be done at a node."""
        self.source.refuse(node, what, remedy, notes)

    def check(self, node: ast.AST, error: str, text: str) -> int:
        """The site of a check that a node makes in debug; -1 without."""
        lowering = self.lowering
        return lowering.site(error, text, self.line(node)) if lowering.debug else -1

    def line(self, node: ast.AST) -> str:
        """A node's line for people."""
        return self.source.line(node)

    def at(self, node: ast.AST) -> None:
        """From here on, reads are for this node's line."""
        self.statement = node
        self.lowering.inputs.asking(self.source.line(node))


def flag_of(name: str) -> str:
    """The name, which no program can have, of whether a variable has a value yet."""
    return f"{name} is set"


def place_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    """Where a node stands in its function: the same each time the function is parsed."""
    return node.lineno, node.col_offset


def outliving(operand: Operand, frame: Frame, names: dict[str, Operand]) -> Operand:
    """An operand that a frame returns: functions in it keep the names as they are by then."""
    frames: dict[Frame, Frame] = {}

    def then(each: Frame) -> Frame:
        if each not in frames:
            after = frames[each] = copy.copy(each)  # before its names, which may lead back here
            end = names if each is frame else each.names
            after.names = {name: outlived(operand) for name, operand in end.items()}
            if each is not frame and each.outer is not None:
                after.outer = then(each.outer)
        return frames[each]

    def outlived(operand: Operand) -> Operand:
        match operand:
            case Closure(node, Frame() as scope, defaults) if frame in scope.scopes:
                given = {name: outlived(each) for name, each in defaults.items()}
                return Closure(node, then(scope), given)
            case Items(items):
                return operand.with_items(map(outlived, items))
            case Named(items):
                return Named({name: outlived(each) for name, each in items.items()})
        return operand

    return outlived(operand)
