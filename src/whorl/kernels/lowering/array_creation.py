"""Arrays that are made in a kernel: `np.array`, `np.zeros`, `np.arange`, copies, other types.

What is filled by a rule (ones, counts, copies, other types) is an expression, so that
`x[:] = np.arange(n) * dx` stores nothing twice; a name makes it an array.
"""

from __future__ import annotations

from functools import partial, reduce
from itertools import product
from typing import Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.overlap import every, test
from whorl.kernels.types import C128, F64, WEAK_INT, Scalar, promote, scalar_of_dtype

from . import vectors
from .arithmetic import binary, by_parts, cast, constant, scalar_type
from .array_expressions import (
    by_rule,
    elementwise,
    expression_of,
    is_array,
    raise_if,
    shape_text,
    source_text,
)
from .array_memory import check_extents, new_array
from .array_statements import materialised, set_elements
from .known_calls import Handler, KnownCall
from .operands import (
    Access,
    ArrayOf,
    Elementwise,
    Items,
    Iteration,
    Known,
    Operand,
    Value,
    Vec,
    ViewOperand,
    describe,
)
from .run_values import is_scalar, resolve
from .subscripts import array_part, check_writeable

__all__ = ["ARRAY_CREATION", "CREATION_METHODS", "element_type", "is_made", "shape_of"]

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


def shape_of(call: KnownCall, operand: Operand | None) -> tuple[ir.Expr, ...]:
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


# -- filled by a rule -------------------------------------------------------------------


def _empty(call: KnownCall) -> Operand:
    given = call.bound("shape", "dtype", "order")
    return _new(call, shape_of(call, given["shape"]), element_type(call, given["dtype"]) or F64)


def _filled(value: float, call: KnownCall) -> Operand:
    given = call.bound("shape", "dtype", "order")
    element = element_type(call, given["dtype"]) or F64
    extents = shape_of(call, given["shape"])
    return _constant(call, extents, constant(value, element))


def _full(call: KnownCall) -> Operand:
    given = call.bound("shape", "fill_value", "dtype", "order", required=2)
    extents = shape_of(call, given["shape"])
    if given["fill_value"] is not None and not is_scalar(given["fill_value"]):
        return _full_of_array(call, extents, given["fill_value"], given["dtype"])
    return _filled_with(call, extents, given["fill_value"], given["dtype"])


def _full_of_array(
    call: KnownCall, extents: tuple[ir.Expr, ...], value: Operand, dtype: Operand | None
) -> Operand:
    element = element_type(call, dtype) or expression_of(call.frame, value).element.strong
    result = _new(call, extents, element)
    assert isinstance(result, ArrayOf)
    set_elements(call.frame, call.node, result.array, value)
    return result


def _is_result(call: KnownCall) -> bool:
    return call.frame.lowering.is_result(call.node)


def _new(call: KnownCall, extents: tuple[ir.Expr, ...], element: Scalar) -> Operand:
    check_extents(call.frame, call.node, extents)
    return ArrayOf(new_array(call.frame, call.node, element, extents, is_result=_is_result(call)))


def _constant(call: KnownCall, extents: tuple[ir.Expr, ...], value: ir.Expr) -> Operand:
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
    names = ("a" if value is not None else "prototype", "dtype", "order", "subok", "shape")
    given = call.bound(*names)
    extents, element = _type_of(call, given[names[0]])
    element = element_type(call, given["dtype"]) or element
    shape = given["shape"]
    if shape is not None and shape != Known(None):
        extents = shape_of(call, shape)
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
    given = call.bound("start", "stop", "num", "endpoint", "retstep", "dtype", required=2)
    assert given["start"] is not None
    assert given["stop"] is not None
    keep = call.frame.lowering.keep
    ends = [call.number(each) for each in (given["start"], given["stop"])]
    kind = C128 if any(scalar_type(end).is_complex for end in ends) else F64
    start, stop = (keep(cast(end, kind)) for end in ends)
    number = given["num"] or Known(50)
    endpoint = given["endpoint"] is None or bool(call.known_value(given["endpoint"]))
    count = keep(vectors.index_of(call.frame, call.node, number))
    parts = binary("sub", count, ir.ONE) if endpoint else count
    divisor = keep(ir.Op("max", WEAK_INT, (parts, ir.ONE)))
    span = keep(binary("sub", stop, start))
    step = keep(by_parts(partial(_over, cast(divisor, F64)), span))
    element = element_type(call, given["dtype"]) or kind

    def at(indices: Indices) -> ir.Expr:
        index = indices[0]
        along = by_parts(partial(binary, "mul", cast(index, F64)), step)
        value = binary("add", along, start)
        if endpoint:
            is_last = test("and", test("eq", index, divisor), test("eq", parts, divisor))
            value = ir.Op("select", kind, (is_last, stop, value))
        if element.is_integer and element.kind != "b":
            value = ir.Op("floor", kind, (value,))
        return cast(value, element)

    check_extents(call.frame, call.node, (count,))
    result = by_rule(element, (count,), at)
    if given["retstep"] is None or not call.known_value(given["retstep"]):
        return result
    return Items((result, Value(cast(step, kind))))


def _over(divisor: ir.Expr, expr: ir.Expr) -> ir.Expr:
    return binary("div", expr, divisor)


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
    (height,), (width,) = shape_of(call, rows), shape_of(call, columns or rows)
    (offset,) = shape_of(call, k or Known(0))
    one, zero = constant(1, element), constant(0, element)

    def at(indices: Indices) -> ir.Expr:
        row, column = indices
        is_on = test("eq", column, binary("add", row, offset))
        return ir.Op("select", element, (is_on, one, zero))

    check_extents(call.frame, call.node, (height, width))
    return by_rule(element, (height, width), at)


# -- of numbers and of rows --------------------------------------------------------------


def _array(call: KnownCall) -> Operand:
    """`np.array(...)`: a copy of an array, or an array of numbers or rows in nested lists."""
    given = call.bound("object", "dtype", "copy", "order")
    operand, element = given["object"], element_type(call, given["dtype"])
    assert operand is not None
    if is_array(operand) or isinstance(operand, Iteration):
        value = expression_of(call.frame, operand)
        if isinstance(operand, Iteration):  # Python's numbers count as NumPy's here
            element = element or value.element.strong
        if element is None:
            return value
        to = element
        return elementwise(call.frame, call.node, lambda expr: cast(expr, to), [value])
    shape, leaves = _nested(call, operand)
    values = [expression_of(call.frame, leaf) for leaf in leaves]
    if len({value.ndim for value in values}) > 1:
        call.refuse("the parts of an array are all numbers, or all arrays of equal shapes")
    element = element or _together(values)
    return _of_parts(call, shape, values, element)


def _together(values: list[Elementwise]) -> Scalar:
    """The type of an array of these; Python's numbers count as NumPy's here."""
    types = [value.element.strong for value in values]
    return reduce(promote, types) if types else F64


def _nested(call: KnownCall, operand: Operand) -> tuple[tuple[int, ...], list[Operand]]:
    """The shape of nested lists and tuples, and what is in them."""
    operand = resolve(operand)
    if is_array(operand) or is_scalar(operand):
        return (), [operand]
    parts = [_nested(call, part) for part in call.parts(operand)]
    if len({shape for shape, _ in parts}) > 1:
        call.refuse("the rows of an array are of one length")
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [leaf for _, leaves in parts for leaf in leaves]


def _of_parts(
    call: KnownCall, shape: tuple[int, ...], values: list[Elementwise], element: Scalar
) -> Operand:
    """A new array of numbers, or of arrays of equal shapes."""
    frame, keep = call.frame, call.frame.lowering.keep
    rows = tuple(keep(extent) for extent in values[0].extents) if values else ()
    for value in values[1:]:
        different = [
            test("ne", one, other)
            for one, other in zip(rows, value.extents, strict=True)
            if one != other
        ]
        if different:
            text = f"the shapes {shape_text(rows)} and {shape_text(value.extents)} of two parts "
            text += f"differ in {source_text(frame, call.node)}"
            shapes = (*rows, *value.extents)
            raise_if(frame, call.node, every(different, "or"), "ValueError", text, shapes)
    extents = (*(ir.Const(WEAK_INT, extent) for extent in shape), *rows)
    result = new_array(frame, call.node, element, extents, is_result=_is_result(call))
    places = product(*map(range, shape))
    for place, value in zip(places, values, strict=True):
        part = array_part(frame, call.node, result, [Known(index) for index in place])
        if isinstance(part, ArrayOf) and part.array.type.ndim:
            set_elements(frame, call.node, part.array, value)
        else:
            indices: Indices = tuple(ir.Const(WEAK_INT, index) for index in place)
            target = ir.Element(result, indices, (True,) * len(indices))
            number = cast(value.at((), Access()), element)
            frame.lowering.emit(ir.SetElement(target, number))
    return ArrayOf(result)


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
    element = element_type(call, given["dtype"])
    if not is_array(operand) and not is_scalar(operand):
        named: dict[str, Operand] = {}
        if element is not None:
            named["dtype"] = Known(element.dtype)
        return _array(replace(call, args=[operand], named=named))
    if is_scalar(operand):  # a number serves where NumPy has an array without dimensions
        number = call.number(operand)
        return Value(cast(number, element or scalar_type(number).strong))
    if element is None or element == expression_of(call.frame, operand).element:
        return operand
    return _astype(replace(call, args=[operand, Known(element.dtype)], named={}))


def _contiguous(call: KnownCall) -> Operand:
    operand = _asarray(call)
    if isinstance(operand, ArrayOf) and operand.array.type.layout != "C":
        # It is a copy where it has to be; what lies in order is known by the layout.
        return materialised(call.frame, call.node, expression_of(call.frame, operand), order="C")
    return operand


def _fortran(call: KnownCall) -> Operand:
    operand = _asarray(call)
    value = expression_of(call.frame, operand)
    if isinstance(operand, ArrayOf) and (operand.array.type.layout == "F" or value.ndim < 2):
        return operand
    return materialised(call.frame, call.node, value, order="F")


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


# -- the tables -------------------------------------------------------------------------

ARRAY_CREATION: Final[dict[str, Handler]] = {
    "numpy.array": _array,
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
    "numpy.asfortranarray": _fortran,
}
"""By the name that a function has of its own: a program can bind it to any other."""
CREATION_METHODS: Final[dict[str, Handler]] = {
    "copy": _copy,
    "astype": _astype,
    "fill": _fill,
}
"""Methods of arrays; the array is the first argument."""
