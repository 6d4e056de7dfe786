"""Fixtures of the fingerprint tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fingerprint.programs import Programs
from tests.native_walk.compiled_walk import compiled_walk, is_possible
from whorl.fingerprint.walk_choice import NATIVE, Walks


@pytest.fixture(autouse=True)
def both_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walk every value of these tests twice: the native walk and the plain one agree."""
    if not is_possible():
        return

    def digest(walks: Walks, value: object) -> str:
        native = walks.native_digest(value)
        plain = walks.plain_digest(value)
        assert native is None or native == plain
        return plain

    monkeypatch.setattr(NATIVE, "new", compiled_walk())
    monkeypatch.setattr(Walks, "digest", digest)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    """A folder for modules that exist during one test."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield Programs(tmp_path)
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]
