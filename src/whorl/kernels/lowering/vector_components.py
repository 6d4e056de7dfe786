"""Components of small vectors by name: `v.x`, `x[i].zy`."""

from __future__ import annotations

import ast

from whorl.kernels import ir
from whorl.kernels.small_vectors import AXES, swizzle

from . import vectors
from .array_expressions import small_vector
from .frame import Frame
from .joins import components
from .operands import ArrayOf, Elementwise, Known, Operand, Value, Vec, describe
from .run_values import resolve
from .subscripts import array_part

__all__ = ["components_by_name", "vector_size"]


def components_by_name(
    frame: Frame, node: ast.AST, owner: Vec | ArrayOf | Elementwise, name: str
) -> Operand | None:
    """One component, or a vector of several; None if the name is not one of components."""
    places = swizzle(name)
    if places is None:
        return None
    size = vector_size(frame, node, owner, name)
    if max(places) >= size:
        frame.refuse(node, f"{describe(owner)} has no component {AXES[max(places)]!r}")
    if isinstance(owner, ArrayOf) and len(places) == 1:
        return array_part(frame, node, owner.array, [Known(places[0])])
    small = small_vector(frame, owner)
    assert small is not None
    exprs = components(small)
    if len(places) == 1:
        return Value(exprs[places[0]])
    return vectors.new(frame, (len(places),), [exprs[place] for place in places])


def vector_size(frame: Frame, node: ast.AST, owner: Operand, name: str) -> int:
    """How many components a vector has, or a small array that is read as one."""
    owner = resolve(owner)
    if isinstance(owner, Vec) and len(owner.shape) == 1:
        return owner.shape[0]
    extents: tuple[ir.Expr, ...] = ()
    if isinstance(owner, ArrayOf):
        extents = owner.array.extents
    elif isinstance(owner, Elementwise):
        extents = owner.extents
    small = small_vector(frame, owner) if len(extents) == 1 else None
    if small is None:
        frame.refuse(
            node,
            f"{describe(owner)} has no component {name!r}",
            "Vectors have components by name, and rows of arrays of known length: x[i].y.",
        )
    return small.shape[0]
