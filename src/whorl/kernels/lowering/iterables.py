"""What loops iterate over: `range`, arrays, `zip`, `enumerate`, `np.ndindex` and the like.

Each is a `Count`, of so many iterations with an item for each, or a list of items that are known
now: then the loop is unrolled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from typing import Final, TypeAlias

from whorl.fast_dataclasses import dataclass
from whorl.kernels import ir
from whorl.kernels.types import WEAK_INT
from whorl.reads.library import own_name

from . import vectors
from .arithmetic import binary, cast, compare, scalar_type
from .array_expressions import is_array
from .array_statements import stored
from .expressions import expression, number_at, operands_of, parts, resolved, snapshot, starred
from .frame import Frame, place_of
from .functions import known_function
from .joins import range_of
from .operands import ArrayOf, Items, Iteration, Known, Operand, Records, Value, describe
from .records import record_at
from .run_values import is_scalar, resolve
from .subscripts import array_part, element_of, fail_unless

__all__ = ["ITERATORS", "Bounds", "Count", "all_indices", "iterable", "iteration", "range_bounds"]

ITERATORS: Final = (
    "builtins.range", "builtins.zip", "builtins.enumerate", "builtins.reversed", "whorl.ndrange",
)  # fmt: skip
Bounds: TypeAlias = tuple[ir.Expr, ir.Expr, ir.Expr]
"""Start, stop and step of a loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """Loops inside of each other, each so many times, and the item of the counts in them."""

    extents: tuple[ir.Expr, ...]
    item: Callable[[tuple[ir.Expr, ...]], Operand]


Iterable: TypeAlias = Count | list[Operand]


def iterable(frame: Frame, node: ast.expr) -> Iterable:
    """What an expression in a `for` statement iterates over."""
    if isinstance(node, ast.Call):
        function = known_function(expression(frame, node.func))
        name = own_name(function) or getattr(function, "__name__", None)
        make = _MAKERS.get(str(name))
        if make is not None:
            return make(frame, node)
    if isinstance(node, ast.Attribute) and node.attr == "flat":
        owner = resolved(frame, node.value)
        if is_array(owner):
            return _elements(frame, node, stored(frame, node, owner).array)
    operand = snapshot(frame, resolved(frame, node))
    if isinstance(operand, Iteration):
        _check_once(frame, node, operand)
        return Count(operand.extents, operand.item)
    if isinstance(operand, Records) and operand.array.type.ndim == 1 and not operand.indices:
        records = operand
        return Count(records.array.extents[:1], lambda counts: record_at(records, counts[0]))
    if isinstance(operand, ArrayOf) and operand.array.type.ndim:
        array = operand.array
        if isinstance(array.extents[0], ir.Const) and array.extents[0].value <= _FEW:
            return parts(frame, node, operand)
        return Count(
            (array.extents[0],),
            lambda counts: snapshot(frame, array_part(frame, node, array, [Value(counts[0])])),
        )
    return parts(frame, node, operand)


def iteration(frame: Frame, node: ast.Call, name: str) -> Operand:
    """A `range`, `zip`, `enumerate` or `reversed` that is a value."""
    bounds = range_bounds(frame, node) if name == "builtins.range" else None
    source = _counted(frame, bounds) if bounds else _MAKERS[name](frame, node)
    if isinstance(source, list):
        return Items(tuple(source))
    words = f"a {name.removeprefix('builtins.').removeprefix('whorl.')}"
    place = None if bounds else _place(frame)
    return Iteration(words, source.extents, source.item, bounds, place=place)


def _place(frame: Frame) -> object:
    return frame, tuple(loop.leave for loop in frame.loops)


def _check_once(frame: Frame, node: ast.expr, operand: Iteration) -> None:
    """An iterator is used up by the first loop over it."""
    if operand.place is None:
        return
    user = frame.lowering.used_iterators.setdefault(operand, place_of(node))
    if operand.place != _place(frame) or user != place_of(node):
        frame.refuse(
            node,
            f"{operand.words} can be iterated over once, in the block that makes it",
            "Write it in the for statement.",
        )


_FEW: Final = 4  # rows of an array of known size: each iteration is written out


def range_bounds(frame: Frame, call: ast.Call) -> Bounds:
    """Start, stop and step of a `range`."""
    if call.keywords or not 1 <= len(call.args) <= 3:
        frame.refuse(call, "range takes one to three ints")
    exprs = []
    for argument, operand in zip(call.args, operands_of(frame, call.args), strict=True):
        if not is_scalar(operand) or scalar_type(number_at(frame, argument, operand)).is_float:
            frame.refuse(argument, *_no_range(operand))
        exprs.append(frame.lowering.keep(cast(number_at(frame, argument, operand), WEAK_INT)))
    if len(exprs) == 1:
        return ir.ZERO, exprs[0], ir.ONE
    start, stop = exprs[:2]
    step = exprs[2] if len(exprs) == 3 else ir.ONE
    if isinstance(step, ir.Const) and step.value == 0:
        frame.refuse(call, "the step of a range is not zero")
    if not isinstance(step, ir.Const):
        site = frame.check(call, "ValueError", "the step of a range is zero")
        fail_unless(frame, compare("ne", step, ir.ZERO), site)
    return start, stop, step


def _no_range(operand: Operand) -> tuple[str, str]:
    if is_scalar(operand):
        return "range takes ints", "Convert it with int(...)."
    return (
        f"range and prange take ints, not {describe(operand)}",
        "For all indices: Write whorl.ndrange(...) or np.ndindex(...) inside of whorl.prange(...).",
    )


def _range(frame: Frame, call: ast.Call) -> Iterable:
    """A range that is not the whole of what is iterated over."""
    bounds = range_bounds(frame, call)
    known = [int(each.value) for each in bounds if isinstance(each, ir.Const)]
    if len(known) == 3 and len(range(*known)) <= _FEW:
        return [Known(number) for number in range(*known)]
    return _counted(frame, bounds)


def _counted(frame: Frame, bounds: Bounds) -> Count:
    """The numbers of a range."""
    found, keep = range_of(*bounds), frame.lowering.keep

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        number = found.item(counts)
        return snapshot(frame, number)

    return Count((keep(found.extents[0]),), item)


def _enumerate(frame: Frame, call: ast.Call) -> Iterable:
    starts = [keyword.value for keyword in call.keywords if keyword.arg == "start"]
    nodes = [*call.args, *starts]
    if len(nodes) not in (1, 2) or len(starts) != len(call.keywords) or not call.args:
        frame.refuse(call, "enumerate takes what is counted, and where to start")
    inner = iterable(frame, nodes[0])
    begin = resolve(expression(frame, nodes[1])) if len(nodes) > 1 else Known(0)
    if not is_scalar(begin) or not scalar_type(number_at(frame, nodes[-1], begin)).is_integer:
        frame.refuse(nodes[-1], f"enumerate starts with an int, not {describe(begin)}")
    if isinstance(inner, list):
        if not isinstance(begin, Known):
            frame.refuse(call, "enumerate begins with an int that is known at compile time")
        return [Items((Known(begin.value + i), item)) for i, item in enumerate(inner)]
    keep, counted = frame.lowering.keep, _one_loop(frame, call, inner)
    first = keep(cast(number_at(frame, call, begin), WEAK_INT))

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        number = ir.Op("add", WEAK_INT, (counts[0], first))
        return Items((Value(keep(number)), counted.item(counts)))

    return Count(counted.extents, item)


def _zip(frame: Frame, call: ast.Call) -> Iterable:
    if not call.args:
        frame.refuse(call, "zip takes what is to be iterated over")
    for keyword in call.keywords:
        if keyword.arg != "strict" or resolved(frame, keyword.value) != Known(False):
            frame.refuse(call, "zip takes strict=False, and no other keyword", "Compare before.")
    columns = [iterable(frame, node) for node in call.args]
    if all(isinstance(column, list) for column in columns):
        known = [column for column in columns if isinstance(column, list)]
        return [Items(row) for row in zip(*known, strict=False)]
    counts = [_one_loop(frame, call, column) for column in columns]
    shortest = reduce(
        lambda one, other: ir.Op("min", WEAK_INT, (one, other)),
        [count.extents[0] for count in counts],
    )
    return Count(
        (frame.lowering.keep(shortest),),
        lambda places: Items(tuple(count.item(places) for count in counts)),
    )


def _reversed(frame: Frame, call: ast.Call) -> Iterable:
    if call.keywords or len(call.args) != 1:
        frame.refuse(call, "reversed takes one argument")
    inner = iterable(frame, call.args[0])
    if isinstance(inner, list):
        return inner[::-1]
    keep, counted = frame.lowering.keep, _one_loop(frame, call, inner)
    last = keep(binary("sub", counted.extents[0], ir.ONE))
    return Count(
        counted.extents, lambda counts: counted.item((keep(binary("sub", last, counts[0])),))
    )


def _one_loop(frame: Frame, node: ast.AST, source: Iterable) -> Count:
    """Something to iterate over as one loop, beside others."""
    if isinstance(source, Count):
        if len(source.extents) != 1:
            frame.refuse(node, "this iterates over several axes at once", "Write nested loops.")
        return source
    if source and all(is_scalar(item) for item in source):
        table = vectors.vector_of(frame, source)
        extent = ir.Const(WEAK_INT, len(source))
        return Count(
            (extent,), lambda counts: vectors.part_of(frame, node, table, [Value(counts[0])])
        )
    frame.refuse(node, "items that are no numbers, beside what only the run can count")


def all_indices(frame: Frame, node: ast.expr) -> list[Bounds] | None:
    """The bounds of the loops of `whorl.ndrange(...)` or `np.ndindex(...)`; None of all else."""
    if not isinstance(node, ast.Call):
        return None
    function = known_function(expression(frame, node.func))
    if own_name(function) == "whorl.ndrange":
        return _bounds_of_ndrange(frame, node)
    if getattr(function, "__name__", None) == "ndindex":
        return [(ir.ZERO, extent, ir.ONE) for extent in _shape_of_ndindex(frame, node)]
    return None


def _ndrange(frame: Frame, call: ast.Call) -> Iterable:
    bounds = _bounds_of_ndrange(frame, call)
    lengths = [_counted(frame, each) for each in bounds]

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        pairs = zip(lengths, counts, strict=True)
        return Items(tuple(length.item((count,)) for length, count in pairs))

    return Count(tuple(length.extents[0] for length in lengths), item)


def _bounds_of_ndrange(frame: Frame, call: ast.Call) -> list[Bounds]:
    """The ranges of a call, each a length or a pair of start and stop."""
    if call.keywords or not call.args:
        frame.refuse(call, "whorl.ndrange takes at least one range, and no keywords")
    every: list[Bounds] = []
    for operand in _spread_arguments(frame, call):
        sides = [operand] if is_scalar(operand) else parts(frame, call, operand)
        sides = [resolve(side) for side in sides]
        is_right = len(sides) == 1 if is_scalar(operand) else len(sides) == 2
        if not is_right or not all(map(is_scalar, sides)):
            frame.refuse(
                call,
                f"a range of whorl.ndrange is a length, or a start and a stop, not "
                f"{describe(operand)}",
            )
        exprs = [frame.lowering.keep(vectors.index_of(frame, call, side)) for side in sides]
        start, stop = exprs if len(exprs) == 2 else (ir.ZERO, exprs[0])
        every.append((start, stop, ir.ONE))
    return every


def _spread_arguments(frame: Frame, call: ast.Call) -> list[Operand]:
    """The arguments of a call, stars written out."""
    nodes = [each.value if isinstance(each, ast.Starred) else each for each in call.args]
    operands: list[Operand] = []
    for node, operand in zip(call.args, operands_of(frame, nodes), strict=True):
        is_starred = isinstance(node, ast.Starred)
        operands += starred(frame, node, operand) if is_starred else [operand]
    return [resolve(operand) for operand in operands]


def _ndindex(frame: Frame, call: ast.Call) -> Iterable:
    return Count(
        _shape_of_ndindex(frame, call),
        lambda counts: Items(tuple(Value(count) for count in counts)),
    )


def _shape_of_ndindex(frame: Frame, call: ast.Call) -> tuple[ir.Expr, ...]:
    operands = _spread_arguments(frame, call)
    if len(operands) == 1 and not is_scalar(operands[0]):
        operands = [resolve(item) for item in parts(frame, call, operands[0])]
    if call.keywords or not all(is_scalar(operand) for operand in operands):
        frame.refuse(call, "np.ndindex takes a shape")
    return tuple(
        frame.lowering.keep(vectors.index_of(frame, call, operand)) for operand in operands
    )


def _ndenumerate(frame: Frame, call: ast.Call) -> Iterable:
    operands = operands_of(frame, call.args)
    if call.keywords or len(operands) != 1 or not is_array(operands[0]):
        frame.refuse(call, "np.ndenumerate takes an array")
    counted = _elements(frame, call, stored(frame, call, operands[0]).array)

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        return Items((Items(tuple(Value(count) for count in counts)), counted.item(counts)))

    return Count(counted.extents, item)


def _elements(frame: Frame, node: ast.AST, array: ir.ArrayRef) -> Count:
    """All elements of an array, the last axis innermost."""

    def item(counts: tuple[ir.Expr, ...]) -> Operand:
        element = element_of(frame, node, array, [Value(count) for count in counts])
        return Value(frame.lowering.keep(element))

    return Count(array.extents, item)


_MAKERS: Final[dict[str, Callable[[Frame, ast.Call], Iterable]]] = {
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.reversed": _reversed,
    "whorl.ndrange": _ndrange,
    "ndindex": _ndindex,
    "ndenumerate": _ndenumerate,
}
