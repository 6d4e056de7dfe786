"""Syntax trees: parsing that is safe in threads, and private names as Python compiles them.

Python 3.11 counts the depth of a tree for all threads together. If another thread comes between,
it takes its own count for wrong and raises a `SystemError`, although the text is fine. Then parsing
is tried again, one thread at a time.
"""

from __future__ import annotations

import ast
import types
from itertools import pairwise
from typing import Final, Literal, overload

from whorl.locks import ForkSafeLock

__all__ = ["mangle", "syntax_tree"]

_TRIES: Final = 100  # threads that are not ours may come between as well
# Reentrant: a finalizer that the collector calls in the middle may parse too.
_lock: Final = ForkSafeLock()


@overload
def syntax_tree(text: str | bytes) -> ast.Module: ...
@overload
def syntax_tree(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def syntax_tree(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """The tree that `ast.parse` gives for a text.

    >>> ast.unparse(syntax_tree("a+b", "eval"))
    'a + b'
    """
    try:
        return ast.parse(text, mode=mode)
    except SystemError:
        pass
    for _ in range(_TRIES):
        with _lock:
            try:
                return ast.parse(text, mode=mode)
            except SystemError:
                continue
    return ast.parse(text, mode=mode)


def mangle(tree: ast.FunctionDef | ast.Lambda, code: types.CodeType) -> dict[str, str]:
    """Turn `__x` into `_Class__x` in the tree of a method, as Python does when it compiles it.

    Python does so with every name but those of keywords in a call. Returned are the parameters as
    they are written, by their new names.

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
    """The class in which a function is defined, directly or in a method; empty if in none."""
    outwards = reversed(list(pairwise(code.co_qualname.split("."))))
    return next((name for name, inner in outwards if "<locals>" not in (name, inner)), "")
