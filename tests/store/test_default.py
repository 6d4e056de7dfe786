"""Settings become the cache that they describe."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import whorl
from tests.store.entries import entry_of, key_of
from whorl import settings as settings_module
from whorl.settings import Settings
from whorl.store import (
    Cache,
    DirectoryStore,
    Ending,
    NullStore,
    ReadOnly,
    Totals,
    cache,
    default_cache,
    open_cache,
)


@pytest.fixture
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings_module, "_current", Settings.from_environment({}))
    yield
    whorl.configure(cache="off")


def settings(**variables: object) -> Settings:
    return Settings.from_environment({name: str(value) for name, value in variables.items()})


def test_on_is_a_directory_with_its_bound(tmp_path: Path) -> None:
    cache = open_cache(settings(WHORL_CACHE_DIR=tmp_path / "c", WHORL_CACHE_MAX_SIZE="10M"))
    assert isinstance(cache.store, DirectoryStore)
    assert cache.store.root == tmp_path / "c"
    assert cache.store.eviction.max_size == 10 << 20


def test_off_keeps_nothing_and_touches_nothing(tmp_path: Path) -> None:
    cache = open_cache(settings(WHORL_CACHE="off", WHORL_CACHE_DIR=tmp_path / "c"))
    assert isinstance(cache.store, NullStore)
    cache.obtain(key_of(1), lambda: entry_of(1))
    assert not (tmp_path / "c").exists()


def test_readonly_reads_and_writes_nothing_at_all(tmp_path: Path) -> None:
    DirectoryStore(tmp_path / "c").put(entry_of(1, b"one"))
    before = sorted(tmp_path.rglob("*"))
    cache = open_cache(settings(WHORL_CACHE="readonly", WHORL_CACHE_DIR=tmp_path / "c"))
    assert isinstance(cache.store, ReadOnly)
    assert cache.obtain(key_of(1), lambda: entry_of(1)).how is Ending.HIT
    assert cache.obtain(key_of(2), lambda: entry_of(2)).how is Ending.PRODUCED
    cache.statistics.flush()
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unsafe_directory_is_said_and_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o777)
    cache = open_cache(settings(WHORL_CACHE_DIR=tmp_path))
    assert isinstance(cache.store, NullStore)
    assert "chmod -R go-w" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.usefixtures("_own_settings")
def test_the_default_follows_configure(tmp_path: Path) -> None:
    whorl.configure(cache_dir=tmp_path / "a")
    cache = default_cache()
    assert cache is default_cache()
    cache.obtain(key_of(1), lambda: entry_of(1))
    whorl.configure(cache_dir=tmp_path / "b")
    assert default_cache() is not cache
    assert default_cache().obtain(key_of(1), lambda: entry_of(1)).how is Ending.PRODUCED
    assert Totals.of(tmp_path / "a" / "statistics").endings[Ending.PRODUCED] == 1


def test_without_a_home_and_without_a_temporary_directory_the_program_runs() -> None:
    program = (
        "import os, tempfile, platformdirs.unix, filelock, pwd\n"
        "from whorl.store import default_cache\n"
        "tempfile._candidate_tempdir_list = lambda: ['/nonexistent']\n"  # all is read-only
        "os.setgid(54321), os.setuid(54321)\n"  # a user without an entry, as in containers
        "print(type(default_cache()).__name__)\n"
    )
    if os.geteuid():
        pytest.skip("needs root")
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env={"PATH": os.environ["PATH"]}, check=False,
    )  # fmt: skip
    assert done.stdout == "Cache\n", done.stderr[-300:]


def test_configure_while_another_thread_opens_the_default_cache_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whorl.configure(cache_dir=tmp_path / "old")
    real = cache.open_cache

    def open_cache(settings: whorl.Settings) -> Cache:
        opened = real(settings)
        if settings.cache_dir.value == tmp_path / "new":
            return opened
        thread = threading.Thread(target=lambda: whorl.configure(cache_dir=tmp_path / "new"))
        thread.start()
        thread.join(2)
        return opened

    with monkeypatch.context() as patch:
        patch.setattr(cache, "open_cache", open_cache)
        cache.default_cache()
    store = cache.default_cache().store
    assert isinstance(store, DirectoryStore)
    assert store.root == tmp_path / "new"
