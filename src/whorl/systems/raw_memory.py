"""Memory at an address: the plain Python of `load`, `store` and `stack`.

Where a check is installed (`checking`), it sees every address before it is read or written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from .words import Float, Word, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

__all__ = ["C_TYPES", "checking", "load", "own_stack", "stack", "store", "upto"]

Number = TypeVar("Number", bound=Word | Float)

C_TYPES: Final[dict[type, Any]] = {
    u8: ctypes.c_uint8, u16: ctypes.c_uint16, u32: ctypes.c_uint32, u64: ctypes.c_uint64,
    i8: ctypes.c_int8, i16: ctypes.c_int16, i32: ctypes.c_int32, i64: ctypes.c_int64,
    f32: ctypes.c_float, f64: ctypes.c_double,
}  # fmt: skip

_checks: Final[list[Callable[[int, int], None]]] = []  # each is called with an address and a size
_stack: Final[list[list[Any]]] = [[]]  # the memory of each run that is not over


def load(address: u64, kind: type[Number]) -> Number:
    """The number of a type at an address."""
    return kind(_place(address, kind).value)


def store(address: u64, value: Word | Float) -> None:
    """Put a number to an address: so many bytes as its type has."""
    place = _place(address, type(value))
    place.value = float(value) if isinstance(value, Float) else int(value)


def _place(address: u64, kind: Any) -> Any:
    if type(address) is not u64:
        raise TypeError(f"an address is a u64, not {address!r}")
    for check in _checks:
        check(int(address), kind.bits // 8)
    return C_TYPES[kind].from_address(int(address))


def stack(words: int) -> u64:
    """The address of so many new words, which last until the routine that asks for them ends."""
    memory = (ctypes.c_uint64 * max(1, int(words)))()
    _stack[-1].append(memory)
    return u64(ctypes.addressof(memory))


def upto(count: u64) -> Iterator[u64]:
    """The numbers below one, for a `for` statement."""
    return map(u64, range(int(count)))


@contextmanager
def own_stack() -> Iterator[None]:
    """Inside, `stack` gives memory that lasts until the end of the block."""
    _stack.append([])
    try:
        yield
    finally:
        _stack.pop()


def on_stack(address: int, size: int) -> bool:
    """Whether bytes are memory that `stack` has given and not taken back."""
    return any(
        ctypes.addressof(memory) <= address
        and address + size <= ctypes.addressof(memory) + ctypes.sizeof(memory)
        for memories in _stack
        for memory in memories
    )


@contextmanager
def checking(check: Callable[[int, int], None]) -> Iterator[None]:
    """Call a function with every address, and the number of bytes there, inside of the block."""
    _checks.append(check)
    try:
        yield
    finally:
        _checks.remove(check)
