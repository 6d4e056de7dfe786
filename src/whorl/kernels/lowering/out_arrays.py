"""Results that go into an array that is given: `out=`, and `where=` of NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whorl.kernels import ir
from whorl.kernels.overlap import every, test
from whorl.kernels.types import Scalar

from .arithmetic import cast, truth
from .array_expressions import (
    elementwise,
    expression_of,
    is_array,
    raise_if,
    shape_text,
    source_text,
)
from .array_statements import set_elements
from .known_calls import Given, KnownCall
from .operands import ArrayOf, Known, Operand, describe
from .run_values import resolve
from .subscripts import check_writeable

__all__ = ["is_given", "put_into", "put_where", "taking_out"]


def is_given(operand: Operand | None) -> bool:
    """Whether an argument is given, and is not None."""
    return operand is not None and not (isinstance(operand, Known) and operand.value is None)


def taking_out(handle: Callable[[KnownCall, Given], Operand]) -> Callable[..., Operand]:
    """A function whose result goes into an array, if one is given as `out`."""

    def handled(call: KnownCall, given: Given) -> Operand:
        result, out = handle(call, given), given.get("out")
        return put_whole(call, result, out) if out is not None and is_given(out) else result

    return handled


def put_whole(call: KnownCall, result: Operand, out: Operand) -> Operand:
    """Set an array that is given as `out` to a result of the very same shape."""
    out = _writeable(call, out)
    if not is_array(result):
        if out.array.type.ndim:
            call.refuse(f"the result is a number, and out is {describe(out)}")
        return put_into(call, result, out)
    value = expression_of(call.frame, result)
    if value.ndim != out.array.type.ndim:
        call.refuse(f"the result has {value.ndim} dimensions, and out is {describe(out)}")
    pairs = zip(value.extents, out.array.extents, strict=True)
    different = [test("ne", one, other) for one, other in pairs if one != other]
    if different:
        shapes = (*value.extents, *out.array.extents)
        text = f"a result of shape {shape_text(value.extents)} does not fit into out, of shape "
        text += f"{shape_text(out.array.extents)}, in {source_text(call.frame, call.node)}"
        raise_if(call.frame, call.node, every(different, "or"), "ValueError", text, shapes)
    return put_into(call, result, out)


def put_into(call: KnownCall, result: Operand, out: Operand) -> Operand:
    """Set an array that is given as `out`, into which a result is stretched; it is the result."""
    out = _writeable(call, out)
    _check_type(call, expression_of(call.frame, result).element, out)
    set_elements(call.frame, call.node, out.array, result)
    return out


def put_where(call: KnownCall, result: Operand, out: Operand, where: Operand) -> Operand:
    """Set the elements of `out` for which a test holds; the others stay what they are."""
    out = _writeable(call, out)
    to = out.array.type.element
    _check_type(call, expression_of(call.frame, result).element, out)

    def chosen(mask: ir.Expr, new: ir.Expr, old: ir.Expr) -> ir.Expr:
        return ir.Op("select", to, (truth(mask), cast(new, to), old))

    value = elementwise(call.frame, call.node, chosen, (where, result, out))
    return put_into(call, value, out)


def _writeable(call: KnownCall, out: Operand) -> ArrayOf:
    out = resolve(out)
    if not isinstance(out, ArrayOf):
        call.refuse(f"out is {describe(out)}", "Give it an array.")
    check_writeable(call.frame, call.node, out.array)
    return out


def _check_type(call: KnownCall, source: Scalar, out: ArrayOf) -> None:
    to = out.array.type.element
    if not np.can_cast(source.strong.dtype, to.dtype, "same_kind"):
        call.refuse(f"out is of {to}, and takes no {source.strong}, as NumPy refuses to")
