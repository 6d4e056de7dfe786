"""Fixtures of the property tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import whorl


@pytest.fixture(scope="module")
def no_cache() -> Iterator[None]:
    """Every kernel of the module is compiled, and nothing is stored."""
    before = whorl.configure()
    whorl.configure(cache="off")
    yield
    whorl.settings.restore(before)
