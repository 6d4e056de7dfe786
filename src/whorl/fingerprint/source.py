"""A function's code object in, the digest of its syntax tree out, as remembered or found now.

The syntax tree is what a person edits and what a compiler written on whorl reads: it has
the annotations of local names, which bytecode has not. What of it counts, and how it is found, is
in `tree`. Where no tree can be found (REPL, exec, frozen, edited since), the instructions
themselves are the code.

A function that is going to be compiled is read when it is made: see `definition`.

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
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from whorl.late import NamedTuple, make
from whorl.lazy import importing, load
from whorl.locks import get_ident

from .definition import Text, text_at_definition
from .digest import LEAVES, StableDigest, dumps, hash_bytes, hash_hex, marshalled

if TYPE_CHECKING:
    from .tree import Parsed

__all__ = [
    "CodeDigest",
    "CodeInText",
    "SourceMemory",
    "code_digest",
    "constant",
    "digest_in",
    "once_per_code",
    "place_of_code",
    "raw_bytes",
]

P = TypeVar("P")
T = TypeVar("T")

# What is remembered is so of this Python; raise the number when its meaning changes.
_MEMORY: Final = hash_bytes(marshalled(("source index 6", sys.version, __debug__)))

_Known: TypeAlias = dict[int, "tuple[weakref.ref[types.CodeType], Any]"]


def once_per_code(
    compute: Callable[[types.CodeType], T], known: _Known | None = None
) -> Callable[[types.CodeType], T]:
    """The same, computed once per code object and `known` for as long as that object lives.

    By identity: equal code objects may come from different files.
    """
    results: _Known = {} if known is None else known

    def remembered(code: types.CodeType) -> T:
        address = id(code)
        if address in results:
            reference, result = results[address]
            if reference() is code:
                found: T = result
                return found
        found = compute(code)
        forget = results.pop
        results[address] = (weakref.ref(code, lambda _: forget(address, None)), found)
        return found

    return remembered


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
        return None if self.file is None else "".join(self.written)

    @property
    def written(self) -> list[str]:
        """The same, line by line, as Python counts them; none where there are none to trust."""
        found = (self.file or b"").splitlines(keepends=True)[slice(*self.lines)]
        return [line.decode("utf-8", "replace") for line in found]


class CodeInText(NamedTuple):
    """A code object, the key of the row about it, and the text that it is in."""

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
    """A place that outlives the process, lent to this thread while a `with` block runs.

    There are rows of plain data by digest in it. `hinted` are rows that are known already, so that
    the place is not asked for them; `rows` are those that it was asked for.
    """

    __slots__ = ("__weakref__", "_before", "hinted", "met", "parsed", "place", "rows", "texts")

    def __init__(self, place: P) -> None:
        self.place = place
        self.texts: dict[str, Text] = {}  # of code whose definition nobody has kept
        self.met: dict[int, CodeInText] = {}  # by address
        self.parsed: dict[bytes, Parsed] = {}
        self.hinted: Mapping[str, object] = {}
        self.rows: dict[str, object] = {}

    @property
    def used(self) -> dict[str, object]:
        """All rows of the code that was asked for meanwhile, by key."""
        asked = {key: self.hinted.get(key) for _, key, _ in self.met.values() if key is not None}
        return {key: row for key, row in asked.items() if row is not None} | self.rows

    def find(self, code: types.CodeType) -> CodeInText:
        """A code object in its text: as it was when that was executed, if somebody has kept it."""
        found = self.met.get(id(code))
        if found is None:
            text = text_at_definition(code)
            if text is None:
                filename, texts = code.co_filename, self.texts
                if filename not in texts:  # once for all functions of a file that are asked for
                    texts[filename] = Text.of(filename)
                text = texts[filename]
            found = self.met[id(code)] = CodeInText.of(code, text)
        return found

    def get(self, key: StableDigest) -> object:
        """The row that the place has of a key, or None."""
        raise NotImplementedError

    def put(self, key: StableDigest, row: list[object]) -> None:
        """Keep a row."""
        raise NotImplementedError

    def __enter__(self) -> None:
        me = get_ident()
        self._before = _lent.get(me)
        _lent[me] = weakref.ref(self)

    def __exit__(self, *raised: object) -> None:
        if self._before is None:
            del _lent[get_ident()]
        else:
            _lent[get_ident()] = self._before


_lent: Final[dict[int, weakref.ref[SourceMemory[Any]]]] = {}
"""What is lent to each thread: a `threading.local` takes twice as long to ask. Weakly, so that what
an interrupt has left here is lent no longer than it is in use."""


def _lent_here() -> SourceMemory[Any] | None:
    lent = _lent.get(get_ident())
    return None if lent is None else lent()


def _after_fork() -> None:
    """The other threads are not in the child, and new ones may be numbered as they were."""
    for thread in _lent.keys() - {get_ident()}:
        del _lent[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def raw_bytes(code: types.CodeType) -> bytes:
    """All of a code object but the name of its file, as the same bytes in every process."""
    constants, mark = code.co_consts, dumps(code.co_filename, 2)
    count = 0 if LEAVES.issuperset(map(type, constants)) else _codes_among(constants)
    if count is not None:
        parts = dumps(code, 2).split(mark)
        if len(parts) == count + 2:  # it stands in each code object, and nowhere else
            return b"".join(parts)
    # There are sets in it, or texts that are named like the file.
    held = [
        ("code", raw_bytes(each)) if isinstance(each, types.CodeType) else constant(each)
        for each in constants
    ]
    return marshalled((dumps(code.replace(co_consts=(), co_filename=""), 2), held))


def _codes_among(constants: tuple[object, ...]) -> int | None:
    """How many code objects there are among constants and in them; None if there are sets.

    `marshal` writes a set in another order in each process.

    >>> _codes_among((1, (2, "a"), _codes_among.__code__)), _codes_among((1, ({2, "a"},)))
    (1, None)
    """
    count = 0
    for each in constants:
        kind = type(each)
        if kind is tuple or kind is types.CodeType:
            inner: Any = each
            found = _codes_among(inner if kind is tuple else inner.co_consts)
            if found is None:
                return None
            count += found + (kind is types.CodeType)
        elif kind not in LEAVES and kind is not bytes:
            return None
    return count


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
    lent = _lent_here()
    if lent is None:
        whole = text_at_definition(code) or Text.of(code.co_filename)
        return _found(code, whole.content, None)
    _, key, (text, _) = lent.find(code)
    row: Any = None if key is None else lent.hinted.get(key)
    if row is None and key is not None:
        row = lent.get(key)
        if row is not None:
            lent.rows[key] = row
    known = None if row is None else digest_in(row, text)
    if known is not None:
        return known
    found = _found(code, text, lent.parsed)
    if key is not None:
        row = [found.origin, found.hex, *found.lines, dict(found.annotations)]
        lent.rows[key] = row
        lent.put(key, row)
    return found


def digest_in(row: Any, text: bytes | None = None) -> CodeDigest | None:
    """The digest that a row says code has which is in a text; None if that is no such row.

    >>> digest_in(["source", "0" * 32, 3, 9, {}]).lines, digest_in("nonsense")
    ((3, 9), None)
    """
    try:
        origin, digest, first, last, written = row
        if type(digest) is str and len(digest) == 32:  # no other says anything else
            file = text if last else None
            annotations = tuple(written.items()) if written else ()
            return make(CodeDigest, (origin, digest, file, (first, last), annotations))
    except (ValueError, TypeError, AttributeError):  # whatever that is
        pass
    return None


def _found(
    code: types.CodeType, text: bytes | None, parsed: dict[bytes, Parsed] | None
) -> CodeDigest:
    """What nobody remembers."""
    found: CodeDigest = load("whorl.fingerprint.tree").from_index(code, text, parsed)
    return found


def place_of_code(code: types.CodeType) -> tuple[str, int]:
    """Where code begins, for people: the name of its file without folders, or its cell; the line.

    >>> place_of_code(place_of_code.__code__)[0]
    'source.py'
    """
    cell = None
    if "IPython" in sys.modules:
        cell = load("whorl.fingerprint.cells").cell_of(code)
    if cell is None:
        return os.path.basename(code.co_filename), code.co_firstlineno  # noqa: PTH119  # sooner
    return cell.name, code.co_firstlineno + cell.lines_before


_known: Final[_Known] = {}
code_digest: Final[Callable[[types.CodeType], CodeDigest]] = once_per_code(_code_digest, _known)
"""The digest of a function's own code, by its syntax tree where that can be found."""
