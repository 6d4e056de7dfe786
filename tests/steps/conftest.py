"""Fixtures of the tests of cached functions: each test has a cache of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import whorl.testing
from tests.steps.programs import Edits
from whorl.store import Cache, DirectoryStore


@pytest.fixture(autouse=True)
def _own_cache() -> Iterator[None]:
    with whorl.testing.fresh_cache():
        yield


@pytest.fixture
def store(tmp_path: Path) -> Cache:
    return Cache(DirectoryStore(tmp_path / "store"))


@pytest.fixture
def edits(tmp_path: Path, store: Cache, monkeypatch: pytest.MonkeyPatch) -> Edits:
    return Edits(tmp_path, store, monkeypatch)


@pytest.fixture
def here(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, object], None]:
    """Set a global of the test's own module for one test."""
    return lambda name, value: monkeypatch.setattr(request.module, name, value, raising=False)
