"""The index of a source file: the syntax tree and the instructions of each function in it.

A function counts by its tree without positions, comments and docstrings, and without the parts of a
definition that are evaluated once and count by their value: decorators, defaults, annotations of
parameters.

The text in a file is not always the code in memory: files are edited while a program runs, test
runners rewrite what they load. So the index compiles what it reads, and a tree stands only for a
code object with the same instructions.

The index of a file is kept by the digest of the file's bytes: an unchanged file costs one read and
one hash, not a parse.
"""

from __future__ import annotations

import ast
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.locks import ForkSafeLock

from .bytecode import bytecode_digest, nested_codes
from .digest import hash_bytes, marshalled
from .syntax import syntax_tree

__all__ = ["CodeDigest", "FunctionNode", "ParsedFile", "digest_by_index", "tree_in"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# `is_lazy`, from Python 3.15 on, is never so inside of a function.
_NOT_COUNTED: Final = frozenset(("ctx", "type_comment", "kind", "is_lazy"))
_AROUND: Final = frozenset(("decorator_list", "returns"))  # of the function itself
_MOST_FILES: Final = 1024


class CodeDigest(NamedTuple):
    """The digest of a function's own code, and what it was computed from."""

    origin: str  # "source", or "bytecode" and the version of Python
    hex: str
    file: bytes | None = None
    lines: tuple[int, int] = (0, 0)
    annotations: tuple[tuple[str, str], ...] = ()  # of parameters, as they are written

    @property
    def digest(self) -> bytes:
        """The digest itself."""
        return bytes.fromhex(self.hex)

    @property
    def text(self) -> str | None:
        """The lines of the function; None where the file does not have them."""
        return None if self.file is None else "".join(self.written)

    @property
    def written(self) -> list[str]:
        """The same, line by line, as Python counts them; none where the file does not have them."""
        lines = (self.file or b"").splitlines(keepends=True)[slice(*self.lines)]
        return [line.decode("utf-8", "replace") for line in lines]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One function of an indexed file."""

    instructions: bytes
    tree: bytes
    has_asserts: bool
    last_line: int
    annotations: tuple[tuple[str, ast.expr], ...]


# Warning filters belong to the whole process. Reentrant: a finalizer may come here meanwhile.
_compiling: Final = ForkSafeLock()
_Key = tuple[str, int]  # the name of a function and its first line
_Index = dict[_Key, list[_Entry]]
_indexes: dict[bytes, _Index] = {}


def digest_by_index(
    code: types.CodeType, text: bytes | None, parsed: dict[bytes, ParsedFile] | None
) -> CodeDigest:
    """The digest of a function's code by the text of its file, or by its instructions.

    `parsed` keeps parsed files; without it, the index of the whole file is kept for ever.
    """
    instructions = bytecode_digest(code)
    if text is not None:
        entries = {
            entry
            for entry in _entries_of(text, (code.co_name, code.co_firstlineno), parsed)
            if entry.instructions == instructions
        }
        if len(entries) == 1:
            entry = entries.pop()
            # With -O the same tree runs without its assertions.
            origin = "source" if __debug__ or not entry.has_asserts else "source -O"
            digest = hash_bytes(entry.tree + marshalled(_private_names(code)))
            lines = (code.co_firstlineno - 1, entry.last_line)
            annotations = tuple((name, ast.unparse(node)) for name, node in entry.annotations)
            return CodeDigest(origin, digest.hex(), text, lines, annotations)
    version = "{}.{}".format(*sys.version_info[:2])
    return CodeDigest(f"bytecode {version}", instructions.hex())


def _private_names(code: types.CodeType) -> list[str]:
    """Names such as `_Class__x`, which the tree has as `__x`: they depend on the class around."""
    names = {
        name
        for inner in nested_codes(code)
        for used in (inner.co_names, inner.co_varnames, inner.co_cellvars, inner.co_freevars)
        for name in used
        if name.startswith("_") and not name.startswith("__") and "__" in name
    }
    return sorted(names)


def _index_of(text: bytes) -> _Index:
    key = hash_bytes(text)
    index = _indexes.get(key)
    if index is None:
        if len(_indexes) >= _MOST_FILES:
            _indexes.clear()
        parsed = _parse(text)
        index = _indexes[key] = {name: parsed.entries(name) for name in parsed.nodes}
    return index


def _entries_of(text: bytes, key: _Key, parsed: dict[bytes, ParsedFile] | None) -> list[_Entry]:
    """The entries of one function in the index of a file.

    With `parsed`, only the entries of this function are made.
    """
    digest = hash_bytes(text)
    if parsed is None or digest in _indexes:
        return _index_of(text).get(key, [])
    if digest not in parsed:
        parsed[digest] = _parse(text)
    return parsed[digest].entries(key)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file's functions and code objects by name and first line."""

    nodes: dict[_Key, list[FunctionNode]]
    codes: dict[_Key, list[types.CodeType]]

    def entries(self, key: _Key) -> list[_Entry]:
        """The entries of the functions of this name on this line."""
        nodes, codes = self.nodes.get(key, []), self.codes.get(key, [])
        # Several on one line: the compiler meets them in the order in which they are written.
        if len(nodes) != len(codes):
            return []
        return [
            _Entry(
                bytecode_digest(code),
                _tree_digest(node),
                _has_asserts(node),
                node.end_lineno or node.lineno,
                _annotations(node),
            )
            for node, code in zip(nodes, codes, strict=True)
        ]


def _parse(text: bytes) -> ParsedFile:
    try:
        with _compiling, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown when the file was imported
            module = syntax_tree(text)
            compiled = compile(module, "<index>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return ParsedFile({}, {})
    codes: dict[_Key, list[types.CodeType]] = defaultdict(list)
    for code in nested_codes(compiled):
        codes[code.co_name, code.co_firstlineno].append(code)
    nodes: dict[_Key, list[FunctionNode]] = defaultdict(list)
    for node in _functions(module):
        nodes[_key(node)].append(node)
    return ParsedFile(nodes, codes)


def _functions(tree: ast.AST) -> Iterator[FunctionNode]:
    """Every function of the tree, each before those nested in it, in source order."""
    pending = [tree]
    while pending:
        current = pending.pop()
        if isinstance(current, FunctionNode):
            yield current
        pending += reversed(list(ast.iter_child_nodes(current)))


def _key(node: FunctionNode) -> _Key:
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    first = node.decorator_list[0] if node.decorator_list else node
    return node.name, first.lineno


def _has_asserts(node: FunctionNode) -> bool:
    return any(
        isinstance(inner, ast.Assert) or (isinstance(inner, ast.Name) and inner.id == "__debug__")
        for inner in ast.walk(node)
    )


def _tree_digest(node: FunctionNode) -> bytes:
    """The digest of a function's tree without what counts elsewhere or not at all."""
    return hash_bytes(marshalled(list(_tree_tokens(node))))


def _tree_tokens(root: FunctionNode) -> Iterator[object]:
    evaluated = _evaluated_parts(root)
    pending: list[object] = [root]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.AST):
            if id(current) in evaluated:
                yield b"-"
                continue
            left_out = _NOT_COUNTED | _AROUND if current is root else _NOT_COUNTED
            fields = [
                (name, value)
                for name, value in ast.iter_fields(current)
                if name not in left_out and value is not None and value != []
            ]
            yield from (b"N", type(current).__name__, len(fields))
            documented = isinstance(
                current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            ) and isinstance(ast.get_docstring(current, clean=False), str)
            for name, value in reversed(fields):
                if documented and name == "body":
                    pending += (value[1:], name)
                else:
                    pending += (value, name)
        elif isinstance(current, list):
            yield from (b"l", len(current))
            pending += reversed(current)
        elif type(current) is bytes:
            yield from (b"B", current)
        else:
            yield current


def _parameters(root: FunctionNode) -> list[ast.arg]:
    arguments = root.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return every + [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]


def _annotations(root: FunctionNode) -> tuple[tuple[str, ast.expr], ...]:
    """The annotations of a function's parameters."""
    return tuple(
        (parameter.arg, parameter.annotation)
        for parameter in _parameters(root)
        if parameter.annotation is not None
    )


def _evaluated_parts(root: FunctionNode) -> set[int]:
    """The parts of a definition that are evaluated when it is executed, and count by value."""
    arguments = root.args
    parts: list[ast.expr | None] = [parameter.annotation for parameter in _parameters(root)]
    parts += [*arguments.defaults, *arguments.kw_defaults]
    return {id(part) for part in parts if part is not None}


def tree_in(digest: CodeDigest, code: types.CodeType) -> FunctionNode | None:
    """The tree that a digest was computed from; None if it was not computed from a tree.

    Among several functions of one name on one line, it is the one with these very instructions.
    """
    if digest.file is None:
        return None
    private = marshalled(_private_names(code))
    for node in _functions(syntax_tree(digest.file)):
        if (
            _key(node) == (code.co_name, code.co_firstlineno)
            and hash_bytes(_tree_digest(node) + private) == digest.digest
        ):
            return node
    return None
