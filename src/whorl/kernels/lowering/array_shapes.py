"""Other shapes of arrays: `reshape`, `ravel`, `transpose`: views where NumPy has a view."""

from __future__ import annotations

from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test, total
from whorl.kernels.types import WEAK_BOOL, WEAK_INT

from . import vectors
from .arithmetic import binary
from .array_creation import shape_of
from .array_expressions import expression_of, raise_if, shape_text
from .array_statements import materialised
from .joins import OneArray, all_at_once, new_variable, settings
from .known_calls import Handler, KnownCall
from .operands import ArrayOf, Items, Known, Operand, Vec, describe
from .run_values import resolve
from .subscripts import array_part, transposed

__all__ = ["SHAPES", "SHAPE_METHODS"]


def _stored(call: KnownCall, operand: Operand | None) -> ir.ArrayRef:
    """An operand as an array in memory."""
    assert operand is not None
    if isinstance(operand, ArrayOf):
        return operand.array
    return materialised(call.frame, call.node, expression_of(call.frame, operand)).array


def _reshape(call: KnownCall) -> Operand:
    """`np.reshape(a, shape)` and `a.reshape(...)`: a view where the elements lie in order."""
    if len(call.args) > 2:
        call = replace(call, args=[call.args[0], Items(tuple(call.args[1:]))])
    given = call.bound("a", "shape", "order", required=2)
    array, shape = _stored(call, given["a"]), shape_of(call, given["shape"])
    if not _is_by_columns(call, array, given["order"]):
        return _reshaped(call, array, shape)
    turned = _reshaped(call, transposed(array), shape[::-1])
    assert isinstance(turned, ArrayOf)
    return ArrayOf(transposed(turned.array))


def _ravel(call: KnownCall) -> Operand:
    given = call.bound("a", "order")
    return _raveled(call, _stored(call, given["a"]), given["order"])


def _raveled(call: KnownCall, array: ir.ArrayRef, order: Operand | None) -> Operand:
    array = transposed(array) if _is_by_columns(call, array, order) else array
    return _reshaped(call, array, (ir.Const(WEAK_INT, -1),), in_order=True)


def _flatten(call: KnownCall) -> Operand:
    given = call.bound("a", "order")
    operand, order = given["a"], given["order"]
    assert operand is not None
    value = expression_of(call.frame, operand)
    if order is not None and call.known_value(order) != "C":
        array = _stored(call, operand)
        if _is_by_columns(call, array, order):
            value = expression_of(call.frame, ArrayOf(transposed(array)))
    copy = materialised(call.frame, call.node, value, order="C")
    return _reshaped(call, copy.array, (ir.Const(WEAK_INT, -1),))


def _is_by_columns(call: KnownCall, array: ir.ArrayRef, order: Operand | None) -> bool:
    """Whether `order` means that the first index counts fastest."""
    name = "C" if order is None else call.known_value(order)
    if name in ("A", "K") and array.type.layout == "strided" and array.type.ndim > 1:
        call.refuse(f"how {describe(ArrayOf(array))} lies is known at run time alone",
                    "Write order='C' or order='F'.")  # fmt: skip
    if name not in ("C", "F", "A", "K"):
        call.refuse(f"the order of elements is 'C', 'F', 'A' or 'K', not {name!r}")
    return name == "F" or (name != "C" and array.type.layout == "F")


def _reshaped(
    call: KnownCall, array: ir.ArrayRef, shape: tuple[ir.Expr, ...], *, in_order: bool = False
) -> Operand:
    """An array in another shape; with `in_order` its elements follow each other without gaps."""
    frame, keep = call.frame, call.frame.lowering.keep
    size = keep(total((ir.ONE, *array.extents), "mul"))
    extents = _completed(call, size, shape)
    wanted = total((ir.ONE, *extents), "mul")
    text = f"an array of size {{}} has no shape {shape_text(extents)}"
    are_negative = [test("lt", extent, ir.ZERO) for extent in extents]
    is_wrong = every([test("ne", wanted, size), *are_negative], "or")
    raise_if(frame, call.node, is_wrong, "ValueError", text, (size, *extents))
    type = replace(array.type, ndim=len(extents), layout="C")
    if array.type.layout == "C":
        return ArrayOf(ir.ArrayRef(type, array.base, extents, None, array.path, owner=array.owner))
    if array.type.ndim == 1 and not in_order:
        return ArrayOf(_spread(array, extents))
    # Whether there are strides for it is known at run time: a view then, and a copy otherwise.
    strides, is_view = _strides_of_view(call, array, extents)
    item: ir.Expr = ir.Const(WEAK_INT, array.type.element.bits // 8)
    if in_order:
        is_view = test("and", is_view, test("eq", strides[-1], item))
    type = replace(type, layout="strided")
    result = new_variable(OneArray(type, is_owned=True), "shape")
    view = ir.ArrayRef(type, array.base, extents, strides, array.path, owner=array.owner)
    copied: ir.Block = []
    with frame.lowering.writing(copied):
        copy = materialised(frame, call.node, expression_of(frame, ArrayOf(array)), order="C").array
        whole = _spread(replace(copy, extents=(size,), strides=(item,)), extents)
        frame.lowering.block.extend(all_at_once(settings(result, ArrayOf(whole))))
    viewed = all_at_once(settings(result, ArrayOf(view)))
    frame.lowering.emit(ir.If(is_view, viewed, copied))
    return result


def _completed(call: KnownCall, size: ir.Expr, shape: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """A shape whose one extent that is -1 is worked out."""
    open_axes = [axis for axis, extent in enumerate(shape) if extent == ir.Const(WEAK_INT, -1)]
    if len(open_axes) > 1:
        call.refuse("one extent of a shape can be -1, not several")
    if not open_axes:
        return shape
    others = [extent for extent in shape if extent != ir.Const(WEAK_INT, -1)]
    count = total((ir.ONE, *others), "mul")
    if others:
        text = "an extent of -1 beside one of 0 could be any: write the extent"
        raise_if(call.frame, call.node, test("eq", count, ir.ZERO), "ValueError", text, ())
    rest = call.frame.lowering.keep(binary("floordiv", size, count))
    return tuple(rest if axis in open_axes else extent for axis, extent in enumerate(shape))


def _spread(array: ir.ArrayRef, extents: tuple[ir.Expr, ...]) -> ir.ArrayRef:
    """One axis with equal steps as several."""
    (step,) = array.all_strides
    strides: list[ir.Expr] = []
    for extent in reversed(extents):
        strides.insert(0, step)
        step = binary("mul", step, extent)
    type = replace(array.type, ndim=len(extents), layout="strided")
    return ir.ArrayRef(type, array.base, extents, tuple(strides), array.path, owner=array.owner)


def _strides_of_view(
    call: KnownCall, array: ir.ArrayRef, extents: tuple[ir.Expr, ...]
) -> tuple[tuple[ir.Expr, ...], ir.Expr]:
    """The strides of an array in another shape of the same size, and whether there are such.

    The weight of an axis is how many elements are behind a step along it, in the order of the last
    axis fastest. Where an axis of the array does not go on as those behind it do, one of the new
    axes has to begin: its weight is the same. An axis of length 1 has no steps and never counts.
    """
    keep = call.frame.lowering.keep
    weights, _ = _weights(call, extents)
    old_weights, ends = _weights(call, array.extents)
    item = ir.Const(WEAK_INT, array.type.element.bits // 8)
    chosen: list[tuple[ir.Expr, ir.Expr]] = [(item, ir.ONE)] * len(extents)
    is_view: ir.Expr = ir.Op("eq", WEAK_BOOL, (ir.ZERO, ir.ZERO))
    following: ir.Expr = item  # the stride with which the axes behind would go on
    axes = zip(array.extents, array.all_strides, old_weights, ends, strict=True)
    for extent, stride, weight, end in reversed(list(axes)):
        is_one = test("eq", extent, ir.ONE)
        begins = [test("eq", weight, new) for new in weights]
        fits = every([is_one, test("eq", stride, following), *begins], "or")
        is_view = keep(test("and", is_view, fits))
        following = keep(_select(is_one, following, binary("mul", stride, extent)))
        for axis, new in enumerate(weights):
            is_in = keep(test("and", test("le", weight, new), test("lt", new, end)))
            old_stride, old_weight = chosen[axis]
            chosen[axis] = (
                keep(_select(is_in, stride, old_stride)),
                keep(_select(is_in, weight, old_weight)),
            )
    strides = [
        keep(binary("floordiv", binary("mul", stride, new), weight))
        for new, (stride, weight) in zip(weights, chosen, strict=True)
    ]
    return tuple(strides), is_view


def _weights(
    call: KnownCall, extents: tuple[ir.Expr, ...]
) -> tuple[tuple[ir.Expr, ...], tuple[ir.Expr, ...]]:
    """Of each axis, how many elements are behind one step along it, and behind all of them.

    Of an array without elements the axes of length 0 count as those of length 1.
    """
    keep = call.frame.lowering.keep
    weights: list[ir.Expr] = [ir.ONE]
    for extent in reversed(extents):
        count = _select(test("eq", extent, ir.ZERO), ir.ONE, extent)
        weights.insert(0, keep(binary("mul", weights[0], count)))
    return tuple(weights[1:]), tuple(weights[:-1])


def _select(condition: ir.Expr, one: ir.Expr, other: ir.Expr) -> ir.Expr:
    return ir.Op("select", WEAK_INT, (condition, one, other))


def _transpose(call: KnownCall) -> Operand:
    if len(call.args) > 2:
        call = replace(call, args=[call.args[0], Items(tuple(call.args[1:]))])
    given = call.bound("a", "axes")
    operand, axes = given["a"], given["axes"]
    if isinstance(operand, Vec):
        return vectors.turned(operand)
    array = _stored(call, operand)
    if axes is None or (isinstance(axes, Known) and axes.value is None):
        return ArrayOf(transposed(array))
    return _permuted(call, array, call.known_value(axes))


def _swapaxes(call: KnownCall) -> Operand:
    given = call.bound("a", "axis1", "axis2", required=3)
    array = _stored(call, given["a"])
    order = list(range(array.type.ndim))
    one, other = (call.known_value(given[name]) for name in ("axis1", "axis2"))  # type: ignore[arg-type]  # given
    try:
        order[one], order[other] = order[other], order[one]
    except (IndexError, TypeError):
        call.refuse(f"there are no axes {one!r} and {other!r}")
    return _permuted(call, array, tuple(order))


def _permuted(call: KnownCall, array: ir.ArrayRef, axes: Any) -> Operand:
    ndim = array.type.ndim
    try:
        order = [axis % ndim for axis in axes]
    except (TypeError, ZeroDivisionError):
        order = []
    if sorted(order) != list(range(ndim)):
        call.refuse(f"{axes!r} are not the axes of {describe(ArrayOf(array))}")
    if order == list(range(ndim)):
        return ArrayOf(array)
    if order == list(reversed(range(ndim))):
        return ArrayOf(transposed(array))
    strides = array.all_strides
    type = replace(array.type, layout="strided")
    return ArrayOf(
        ir.ArrayRef(
            type,
            array.base,
            tuple(array.extents[axis] for axis in order),
            tuple(strides[axis] for axis in order),
            array.path,
            owner=array.owner,
        )
    )


def _broadcast_to(call: KnownCall) -> Operand:
    """`np.broadcast_to(a, shape)`: a view that may not be written to."""
    given = call.bound("array", "shape", required=2)
    shape, array = shape_of(call, given["shape"]), _stored(call, given["array"])
    new = len(shape) - array.type.ndim
    if new < 0:
        call.refuse(f"{describe(ArrayOf(array))} has more dimensions than the shape")
    keep = call.frame.lowering.keep
    strides: list[ir.Expr] = [ir.ZERO] * new
    problems = []
    for extent, stride, wanted in zip(array.extents, array.all_strides, shape[new:], strict=True):
        is_one = test("eq", extent, ir.ONE)
        problems.append(test("not", test("or", is_one, test("eq", extent, wanted))))
        strides.append(keep(ir.Op("select", WEAK_INT, (is_one, ir.ZERO, stride))))
    if problems:
        text = f"an array of shape {shape_text(array.extents)} does not fit into "
        text += f"shape {shape_text(shape)}"
        values = (*array.extents, *shape)
        raise_if(call.frame, call.node, every(problems, "or"), "ValueError", text, values)
    type = replace(array.type, ndim=len(shape), layout="strided", writeable=False)
    return ArrayOf(
        ir.ArrayRef(type, array.base, shape, tuple(strides), array.path, owner=array.owner)
    )


def _item(call: KnownCall) -> Operand:
    """`a.item(...)`: the one element, or that at some indices."""
    array, *indices = call.positional(*range(1, 33))
    operand = ArrayOf(_stored(call, resolve(array)))
    if len(indices) == 1 and isinstance(indices[0], Items):
        indices = list(indices[0].items)
    if len(indices) < operand.array.type.ndim and len(indices) < 2:
        flat = _reshaped(call, operand.array, (ir.Const(WEAK_INT, -1),))
        assert isinstance(flat, ArrayOf)
        operand, indices = flat, indices or [Known(0)]
    return array_part(call.frame, call.node, operand.array, indices)


def _view(call: KnownCall) -> Operand:
    (operand,) = call.positional(1)
    return ArrayOf(_stored(call, resolve(operand)))


SHAPES: Final[dict[str, Handler]] = {
    "numpy.reshape": _reshape,
    "numpy.ravel": _ravel,
    "numpy.transpose": _transpose,
    "numpy.swapaxes": _swapaxes,
    "numpy.broadcast_to": _broadcast_to,
}
"""By the name that a function has of its own: a program can bind it to any other."""
SHAPE_METHODS: Final[dict[str, Handler]] = {
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": _flatten,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "item": _item,
    "view": _view,
}
"""Methods of arrays; the array is the first argument."""
