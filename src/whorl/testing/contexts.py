"""Context managers for tests: a fresh cache, forbidden compiles, recorded events."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from whorl import settings
from whorl.calls.events import Event, Happened, listeners
from whorl.errors import WhorlError

__all__ = ["CompileForbidden", "forbid_compile", "fresh_cache", "recorded_events"]


class CompileForbidden(WhorlError, AssertionError):
    """Raised by a compile inside `forbid_compile`, with the reason for the miss."""


@contextlib.contextmanager
def recorded_events() -> Iterator[list[Event]]:
    """Record the events of all kernels in the block.

    >>> with recorded_events() as events:
    ...     pass
    >>> events
    []
    """
    events: list[Event] = []
    listeners.append(events.append)
    try:
        yield events
    finally:
        listeners.remove(events.append)


@contextlib.contextmanager
def forbid_compile() -> Iterator[None]:
    """Raise `CompileForbidden` for every compile in the block, with the reason for the miss.

    >>> with forbid_compile():
    ...     pass
    """
    reasons: list[object] = []

    def refuse(event: Event) -> None:
        if event.what is Happened.MISSED:
            reasons.append(event.detail.get("why"))
        if event.what is Happened.COMPILING:
            raise CompileForbidden(str(reasons[-1]) if reasons else f"{event.kernel} would compile")

    listeners.append(refuse)
    try:
        yield
    finally:
        listeners.remove(refuse)


@contextlib.contextmanager
def fresh_cache() -> Iterator[Path]:
    """Use an empty cache in a temporary directory in the block.

    Shared caches are not asked.

    >>> with fresh_cache() as directory:
    ...     directory.name
    'cache'
    """
    before = settings.current()
    with tempfile.TemporaryDirectory(prefix="whorl-", ignore_cleanup_errors=True) as parent:
        directory = Path(parent) / "cache"
        try:
            settings.configure(cache="on", cache_dir=directory, remote=())
            yield directory
        finally:
            settings.restore(before)
