"""A block of code in, what happened in it out, or what must not happen in it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from whorl import settings
from whorl.errors import WhorlError
from whorl.jit.events import Event, Happened
from whorl.jit.listening import listeners

__all__ = ["CompileForbidden", "forbid_compile", "fresh_cache", "recorded_events"]


class CompileForbidden(WhorlError, AssertionError):
    """Something would have been compiled where nothing should be."""


@contextlib.contextmanager
def recorded_events() -> Iterator[list[Event]]:
    """The events of all kernels while the block runs.

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
    """Let every compile in the block raise `CompileForbidden`, with the reason for it.

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
    """Use an empty cache in a directory of its own while the block runs, and forget it after.

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
