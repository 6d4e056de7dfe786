"""A function in, its syntax tree out, with where each node stands in the user's file."""

from __future__ import annotations

import ast
import contextlib
import os
import stat
import types
from collections.abc import Mapping
from pathlib import PurePath
from typing import NoReturn

from whorl.errors import KernelError
from whorl.fingerprint.private_names import mangle
from whorl.fingerprint.source import code_digest
from whorl.fingerprint.syntax import syntax_tree
from whorl.fingerprint.tree import tree_of
from whorl.late import dataclass, field

__all__ = ["Source", "source_tree"]


@dataclass(frozen=True, slots=True)
class Source:
    """A function's tree and lines, and how many stand before them in its file."""

    tree: ast.FunctionDef | ast.Lambda
    written: list[str]
    filename: str
    lines_before: int
    called_from: tuple[str, ...] = ()  # innermost call first
    written_parameters: Mapping[str, str] = field(default_factory=dict)  # of methods

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Line and column of a node in the file, from one."""
        line = self.lines_before + getattr(node, "lineno", 1)
        return line, self._characters(line, getattr(node, "col_offset", 0)) + 1

    def _characters(self, line: int, offset: int) -> int:
        """How many characters of a line an offset of a node is, which counts bytes."""
        text = self._line(line)
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

    def _line(self, number: int) -> str:
        """A line as it was when the function was made: its file may be another by now."""
        place = number - self.lines_before - 1
        return self.written[place].rstrip("\r\n") if 0 <= place < len(self.written) else ""

    def line(self, node: ast.AST) -> str:
        """A node's line for people: file, number, text."""
        number, _ = self.place(node)
        text = self._line(number).strip()
        return f"{self.name}:{number}" + (f": `{text}`" if text else "")

    @property
    def name(self) -> str:
        """The file's name, without its folders."""
        return PurePath(self.filename).name

    def refuse(
        self, node: ast.AST, what: str, remedy: str = "", notes: tuple[str, ...] = ()
    ) -> NoReturn:
        """Raise a `KernelError` about a node."""
        raise self.error(node, what, remedy, notes)

    def error(
        self, node: ast.AST, what: str, remedy: str = "", notes: tuple[str, ...] = ()
    ) -> KernelError:
        """The `KernelError` about a node."""
        number, column = self.place(node)
        text = self._line(number)
        end = getattr(node, "end_col_offset", None)
        is_one_line = getattr(node, "end_lineno", None) == getattr(node, "lineno", 0)
        width = 1
        if end is not None and is_one_line:
            width = self._characters(number, end) + 1 - column
        calls = tuple(f"called from {call}" for call in self.called_from)
        return KernelError(what, remedy, self.name, number, column, text, width, (*notes, *calls))


def source_tree(function: types.FunctionType, called_from: tuple[str, ...] = ()) -> Source:
    """The tree of a function; `KernelError` if there is no source that is known to be it."""
    code = function.__code__
    found, begin = code_digest(code), code.co_firstlineno - 1
    tree = None if found.text is None else _parsed(found.text, code)
    if tree is None and found.file is not None:  # it stands in the middle of something
        whole = tree_of(code)
        if isinstance(whole, ast.FunctionDef | ast.Lambda):
            tree, begin = whole, 0
            found = found._replace(lines=(0, len(found.file)))  # there are no more lines than that
    if tree is None:
        what, remedy = _why_not(function)
        raise KernelError(
            what,
            remedy,
            PurePath(code.co_filename).name,
            code.co_firstlineno,
            1,
            notes=tuple(f"called from {call}" for call in called_from),
        )
    written = mangle(tree, code)
    return Source(tree, found.written, code.co_filename, begin, called_from, written)


def _why_not(function: types.FunctionType) -> tuple[str, str]:
    """What is wrong where a function has no source, and what to do."""
    name = function.__qualname__
    if "@pytest_ar" in function.__code__.co_names:
        return (
            f"{name} is not in its file as it runs: pytest has rewritten its assertions",
            "Put it into a module of its own, or PYTEST_DONT_REWRITE into the module's docstring.",
        )
    if PurePath(function.__code__.co_filename).suffix == ".py":
        with contextlib.suppress(OSError):
            file = function.__code__.co_filename
            if stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116  # a text is sooner
                return (
                    f"{name} as it runs is not in its file: that was edited since it was imported",
                    "Start the program again, or import the module again (importlib.reload).",
                )
    return (
        f"the source of {name} is not found",
        "Define it in a file or in a notebook: what is typed at Python's prompt, or given to "
        "python -c or exec(), has no source.",
    )


def _parsed(text: str, code: types.CodeType) -> ast.FunctionDef | ast.Lambda | None:
    is_indented = text[:1] in (" ", "\t")
    try:
        # An indented function is parsed inside of a block, so that columns stay as they are.
        module = syntax_tree(f"if True:\n{text}" if is_indented else text)
    except SyntaxError:
        return None
    if is_indented:
        ast.increment_lineno(module, -1)
    nodes: list[ast.FunctionDef | ast.Lambda] = [
        node
        for node in ast.walk(module)
        if (isinstance(node, ast.FunctionDef) and node.name == code.co_name)
        or (isinstance(node, ast.Lambda) and code.co_name == "<lambda>")
    ]
    if len(nodes) > 1 and isinstance(nodes[0], ast.Lambda):
        nodes = [node for node in nodes if _has_place(node, code)]
    return nodes[0] if nodes else None


def _has_place(node: ast.AST, code: types.CodeType) -> bool:
    """Whether the code's own instructions stand in a lambda's body."""
    columns = [place[2] for place in code.co_positions() if place[2]]
    body = node.body  # type: ignore[attr-defined] # a lambda has one
    return bool(columns) and min(columns) == body.col_offset
