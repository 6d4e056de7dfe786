"""Finds what annotations of local variables name, for compilers that read them.

Python does not evaluate `x: DTYPE = 0` in a function, so no instruction reads `DTYPE`. Compilers
that work on the text of a function look it up.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from typing import Any

from .source import tree_of
from .static_lookup import ABSENT, captured, module_attribute

__all__ = ["local_annotations"]


def local_annotations(function: types.FunctionType) -> list[tuple[str, object]]:
    """The names in annotations of a function's local variables, with their values.

    Names that lead to nothing are left out. No code of the user is run for that.

    >>> KIND = float
    >>> def f(a):
    ...     x: KIND = a
    ...     return x
    >>> local_annotations(f)
    [('KIND', <class 'float'>)]
    """
    tree = tree_of(function.__code__)
    if tree is None:
        return []
    written = (node.annotation for node in ast.walk(tree) if isinstance(node, ast.AnnAssign))
    names = sorted({name for annotation in written for name in _dotted_names(annotation)})
    values = ((name, _value(function, name)) for name in names)
    return [(name, value) for name, value in values if value is not ABSENT]


def _dotted_names(node: ast.AST) -> Iterator[str]:
    """`mod.KIND` and `N` in `mod.KIND[N]`."""
    attributes = []
    base = node
    while isinstance(base, ast.Attribute):
        attributes.append(base.attr)
        base = base.value
    if isinstance(base, ast.Name):
        yield ".".join((base.id, *reversed(attributes)))
        return
    for child in ast.iter_child_nodes(node):
        yield from _dotted_names(child)


def _value(function: types.FunctionType, dotted: str) -> Any:
    first, *rest = dotted.split(".")
    value = captured(function).get(first, function.__globals__.get(first, ABSENT))
    for name in rest:
        if type(value) is not types.ModuleType:
            break  # a class or an object counts as a whole
        value = module_attribute(value, name)
    return value
