"""Calls that make small vectors and matrices, and calls of their functions and methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from whorl.fast_dataclasses import replace
from whorl.kernels import decompositions, small_vectors
from whorl.kernels.small_vectors import misfit
from whorl.kernels.types import F64

from . import vectors
from .arithmetic import cast, constant
from .array_creation import element_type
from .array_expressions import FEW, expression_of, is_array, small_vector
from .joins import components
from .known_calls import Handler, KnownCall
from .operands import Items, Known, Operand, Value, Vec, ViewOperand, describe
from .run_values import is_scalar, resolve

__all__ = ["OWN_METHODS", "VECTOR_CALLS", "VECTOR_METHODS", "of_vectors", "vector_at"]


# -- what makes them --------------------------------------------------------------------


def _vec(call: KnownCall) -> Operand:
    """`whorl.vec`: of numbers, of the items of one thing, or of rows."""
    element = element_type(call, call.named.pop("dtype", None))
    if call.named:
        call.refuse(f"whorl.vec has no parameter {next(iter(call.named))!r}")
    parts = [_part(call, arg) for arg in call.args]
    if len(parts) == 1 and not is_scalar(parts[0]):
        parts = _parts_of(parts[0])
    return vectors.vector_of(call.frame, parts, element)


def _mat(call: KnownCall) -> Operand:
    """`whorl.mat`: of rows, or of one thing that has rows."""
    element = element_type(call, call.named.pop("dtype", None))
    if call.named:
        call.refuse(f"whorl.mat has no parameter {next(iter(call.named))!r}")
    rows = [_part(call, arg) for arg in call.args]
    if len(rows) == 1 and not any(map(is_scalar, _parts_of(rows[0]))):  # of a matrix
        rows = _parts_of(rows[0])
    lines = [[] if is_scalar(row) else _parts_of(row) for row in rows]
    if not rows or not all(line and all(map(is_scalar, line)) for line in lines):
        call.refuse("whorl.mat takes the rows of a matrix, or a matrix")
    return vectors.vector_of(call.frame, rows, element)


def _part(call: KnownCall, operand: Operand) -> Operand:
    """An argument as a number, a vector, or items that are these."""
    operand = resolve(operand)
    if is_scalar(operand) or isinstance(operand, Vec):
        return operand
    if is_array(operand):
        return vector_at(call, operand)
    match operand:
        case Known(tuple() | list() | range()) | ViewOperand() | Items():
            return Items(tuple(_part(call, item) for item in call.parts(operand)))
    call.refuse(f"a component is a number, not {describe(operand)}")


def _parts_of(operand: Operand) -> list[Operand]:
    if isinstance(operand, Items):
        return list(operand.items)
    return vectors.rows(operand) if isinstance(operand, Vec) else [operand]


def vector_at(call: KnownCall, operand: Operand) -> Vec:
    """The numbers of an array as a small vector; an error at the call if it cannot be one."""
    small = small_vector(call.frame, operand)
    if small is None:
        call.refuse(
            f"{describe(resolve(operand))} is no small vector: its shape is not known at compile "
            f"time, or it has more than {vectors.LARGEST} components",
            "Rows of an argument are: x[i]. Of all else, name the components: whorl.vec(a, b).",
        )
    return small


def _zeros(call: KnownCall) -> Operand:
    """`whorl.zeros`: a small vector, whose shape is known now."""
    if len(call.args) == 2:
        call.named.setdefault("dtype", call.args.pop())
    element = element_type(call, call.named.pop("dtype", None)) or F64
    (operand,) = call.positional(1)
    sizes = operand.items if isinstance(operand, Items) else (operand,)
    if any(isinstance(size, Value) for size in sizes):
        call.refuse(
            f"{call.function} makes a small vector: its length has to be known at compile time",
            "Use np.zeros(...), which makes an array of any length.",
        )
    shape = call.known_value(operand)
    if isinstance(shape, int):
        shape = (shape,)
    return vectors.filled(call.frame, tuple(map(operator.index, shape)), constant(0.0, element))


# -- functions and methods --------------------------------------------------------------


def of_vectors(
    count: int, make: Callable[..., Operand], of_arrays: Handler | None = None
) -> Handler:
    """A function of small vectors, and perhaps another one of all else."""

    def handle(call: KnownCall) -> Operand:
        is_small = len(call.args) == count and all(isinstance(arg, Vec) for arg in call.args)
        if of_arrays is not None and (call.named or not is_small):
            return of_arrays(call)
        args = [small_vector(call.frame, arg, FEW) for arg in call.positional(count)]
        for arg, small in zip(call.args, args, strict=True):
            if small is None:
                call.refuse(
                    f"{call.function} is for small vectors, not for {describe(arg)}",
                    "Make one with whorl.vec(...), or write a loop.",
                )
        result = make(call.frame, *args)
        if any(isinstance(arg, Vec) for arg in call.args) or not isinstance(result, Vec):
            return result
        return expression_of(call.frame, result)

    return handle


_OF_REAL: Final = (decompositions.svd, decompositions.polar, decompositions.eigh)


def _followed(function: Callable[..., Any], count: int) -> Handler:
    """A function of small vectors that is written in the kernel language."""

    def handle(call: KnownCall) -> Operand:
        args = [vector_at(call, arg) for arg in call.positional(count)]
        words = misfit(function.__name__, *(arg.shape for arg in args))
        if words:
            call.refuse(words)
        if function in _OF_REAL and any(arg.element.is_complex for arg in args):
            call.refuse(f"{call.function} is for real matrices", "whorl.eig is for all.")
        return call.frame.lowering.syntax.library(replace(call, args=list(args)), function)

    return handle


def _of_small(count: int, make: Callable[..., Operand]) -> Handler:
    """A method whose result is a small vector, or a number."""

    def handle(call: KnownCall) -> Operand:
        args = [vector_at(call, arg) for arg in call.positional(count)]
        return make(call.frame, *args)

    return handle


def _cast(call: KnownCall) -> Operand:
    """`v.cast(whorl.f32)`: the same with components of another type."""
    owner, dtype = call.positional(2)
    element = element_type(call, dtype)
    assert element is not None
    vec = vector_at(call, owner)
    exprs = [cast(component, element) for component in components(vec)]
    return vectors.new(call.frame, vec.shape, exprs)


def _transposed(call: KnownCall) -> Operand:
    (owner,) = call.positional(1)
    return vectors.turned(vector_at(call, owner))


VECTOR_CALLS: Final[dict[str, Handler]] = {
    "whorl.vec": _vec,
    "whorl.mat": _mat,
    "whorl.zeros": _zeros,
    "whorl.dot": of_vectors(2, vectors.dot),
    "whorl.cross": of_vectors(2, vectors.cross),
    "whorl.norm": of_vectors(1, vectors.norm),
    **{
        f"whorl.{function.__name__}": _followed(function, 1)
        for function in (*_OF_REAL, decompositions.eig)
    },
}
"""By the name that a function has of its own."""
OWN_METHODS: Final[dict[str, Handler]] = {
    **{
        function.__name__: _followed(function, count)
        for function, count in (
            (small_vectors.norm_sqr, 1),
            (small_vectors.normalized, 1),
            (small_vectors.outer, 2),
            (small_vectors.determinant, 1),
            (small_vectors.inverse, 1),
        )
    },
    "norm": _of_small(1, vectors.norm),
    "cross": _of_small(2, vectors.cross),
    "cast": _cast,
}
"""Methods that arrays of NumPy do not have: rows of arguments have them in a kernel, too."""
VECTOR_METHODS: Final[dict[str, Handler]] = {
    **OWN_METHODS,
    "copy": of_vectors(1, vectors.copy_of),
    "transpose": _transposed,
    "trace": _followed(small_vectors.trace, 1),
}
"""Methods of small vectors; the vector is the first argument."""
