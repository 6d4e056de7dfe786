"""A text in, its syntax tree out, also while other threads ask for theirs.

Python 3.11 counts how deep it is in a tree for all threads together. Where another thread comes
between, it takes its own count for wrong and raises a `SystemError`, though nothing is wrong with
the text. Who has met that tries again, one at a time.
"""

from __future__ import annotations

import ast
import os
from typing import Final, Literal, overload

from whorl.locks import RLock

__all__ = ["syntax_tree"]

_TRIES: Final = 100  # threads that are not ours may come between as well
# What the collector lets go of in the middle may ask for a tree too. Another in a forked child.
_lock: Final = [RLock()]


@overload
def syntax_tree(text: str | bytes) -> ast.Module: ...
@overload
def syntax_tree(text: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...
def syntax_tree(text: str | bytes, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """What `ast.parse` says of a text.

    >>> ast.unparse(syntax_tree("a+b", "eval"))
    'a + b'
    """
    try:
        return ast.parse(text, mode=mode)
    except SystemError:
        pass
    for _ in range(_TRIES):
        with _lock[0]:
            try:
                return ast.parse(text, mode=mode)
            except SystemError:
                continue
    return ast.parse(text, mode=mode)


def _after_fork() -> None:
    _lock[0] = RLock()  # a thread that is not in the child may hold the old one


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
