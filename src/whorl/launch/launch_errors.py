"""The errors of a launch, and what it prints."""

from __future__ import annotations

import builtins
import ctypes
import struct
from collections.abc import Sequence
from typing import Any, NoReturn

from whorl.errors import KernelError
from whorl.reads.trace import Path, Plain

from .launch_record import INTERRUPTED, STATUS_VALUES, format_of
from .slot_types import Scalar

__all__ = ["Changed", "never_the_same", "not_packed", "print_site", "raise_status"]


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


def _number(type: Plain, bits: int) -> Any:
    kind, size, _ = type
    raw = struct.pack("<q", bits)
    if kind == "f":
        return struct.unpack_from("<d" if size == 64 else "<f", raw)[0]
    if kind == "b":
        return bool(bits & 0xFF)
    return int.from_bytes(raw[: size // 8], "little", signed=kind == "i")


def print_site(site: Plain, values: Any) -> None:
    """Print what a site of a kernel says of these values."""
    _, text, _, types = site
    print(text.format(*(_number(type, values[i]) for i, type in enumerate(types))))


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
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(address)
    return values


def raise_status(sites: Plain, status: bytes) -> None:
    """Raise what the status words of a launch say."""
    number, *values = struct.unpack("<4q", status)
    if number == INTERRUPTED:
        _raise_again(values)
    error, text, line, types = sites[number - 1]
    if len(types) > STATUS_VALUES:
        values = _values_in_memory(values[0], len(types))
    raise getattr(builtins, error)(f"{text.format(*values)}\n  at {line}")
