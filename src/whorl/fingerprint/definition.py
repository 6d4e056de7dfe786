"""The text of a function's file as it was when the function was made.

The file may be edited before the function is compiled. So whoever is going to compile a function
takes its definition when the function is made, and keeps it. As long as it is kept, all code
objects of the same execution of that file are known to be from that text. Code objects are known by
identity, so those of another execution, even of a file of the same name, are never taken for these.

Functions whose source is no readable file have theirs from a fallback: notebooks and `exec` from
`linecache`, modules in archives from their loader.
"""

from __future__ import annotations

import linecache
import os
import stat
import sys
import types
import weakref
from typing import Final

from whorl.fast_dataclasses import NamedTuple
from whorl.locks import ForkSafeLock
from whorl.signals import pass_on

from .bytecode import nested_codes
from .digest import hash_bytes
from .static_lookup import module_vars

__all__ = ["Definition", "Text", "definition_of", "text_at_definition"]

_READ: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe must not block
)
_MANY_FILES: Final = 1024  # from then on, files without a live definition are forgotten
_FUNCTION_FLAGS: Final = 0x1 | 0x2  # of code with locals of its own


class Text(NamedTuple):
    """All of a file, if it can be read, and its digest."""

    content: bytes | None
    digest: bytes

    @classmethod
    def of(cls, filename: str) -> Text:
        """A file as it is now, or its text by a fallback.

        >>> Text.of("<nowhere>").content is None
        True
        """
        content = None if filename[:1] == "<" else _read(filename)
        if content is None:
            content = _fallback(filename)
        return cls(content, hash_bytes(content or b""))


class Definition:
    """The text of a file that was executed, and the code objects that came of that."""

    __slots__ = ("__weakref__", "codes", "roots", "text")

    def __init__(self, roots: tuple[types.CodeType, ...], text: Text) -> None:
        self.roots = roots  # which keep the others
        self.codes = frozenset(map(id, nested_codes(*roots)))
        self.text = text


_lock: Final = ForkSafeLock()  # held for moments
_definitions: Final[dict[str, tuple[weakref.ref[Definition], ...]]] = {}  # by file name


def text_at_definition(code: types.CodeType) -> Text | None:
    """The text that a code object is known to be from; None if nobody keeps its definition.

    >>> text_at_definition(text_at_definition.__code__) is None
    True
    """
    for reference in _definitions.get(code.co_filename, ()):
        definition = reference()
        if definition is not None and id(code) in definition.codes:
            return definition.text
    return None


def definition_of(function: types.FunctionType) -> Definition | None:
    """The definition of a function, for the caller to keep; None if the function has no text.

    While the file is executed, this is the definition of the whole file. Later, if nobody has kept
    that, it is one of the function and those beside it, with the text as it is now.

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
    definition = Definition(_roots_of(function), text)
    _register(filename, definition)
    return definition


def _register(filename: str, definition: Definition) -> None:
    with _lock:
        if len(_definitions) >= _MANY_FILES:
            for name, references in [*_definitions.items()]:
                if not any(map(_alive, references)):
                    del _definitions[name]
        others = [each for each in _definitions.get(filename, ()) if _alive(each)]
        _definitions[filename] = (*others, weakref.ref(definition))


def _alive(reference: weakref.ref[Definition]) -> Definition | None:
    return reference()


def _has_text(filename: str) -> bool:
    """Whether there may be a text, as far as can be told without a search in every module."""
    if filename[:1] == "<":
        return filename in linecache.cache  # where notebooks put what they run
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
            and not code.co_flags & _FUNCTION_FLAGS
            and frame.f_locals is frame.f_globals
            and any(each is function.__code__ for each in nested_codes(code))
        ):
            return (code,)
        frame = frame.f_back
    own, scope = function.__code__, function.__globals__
    beside = [
        value.__code__
        for value in [*scope.values()]  # another thread may add some
        if type(value) is types.FunctionType and value.__globals__ is scope
    ]
    return (own, *(code for code in beside if code.co_filename == own.co_filename))


def _read(filename: str) -> bytes | None:
    """All of a file. Unbuffered: to make a buffered file takes as long as all of this."""
    try:
        file = os.open(filename, _READ)
    except (OSError, ValueError):
        return None
    try:
        size = os.lseek(file, 0, os.SEEK_END)  # which takes less time than a status
        os.lseek(file, 0, os.SEEK_SET)
        text = os.read(file, size)
        while len(text) != size or not size:  # the rest, or a file without a size
            part = os.read(file, 1 << 16)
            if not part:
                break
            text += part
        return text
    except (OSError, OverflowError, MemoryError):  # a directory, or an endless file
        return None
    finally:
        os.close(file)


def _fallback(filename: str) -> bytes | None:
    """The text of what is no readable file; None if nobody has it."""
    try:
        is_file = os.path.isfile(filename) or not os.path.exists(filename)  # noqa: PTH110, PTH113
        lines = linecache.getlines(filename) if is_file else []  # it would read a pipe
    except ValueError:  # no file has such a name
        return None
    return "".join(lines).encode("utf-8", "surrogatepass") if lines else _from_loader(filename)


def _from_loader(filename: str) -> bytes | None:
    """The text of a module that its loader has: from an archive, for example."""
    for module in list(sys.modules.values()):
        stored = module_vars(module) if type(module) is types.ModuleType else {}
        get = getattr(getattr(stored.get("__spec__"), "loader", None), "get_data", None)
        if get is not None and stored.get("__file__") == filename:
            try:
                return bytes(get(filename))
            except Exception as error:  # the loader is somebody else's
                pass_on(error)
                return None
    return None
