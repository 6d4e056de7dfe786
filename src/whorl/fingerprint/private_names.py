"""A function's syntax tree in, the same tree out with private names as its code has them.

In a method of `Solver`, Python reads `self.__k` as `self._Solver__k`. The tree has what is written.
"""

from __future__ import annotations

import ast
import types
from itertools import pairwise

__all__ = ["mangle"]


def mangle(tree: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> dict[str, str]:
    """Turn `__x` into `_Class__x` where Python does; the parameters as they are written, by name.

    Python does so with every name but those of keywords in a call.

    >>> tree = ast.parse("lambda self, __a: self.__k", mode="eval").body
    >>> mangle(tree, (lambda: 0).__code__.replace(co_qualname="Solver.<lambda>"))
    {'self': 'self', '_Solver__a': '__a'}
    >>> ast.unparse(tree)
    'lambda self, _Solver__a: self._Solver__k'
    """
    prefix = f"_{_class_around(code).lstrip('_')}"

    def private(name: str) -> str:
        return prefix + name if name.startswith("__") and not name.endswith("__") else name

    if prefix == "_":
        return {}
    parameters = (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
    written = {private(each.arg): each.arg for each in parameters}
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                node.id = private(node.id)
            case ast.Attribute():
                node.attr = private(node.attr)
            case ast.arg():
                node.arg = private(node.arg)
            case ast.FunctionDef() if node is not tree:
                node.name = private(node.name)
    return written


def _class_around(code: types.CodeType) -> str:
    """The class that a function stands in, also in a method of it; empty if in none."""
    outwards = reversed(list(pairwise(code.co_qualname.split("."))))
    return next((name for name, inner in outwards if "<locals>" not in (name, inner)), "")
