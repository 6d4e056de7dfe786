"""Marks the augmented assignments whose element no other iteration of a parallel loop can reach.

An augmented assignment to an element in a parallel loop is atomic: it loses no update. That is
slow, and mostly needless, because each iteration has elements of its own: `a[i] += x` where `i`
counts the iterations, or a block of them that begins at `i * 64`. What is proven here is

    of one array    all updates in the loop have an axis in common, along which the index is the
                    iteration's number times a constant, plus something that is the same in all
                    iterations, plus a small number; the small numbers are fewer than the constant
    of several      they do not overlap: a guard, which is tested where the loop begins

Where a guard does not hold (views of one array that overlap, strides that lead to one element
several times, negative indices that meet others), the iterations run one after the other.

In doubt an update is atomic. Plain assignments are not examined: two iterations that assign to one
element, or one that reads what another one writes, are wrong in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, TypeAlias

from whorl.errors import KernelError
from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.ir_walk import (
    compared,
    every_part,
    set_in,
    set_once,
    statements_in,
    statements_of,
)
from whorl.kernels.overlap import (
    are_interleaved,
    are_the_same,
    arithmetic,
    ends_of,
    every,
    item_size,
    reaches,
    test,
    total,
)
from whorl.kernels.types import WEAK_INT, Scalar

from .indices import Bounds, bounds_in, lower_bound

__all__ = ["own_updates"]

Terms: TypeAlias = frozenset[tuple[ir.Expr, int]]


def own_updates(function: ir.Function) -> None:
    """Mark the updates of every parallel loop that no other iteration can reach."""
    loops = [each for each in statements_of(function) if isinstance(each, ir.Parallel)]
    if any(isinstance(each, ir.Update) for loop in loops for each in statements_in(loop.body)):
        settings, bounds = set_once(function), bounds_in(function)
        for loop in loops:
            _mark(_Iterations(loop, settings, bounds))
    for each in statements_of(function):
        match each:
            case ir.Update(is_own=False, refusal=KernelError() as refusal) if not (
                is_one_step(each) and each.element.array.type.alignment != "none"
            ):
                raise refusal


def is_one_step(update: ir.Update) -> bool:
    """Whether an update adds to an element, or subtracts from it, and does nothing else."""
    match update.value:
        case ir.Op("add" | "sub", type, (ir.Get(local), right)):
            is_plain = local is update.old and type == update.element.type and not update.body
            return is_plain and ir.Get(update.old) not in every_part(right)
    return False


# -- what an index can be ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """The whole numbers from a sum of multiples plus `low` up to the same sum plus `high`."""

    terms: Terms
    low: int
    high: int

    def plus(self, other: Range, times: int) -> Range:
        """With a multiple of another one added."""
        sums = dict(self.terms)
        for expr, count in other.terms:
            sums[expr] = sums.get(expr, 0) + times * count
        ends = (times * other.low, times * other.high)
        terms = frozenset((expr, count) for expr, count in sums.items() if count)
        return Range(terms, self.low + min(ends), self.high + max(ends))


_NOTHING: Final = Range(frozenset(), 0, 0)


class _Iterations:
    """A parallel loop, and what can be known of numbers in its iterations."""

    def __init__(
        self, loop: ir.Parallel, settings: dict[ir.Local, ir.Set | ir.For], bounds: Bounds
    ) -> None:
        self.loop = loop
        self.bounds = bounds
        self._settings = settings
        self._changing = set_in([loop])

    def is_constant(self, *exprs: ir.Expr) -> bool:
        """Whether expressions are the same in all iterations."""
        return all(
            part.local not in self._changing
            if isinstance(part, ir.Get)
            else isinstance(part, ir.Const | ir.SlotUse | ir.Extent | ir.Stride | ir.Op)
            for part in every_part(*exprs)
        )

    def is_promised(self, index: ir.Expr) -> bool:
        """Whether the source says that no other iteration has an index: `whorl.distinct`."""
        match index:
            case ir.Op("distinct"):
                return True
            case ir.Op("cast", args=(inner,)):
                return self.is_promised(inner)
            case ir.Get(local):
                setting = self._settings.get(local)
                return isinstance(setting, ir.Set) and self.is_promised(setting.value)
        return False

    def range(self, expr: ir.Expr) -> Range | None:
        """What an index can be in one iteration; sums of 64 bits are taken not to overflow."""
        if not _is_whole(expr):
            return None
        match expr:
            case ir.Const(_, value):
                return Range(frozenset(), int(value), int(value))
            case ir.Op("add" | "sub" as name, args=(left, right)):
                return self._sum(left, right, 1 if name == "add" else -1)
            case ir.Op("mul", args=(left, ir.Const(_, value))):
                return self._sum(ir.ZERO, left, int(value))
            case ir.Op("mul", args=(ir.Const(_, value), right)):
                return self._sum(ir.ZERO, right, int(value))
            case ir.Op("cast", args=(inner,)) if _is_whole(inner):
                return self.range(inner)
            case ir.Get(local) if local is not self.loop.local and local in self._changing:
                return self._of_variable(local)
        is_known = expr == ir.Get(self.loop.local) or self.is_constant(expr)
        return Range(frozenset(((expr, 1),)), 0, 0) if is_known else None

    def _sum(self, left: ir.Expr, right: ir.Expr, times: int) -> Range | None:
        first, second = self.range(left), self.range(right)
        return None if first is None or second is None else first.plus(second, times)

    def _of_variable(self, local: ir.Local) -> Range | None:
        match self._settings.get(local):
            case ir.Set(_, value):
                return self.range(value)
            case ir.For(start=start, stop=stop, step=ir.Const(_, step)) if step > 0:
                for low in self._ends(start, is_max=True):
                    for high in self._ends(stop, is_max=False):
                        if low.terms == high.terms:
                            return Range(low.terms, low.low, max(low.low, high.high - 1))
        return None

    def _ends(self, expr: ir.Expr, *, is_max: bool) -> Iterator[Range]:
        """What the larger, or the smaller, of several numbers is not below, or not above."""
        if isinstance(expr, ir.Get):
            setting = self._settings.get(expr.local)
            if isinstance(setting, ir.Set):
                expr = setting.value
        for each in compared(expr, is_max=is_max):
            yield from self._ends(each, is_max=is_max)
        own = self.range(expr)
        if own is not None:
            yield own


def _is_whole(expr: ir.Expr) -> bool:
    """Whether it is a number of 64 bits, with a sign: one that does not come around."""
    return isinstance(expr.type, Scalar) and (expr.type.kind, expr.type.bits) == ("i", 64)


# -- the updates of a loop --------------------------------------------------------------

Indices: TypeAlias = tuple[ir.Expr | None, ...]


@dataclass(slots=True)
class Group:
    """The updates of one array in a loop: the indices of each, None if they are not known."""

    array: ir.ArrayRef
    indices: list[Indices | None]
    updates: list[ir.Update]
    axis: int = -1  # along which each iteration has its own elements
    range: Range = _NOTHING  # of the index along that axis

    @property
    def is_own(self) -> bool:
        """Whether each iteration has its own elements."""
        return self.axis >= 0


def _mark(iterations: _Iterations) -> None:
    """Mark the updates of a loop, and guard what is taken for granted."""
    loop = iterations.loop
    groups: dict[ir.ArrayRef, Group] = {}
    for array, indices, update in _reached(loop.body):
        array_and_indices = _whole(iterations, array, indices) if array is not None else None
        if array_and_indices is None:
            return  # it could be any array
        array, indices = array_and_indices
        group = groups.setdefault(_key(array), Group(array, [], []))
        group.indices.append(indices)
        if update is not None:
            group.updates.append(update)
    guards: list[ir.Expr] = []
    for group in groups.values():
        guards += _settle(iterations, group)
    for one, other in combinations(groups.values(), 2):
        if one.is_own or other.is_own:
            guards.append(_are_apart(iterations, one, other))
    for group in groups.values():
        for update in group.updates:
            update.is_own = group.is_own
    loop.guards = (*loop.guards, *guards)


def _key(array: ir.ArrayRef) -> ir.ArrayRef:
    """An array without what does not say where it is."""
    return ir.ArrayRef(array.type, array.base, array.extents, array.strides, "")


def _reached(
    block: ir.Block,
) -> Iterator[tuple[ir.ArrayRef | None, Indices | None, ir.Update | None]]:
    """The elements that a block updates, its calls too: of which array (None: of some)."""
    for statement in statements_in(block):
        match statement:
            case ir.Update(element):
                yield element.array, element.indices, statement
            case ir.Atomic(element=element):
                yield element.array, element.indices, None
            case ir.SubroutineCall(callee) if callee.is_recursive:
                yield None, None, None
            case ir.SubroutineCall(callee, args):
                given = dict(zip(callee.params, args, strict=True))
                for array, _, _ in _reached(callee.body):
                    yield None if array is None else _passed(array, given), None, None


def _passed(array: ir.ArrayRef, given: dict[ir.Local, ir.Expr]) -> ir.ArrayRef | None:
    """An array of a subroutine as its caller knows it."""

    def outside(exprs: Sequence[ir.Expr]) -> tuple[ir.Expr, ...]:
        return tuple(given[each.local] if isinstance(each, ir.Get) else each for each in exprs)

    try:
        strides = None if array.strides is None else outside(array.strides)
        [base], extents = outside([array.base]), outside(array.extents)
    except KeyError:  # a variable of its own
        return None
    return ir.ArrayRef(array.type, base, extents, strides, array.path)


def _whole(
    iterations: _Iterations, array: ir.ArrayRef, indices: Indices | None
) -> tuple[ir.ArrayRef, Indices | None] | None:
    """The array of all iterations that an array is, or is a part of, and the indices into that."""
    while not iterations.is_constant(*array.parts):
        if array.part_of is None:
            return None
        array, indices = array.part_of
    return array, indices


def _settle(iterations: _Iterations, group: Group) -> list[ir.Expr]:
    """Find an axis along which each iteration has its own elements, and the guards of that."""
    for axis in range(group.array.type.ndim):
        indices = [None if each is None else each[axis] for each in group.indices]
        if all(index is not None and iterations.is_promised(index) for index in indices):
            group.axis = axis
            return list(_own_elements(group.array, axis)) if group.array.strides else []
        common = _common(iterations, indices)
        if common is None:
            continue
        guards: list[ir.Expr] = []
        if not all(
            each is not None and _is_direct(iterations, each[axis]) for each in group.indices
        ):
            if not isinstance(iterations.loop.step, ir.Const):
                continue
            guards += _never_negative(iterations.loop, common)
        group.axis, group.range = axis, common
        if group.array.strides is not None:
            guards += _own_elements(group.array, axis)
        return guards
    return []


def _common(iterations: _Iterations, indices: list[ir.Expr | None]) -> Range | None:
    """The range of all indices of an iteration, if that of another iteration has none of them."""
    ranges = [None if index is None else iterations.range(index) for index in indices]
    first = ranges[0]
    if first is None:
        return None
    low, high = first.low, first.high
    for each in ranges:
        if each is None or each.terms != first.terms:
            return None
        low, high = min(low, each.low), max(high, each.high)
    common = Range(first.terms, low, high)
    return common if _is_apart_from_others(iterations.loop, common) else None


def _is_apart_from_others(loop: ir.Parallel, indices: Range) -> bool:
    """Whether a range of one iteration has no number of that of another iteration."""
    apart = abs(dict(indices.terms).get(ir.Get(loop.local), 0))
    if isinstance(loop.step, ir.Const):
        apart *= abs(int(loop.step.value))
    return indices.high - indices.low < apart


def _is_direct(iterations: _Iterations, index: ir.Expr | None) -> bool:
    low = None if index is None else lower_bound(index, iterations.bounds)
    return low is not None and low >= 0


# -- guards -----------------------------------------------------------------------------


def _never_negative(loop: ir.Parallel, indices: Range) -> Iterator[ir.Expr]:
    """That no index counts from the end: it would meet others. An index is least at an end."""
    assert isinstance(loop.step, ir.Const)
    one = ir.Const(WEAK_INT, 1 if loop.step.value > 0 else -1)
    for end in (loop.start, arithmetic("sub", loop.stop, one)):
        parts: list[ir.Expr] = [ir.Const(WEAK_INT, indices.low)]
        for expr, count in indices.terms:
            number = end if expr == ir.Get(loop.local) else expr
            parts.append(arithmetic("mul", ir.Const(WEAK_INT, count), number))
        yield test("ge", total(parts), ir.ZERO)


def _own_elements(array: ir.ArrayRef, axis: int) -> Iterator[ir.Expr]:
    """That no two indices along an axis lead to one place, whatever the other indices are.

    So it is where the stride along this axis, and each larger one, is larger than what all smaller
    ones reach together. Of all ordinary views that is true.
    """
    steps, spans = reaches(array)
    for here, step in enumerate(steps):
        smaller = [
            arithmetic("select", test("le", steps[k], step), spans[k], ir.ZERO)
            for k in range(len(steps))
            if k != here
        ]
        is_clear = test("ge", step, total([item_size(array), *smaller]))
        if here == axis:
            yield is_clear
            continue
        is_within = test("lt", step, steps[axis])
        is_single = test("eq", spans[here], ir.ZERO)
        yield every([is_clear, is_within, is_single], "or")


def _are_apart(iterations: _Iterations, one: Group, other: Group) -> ir.Expr:
    """That the updates of two arrays do not meet in different iterations."""
    (low, high), (other_low, other_high) = ends_of(one.array), ends_of(other.array)
    tests = [test("le", high, other_low), test("le", other_high, low)]
    if one.array.strides and other.array.strides:
        tests.append(are_interleaved(one.array, other.array))
    low_both = min(one.range.low, other.range.low)
    high_both = max(one.range.high, other.range.high)
    both = Range(one.range.terms, low_both, high_both)
    if (
        one.axis == other.axis
        and one.array.type.ndim == other.array.type.ndim
        and one.range.terms == other.range.terms
        and _is_apart_from_others(iterations.loop, both)
    ):
        tests.append(are_the_same(one.array, other.array))
    return every(tests, "or")
