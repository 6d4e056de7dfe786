"""A fresh cache for every test of the kernel language, and the settings as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import whorl.testing


@pytest.fixture(autouse=True)
def fresh_cache() -> Iterator[None]:
    with whorl.testing.fresh_cache():
        yield


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = whorl.configure()
    yield
    whorl.settings.restore(before)
