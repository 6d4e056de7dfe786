"""Threads of whorl's own, which cached functions do not take for threads of the program."""

from __future__ import annotations

import logging  # noqa: F401  # before any thread: its hooks for forks must not come during one
import threading
from collections.abc import Callable

from whorl.locks import own_threads

__all__ = ["background_thread"]


def background_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """A daemon thread that is not started yet. Its work runs no code of the user.

    >>> thread = background_thread(lambda: print(threading.get_ident() in own_threads), "example")
    >>> thread.start(); thread.join()
    True
    """

    def run() -> None:
        own_threads.add(threading.get_ident())
        try:
            work()
        finally:
            own_threads.discard(threading.get_ident())

    return threading.Thread(target=run, name=name, daemon=True)
