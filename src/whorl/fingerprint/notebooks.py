"""Cells of notebooks: the cell in which code was written, its name, and its text if need be.

Python knows a cell by a made-up file name, under which IPython gives its text to `linecache`. A
cell under a magic such as `%%time` is different: all of these are called `<timed exec>`, and
`linecache` does not have them. The history of the shell has their texts. One of these is taken if
it has a function with the same instructions on the same line.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Iterator
from typing import Any

from whorl.fast_dataclasses import NamedTuple

from .bytecode import once_per_code
from .definition import Text
from .digest import hash_bytes
from .source_index import digest_by_index

__all__ = ["Cell", "cell_of"]


class Cell(NamedTuple):
    """A cell: what people call it, and how many lines of it stand before the text that runs."""

    name: str
    lines_before: int = 0
    text: Text | None = None  # where nobody else has it


@once_per_code
def cell_of(code: types.CodeType) -> Cell | None:
    """The cell of a notebook in which code was written; None for all other code."""
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
            if digest_by_index(code, content, None).file is not None:
                text = Text(content, hash_bytes(content))
                return Cell(f"In [{number}]", lines_before, text)
    return None


def _shell() -> Any:
    """The shell of IPython, if there is one."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def _under_magics(cell: str, shell: Any, depth: int = 0) -> Iterator[tuple[int, str]]:
    """How many magics are at the top of a cell, and the code below them."""
    body = _magic_argument(cell)
    if body is not None:
        yield from _under_magics(shell.transform_cell(body), shell, depth + 1)
    elif depth:
        yield depth, cell


def _magic_argument(cell: str) -> str | None:
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
