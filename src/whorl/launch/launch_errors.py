"""The errors of a launch, and what it prints."""

from __future__ import annotations

import builtins
import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from whorl.errors import KernelError, show_users_frames
from whorl.lazy import importing
from whorl.reads.trace import Path, Plain

from .launch_record import INTERRUPTED, RESULTS, STATUS_VALUES, format_of, words_of
from .slot_types import Scalar


class Changed(Exception):
    """A member is not of the type that its facts had said: the call has to begin again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def never_the_same(kernel: str, path: Path) -> Exception:
    """What to say of a call that has been begun again too often."""
    return KernelError(
        f"{kernel} is not launched: {path} is of another type each time it is read",
        "Read it once, and pass what it is as an argument.",
    )


def not_packed(slots: Sequence[Any], error: Exception, values: Sequence[Any]) -> NoReturn:
    """Raise what says which value does not fit into its slot."""
    for (path, type), value in zip(slots, values, strict=True):
        if isinstance(type, Scalar):
            try:
                struct.pack("<" + format_of(type), value)
            except struct.error:
                raise OverflowError(
                    f"{path} is {value!r}, which does not fit into {type.bits} bits"
                ) from None
    raise error


def _numbers(types: Plain, words: Sequence[int]) -> list[Any]:
    """The numbers that words hold, each in as many as its type takes: Python's, or NumPy's."""
    numbers, at = [], 0
    for kind, size, is_weak in types:
        raw = struct.pack("<2q", words[at], words[at + 1] if size > 64 else 0)
        found = struct.unpack_from("<" + RESULTS[kind, size], raw)
        value = complex(*found) if kind == "c" else found[0]
        numbers.append(value if is_weak else Scalar(kind, size).dtype.type(value))
        at += words_of(Scalar(kind, size))
    return numbers


def _count_words(types: Plain) -> int:
    return sum(words_of(Scalar(kind, size)) for kind, size, _ in types)


def print_site(site: Plain, values: Any) -> None:
    """Print what a site of a kernel says of these values."""
    _, text, _, types, *_ = site
    print(text.format(*_numbers(types, values)))


def _raise_again(words: list[int]) -> None:
    """Raise what the handler of a signal has raised during a launch: type, value, traceback."""
    restore = ctypes.pythonapi.PyErr_Restore  # `ctypes` raises what is set after a call
    restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
    restore(*(word or None for word in words))


def _values_in_memory(address: int, count: int) -> list[int]:
    """The values of a message that has more than the record has words for; their memory is freed.
    Zeros, if there was none."""
    if not address:
        return [0] * count
    values = list((ctypes.c_int64 * count).from_address(address))
    _c_free()(address)
    return values


@cache  # a `CDLL` is in cycles, which only the garbage collector frees
def _c_free() -> Callable[[int], None]:
    """The function `free` of C."""
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    return free


def _exception(name: str) -> type[Exception]:
    """The class of an error by its name: of Python, or the one of linear algebra in NumPy."""
    if name == "LinAlgError":
        return np.linalg.LinAlgError
    found: type[Exception] = getattr(builtins, name)
    return found


def raise_status(sites: Plain, status: bytes) -> None:
    """Raise what the status words of a launch say."""
    number, *values = struct.unpack("<4q", status)
    if number == INTERRUPTED:
        _raise_again(values)
    error, text, line, types, *raised = sites[number - 1]
    if types:
        count = _count_words(types)
        if count > STATUS_VALUES:
            values = _values_in_memory(values[0], count)
        values = _numbers(types, values)
    if raised:
        with importing:
            from .kernel_traceback import raising, release  # for kernels that raise

        try:
            raising(error, values, *raised)()
        except BaseException as raised_error:
            release(raised_error.__traceback__)
            show_users_frames(raised_error)
            raise  # which adds no entry for this frame
    raise _exception(error)(f"{text.format(*values)}\n  at {line}")
