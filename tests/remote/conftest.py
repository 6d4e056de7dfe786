"""Threads of servers and of shared caches end with the tests that started them."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _threads_end() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + 15
    while (left := _of_servers() - before) and time.monotonic() < until:
        gc.collect()  # connections are closed with the stores that hold them
        time.sleep(0.05)
    assert not left


def _of_servers() -> set[threading.Thread]:
    """All threads but whorl's own: one renews a lease until a server takes it back."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("whorl-")}
