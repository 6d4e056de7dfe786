"""Code that IPython runs in, the cell that it stands in out: its name, and its text if need be.

A cell is known to Python by a made-up file name, under which IPython tells `linecache` its text.
Not so a cell under a magic such as `%%time`: all of these are called `<timed exec>`, and nobody is
told what is in them. The history has their texts. One is believed if it has a function with the
very instructions of the code in question, on the same line.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from whorl.late import NamedTuple

from .definition import Text
from .digest import hash_bytes
from .source import once_per_code
from .tree import from_index

__all__ = ["Cell", "cell_of"]


class Cell(NamedTuple):
    """A cell: what people call it, and how many lines of it stand before the text that runs."""

    name: str
    lines_before: int = 0
    text: Text | None = None  # where nobody else has it


def _cell_of(code: types.CodeType) -> Cell | None:
    shell = _shell()
    if shell is None:
        return None
    named = getattr(shell.compile, "format_code_name", lambda name: None)(code.co_filename)
    if named is not None:
        return Cell(str(named[1]).replace("In[", "In ["))
    if code.co_filename[:1] != "<" or code.co_filename in linecache.cache:
        return None
    history = [*enumerate(shell.history_manager.input_hist_parsed)]
    for number, cell in reversed(history):
        if code.co_name.strip("<>") not in cell:  # `<lambda>` is written as `lambda`
            continue
        for lines_before, body in _under_magics(cell, shell):
            content = body.encode("utf-8", "surrogatepass")
            if from_index(code, content, None).file is not None:
                text = Text(content, hash_bytes(content))
                return Cell(f"In [{number}]", lines_before, text)
    return None


cell_of: Final[Callable[[types.CodeType], Cell | None]] = once_per_code(_cell_of)
"""The cell of a notebook that code stands in; None for all other code."""


def _shell() -> Any:
    """What runs the cells, if IPython does."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def _under_magics(cell: str, shell: Any, depth: int = 0) -> Iterator[tuple[int, str]]:
    """What a cell runs under the magics at its top, and how many these are."""
    body = _given_to_magic(cell)
    if body is not None:
        yield from _under_magics(shell.transform_cell(body), shell, depth + 1)
    elif depth:
        yield depth, cell


def _given_to_magic(cell: str) -> str | None:
    """The text that a cell gives to its magic, as IPython writes it down."""
    try:
        statements = ast.parse(cell).body
    except (SyntaxError, ValueError):
        return None
    match statements:
        case [
            ast.Expr(
                ast.Call(ast.Attribute(attr="run_cell_magic"), [_, _, ast.Constant(str(body))])
            )
        ]:
            return body
    return None
