"""Methods of NumPy's functions of elements: `np.add.reduce`, `.accumulate`, `.outer`, `.at`."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from whorl.fast_dataclasses import replace
from whorl.kernels import ir
from whorl.kernels.library.unbuffered import change_at, change_at_pairs

from .arithmetic import binary
from .array_expressions import expression_of
from .element_scans import running_reduction
from .known_calls import Handler, KnownCall, KnownFunction
from .operands import Access, ArrayOf, Elementwise, Items, Known, Operand, ViewOperand, describe
from .reduction_calls import reduction_by
from .reductions import ALL, ANY, LEAST, MOST, PRODUCT, SUM, Reduction
from .run_values import resolve
from .scalar_calls import SCALAR_CALLS
from .subscripts import check_writeable

__all__ = ["UFUNC_METHODS", "ufunc_method"]

_REDUCTIONS: Final[dict[str, Reduction]] = {
    "add": SUM,
    "multiply": PRODUCT,
    "minimum": LEAST,
    "maximum": MOST,
    "logical_or": ANY,
    "logical_and": ALL,
    "bitwise_or": Reduction("or", partial(binary, "or"), 0, lambda element: element),
    "bitwise_and": Reduction("and", partial(binary, "and"), -1, lambda element: element),
    "bitwise_xor": Reduction("xor", partial(binary, "xor"), 0, lambda element: element),
}
"""By the name of the function."""


def ufunc_method(owner: Operand, name: str) -> Handler | None:
    """What handles a method of a function of NumPy's; None if it is none."""
    value = owner.view.peek() if isinstance(owner, ViewOperand) else getattr(owner, "value", None)
    if type(value) is not np.ufunc or f"numpy.{value.__name__}" not in SCALAR_CALLS:
        return None
    return UFUNC_METHODS.get(name)


def _function(call: KnownCall) -> tuple[str, Known, KnownCall]:
    """The name of the function and itself, and the call without it."""
    owner, *args = call.args
    if isinstance(owner, ViewOperand):
        owner = Known(owner.view.value())  # that this name means this function is a fact
    assert isinstance(owner, Known)
    return owner.value.__name__, owner, replace(call, args=args)


def _how(call: KnownCall, name: str) -> Reduction:
    if name not in _REDUCTIONS:
        known = ", ".join(f"np.{each}" for each in _REDUCTIONS)
        call.refuse(
            f"{call.function} is not there in a kernel", f"There are {known}; write a loop."
        )
    return _REDUCTIONS[name]


def _reduce(call: KnownCall) -> Operand:
    name, _, rest = _function(call)
    handle = partial(reduction_by, _how(call, name))
    return KnownFunction(handle, "a, axis=0, dtype=None, keepdims=False")(_along(rest))


def _accumulate(call: KnownCall) -> Operand:
    name, _, rest = _function(call)
    handle = partial(running_reduction, _how(call, name))
    return KnownFunction(handle, "a, axis=0, dtype=None")(_along(rest))


def _along(call: KnownCall) -> KnownCall:
    """The call with NumPy's other name of the array, and the first axis if none is given."""
    named = {("a" if name == "array" else name): operand for name, operand in call.named.items()}
    if len(call.args) < 2:
        named.setdefault("axis", Known(0))
    return replace(call, named=named)


def _outer(call: KnownCall) -> Operand:
    name, _, rest = _function(call)
    given = rest.bound("A", "B", required=2)
    one, other = (expression_of(call.frame, each) for each in given.values() if each is not None)
    return SCALAR_CALLS[f"numpy.{name}"](replace(rest, args=[_before(one, other.ndim), other]))


def _before(value: Elementwise, count: int) -> Elementwise:
    """An expression with more axes of length 1 at its end."""
    inner, ndim = value.at, value.ndim

    def at(indices: tuple[ir.Expr, ...], access: Access) -> ir.Expr:
        own = indices[len(indices) - ndim - count : len(indices) - count]
        return inner(own, access)

    return replace(value, extents=(*value.extents, *(ir.ONE,) * count), at=at)


def _at(call: KnownCall) -> Operand:
    _, function, rest = _function(call)
    given = rest.bound("a", "indices", "b", required=2)
    a, indices = given["a"], given["indices"]
    if not isinstance(a, ArrayOf):
        call.refuse(f"{call.function} changes an array, not {describe(resolve(rest.args[0]))}")
    if call.frame.lowering.is_in_prange:
        call.refuse(
            f"{call.function} in prange, where iterations may change the same element",
            "Loop over the places: a[places[i]] += v.",
        )
    check_writeable(call.frame, call.node, a.array)
    assert indices is not None
    pairs = indices.items if isinstance(indices, Items) and not indices.is_list else (indices,)
    if len(pairs) not in (1, 2):
        call.refuse(f"{call.function} takes one or two arrays of indices", "Write a loop.")
    target = (change_at, change_at_pairs)[len(pairs) - 1]
    args = [function, a, *pairs, *([given["b"]] if given["b"] is not None else [])]
    return call.frame.lowering.syntax.library(replace(rest, args=args, named={}), target)


UFUNC_METHODS: Final[dict[str, Handler]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "at": _at,
}
"""The function is the first argument."""
