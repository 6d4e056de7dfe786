"""A store for each test, and a way to run commands on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Ran, Run
from whorl import settings
from whorl.cli import main
from whorl.store import DirectoryStore


@pytest.fixture(autouse=True)
def same_settings() -> Iterator[None]:
    before = settings.current()
    yield
    settings.restore(before)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "store")


@pytest.fixture
def run(store: DirectoryStore, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the store of the test."""

    def run(*words: object, cache_dir: object = None) -> Ran:
        capsys.readouterr()
        place = str(store.root if cache_dir is None else cache_dir)
        code = main(["--cache-dir", place, *map(str, words)])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
