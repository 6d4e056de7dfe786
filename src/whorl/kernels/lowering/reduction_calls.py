"""Calls of NumPy's reductions, as functions and as methods of arrays, by a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from whorl.fast_dataclasses import dataclass, replace
from whorl.kernels import ir
from whorl.kernels.overlap import total
from whorl.kernels.types import BOOL, F64, I64, Scalar

from .arithmetic import (
    binary,
    by_parts,
    cast,
    constant,
    truth,
)
from .array_creation import ARRAY_CREATION, element_type
from .array_expressions import elementwise, expression_of, is_array
from .complex_functions import size_squared
from .element_scans import place_of_extreme, running_reduction
from .known_calls import Given, KnownCall, KnownFunction
from .operands import ArrayOf, Elementwise, Items, Known, Operand
from .out_arrays import taking_out
from .reductions import (
    ALL,
    ANY,
    LEAST,
    MOST,
    PRODUCT,
    SUM,
    Reduction,
    axes_of,
    each_element,
    neutral,
    reduced,
)
from .run_values import resolve

__all__ = ["REDUCTIONS", "REDUCTION_METHODS", "reduction_by"]


@dataclass(frozen=True, slots=True, eq=False)
class _Arguments:
    """What every reduction is called with."""

    operand: Operand
    value: Elementwise
    axes: tuple[int, ...] | None
    keepdims: bool
    dtype: Scalar | None
    where: Operand | None

    @property
    def inexact(self) -> Scalar:
        """The type of a mean: floats stay what they are."""
        element = self.value.element.strong
        return self.dtype or (element if element.is_inexact else F64)

    @property
    def count(self) -> ir.Expr:
        """How many elements become one."""
        extents = self.value.extents
        along = extents if self.axes is None else [extents[axis] for axis in self.axes]
        return total((ir.ONE, *along), "mul")


def _arguments(call: KnownCall, given: Given) -> _Arguments:
    operand = given["a"]
    assert operand is not None
    if isinstance(operand, Items) and any(is_array(resolve(each)) for each in operand.items):
        operand = ARRAY_CREATION["numpy.array"](replace(call, args=[operand], named={}))
    keepdims, where = given.get("keepdims"), given.get("where")
    value = expression_of(call.frame, operand)
    return _Arguments(
        operand,
        value,
        axes_of(call, given.get("axis"), value.ndim),
        keepdims is not None and bool(call.known_value(keepdims)),
        element_type(call, given.get("dtype")),
        None if where is None or where == Known(True) else where,
    )


def reduction_by(how: Reduction, call: KnownCall, given: Given) -> Operand:
    """What a reduction makes of an array, along the axes that are given."""
    to, initial = _arguments(call, given), given.get("initial")
    type = to.dtype or how.result(to.value.element.strong)
    if to.where is not None and how.first is None and initial is None:
        call.refuse(f"{call.function} with where= needs initial=, as in NumPy")
    if how.first is None and initial is not None:
        how = replace(how, first=neutral(how, type))
    result = _reduced_where(call, to, type, how)
    if initial is None:
        return result
    first = cast(call.number(initial), type)
    return each_element(call, partial(how.combine, first), result)


def _reduced_where(call: KnownCall, to: _Arguments, type: Scalar, how: Reduction) -> Operand:
    """What the elements for which a test holds become together; all, if there is no test."""
    if to.where is None:
        return reduced(call, to.operand, to.value, type, how, to.axes, keepdims=to.keepdims)
    assert how.first is not None
    left_out = constant(how.first, type)

    def chosen(element: ir.Expr, mask: ir.Expr) -> ir.Expr:
        element = truth(element) if type.kind == "b" else element
        return ir.Op("select", type, (truth(mask), cast(element, type), left_out))

    value = elementwise(call.frame, call.node, chosen, (to.operand, to.where))
    return reduced(call, value, value, type, how, to.axes, keepdims=to.keepdims)


def _mean(call: KnownCall, given: Given) -> Operand:
    to = _arguments(call, given)
    if to.where is None:
        return _mean_of(call, to, keepdims=to.keepdims)
    sums = _reduced_where(call, to, to.inexact, SUM)
    ones = replace(to, operand=elementwise(call.frame, call.node, _one, (to.operand,)))
    counts = _reduced_where(call, ones, I64, SUM)
    part = to.inexact.part
    return each_element(call, lambda sum, count: _divided(cast(count, part), sum), sums, counts)


def _one(element: ir.Expr) -> ir.Expr:
    return constant(1, I64)


def _mean_of(call: KnownCall, to: _Arguments, *, keepdims: bool) -> Operand:
    sums = reduced(call, to.operand, to.value, to.inexact, SUM, to.axes, keepdims=keepdims)
    count = call.frame.lowering.keep(cast(to.count, to.inexact.part))
    return each_element(call, partial(_divided, count), sums)


def _divided(count: ir.Expr, expr: ir.Expr) -> ir.Expr:
    """A sum by a number of elements; a complex one part by part, which is as exact as NumPy's."""
    return by_parts(lambda part: binary("div", part, count), expr)


def _variance(is_root: bool, call: KnownCall, given: Given) -> Operand:
    to = _arguments(call, given)
    type, part = to.inexact, to.inexact.part
    mean = _mean_of(call, to, keepdims=True)
    if isinstance(mean, Elementwise):
        mean = ArrayOf(call.frame.lowering.syntax.stored(call.frame, call.node, mean))

    def squared(expr: ir.Expr, middle: ir.Expr) -> ir.Expr:
        return size_squared(call.frame.lowering.keep(binary("sub", cast(expr, type), middle)))

    squares = elementwise(call.frame, call.node, squared, (to.operand, mean))
    sums = reduced(call, squares, squares, part, SUM, to.axes, keepdims=to.keepdims)
    count = cast(to.count, part)
    if given["ddof"] is not None:
        count = binary("sub", count, cast(call.number(given["ddof"]), part))
    count = call.frame.lowering.keep(ir.Op("fmax", part, (count, constant(0, part))))

    def make(expr: ir.Expr) -> ir.Expr:
        variance = binary("div", expr, count)
        return ir.Op("sqrt", part, (variance,)) if is_root else variance

    return each_element(call, make, sums)


def _peak_to_peak(call: KnownCall, given: Given) -> Operand:
    most, least = reduction_by(MOST, call, given), reduction_by(LEAST, call, given)
    return each_element(call, partial(binary, "sub"), most, least)


def _count_nonzero(call: KnownCall, given: Given) -> Operand:
    to = _arguments(call, given)
    tests = elementwise(call.frame, call.node, lambda e: cast(truth(e), BOOL), [to.operand])
    return reduced(call, tests, tests, I64, SUM, to.axes, keepdims=to.keepdims)


def _row(
    handle: Callable[[KnownCall, Given], Operand], parameters: str, limits: str = ""
) -> KnownFunction:
    return KnownFunction(taking_out(handle), parameters, limits)


_SUMS: Final = "a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True"
_EXTREMES: Final = "a, axis=None, out=None, keepdims=False, initial=..., where=True"
_TESTS: Final = "a, axis=None, out=None, keepdims=False, where=True"
_MEANS: Final = "a, axis=None, dtype=None, out=None, keepdims=False, where=True"
_SPREADS: Final = "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False"
_PLACES: Final = "a, axis=None, out=None, keepdims=False"
_RUNNING: Final = "a, axis=None, dtype=None, out=None"
_NO_WHERE: Final = "No `where`, `mean` and `correction`."

REDUCTION_METHODS: Final[dict[str, KnownFunction]] = {
    "sum": _row(partial(reduction_by, SUM), _SUMS),
    "prod": _row(partial(reduction_by, PRODUCT), _SUMS),
    "min": _row(partial(reduction_by, LEAST), _EXTREMES),
    "max": _row(partial(reduction_by, MOST), _EXTREMES),
    "any": _row(partial(reduction_by, ANY), _TESTS),
    "all": _row(partial(reduction_by, ALL), _TESTS),
    "mean": _row(_mean, _MEANS),
    "var": _row(partial(_variance, False), _SPREADS, _NO_WHERE),
    "std": _row(partial(_variance, True), _SPREADS, _NO_WHERE),
    "argmin": _row(partial(place_of_extreme, False), _PLACES),
    "argmax": _row(partial(place_of_extreme, True), _PLACES),
    "cumsum": _row(partial(running_reduction, SUM), _RUNNING),
    "cumprod": _row(partial(running_reduction, PRODUCT), _RUNNING),
}
"""Methods of arrays; the array is the first argument."""
REDUCTIONS: Final[dict[str, KnownFunction]] = {
    **{f"numpy.{name}": row for name, row in REDUCTION_METHODS.items()},
    "numpy.amin": REDUCTION_METHODS["min"],
    "numpy.amax": REDUCTION_METHODS["max"],
    "numpy.ptp": _row(_peak_to_peak, _PLACES),
    "numpy.count_nonzero": _row(_count_nonzero, "a, axis=None, keepdims=False"),
}
"""By the name that a function has of its own: a program can bind it to any other."""
