"""Arrays that are made in a kernel: `np.empty`, `np.zeros`, `np.arange`, copies and other shapes.

What is filled by a rule (ones, counts, copies, other types) is an expression, so that
`x[:] = np.arange(n) * dx` stores nothing twice; a name makes it an array.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import test, total
from whorl.kernels.types import F64, WEAK_INT, Scalar, scalar_of_dtype

from . import vectors
from .arithmetic import binary, cast, constant, scalar_type
from .array_expressions import (
    by_rule,
    elementwise,
    expression_of,
    is_array,
    raise_if,
    shape_text,
)
from .array_memory import check_extents, new_array
from .array_statements import materialised, set_elements
from .joins import OneArray, all_at_once, new_variable, settings
from .known_calls import Handler, KnownCall
from .operands import (
    ArrayOf,
    Items,
    Known,
    Operand,
    Vec,
    ViewOperand,
    describe,
)
from .run_values import is_scalar, resolve
from .subscripts import check_writeable, transposed

__all__ = ["MADE_ARRAYS", "SHAPE_METHODS", "element_type", "is_made"]

Indices = tuple[ir.Expr, ...]


def element_type(call: KnownCall, operand: Operand | None) -> Scalar | None:
    """The element type that an argument `dtype` says; None if it is not given."""
    if operand is None or (isinstance(operand, Known) and operand.value is None):
        return None
    try:
        element = scalar_of_dtype(np.dtype(call.known_value(operand)))
    except TypeError:
        element = None
    if element is None:
        call.refuse("the dtype is not one of a kernel")
    return element


def is_made(operand: Operand) -> bool:
    """Whether an operand is an array or a small vector, whose methods are known here."""
    return is_array(operand) or isinstance(operand, Vec)


def _shape(call: KnownCall, operand: Operand | None) -> tuple[ir.Expr, ...]:
    """A shape, from an int or a tuple of ints."""
    assert operand is not None
    match operand:
        case Items(items):
            sizes = [resolve(item) for item in items]
        case Known(value) if isinstance(value, tuple | list):
            sizes = [Known(item) for item in value]
        case ViewOperand(view) if isinstance(view.peek(), tuple | list):
            sizes = [resolve(part) for part in call.parts(operand)]
        case _:
            sizes = [operand]
    for size in sizes:
        if not is_scalar(size) or not scalar_type(call.number(size)).is_integer:
            call.refuse(f"an extent is an int, not {describe(size)}")
    return tuple(call.frame.lowering.keep(cast(call.number(size), WEAK_INT)) for size in sizes)


def _fixed(extents: tuple[ir.Expr, ...]) -> tuple[int, ...] | None:
    """A shape that is known now and small enough for a vector."""
    if not all(isinstance(extent, ir.Const) for extent in extents) or not extents:
        return None
    shape = tuple(int(extent.value) for extent in extents if isinstance(extent, ir.Const))
    size = 1
    for extent in shape:
        size *= extent
    return shape if 0 < size <= vectors.LARGEST else None


# -- filled by a rule -------------------------------------------------------------------


def _empty(call: KnownCall) -> Operand:
    given = call.bound("shape", "dtype", "order")
    return _new(call, _shape(call, given["shape"]), element_type(call, given["dtype"]) or F64)


def _filled(value: float, call: KnownCall) -> Operand:
    given = call.bound("shape", "dtype", "order")
    element = element_type(call, given["dtype"]) or F64
    extents = _shape(call, given["shape"])
    return _constant(call, extents, constant(value, element))


def _full(call: KnownCall) -> Operand:
    given = call.bound("shape", "fill_value", "dtype", "order", required=2)
    return _filled_with(call, _shape(call, given["shape"]), given["fill_value"], given["dtype"])


def _is_result(call: KnownCall) -> bool:
    return call.frame.lowering.result_node is call.node


def _new(call: KnownCall, extents: tuple[ir.Expr, ...], element: Scalar) -> Operand:
    shape = _fixed(extents)
    if shape is not None:
        return vectors.filled(call.frame, shape, constant(0, element))
    check_extents(call.frame, call.node, extents)
    return ArrayOf(new_array(call.frame, call.node, element, extents, is_result=_is_result(call)))


def _constant(call: KnownCall, extents: tuple[ir.Expr, ...], value: ir.Expr) -> Operand:
    shape = _fixed(extents)
    if shape is not None:
        return vectors.filled(call.frame, shape, value)
    element = scalar_type(value)
    check_extents(call.frame, call.node, extents)
    if isinstance(value, ir.Const) and value.value == 0:
        is_result = _is_result(call)
        return ArrayOf(
            new_array(call.frame, call.node, element, extents, is_zero=True, is_result=is_result)
        )
    return by_rule(element, extents, lambda indices: value)


def _filled_with(
    call: KnownCall,
    extents: tuple[ir.Expr, ...],
    value: Operand | None,
    dtype: Operand | None,
    element: Scalar | None = None,
) -> Operand:
    assert value is not None
    number = call.frame.lowering.keep(call.number(value))
    element = element_type(call, dtype) or element or scalar_type(number).strong
    return _constant(call, extents, call.frame.lowering.keep(cast(number, element)))


def _like(value: float | None, call: KnownCall) -> Operand:
    """`np.zeros_like` and its kind; without a value the elements are not set."""
    names = ("a", "dtype") if value is not None else ("prototype", "dtype")
    given = call.bound(*names)
    extents, element = _type_of(call, given[names[0]])
    element = element_type(call, given["dtype"]) or element
    if value is None:
        return _new(call, extents, element)
    return _constant(call, extents, constant(value, element))


def _full_like(call: KnownCall) -> Operand:
    given = call.bound("a", "fill_value", "dtype", required=2)
    extents, element = _type_of(call, given["a"])
    return _filled_with(call, extents, given["fill_value"], given["dtype"], element)


def _type_of(call: KnownCall, operand: Operand | None) -> tuple[tuple[ir.Expr, ...], Scalar]:
    assert operand is not None
    value = expression_of(call.frame, operand)
    return value.extents, value.element.strong


def _arange(call: KnownCall) -> Operand:
    given = call.bound("start", "stop", "step", "dtype")
    start, stop, step = (given[name] for name in ("start", "stop", "step"))
    if stop is None:
        start, stop = Known(0), start
    assert start is not None
    assert stop is not None
    keep = call.frame.lowering.keep
    exprs = [call.number(each) for each in (start, stop, step or Known(1))]
    together = exprs[0]
    for expr in exprs[1:]:
        together = binary("add", together, expr)  # NumPy's types, Python's numbers as weak
    element = element_type(call, given["dtype"]) or scalar_type(together).strong
    counts_floats = any(scalar_type(expr).is_float for expr in exprs)
    kind = F64 if counts_floats else WEAK_INT
    first, last, by = (keep(cast(expr, kind)) for expr in exprs)
    span = binary("sub", last, first)
    if counts_floats:
        length = cast(ir.Op("ceil", F64, (binary("div", span, by),)), WEAK_INT)
    else:  # rounded up
        length = ir.Op("neg", WEAK_INT, (binary("floordiv", ir.Op("neg", WEAK_INT, (span,)), by),))
    extent = keep(ir.Op("max", WEAK_INT, (length, ir.ZERO)))
    if by in (ir.ZERO, ir.Const(F64, 0.0)):
        call.refuse("the step of np.arange is zero")
    # As NumPy: from the difference of the first two, both of them in the array's type.
    begin = keep(cast(first, element))
    second = keep(cast(binary("add", first, by), element))
    delta = keep(binary("sub", second, begin)) if element.kind != "b" else begin

    def at(indices: Indices) -> ir.Expr:
        count = cast(indices[0], element)
        return binary("add", begin, binary("mul", count, delta))

    return by_rule(element, (extent,), at)


def _linspace(call: KnownCall) -> Operand:
    given = call.bound("start", "stop", "num", "endpoint", required=2)
    assert given["start"] is not None
    assert given["stop"] is not None
    keep = call.frame.lowering.keep
    start, stop = (keep(cast(call.number(each), F64)) for each in (given["start"], given["stop"]))
    number = given["num"] or Known(50)
    endpoint = given["endpoint"] is None or bool(call.known_value(given["endpoint"]))
    count = keep(vectors.index_of(call.frame, call.node, number))
    parts = binary("sub", count, ir.ONE) if endpoint else count
    divisor = keep(ir.Op("max", WEAK_INT, (parts, ir.ONE)))
    step = keep(binary("div", binary("sub", stop, start), cast(divisor, F64)))

    def at(indices: Indices) -> ir.Expr:
        index = indices[0]
        value = binary("add", binary("mul", cast(index, F64), step), start)
        if not endpoint:
            return value
        is_last = test("and", test("eq", index, divisor), test("eq", parts, divisor))
        return ir.Op("select", F64, (is_last, stop, value))

    check_extents(call.frame, call.node, (count,))
    return by_rule(F64, (count,), at)


def _eye(call: KnownCall) -> Operand:
    given = call.bound("N", "M", "k", "dtype")
    return _diagonal(call, given["N"], given["M"], given["k"], given["dtype"])


def _identity(call: KnownCall) -> Operand:
    given = call.bound("n", "dtype")
    return _diagonal(call, given["n"], None, None, given["dtype"])


def _diagonal(
    call: KnownCall,
    rows: Operand | None,
    columns: Operand | None,
    k: Operand | None,
    dtype: Operand | None,
) -> Operand:
    element = element_type(call, dtype) or F64
    assert rows is not None
    if isinstance(columns, Known) and columns.value is None:
        columns = None
    (height,), (width,) = _shape(call, rows), _shape(call, columns or rows)
    (offset,) = _shape(call, k or Known(0))
    one, zero = constant(1, element), constant(0, element)

    def at(indices: Indices) -> ir.Expr:
        row, column = indices
        is_on = test("eq", column, binary("add", row, offset))
        return ir.Op("select", element, (is_on, one, zero))

    check_extents(call.frame, call.node, (height, width))
    return by_rule(element, (height, width), at)


# -- copies and other types -------------------------------------------------------------


def _copy(call: KnownCall) -> Operand:
    given = call.bound("a", "order")
    operand = given["a"]
    assert operand is not None
    if isinstance(operand, Vec):
        return vectors.copy_of(call.frame, operand)
    return expression_of(call.frame, operand)


def _astype(call: KnownCall) -> Operand:
    given = call.bound("a", "dtype", "order", "casting", "subok", "copy", required=2)
    element = element_type(call, given["dtype"])
    assert element is not None
    assert given["a"] is not None
    if isinstance(given["a"], Vec):
        return vectors.elementwise(
            call.frame, given["a"].shape, lambda expr: cast(expr, element), given["a"]
        )
    return elementwise(call.frame, call.node, lambda expr: cast(expr, element), [given["a"]])


def _asarray(call: KnownCall) -> Operand:
    given = call.bound("a", "dtype", "order")
    operand = given["a"]
    assert operand is not None
    if not is_array(operand):
        call.refuse(f"{call.function} of {describe(operand)}", "Use np.array(...).")
    element = element_type(call, given["dtype"])
    if element is None or element == expression_of(call.frame, operand).element:
        return operand
    return _astype(replace(call, args=[operand, Known(element.dtype)], named={}))


def _contiguous(call: KnownCall) -> Operand:
    operand = _asarray(call)
    if isinstance(operand, ArrayOf) and operand.array.type.layout != "C":
        # It is a copy where it has to be; what lies in order is known by the layout.
        return materialised(call.frame, call.node, expression_of(call.frame, operand), order="C")
    return operand


def _fill(call: KnownCall) -> Operand:
    given = call.bound("a", "value", required=2)
    operand, value = given["a"], given["value"]
    assert value is not None
    if isinstance(operand, Vec):
        vectors.set_all(call.frame, operand, value)
        return Known(None)
    if not isinstance(operand, ArrayOf):
        call.refuse("fill is for an array with a name")
    check_writeable(call.frame, call.node, operand.array)
    if not is_scalar(value):
        call.refuse(f"an array is filled with a number, not with {describe(value)}")
    set_elements(call.frame, call.node, operand.array, value)
    return Known(None)


# -- other shapes -----------------------------------------------------------------------


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
    given = call.bound("a", "shape", required=2)
    return _reshaped(call, _stored(call, given["a"]), _shape(call, given["shape"]))


def _ravel(call: KnownCall) -> Operand:
    given = call.bound("a")
    return _reshaped(call, _stored(call, given["a"]), (ir.Const(WEAK_INT, -1),))


def _flatten(call: KnownCall) -> Operand:
    given = call.bound("a")
    assert given["a"] is not None
    copy = materialised(call.frame, call.node, expression_of(call.frame, given["a"]), order="C")
    return _reshaped(call, copy.array, (ir.Const(WEAK_INT, -1),))


def _reshaped(call: KnownCall, array: ir.ArrayRef, shape: tuple[ir.Expr, ...]) -> Operand:
    frame, keep = call.frame, call.frame.lowering.keep
    size = keep(total((ir.ONE, *array.extents), "mul"))
    extents = _completed(call, size, shape)
    wanted = total((ir.ONE, *extents), "mul")
    text = f"an array of size {{}} has no shape {shape_text(extents)}"
    is_wrong = test("ne", wanted, size)
    raise_if(frame, call.node, is_wrong, "ValueError", text, (size, *extents))
    type = replace(array.type, ndim=len(extents), layout="C")
    if array.type.layout == "C":
        return ArrayOf(ir.ArrayRef(type, array.base, extents, None, array.path, owner=array.owner))
    if array.type.ndim == 1:
        return ArrayOf(_spread(array, extents))
    # What lies in order is known at run time: a view then, and a copy otherwise.
    result = new_variable(OneArray(type, is_owned=True), "shape")
    view = ir.ArrayRef(type, array.base, extents, None, array.path, owner=array.owner)
    copied: ir.Block = []
    with frame.lowering.writing(copied):
        copy = materialised(frame, call.node, expression_of(frame, ArrayOf(array)), order="C").array
        whole = ir.ArrayRef(type, copy.base, extents, None, array.path, owner=copy.owner)
        frame.lowering.block.extend(all_at_once(settings(result, ArrayOf(whole))))
    viewed = all_at_once(settings(result, ArrayOf(view)))
    frame.lowering.emit(ir.If(_lies_in_order(array), viewed, copied))
    return result


def _completed(call: KnownCall, size: ir.Expr, shape: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """A shape whose one extent that is -1 is worked out."""
    open_axes = [axis for axis, extent in enumerate(shape) if extent == ir.Const(WEAK_INT, -1)]
    if len(open_axes) > 1:
        call.refuse("one extent of a shape can be -1, not several")
    if not open_axes:
        return shape
    others = [extent for extent in shape if extent != ir.Const(WEAK_INT, -1)]
    rest = call.frame.lowering.keep(binary("floordiv", size, total((ir.ONE, *others), "mul")))
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


def _lies_in_order(array: ir.ArrayRef) -> ir.Expr:
    """That the elements of an array follow each other, the last axis fastest."""
    step: ir.Expr = ir.Const(WEAK_INT, array.type.element.bits // 8)
    result: ir.Expr | None = None
    for extent, stride in zip(reversed(array.extents), reversed(array.all_strides), strict=True):
        fits = test("or", test("eq", stride, step), test("eq", extent, ir.ONE))
        result = fits if result is None else test("and", result, fits)
        step = binary("mul", step, extent)
    assert result is not None
    return result


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


# -- the tables -------------------------------------------------------------------------

MADE_ARRAYS: Final[dict[str, Handler]] = {
    "numpy.empty": _empty,
    "numpy.zeros": partial(_filled, 0.0),
    "numpy.ones": partial(_filled, 1.0),
    "numpy.full": _full,
    "numpy.empty_like": partial(_like, None),
    "numpy.zeros_like": partial(_like, 0.0),
    "numpy.ones_like": partial(_like, 1.0),
    "numpy.full_like": _full_like,
    "numpy.arange": _arange,
    "numpy.linspace": _linspace,
    "numpy.eye": _eye,
    "numpy.identity": _identity,
    "numpy.copy": _copy,
    "numpy.asarray": _asarray,
    "numpy.ascontiguousarray": _contiguous,
    "numpy.reshape": _reshape,
    "numpy.ravel": _ravel,
    "numpy.transpose": _transpose,
    "numpy.swapaxes": _swapaxes,
}
"""By the name that a function has of its own: a program can bind it to any other."""
SHAPE_METHODS: Final[dict[str, Handler]] = {
    "copy": _copy,
    "astype": _astype,
    "fill": _fill,
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": _flatten,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
}
"""Methods of arrays; the array is the first argument."""
