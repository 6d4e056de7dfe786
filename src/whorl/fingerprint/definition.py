"""A function in, the text of its file when the function was made out.

Until a function is compiled, its file may be another. Who is going to compile it asks for its
definition when it is made, and keeps it: for as long as it is kept, all code objects of the same
execution of that file are known to be in that text, whoever asks for them. Code objects are known
by identity, so those of another execution, even from a file of the same name, are never taken for
these.
"""

from __future__ import annotations

import os
import stat
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final, cast

from whorl.late import NamedTuple
from whorl.lazy import load
from whorl.locks import RLock

from .digest import hash_bytes

__all__ = ["Definition", "Text", "definition_of", "text_at_definition"]

_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # what is no file must not hold us up
)
_FILES_KEPT: Final = 1024  # before those are forgotten of which nothing is kept
_OF_A_FUNCTION: Final = 0x1 | 0x2  # flags of code with locals of its own


class Text(NamedTuple):
    """All of a file, if it can be read, and its digest."""

    content: bytes | None
    digest: bytes

    @classmethod
    def of(cls, filename: str) -> Text:
        """A file as it is now, or what is told of it.

        >>> Text.of("<nowhere>").content is None
        True
        """
        content = None if filename[:1] == "<" else _read(filename)
        if content is None:
            content = load("whorl.fingerprint.told").told_of(filename)
        return cls(content, hash_bytes(content or b""))


class Definition:
    """The text of a file that was executed, and the code objects that came of that."""

    __slots__ = ("__weakref__", "codes", "roots", "text")

    def __init__(self, roots: tuple[types.CodeType, ...], text: Text) -> None:
        self.roots = roots  # which keep the others
        self.codes = frozenset(map(id, _codes_in(*roots)))
        self.text = text


_lock = RLock()  # held for moments
_definitions: Final[dict[str, tuple[weakref.ref[Definition], ...]]] = {}  # by file name


def text_at_definition(code: types.CodeType) -> Text | None:
    """The text that a code object is known to be from; None if nobody keeps its definition, and
    it is from no cell of a notebook that has a magic at its top.

    >>> text_at_definition(text_at_definition.__code__) is None
    True
    """
    for reference in _definitions.get(code.co_filename, ()):
        definition = reference()
        if definition is not None and id(code) in definition.codes:
            return definition.text
    if code.co_filename[:1] == "<" and "IPython" in sys.modules:
        cell = load("whorl.fingerprint.cells").cell_of(code)
        return None if cell is None else cast("Text | None", cell.text)
    return None


def definition_of(function: types.FunctionType) -> Definition | None:
    """The definition of a function, to be kept; None if it has no text.

    While the file is executed, that of the file; afterwards, if nobody has kept that, one of the
    function and of those beside it, by the text as it is now.

    >>> definition_of(eval("lambda: 1")) is None
    True
    """
    code, filename = function.__code__, function.__code__.co_filename
    for each in map(_alive, _definitions.get(filename, ())):
        if each is not None and id(code) in each.codes:
            return each
    if not _has_text(filename):
        return None
    text = Text.of(filename)
    if text.content is None:
        return None
    made = Definition(_roots_of(function), text)
    _register(filename, made)
    return made


def _register(filename: str, made: Definition) -> None:
    with _lock:
        if len(_definitions) >= _FILES_KEPT:
            for name, references in [*_definitions.items()]:
                if not any(map(_alive, references)):
                    del _definitions[name]
        others = [each for each in _definitions.get(filename, ()) if _alive(each)]
        _definitions[filename] = (*others, weakref.ref(made))


def _alive(reference: weakref.ref[Definition]) -> Definition | None:
    return reference()


def _after_fork() -> None:
    global _lock  # noqa: PLW0603  # a thread that is not in the child may hold the old one
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _has_text(filename: str) -> bool:
    """Whether there is a text to be had without looking for it in every module."""
    if filename[:1] == "<":
        told: Any = sys.modules.get("linecache")  # where notebooks put what they run
        return told is not None and filename in told.cache
    try:
        return stat.S_ISREG(os.stat(filename).st_mode)  # noqa: PTH116  # a text is sooner
    except OSError:
        return True  # it may be in an archive
    except ValueError:
        return False


def _roots_of(function: types.FunctionType) -> tuple[types.CodeType, ...]:
    """The code of the file that is being executed and defines the function; else its own code,
    and that of the functions that are beside it now."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if (
            frame.f_globals is function.__globals__
            and not code.co_flags & _OF_A_FUNCTION
            and frame.f_locals is frame.f_globals
            and any(each is function.__code__ for each in _codes_in(code))
        ):
            return (code,)
        frame = frame.f_back
    own, scope = function.__code__, function.__globals__
    beside = [
        held.__code__
        for held in [*scope.values()]  # another thread may add some
        if type(held) is types.FunctionType and held.__globals__ is scope
    ]
    return (own, *(code for code in beside if code.co_filename == own.co_filename))


def _codes_in(*codes: types.CodeType) -> Iterator[types.CodeType]:
    """Code objects and all that are nested in them."""
    pending = [*codes]
    while pending:
        code = pending.pop()
        yield code
        pending += [each for each in code.co_consts if type(each) is types.CodeType]


def _read(filename: str) -> bytes | None:
    """All of a file. By its number: a buffered file takes as long to make as this does."""
    try:
        file = os.open(filename, _READ)
    except (OSError, ValueError):
        return None
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
    except (OSError, OverflowError, MemoryError):  # a directory, or nothing that ends
        return None
    finally:
        os.close(file)
