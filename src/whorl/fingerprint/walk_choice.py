"""Chooses how a value is walked: natively where this process can, as a plain graph otherwise.

Both write the same tokens, so which of them ran cannot be told from the digest.

    native    0.02 us per node of a tree of slotted dataclasses (pickle + xxh3: 0.75); trees, graphs
              with many paths, any depth
    plain     6 us per node; all of these, cycles too, and the path of what is refused

The native walk is machine code (see `native_walk`). A process that takes few and small
fingerprints has no use for it, so it is loaded when plain walks have taken LOAD_AFTER seconds in
all: from the wheel or from the store, in about as long. If it is in neither, it is compiled when
they have taken as long as compiling takes, COMPILE_AFTER seconds, never before. What fails on the
way costs one warning, and the process goes on with plain walks.

Measured by `bench/fingerprint.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from whorl.lazy import load
from whorl.locks import ForkSafeLock
from whorl.signals import pass_on

from .describe import Describer
from .digest import hash_hex
from .tokens import dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

LOAD_AFTER: Final = 0.02
COMPILE_AFTER: Final = 2.0


class NativeWalks:
    """Whether this process has the native walk, and what it has spent without it."""

    def __init__(self) -> None:
        self.new: Callable[[Describer, tuple[object, ...]], Any] | None = None
        self._spent = 0.0
        self._due = LOAD_AFTER
        self._lock = ForkSafeLock()

    def spend(self, seconds: float) -> None:
        """Count what a plain walk has taken, and load the native one once that pays."""
        self._spent += seconds
        if self._spent >= self._due and self._lock.acquire(blocking=False):
            try:
                self.prepare(compiles=self._spent >= COMPILE_AFTER)
            finally:
                self._lock.release()

    def prepare(self, *, compiles: bool) -> bool:
        """Load the native walk now; whether this process has it."""
        self._due = inf  # also for fingerprints that are taken on the way
        loading = None
        try:
            loading = load("whorl.native_walk.walk_loading")
            self.new = loading.new_digests(compiles=compiles)
        except Exception as error:
            pass_on(error)
            if loading is not None and isinstance(error, loading.NotPrepared):
                self._due = COMPILE_AFTER
        return self.new is not None


NATIVE: Final = NativeWalks()


class Walks:
    """The walks of one policy. `head` stands before all tokens, for the policy."""

    def __init__(self, describer: Describer, head: tuple[object, ...] = ()) -> None:
        self.describer = describer
        self.head = head
        self._native: Any = None
        self._choices = describer.choices

    @property
    def classes(self) -> Sequence[type]:
        """The classes that native walks have met."""
        return self._native.plans.classes if self._native is not None else ()

    @property
    def class_count(self) -> int:
        """How many these are."""
        return len(self._native.plans) if self._native is not None else 0

    def digest(self, value: object) -> str:
        """The digest of a value in hexadecimal digits."""
        return self.native_digest(value) or self.plain_digest(value)

    def native_digest(self, value: object) -> str | None:
        """The same by the native walk; None if there is none, or if it is for the plain one.

        That is a value with a cycle, or one that is refused, of which the plain walk has the path.
        """
        native = self._native
        if self._choices != self.describer.choices:  # its plans are those of other rules
            native, self._choices = None, self.describer.choices
        if native is None:
            if NATIVE.new is None:
                return None
            native = self._native = NATIVE.new(self.describer, self.head)
        try:
            digest: str | None = native(value)
        except MemoryError:
            raise
        except Exception as error:
            pass_on(error)
            return None
        return digest

    def plain_digest(self, value: object) -> str:
        """The same by the plain walk."""
        start = perf_counter()
        try:
            return hash_hex(dumps((self.head, self.describer.graph(value).tokens), 2))
        finally:
            NATIVE.spend(perf_counter() - start)
