"""The state of one fingerprint in one thread, and numbers for objects that count by identity.

Rules are called deep inside a walk, and tell it two things through this state: that an identity was
used, so that the digest holds in this process only; and the digests of code that was walked on the
way, so that functions that read each other are walked once, not once for each of them.

Addresses are reused, so the number of an object is handed out once and stays in a side table for as
long as the object lives. Objects without weak references (a list, a plain `object()`) are kept
alive for the rest of the process: otherwise another object at the same address would get their
number.
"""

from __future__ import annotations

import itertools
import os
import weakref

from whorl.locks import ForkSafeLock, local, reset_in_child

__all__ = ["identity_of", "walk"]


class _Walk(local):
    """The walk of this thread.

    `codes`: (mode, describer, address) -> the object, kept alive, and its digest. `under_way`: what
    is being computed, to notice what leads back to itself. `identities`: how many identities were
    used; it only grows.
    """

    identities = 0

    def __init__(self) -> None:
        self.codes: dict[tuple[str, int, int], tuple[object, str]] = {}
        self.under_way: set[tuple[str, int, int]] = set()

    def forget(self) -> None:
        """End the walk: its digests hold only while nothing can have changed."""
        if self.codes:
            self.codes = {}


walk = _Walk()


class _Numbers:
    """The side table: address -> (the object or a weak reference to it, its number)."""

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.known: dict[int, tuple[object, str]] = {}
        self.counter = itertools.count()
        self.process = os.urandom(8).hex()

    def reset_in_child(self) -> None:
        """Count under a new name: after a fork both sides go on from the same number."""
        self.process = os.urandom(8).hex()


_numbers = _Numbers()
reset_in_child(_numbers)


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
