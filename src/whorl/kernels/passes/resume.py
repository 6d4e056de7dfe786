"""Finds what has to be worked out again before a launch is resumed from each checkpoint.

A launch that is resumed begins in the middle: it jumps to the block of a checkpoint. Arrays hold
what they held, but variables are gone. What follows from the arguments alone (numbers that travel
at launch, extents, constants) is worked out again on the way, by the very statements that have
worked it out before. Any other variable that is used from there on is an error.

Three walks over the program:

    live      which variables are used from each checkpoint on, before they are set: backwards;
              what sets a variable that is never used is dropped
    steps     the statements that come before each checkpoint, from the outermost block inwards
    again     those among them that set variables to what follows from the arguments alone
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from whorl.kernels import ir
from whorl.kernels.ir_walk import blocks_of, expressions_of, parts_of, set_in, statements_in
from whorl.kernels.types import VectorType

__all__ = ["resume"]

Place: TypeAlias = ir.Local | tuple[ir.Local, int]
"""A variable, or a component of a vector."""
Places: TypeAlias = frozenset[Place]
NOTHING: Places = frozenset()


def resume(function: ir.Function) -> None:
    """Find the checkpoints, check their labels, and what is known where they begin."""
    checkpoints = [each for each in statements_in(function.body) if isinstance(each, ir.Checkpoint)]
    if not checkpoints:
        return
    _check_labels([each.label for each in checkpoints])
    live = _Live()
    live.block(function.body, NOTHING)
    _drop(function.body, live.dead)
    for checkpoint in checkpoints:
        written: ir.Block = []
        known = _before(checkpoint, function.body, written, NOTHING)
        lost = live.at[checkpoint.label] - known
        if lost:
            _refuse(checkpoint.label, lost)
        function.resumed.append((checkpoint.label, written))


def _check_labels(labels: list[ir.CheckpointLabel]) -> None:
    seen: dict[int, ir.CheckpointLabel] = {}
    for label in labels:
        other = seen.setdefault(label.value, label)
        if other is label:
            continue
        first = other.error("", "")
        same = "" if other.words == label.words else f", which is {other.words} at"
        raise label.error(
            f"there are two checkpoints {label.words}{same or ': the other is at'} "
            f"{first.file}:{first.line}",
            "Give each a label of its own; a function with a checkpoint can be called once.",
        )


def _refuse(label: ir.CheckpointLabel, lost: Places) -> None:
    locals_ = [place[0] if isinstance(place, tuple) else place for place in lost]
    names = sorted({label.names[local] for local in locals_ if local in label.names})
    if names:
        what = f"{names[0]!r} is set before this checkpoint and used in it or after it"
    else:
        what = "a value from before this checkpoint is used in it or after it"
    raise label.error(
        f"{what}, and a launch that is resumed here would not have it",
        "Keep it in an array, or work it out again; what follows from the arguments alone is kept.",
    )


# -- places -----------------------------------------------------------------------------


def _places(local: ir.Local) -> Places:
    if isinstance(local.type, VectorType):
        return frozenset((local, i) for i in range(local.type.size))
    return frozenset((local,))


def _of(locals_: Iterable[ir.Local]) -> Places:
    return frozenset(place for local in locals_ for place in _places(local))


def _component(component: ir.Component) -> Places:
    if isinstance(component.index, ir.Const):
        return frozenset(((component.local, int(component.index.value)),))
    return _places(component.local)


def _used(*exprs: ir.Expr) -> Places:
    """What expressions use."""
    places: set[Place] = set()
    waiting = list(exprs)
    while waiting:
        expr = waiting.pop()
        match expr:
            case ir.Get(local):
                places |= _places(local)
            case ir.Component():
                places |= _component(expr)
        waiting.extend(parts_of(expr))
    return frozenset(places)


def _reads_memory(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Element) or any(map(_reads_memory, parts_of(expr)))


# -- live -------------------------------------------------------------------------------


class _Live:
    """What is used from a place on, before it is set: for each checkpoint, where it begins.

    What is set and never used is not used by being set: the variables at the heads of loops are
    set at the end of each iteration, whether they are used or not.
    """

    def __init__(self, *, keeps_all: bool = False) -> None:
        self._keeps_all = keeps_all  # also what is never used
        self.at: dict[ir.CheckpointLabel, Places] = {}
        self.dead: set[ir.Stmt] = set()  # what sets something that is never used
        self._leave: dict[str, Places] = {}
        self._next: dict[str, Places] = {}

    def block(self, block: ir.Block, after: Places) -> Places:
        for statement in reversed(block):
            after = self.statement(statement, after)
        return after

    def statement(self, statement: ir.Stmt, after: Places) -> Places:
        used = _used(*expressions_of(statement))
        match statement:
            case ir.Set(local):
                if self._is_dead(statement, _places(local), after):
                    return after
                return (after - _places(local)) | used
            case ir.SetComponent(component):
                if self._is_dead(statement, _component(component), after):
                    return after
                is_known = isinstance(component.index, ir.Const)
                return (after - _component(component) if is_known else after) | used
            case ir.Atomic(old=local) | ir.Allocate(local) | ir.Mark(local):
                return (after - _places(local)) | used
            case ir.Update(body=body):
                return self.block(body, after | used)
            case ir.SubroutineCall(results=results):
                return (after - _of(results)) | used
            case ir.If(_, then, orelse):
                return used | self.block(then, after) | self.block(orelse, after)
            case ir.Region(label, body):
                self._leave[label] = after
                return self.block(body, after)
            case ir.Leave(label):
                return self._leave[label]
            case ir.Next(label):
                return self._next[label]
            case ir.Raise():
                return used
            case ir.Checkpoint(label, body):
                self.at[label] = self.block(body, after)
                return self.at[label]
            case ir.For(label, local, body=body) | ir.Parallel(label, local, body=body):
                own = _of([local])
                more = _of(each.local for each in getattr(statement, "reductions", ()))
                head = after | more
                while (wider := head | (self._round(label, body, head, after) - own)) != head:
                    head = wider
                return head | used
            case ir.While():
                return self._while(statement, after)
        return after | used

    def _is_dead(self, statement: ir.Stmt, sets: Places, after: Places) -> bool:
        """Whether nothing needs a statement; the last walk, with most that is used, decides."""
        self.dead.discard(statement)
        if self._keeps_all or not sets.isdisjoint(after):
            return False
        if any(map(_can_fail, expressions_of(statement))):
            return False
        self.dead.add(statement)
        return True

    def _round(self, label: str, body: ir.Block, head: Places, after: Places) -> Places:
        self._leave[label], self._next[label] = after, head
        return self.block(body, head)

    def _while(self, loop: ir.While, after: Places) -> Places:
        head = NOTHING
        while True:
            begin = self._round(loop.label, loop.body, head, after)
            wider = head | self.block(loop.before, begin | after | _used(loop.test))
            if wider == head:
                return begin if loop.is_sure else head
            head = wider


def _can_fail(expr: ir.Expr) -> bool:
    """Whether something is checked, in debug."""
    return getattr(expr, "site", -1) >= 0 or any(map(_can_fail, parts_of(expr)))


def _drop(block: ir.Block, dead: set[ir.Stmt]) -> None:
    block[:] = [statement for statement in block if statement not in dead]
    for statement in block:
        for inner in blocks_of(statement):
            _drop(inner, dead)


# -- what comes before, and what of it is worked out again -------------------------------


def _before(wanted: ir.Checkpoint, block: ir.Block, written: ir.Block, known: Places) -> Places:
    """What is known where a checkpoint of a block begins.

    What is to be worked out again is written into a block.
    """
    for statement in block:
        if statement is wanted:
            return known
        if not _holds([statement], wanted):
            known = _again([statement], written, known)
            continue
        if isinstance(statement, ir.While):  # earlier rounds may have set these to something else
            known -= _of(set_in([statement]))
            if not statement.is_sure and not _holds(statement.before, wanted):
                known = _again(statement.before, written, known)
        (inner,) = (inner for inner in blocks_of(statement) if _holds(inner, wanted))
        return _before(wanted, inner, written, known)
    raise AssertionError("the checkpoint is in the block")


def _holds(block: ir.Block, wanted: ir.Checkpoint) -> bool:
    return any(each is wanted for each in statements_in(block))


def _again(block: ir.Block, written: ir.Block, known: Places) -> Places:
    """Write those statements again that need nothing but what is known; what is known then."""
    for statement in block:
        used = _used(*expressions_of(statement))
        is_plain = used <= known and not any(map(_reads_memory, expressions_of(statement)))
        match statement:
            case ir.Set(local) if is_plain:
                written.append(statement)
                known |= _places(local)
            case ir.Mark(local):
                written.append(statement)
                known |= _places(local)
            case ir.SetComponent(component) if is_plain and (
                isinstance(component.index, ir.Const) or _component(component) <= known
            ):
                written.append(statement)
                known |= _component(component)
            case ir.SetComponent(component):
                known -= _component(component)
            case ir.Checkpoint(_, body) | ir.Region(_, body) if not _jumps(body):
                known = _again(body, written, known)
            case ir.If(test, then, orelse) if is_plain and not _jumps([statement]):
                sides: tuple[ir.Block, ir.Block] = ([], [])
                known = _again(then, sides[0], known) & _again(orelse, sides[1], known)
                written.append(ir.If(test, *sides))
            case ir.Region() if _is_plain(statement) and _needed(statement, NOTHING) <= known:
                written.append(statement)
                sets = _of(set_in([statement]))
                known |= sets - _needed(statement, sets)  # in each branch
            case _:
                known -= _of(set_in([statement]))
    return known


def _jumps(block: ir.Block) -> bool:
    return any(isinstance(each, ir.Leave | ir.Next | ir.Raise) for each in statements_in(block))


def _needed(scope: ir.Region, after: Places) -> Places:
    """What a scope uses that it has not set, or leaves as it was for what is used after it."""
    return _Live(keeps_all=True).statement(scope, after)


def _is_plain(scope: ir.Region) -> bool:
    """Whether a scope sets variables to what needs no memory, and does nothing else."""
    inside = list(statements_in([scope]))
    labels = {each.label for each in inside if isinstance(each, ir.Region)}
    return all(_is_plain_statement(each, labels) for each in inside)


def _is_plain_statement(statement: ir.Stmt, labels: set[str]) -> bool:
    if isinstance(statement, ir.Leave):
        return statement.label in labels
    if not isinstance(statement, ir.Set | ir.SetComponent | ir.If | ir.Region):
        return False
    return not any(map(_reads_memory, expressions_of(statement)))
