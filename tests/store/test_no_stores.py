"""What is not a store is refused at once, with what to write instead, and that works."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl.store
from tests.store.entries import entry_of, key_of
from whorl.store import Cache, Found, MemoryStore, ReadOnly, Stored, Tiered, Verifying
from whorl.store.cache import as_cache

URL = "http://me:secret@localhost:1/cache?trust=all"
MAKERS: list[Callable[..., Any]] = [Cache, Tiered, ReadOnly, Verifying]


@pytest.mark.parametrize("make", MAKERS)
def test_a_path_is_refused_with_the_store_to_write(
    make: Callable[..., Any], tmp_path: Path
) -> None:
    for path in (tmp_path, str(tmp_path)):
        with pytest.raises(TypeError, match="is a path, not a store: write") as caught:
            make(path)
    remedy = str(caught.value).partition("write ")[2]
    make(eval(remedy))


@pytest.mark.parametrize("make", MAKERS)
def test_a_cache_a_class_a_dict_and_a_url_are_refused(make: Callable[..., Any]) -> None:
    cache = Cache(MemoryStore())
    with pytest.raises(TypeError, match=re.escape("pass its .store")):
        make(cache)
    make(cache.store)
    with pytest.raises(TypeError, match="MemoryStore is a class, not a store: pass an object"):
        make(MemoryStore)
    with pytest.raises(TypeError, match="get, put, remove, iterate; dict does not"):
        make({})
    with pytest.raises(TypeError, match="a URL is not a store: write") as caught:
        make(URL)
    assert "secret" not in str(caught.value)
    make(eval(str(caught.value).partition("write ")[2], {"whorl": whorl, "URL": URL}))


def test_a_store_of_four_methods_is_one() -> None:
    class Own:
        def __init__(self) -> None:
            self.inner = MemoryStore()
            self.get, self.put = self.inner.get, self.inner.put
            self.remove, self.iterate = self.inner.remove, self.inner.iterate

    cache = Cache(Own())
    assert cache.put(entry_of(1)) == Stored()
    assert isinstance(cache.get(key_of(1)), Found)


def test_a_path_a_store_and_a_cache_make_a_cache(tmp_path: Path) -> None:
    store = MemoryStore()
    cache = as_cache(store)
    assert (cache.store, as_cache(cache)) == (store, cache)
    as_cache(str(tmp_path)).put(entry_of(1))
    assert isinstance(as_cache(tmp_path).get(key_of(1)), Found)
    with pytest.raises(TypeError, match="get, put, remove, iterate; int does not"):
        as_cache(3)  # type: ignore[arg-type]
