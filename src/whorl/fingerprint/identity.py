"""An object in, a number that no other object of this process ever gets out.

Addresses are reused, so the number is handed out once per object and kept in a side
table for as long as the object lives. Objects that cannot be referenced weakly (a list,
a plain `object()`) are kept alive for the rest of the process: letting go of one would
allow its number to be found again by a stranger at the same address.
"""

from __future__ import annotations

import itertools
import os
import weakref

from whorl.locks import RLock

from .walk import walk

__all__ = ["identity_of"]


class _Numbers:
    """The side table: address -> (the object or a weak reference to it, its number)."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.known: dict[int, tuple[object, str]] = {}
        self.counter = itertools.count()
        self.rename()

    def rename(self) -> None:
        """Count under a new name: after a fork both sides go on from the same number."""
        self.process = os.urandom(8).hex()
        self.lock = RLock()


_numbers = _Numbers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.rename)


def identity_of(value: object) -> str:
    """A text that stands for this very object until it is gone, and for none after it.

    >>> a, b = [1], [1]
    >>> identity_of(a) == identity_of(a), identity_of(a) == identity_of(b)
    (True, False)
    """
    walk.identities += 1
    address = id(value)
    with _numbers.lock:
        known = _numbers.known.get(address)
        if known is not None and _holds(known[0], value):
            return known[1]
        number = f"{_numbers.process}:{next(_numbers.counter)}"
        _numbers.known[address] = (_reference(value, address), number)
        return number


def _reference(value: object, address: int) -> object:
    try:
        return weakref.ref(value, lambda gone: _forget(address, gone))
    except TypeError:
        return value


def _holds(reference: object, value: object) -> bool:
    return reference is value or (type(reference) is weakref.ref and reference() is value)


def _forget(address: int, gone: object) -> None:
    # No lock: this may run inside any allocation, also while the lock is held.
    known = _numbers.known.get(address)
    if known is not None and known[0] is gone:
        del _numbers.known[address]
