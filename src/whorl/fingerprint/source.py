"""A function's code object in, the digest of its syntax tree out, as remembered or found now.

The syntax tree is what a person edits and what a compiler written on whorl reads: it has
the annotations of local names, which bytecode has not. What of it counts, and how it is found, is
in `tree`. Where no tree can be found (REPL, exec, frozen, edited since), the instructions
themselves are the code.

Who has a place that outlives the process lends it as a `SourceMemory`; what is found there is by
the same bytes of the file, the same code and the same Python. A process that finds its kernels in
the cache finds all of its code there, and parses nothing.
"""

from __future__ import annotations

import os
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from whorl.late import NamedTuple, make
from whorl.lazy import importing, load
from whorl.locks import local

from .digest import LEAVES, StableDigest, digest_of, hash_bytes, marshalled
from .lookup import module_vars

if TYPE_CHECKING:
    from .tree import Parsed

__all__ = [
    "CodeDigest",
    "CodeMemo",
    "SourceMemory",
    "code_digest",
    "constant",
    "raw_digest",
    "remembered_as",
]

P = TypeVar("P")

_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# What is remembered is so of this Python; raise the number when its meaning changes.
_MEMORY: Final = ("source index 5", sys.version, __debug__)


class CodeMemo:
    """Something computed once per code object, for as long as that object lives.

    By identity: equal code objects may come from different files.
    """

    def __init__(self, compute: Callable[[types.CodeType], Any]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[weakref.ref[types.CodeType], Any]] = {}

    def __call__(self, code: types.CodeType) -> Any:
        """What was computed for this code object, now or before."""
        address = id(code)
        known = self._known.get(address)
        if known is not None and known[0]() is code:
            return known[1]
        result = self._compute(code)
        forget = self._known.pop
        self._known[address] = (weakref.ref(code, lambda _: forget(address, None)), result)
        return result


class CodeDigest(NamedTuple):
    """What stands for a function's own code, and where it was taken from."""

    origin: str
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
        """The lines of the function; None where there are none to trust."""
        if self.file is None:
            return None
        found = self.file.splitlines(keepends=True)[slice(*self.lines)]
        return b"".join(found).decode("utf-8", "replace")


class SourceMemory(Generic[P]):
    """A place that outlives the process, lent to this thread while a `with` block runs.

    There are rows of plain data by digest in it. `hinted` are rows that are known already, so that
    the place is not asked for them; `rows` are those that it was asked for.
    """

    __slots__ = ("_before", "hinted", "keys", "parsed", "place", "rows", "texts")

    def __init__(self, place: P) -> None:
        self.place = place
        self.texts: dict[str, tuple[bytes | None, bytes]] = {}  # with their digests
        self.keys: dict[int, tuple[types.CodeType, StableDigest]] = {}  # by address
        self.parsed: dict[bytes, Parsed] = {}
        self.hinted: Mapping[str, object] = {}
        self.rows: dict[str, object] = {}

    @property
    def used(self) -> dict[str, object]:
        """All rows of the code that was asked for meanwhile, by key."""
        keys = [key for _, key in self.keys.values()]
        return {key: self.hinted[key] for key in keys if key in self.hinted} | self.rows

    def get(self, key: StableDigest) -> object:
        """The row that the place has of a key, or None."""
        raise NotImplementedError

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        raise NotImplementedError

    def __enter__(self) -> None:
        self._before, _here.lent = _here.lent, self

    def __exit__(self, *raised: object) -> None:
        _here.lent = self._before


class _Here(local):
    """What is lent to this thread."""

    lent: SourceMemory[Any] | None = None


_here: Final = _Here()


def remembered_as(code: types.CodeType) -> StableDigest | None:
    """The key under which a code object is remembered now; None if it is not, or has no text."""
    lent = _here.lent
    if lent is None:
        return None
    known = lent.keys.get(id(code))
    if known is not None:
        return known[1]
    filename = code.co_filename
    if filename not in lent.texts:  # once for all functions of a file that are asked for now
        found = _text_of(filename)
        lent.texts[filename] = found, hash_bytes(found or b"")
    text, digest = lent.texts[filename]
    if text is None:
        return None
    key = digest_of(_MEMORY, digest, code.co_name, code.co_firstlineno, _raw(code))
    lent.keys[id(code)] = code, key
    return key


def raw_digest(code: types.CodeType) -> bytes:
    """The digest of a code object as it is, docstring and all: quick, and good for one file."""
    return hash_bytes(marshalled(_raw(code)))


def _raw(code: types.CodeType) -> tuple[object, ...]:
    constants = code.co_consts
    if not LEAVES.issuperset(map(type, constants)):
        constants = tuple(
            [
                ("code", raw_digest(held)) if isinstance(held, types.CodeType) else constant(held)
                for held in constants
            ]
        )
    return (
        code.co_code,
        constants,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_exceptiontable,
    )


def constant(value: object) -> object:
    """A constant of a code object as something that marshals the same in every process."""
    kind = type(value)
    if kind in LEAVES:
        return ("leaf", value)
    if kind is bytes:
        return ("bytes", value)
    if isinstance(value, types.CodeType):
        return ("code", load("whorl.fingerprint.bytecode").bytecode_digest(value))
    if isinstance(value, tuple):
        return ("tuple", tuple(constant(x) for x in value))
    if isinstance(value, frozenset):
        return ("frozenset", tuple(sorted(marshalled((constant(x),)) for x in value)))
    if isinstance(value, slice):  # from Python 3.14 on
        return ("slice", tuple(constant(x) for x in (value.start, value.stop, value.step)))
    with importing:
        from .refusal import Refused

    raise Refused(f"a code object in it holds a constant of type {kind.__name__!r}")


def _code_digest(code: types.CodeType) -> CodeDigest:
    lent = _here.lent
    if lent is None:
        return _found(code, _text_of(code.co_filename), None)
    key = remembered_as(code)
    text = lent.texts[code.co_filename][0]
    if key is None:
        return _found(code, text, lent.parsed)
    row: Any = lent.hinted.get(key)
    if row is None:
        row = lent.get(key)
        if row is not None:
            lent.rows[key] = row
    if row is not None:
        try:
            origin, digest, first, last, written = row
            if type(digest) is str and len(digest) == 32:  # no other says anything else
                file, annotations = text if last else None, tuple(written.items())
                return make(CodeDigest, (origin, digest, file, (first, last), annotations))
        except (ValueError, TypeError, AttributeError):  # whatever that is
            pass
    found = _found(code, text, lent.parsed)
    row = [found.origin, found.hex, *found.lines, dict(found.annotations)]
    lent.rows[key] = row
    lent.put(key, row)
    return found


def _found(
    code: types.CodeType, text: bytes | None, parsed: dict[bytes, Parsed] | None
) -> CodeDigest:
    """What nobody remembers."""
    found: CodeDigest = load("whorl.fingerprint.tree").from_index(code, text, parsed)
    return found


_code_memo: Final = CodeMemo(_code_digest)
code_digest: Final[Callable[[types.CodeType], CodeDigest]] = _code_memo
"""The digest of a function's own code, by its syntax tree where that can be found."""


def _text_of(filename: str) -> bytes | None:
    """All of a file. By its number: a buffered file takes as long to make as this does."""
    if filename[:1] == "<":
        return _told_of(filename)
    try:
        file = os.open(filename, _READ)
    except (OSError, ValueError):
        return _told_of(filename)
    try:
        size = os.lseek(file, 0, os.SEEK_END)  # which takes less time than a status
        os.lseek(file, 0, os.SEEK_SET)
        text = os.read(file, size)
        while len(text) != size or not size:  # not all of it, or nobody knows how much there is
            part = os.read(file, 1 << 16)
            if not part:
                break
            text += part
        return text
    except OSError:
        return _told_of(filename)
    finally:
        os.close(file)


def _told_of(filename: str) -> bytes | None:
    """What a file that cannot be read is said to hold."""
    with importing:
        import linecache

    lines = linecache.getlines(filename)
    return "".join(lines).encode("utf-8", "surrogatepass") if lines else _packed(filename)


def _packed(filename: str) -> bytes | None:
    """The text of a module in an archive, or wherever else its loader has it from."""
    for module in list(sys.modules.values()):
        stored = module_vars(module) if type(module) is types.ModuleType else {}
        get = getattr(getattr(stored.get("__spec__"), "loader", None), "get_data", None)
        if get is not None and stored.get("__file__") == filename:
            try:
                return bytes(get(filename))
            except Exception:  # the loader is somebody else's
                return None
    return None
