"""Reads this process's memory through a pipe, so that a wrong address is an error and no crash."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

from .callable import NotKnown

_MOST: Final = 1 << 12  # bytes that are read at once: a pipe holds them


class ProbedMemory:
    """This process's memory. What cannot be read is `NotKnown`."""

    def __init__(self) -> None:
        self._reads, self._writes = os.pipe()
        library = ctypes.CDLL(None)
        self._write = library.write
        self._write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        self._write.restype = ctypes.c_ssize_t

    def close(self) -> None:
        """Give the pipe back."""
        os.close(self._reads)
        os.close(self._writes)

    def bytes(self, address: int, size: int) -> bytes:
        """Bytes at an address."""
        if not 0 < address < 1 << 63 or not 0 <= size <= _MOST:
            raise NotKnown("an address is none")
        count = self._write(self._writes, address, size) if size else 0
        if count < 0:
            raise NotKnown("an address is not one of memory")
        content = os.read(self._reads, count) if count else b""
        if count != size:
            raise NotKnown("memory ends where it should not")
        return content

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Words at an address, as numbers with a sign."""
        return struct.unpack(f"<{count}q", self.bytes(address, 8 * count))

    def word(self, address: int) -> int:
        """One word at an address."""
        return self.words(address, 1)[0]

    def half(self, address: int) -> int:
        """Half a word at an address."""
        return int.from_bytes(self.bytes(address, 4), "little", signed=True)

    def byte(self, address: int) -> int:
        """One byte at an address."""
        return self.bytes(address, 1)[0]
