"""A cache of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import whorl.testing


@pytest.fixture(autouse=True)
def _own_cache() -> Iterator[None]:
    with whorl.testing.fresh_cache():
        yield
