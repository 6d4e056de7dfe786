"""The syntax tree of a function, the places of its nodes in the user's file, and its names."""

from __future__ import annotations

import ast
import importlib.util
import marshal
import os
import struct
import sys
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Final, NoReturn

from whorl.errors import KernelError
from whorl.fast_dataclasses import dataclass, field, replace
from whorl.fingerprint.bytecode import nested_codes, raw_bytes
from whorl.fingerprint.source import code_digest, place_of_code, tree_of
from whorl.fingerprint.syntax import mangle, syntax_tree

__all__ = [
    "Source",
    "assigned_names",
    "bound_names",
    "free_names",
    "functions_around",
    "library_source",
    "names_used_once",
    "returned_names",
    "source_tree",
]


@dataclass(frozen=True, slots=True)
class Source:
    """A function's tree and lines, and how many stand before them in its file."""

    tree: ast.FunctionDef | ast.Lambda
    written: list[str]
    filename: str
    lines_before: int
    called_from: tuple[str, ...] = ()  # innermost call first
    written_parameters: Mapping[str, str] = field(default_factory=dict)  # of methods
    caller: tuple[Source, ast.AST] | None = None
    """For a function of the library: the call in the user's source that errors are about."""

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
        if self.caller is not None:
            source, call = self.caller
            return source.line(call)
        number, _ = self.place(node)
        text = self._line(number).strip()
        return f"{self.name}:{number}" + (f": `{text}`" if text else "")

    def text(self, node: ast.AST) -> str:
        """The source of a node for people."""
        if self.caller is not None:
            source, call = self.caller
            return source.text(call)
        return ast.unparse(node)

    @property
    def name(self) -> str:
        """The file's name, without its folders, or that of the cell."""
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
        if self.caller is not None:
            source, call = self.caller
            return source.error(call, what, remedy, notes)
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
    source, begin = code_digest(code), code.co_firstlineno - 1
    tree = None if source.text is None else _parsed(source.text, code)
    if tree is None and source.file is not None:  # it stands in the middle of something
        whole = tree_of(code)
        if isinstance(whole, ast.FunctionDef | ast.Lambda):
            tree, begin = whole, 0
            # There are no more lines than that.
            source = source._replace(lines=(0, len(source.file)))
    if tree is None:
        what, remedy = _why_not(function)
        file, line = place_of_code(code)
        notes = tuple(f"called from {call}" for call in called_from)
        if file[:1] == "<":  # no file that could be opened
            raise KernelError(what, remedy, notes=notes)
        raise KernelError(what, remedy, file, line, 1, notes=notes)
    written = mangle(tree, code)
    file, first = place_of_code(code)
    begin += first - code.co_firstlineno
    return Source(tree, source.written, file, begin, called_from, written)


def library_source(function: types.FunctionType, source: Source, call: ast.AST) -> Source:
    """The tree of a function of whorl's own library, for a call in another source."""
    return replace(_library_tree(function), caller=(source, call))


@cache
def _library_tree(function: types.FunctionType) -> Source:
    return source_tree(function)


def functions_around(code: types.CodeType) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The trees of the functions that a function is defined in; none where there is no source."""
    text = code_digest(code).file if "<locals>" in code.co_qualname else None
    if text is None:
        return []
    return [
        node
        for node in ast.walk(syntax_tree(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
        and (node.name, node.lineno) != (code.co_name, code.co_firstlineno)
    ]


def bound_names(tree: ast.AST) -> frozenset[str]:
    """The names that a function gives values to: they are never globals in it."""
    arguments = getattr(tree, "args", None)
    names: set[str] = set()
    if isinstance(arguments, ast.arguments):
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names.update(argument.arg for argument in every)
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                names.add(extra.arg)
    body = getattr(tree, "body", [])
    return frozenset(names | assigned_names(body if isinstance(body, list) else [body]))


def free_names(tree: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names that a function uses and gives no values to, functions nested in it too."""
    names: set[str] = set()
    waiting: list[ast.AST] = [*tree.body] if isinstance(tree.body, list) else [tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            names |= free_names(node)
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.Name):
            names.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return names - bound_names(tree)


def names_used_once(tree: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that a function sets in one place and reads in one place, in its own body.

    What is written into, as in `x[0] = 1`, is none of them: it has to be in memory.
    """
    counts: dict[str, list[int]] = {}
    elsewhere = {argument.arg for argument in ast.walk(tree.args) if isinstance(argument, ast.arg)}
    waiting: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, _OWN_SCOPE):
            elsewhere |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            continue
        if isinstance(node, ast.Name):
            number = (ast.Store, ast.Load, ast.Del).index(type(node.ctx))
            counts.setdefault(node.id, [0, 0, 0])[number] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            elsewhere.add(node.target.id)
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            elsewhere |= {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        waiting.extend(ast.iter_child_nodes(node))
    return frozenset(name for name, each in counts.items() if each == [1, 1, 0]) - elsewhere


_OWN_SCOPE: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def assigned_names(body: list[ast.stmt] | list[ast.expr] | list[ast.AST]) -> set[str]:
    """The names that some statements give values to, functions nested in them aside."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.GeneratorExp):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def returned_names(tree: ast.AST) -> frozenset[str]:
    """The names that a function returns, alone or in a tuple."""
    names: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Return) and each.value is not None:
            parts = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
            names.update(part.id for part in parts if isinstance(part, ast.Name))
    return frozenset(names)


def _why_not(function: types.FunctionType) -> tuple[str, str]:
    """What is wrong where a function has no source, and what to do."""
    name = function.__qualname__
    if "@pytest_ar" in function.__code__.co_names:
        return (
            f"{name} is not in its file as it runs: pytest has rewritten its assertions",
            "Put it into a module of its own, or PYTEST_DONT_REWRITE into the module's docstring.",
        )
    file = function.__code__.co_filename
    if PurePath(file).suffix == ".py" and os.path.isfile(file):  # noqa: PTH113  # a text is sooner
        outdated = _outdated_bytecode(function.__code__)
        if outdated is not None:
            return (
                f"{name} as it runs is not in its file: Python has loaded it from {outdated}, "
                "which is of another text",
                f"Remove {outdated}, and start the program again.",
            )
        return (
            f"{name} as it runs is not in its file: that was edited since it was imported",
            "Start the program again, or import the module again (importlib.reload).",
        )
    if "IPython" in sys.modules and file != "<stdin>":
        return (
            f"the source of {name} is not found",
            "Define it in a cell of its own, without a magic such as %%timeit at its top.",
        )
    return (
        f"the source of {name} is not found",
        "Define it in a file or in a notebook: what is typed at Python's prompt, or given to "
        "python -c or exec(), has no source.",
    )


def _outdated_bytecode(code: types.CodeType) -> str | None:
    """The file beside the source that code was loaded from and would be again, if there is one."""
    try:
        place = importlib.util.cache_from_source(code.co_filename)
        content, source = Path(place).read_bytes(), Path(code.co_filename).stat()
        flags, modified, size = struct.unpack("<4x3I", content[:_HEADER])
        whole = marshal.loads(content[_HEADER:])
    except (OSError, ValueError, EOFError, TypeError, NotImplementedError, struct.error):
        return None
    is_believed = (modified, size) == (int(source.st_mtime) & _WORD, source.st_size & _WORD)
    if flags:
        is_believed = not flags & _CHECKED
    if not is_believed or not isinstance(whole, types.CodeType):
        return None
    wanted = raw_bytes(code)
    return place if any(raw_bytes(each) == wanted for each in nested_codes(whole)) else None


_HEADER: Final = 16  # bytes: a number, flags, then the time and size of the source, or its hash
_CHECKED: Final = 0b10  # in the flags: the hash is compared with that of the source
_WORD: Final = 0xFFFFFFFF


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
