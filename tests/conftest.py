"""Loads the settings of Hypothesis, and tells whorl which threads are not the program's."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import tests.property_settings  # noqa: F401  # it loads the profile
from whorl.locks import get_ident, own_threads


@pytest.fixture(autouse=True)
def threads_of_the_test_runner() -> Iterator[None]:
    """Threads that are there before a test are none of its program.

    A run in several processes has some, and earlier tests may have left some. Cached functions
    would take them for threads that can change what they read.
    """
    others = sys._current_frames().keys() - own_threads - {get_ident()}
    own_threads.update(others)
    yield
    own_threads.difference_update(others)
