"""A fresh cache for every test of the kernel language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import whorl.testing


@pytest.fixture(autouse=True)
def fresh_cache() -> Iterator[None]:
    with whorl.testing.fresh_cache():
        yield
