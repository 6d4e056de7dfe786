"""The checking mode of the dialect's plain Python: addresses must lie inside of what is alive.

A compiled function that reads a wrong address reads anything, or ends the process. Its twin runs
with a `LiveMemory` installed as a check (`raw_memory.checking`), and says which address was wrong.
"""

from __future__ import annotations

from bisect import bisect_right

from .raw_memory import on_stack

__all__ = ["DeadAddress", "LiveMemory"]


class DeadAddress(Exception):
    """An address at which there is nothing that is known to be alive."""


class LiveMemory:
    """Ranges of memory that may be read and written.

    >>> memory = LiveMemory()
    >>> memory.add(1000, 16)
    >>> memory(1008, 8)
    >>> memory(1012, 8)
    Traceback (most recent call last):
    whorl.systems.live_memory.DeadAddress: 8 bytes at 1012 belong to nothing that is alive
    """

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}  # by where a range begins
        self._starts: list[int] = []

    def add(self, address: int, size: int) -> None:
        """So many bytes from an address on are alive."""
        self._ends[address] = max(address + size, self._ends.get(address, 0))
        self._starts = []

    def __call__(self, address: int, size: int) -> None:
        """See that bytes are inside of one range, or on the stack."""
        if not self._starts:
            self._starts = sorted(self._ends)
        place = bisect_right(self._starts, address)
        # Small ranges may lie inside of a large one: a few before it are looked at too.
        for start in self._starts[max(0, place - 8) : place]:
            if address + size <= self._ends[start]:
                return
        if not on_stack(address, size):
            raise DeadAddress(f"{size} bytes at {address} belong to nothing that is alive")
