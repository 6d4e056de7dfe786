"""A loaded kernel in, a callable out that launches it without code of its own.

Most processes call most kernels a few times, and writing a function for that takes longer than the
calls. So the first calls walk the slots one after the other; then the function is generated which
does the same in straight lines (`generated`, whose plain twin this is).
"""

from __future__ import annotations

import ctypes
import struct
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from whorl.lazy import room
from whorl.reads import World
from whorl.reads.trace import Plain

from .launch import RESULTS, Changed, Parts, entry_of, fits, names_of, record_of
from .record import STATUS, offsets, words_of
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar

if TYPE_CHECKING:
    from . import generated as writing
    from . import raised
else:  # the first calls have no need of these
    writing = room("whorl.kernels.generated", globals())
    raised = room("whorl.kernels.raised", globals())

__all__ = ["PlainLaunch"]

FEW: Final = 4  # calls that are not worth a function of their own


class PlainLaunch:
    """Launches a kernel with the arguments of its function."""

    def __init__(self, parts: Parts, function: types.FunctionType) -> None:
        self.parts = parts
        self.function = function
        self._formats = list(_formats(parts.result))
        self._record = record_of(parts, self._formats)
        self._entry = entry_of(parts)
        self._calls = 0
        self._generated: Callable[..., Any] | None = None

    def __call__(self, *values: Any) -> Any:
        """The kernel's result."""
        if self._generated is not None:
            return self._generated(*values)
        self._calls += 1
        if self._calls <= FEW:
            return self._launched(values)
        try:
            launch, _ = self.generated()
        except (ImportError, OSError):  # no more files can be opened, nor that of a module
            return self._launched(values)
        return launch(*values)

    def generated(self) -> tuple[Callable[..., Any], Parts]:
        """The same in straight lines, and the parts with it."""
        if self._generated is None:
            launch, self.parts = writing.generated(self.parts, self.function)
            self._generated = launch
        return self._generated, self.parts

    def _launched(self, values: tuple[Any, ...]) -> Any:
        parts = self.parts
        arguments = dict(zip(names_of(self.function), values, strict=True))
        found: list[Any] = []
        words: list[Any] = []
        for number, (path, type) in enumerate(parts.slots):
            if path.root == "arg" and not path.steps:
                value = arguments[path.name]
            else:
                value = World(self.function, arguments).find(path)
                if not fits(value, type):
                    raise Changed(path)  # it was another when the code was looked for
            found.append(value)
            words += [value] if isinstance(type, Scalar) else _words(parts, number, value)
        outside = (thread_count(), parallel_address()) if parts.is_parallel else (1, 0)
        try:
            packed = self._record.pack(*outside, parts.printer, 0, 0, 0, 0, 0, *words)
        except struct.error as error:
            raised.not_packed(parts.slots, error, tuple(found))
        record = (ctypes.c_char * self._record.size).from_buffer_copy(packed)
        self._entry(record)
        status = record.raw[STATUS * 8 : STATUS * 8 + 32]
        if parts.can_fail and any(status[:8]):
            parts.failed(status)
        if parts.result is None:
            return None
        _, results = offsets([type for _, type in parts.slots])
        numbers = struct.unpack_from("<" + "".join(self._formats), record, results * 8)
        return _built(parts.result, iter(numbers))


def _words(parts: Parts, number: int, array: Any) -> list[int]:
    """What is put down of an array."""
    type = parts.slots[number][1]
    if number in parts.lean:
        return [array.ctypes.data] + [0] * (words_of(type) - 1)
    strides = array.strides if isinstance(type, ArrayType) and type.has_strides else ()
    return [array.ctypes.data, *array.shape, *strides]


def _formats(result: Plain) -> Iterator[str]:
    """How each number of a result is unpacked."""
    if result is None:
        return
    if result[0] == "tuple":
        for part in result[1]:
            yield from _formats(part)
    else:
        yield RESULTS[result[1], result[2]]


def _built(result: Plain, numbers: Iterator[Any]) -> Any:
    """A result of its numbers, in order."""
    if result is None:
        return None
    if result[0] == "tuple":
        return tuple(_built(part, numbers) for part in result[1])
    return next(numbers)
