"""The digest of a function's own code, from its syntax tree, and the text of the function.

The syntax tree is what people edit and what a compiler on top of whorl reads: it has the
annotations of local names, which bytecode does not. How the tree is found and which parts of it
count is in `source_index`. If there is no tree (REPL, exec, frozen modules, edited files), the
instructions themselves are the code.

A function that is going to be compiled is read when it is made: see `definition`.

A `SourceMemory` remembers digests across processes, by the bytes of the file, the code object and
the version of Python. With one, a process that finds its kernels in the cache parses nothing.
"""

from __future__ import annotations

import ast
import os
import sys
import textwrap
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Self, TypeVar

from whorl.fast_dataclasses import NamedTuple, make
from whorl.locks import get_ident, reset_in_child

from .bytecode import CodeMemo, once_per_code, raw_bytes
from .definition import Text, text_at_definition
from .digest import StableDigest, hash_bytes, hash_hex, marshalled
from .notebooks import cell_of
from .source_index import CodeDigest, FunctionNode, ParsedFile, digest_by_index, tree_in
from .syntax import syntax_tree

__all__ = [
    "CodeDigest",
    "CodeInText",
    "SourceMemory",
    "code_digest",
    "digest_in",
    "place_of_code",
    "source_of",
    "tree_of",
    "undecorated_source",
]

P = TypeVar("P")

# Rows hold for this Python; raise the number when their meaning changes.
_MEMORY: Final = hash_bytes(marshalled(("source index 6", sys.version, __debug__)))


class CodeInText(NamedTuple):
    """A code object, the key of its row in a `SourceMemory`, and the text that it is in."""

    code: types.CodeType
    key: StableDigest | None  # None: there is no text
    text: Text

    @classmethod
    def of(cls, code: types.CodeType, text: Text) -> CodeInText:
        """A code object that is in a text.

        >>> CodeInText.of(raw_bytes.__code__, Text(None, b"")).key is None
        True
        """
        content, digest = text
        key = None
        if content is not None:
            key = str.__new__(StableDigest, hash_hex(_MEMORY + digest + raw_bytes(code)))
        return make(cls, (code, key, text))


class SourceMemory(Generic[P]):
    """Digests that outlive the process, for this thread while a `with` block runs.

    They are rows of plain data by key in a `place`. `hinted` are rows that are known already, so
    that they need not be fetched from there; `rows` are those that were fetched or added.
    """

    __slots__ = ("__weakref__", "_before", "hinted", "met", "parsed", "place", "rows", "texts")

    def __init__(self, place: P) -> None:
        self.place = place
        self.texts: dict[str, Text] = {}  # of code whose definition nobody has kept
        self.met: dict[int, CodeInText] = {}  # by address
        self.parsed: dict[bytes, ParsedFile] = {}
        self.hinted: Mapping[str, object] = {}
        self.rows: dict[str, object] = {}

    @property
    def used(self) -> dict[str, object]:
        """All rows of the code that was met so far, by key."""
        hinted = {key: self.hinted.get(key) for _, key, _ in self.met.values() if key is not None}
        return {key: row for key, row in hinted.items() if row is not None} | self.rows

    def find(self, code: types.CodeType) -> CodeInText:
        """A code object in its text, that of its definition if somebody has kept it."""
        located = self.met.get(id(code))
        if located is None:
            text = _known_text(code)
            if text is None:
                filename, texts = code.co_filename, self.texts
                if filename not in texts:  # once for all functions of a file
                    texts[filename] = Text.of(filename)
                text = texts[filename]
            located = self.met[id(code)] = CodeInText.of(code, text)
        return located

    def get(self, key: StableDigest) -> object:
        """The row of a key in the place, or None."""
        raise NotImplementedError

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        me = get_ident()
        self._before = _lent.get(me)
        _lent[me] = weakref.ref(self)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._before is None:
            del _lent[get_ident()]
        else:
            _lent[get_ident()] = self._before


class _Lent(dict[int, "weakref.ref[SourceMemory[Any]]"]):
    """The memory that is lent to each thread: a `threading.local` takes twice as long.

    Weakly, so that what an interrupt has left here is lent no longer than it is in use.
    """

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__  # type: ignore[assignment]  # this very table, for `reset_in_child`

    def here(self) -> SourceMemory[Any] | None:
        """The memory of this thread."""
        lent = self.get(get_ident())
        return None if lent is None else lent()

    def reset_in_child(self) -> None:
        """Forget the other threads, which are not in a forked child: ids are used again."""
        for thread in self.keys() - {get_ident()}:
            del self[thread]


_lent: Final = _Lent()
reset_in_child(_lent)


def _known_text(code: types.CodeType) -> Text | None:
    """The text at the definition of code, or that of its cell if that has a magic at its top."""
    text = text_at_definition(code)
    if text is None and code.co_filename[:1] == "<" and "IPython" in sys.modules:
        cell = cell_of(code)
        return None if cell is None else cell.text
    return text


def _code_digest(code: types.CodeType) -> CodeDigest:
    lent = _lent.here()
    if lent is None:
        whole = _known_text(code) or Text.of(code.co_filename)
        return digest_by_index(code, whole.content, None)
    _, key, (text, _) = lent.find(code)
    row: Any = None if key is None else lent.hinted.get(key)
    if row is None and key is not None:
        row = lent.get(key)
        if row is not None:
            lent.rows[key] = row
    known = None if row is None else digest_in(row, text)
    if known is not None:
        return known
    digest = digest_by_index(code, text, lent.parsed)
    if key is not None:
        row = [digest.origin, digest.hex, *digest.lines, dict(digest.annotations)]
        lent.rows[key] = row
        lent.put(key, row)
    return digest


def digest_in(row: Any, text: bytes | None = None) -> CodeDigest | None:
    """The digest in a row of a `SourceMemory`, for code in this text; None for any other data.

    >>> digest_in(["source", "0" * 32, 3, 9, {}]).lines, digest_in("nonsense")
    ((3, 9), None)
    """
    try:
        origin, digest, first, last, annotated = row
        if type(digest) is str and len(digest) == 32:
            file = text if last else None
            annotations = tuple(annotated.items()) if annotated else ()
            return make(CodeDigest, (origin, digest, file, (first, last), annotations))
    except (ValueError, TypeError, AttributeError):  # not such a row
        pass
    return None


def place_of_code(code: types.CodeType) -> tuple[str, int]:
    """Where code begins, for people: the name of its file without folders or of its cell, and the
    line.

    >>> place_of_code(place_of_code.__code__)[0]
    'source.py'
    """
    cell = cell_of(code) if "IPython" in sys.modules else None
    if cell is None:
        return os.path.basename(code.co_filename), code.co_firstlineno  # noqa: PTH119  # sooner
    return cell.name, code.co_firstlineno + cell.lines_before


_known: Final[CodeMemo] = {}
code_digest: Final[Callable[[types.CodeType], CodeDigest]] = once_per_code(_code_digest, _known)
"""The digest of a function's own code, by its syntax tree where that can be found."""


def tree_of(code: types.CodeType) -> FunctionNode | None:
    """The tree that the digest of a function's code was computed from; None if there is none."""
    return tree_in(code_digest(code), code)


def source_of(code: types.CodeType) -> str | None:
    """The text of a function for people, without comments; None if the file does not have it."""
    text = code_digest(code).text
    if text is None:
        return None
    try:
        return ast.unparse(syntax_tree(textwrap.dedent(text)))
    except SyntaxError:
        return text.strip()


def undecorated_source(code: types.CodeType) -> str | None:
    """The text of a function for compilers, without decorators; of a lambda, the lambda alone."""
    if code.co_name == "<lambda>":  # a part of its line, of which the rest is other code
        tree = tree_of(code)
        return None if tree is None else ast.unparse(tree)
    text = source_of(code)
    if text is None:
        return None
    try:
        module = syntax_tree(text)
    except SyntaxError:
        return text
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.decorator_list.clear()
    return ast.unparse(module)
