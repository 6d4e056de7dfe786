"""What is true of every store, and of each wrapper."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.store.entries import entry_of, key_of
from whorl.artifacts import HINT, Entry, Label
from whorl.fingerprint.digest import Digest, StableDigest
from whorl.store import (
    Absent,
    DirectoryStore,
    Ending,
    Failed,
    Found,
    MemoryStore,
    Mismatch,
    NullStore,
    ReadOnly,
    Skipped,
    Store,
    Stored,
    Tiered,
    Verifying,
)

Make = Callable[[Path], Store]

KEEPING: dict[str, Make] = {
    "memory": lambda path: MemoryStore(),
    "directory": lambda path: DirectoryStore(path / "store"),
    "synced": lambda path: DirectoryStore(path / "store", sync=True),
    "tiered": lambda path: Tiered(MemoryStore(), DirectoryStore(path / "store")),
    "verifying": lambda path: Verifying(MemoryStore(), sample=0),
}
ALL: dict[str, Make] = {
    **KEEPING,
    "null": lambda path: NullStore(),
    "read-only": lambda path: ReadOnly(MemoryStore()),
}

keeping = pytest.mark.parametrize("make", KEEPING.values(), ids=KEEPING)
every = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


def payload(store: Store, value: object, under: StableDigest | None = None) -> bytes | None:
    match store.get(key_of(value), under):
        case Found(entry):
            return bytes(entry.payload("code"))
        case _:
            return None


@keeping
def test_what_was_put_is_found(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    assert store.get(key_of(1)) == Absent()
    assert store.put(entry_of(1, b"one")) == Stored()
    assert store.put(entry_of(2, b"")) == Stored()
    assert payload(store, 1) == b"one"
    assert payload(store, 2) == b""
    assert set(store.iterate()) == {key_of(1), key_of(2)}


@keeping
def test_a_later_entry_takes_the_place_of_an_earlier_one(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    store.put(entry_of(1, b"old"))
    store.put(entry_of(1, b"new"))
    assert payload(store, 1) == b"new"


@keeping
def test_groups_are_apart(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    one, other = key_of("one"), key_of("other")
    for under, content in ((None, b"no group"), (one, b"one"), (other, b"other")):
        store.put(entry_of(1, content, under))
    store.put(entry_of(2, b"two", one))
    assert payload(store, 1) == b"no group"
    assert payload(store, 1, one) == b"one"
    assert payload(store, 1, other) == b"other"
    assert payload(store, 2) is None
    assert set(store.iterate(one)) == {key_of(1), key_of(2)}
    assert set(store.iterate()) == {key_of(1)}
    assert set(store.iterate(key_of("empty"))) == set()


@keeping
def test_what_was_removed_is_absent(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    store.put(entry_of(1))
    store.put(entry_of(1, under=key_of("group")))
    assert store.remove(key_of(1)) == Stored()
    assert store.remove(key_of(1)) == Absent()
    assert store.get(key_of(1)) == Absent()
    assert payload(store, 1, key_of("group")) == b"ret"


@every
def test_a_key_that_may_not_outlive_the_process_is_refused(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    process_only: Any = whorl.fingerprint(object(), by="identity")
    bad_keys: list[Any] = [process_only, str(key_of(1)), Digest(key_of(1)), b"", None]
    for bad in bad_keys:
        if isinstance(store, ReadOnly):
            continue  # asks the store inside
        for ask in (store.get, store.remove):
            with pytest.raises(TypeError, match=r"ProcessDigest|StableDigest"):
                ask(bad)
    entry = entry_of(1)
    entry.key = process_only
    if not isinstance(store, ReadOnly | Verifying):
        with pytest.raises(TypeError, match="by_identity"):
            store.put(entry)


@keeping
def test_threads_may_use_one_store(make: Make, tmp_path: Path) -> None:
    store = make(tmp_path)
    wrong: list[object] = []

    def work(thread: int) -> None:
        for i in range(40):
            store.put(entry_of(i % 10, f"{i % 10}".encode()))
            if payload(store, i % 10) != f"{i % 10}".encode():
                wrong.append((thread, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -- wrappers ---------------------------------------------------------------------------


class Broken:
    """A store that can do nothing."""

    def get(self, key: StableDigest, under: StableDigest | None = None) -> Failed:
        return Failed("unplugged", Ending.UNREADABLE)

    def put(self, entry: Entry) -> Failed:
        return Failed("unplugged", Ending.NOT_STORED)

    def remove(self, key: StableDigest, under: StableDigest | None = None) -> Failed:
        return Failed("unplugged")

    def iterate(self, under: StableDigest | None = None) -> Any:
        return iter(())


def test_a_null_store_keeps_nothing() -> None:
    store = NullStore()
    assert store.put(entry_of(1)) == Skipped("the cache is off")
    assert store.get(key_of(1)) == Absent()
    assert list(store.iterate()) == []


def test_a_read_only_store_is_read_and_not_changed() -> None:
    inner = MemoryStore()
    inner.put(entry_of(1, b"one"))
    store = ReadOnly(inner)
    assert payload(store, 1) == b"one"
    assert isinstance(store.put(entry_of(2)), Skipped)
    assert isinstance(store.remove(key_of(1)), Failed)
    assert list(inner.iterate()) == list(store.iterate()) == [key_of(1)]


def test_the_nearest_tier_answers_and_keeps_what_a_far_one_had() -> None:
    near, middle, far = MemoryStore(), MemoryStore(), MemoryStore()
    far.put(entry_of(1, b"far"))
    store = Tiered(near, ReadOnly(middle), far)
    assert payload(store, 1) == b"far"
    assert payload(near, 1) == b"far"
    assert payload(middle, 1) is None
    near.put(entry_of(1, b"near"))
    assert payload(store, 1) == b"near"


def test_a_broken_tier_does_not_hide_another() -> None:
    far = MemoryStore()
    store = Tiered(Broken(), far)
    assert store.put(entry_of(1, b"one")) == Stored()
    assert payload(store, 1) == b"one"
    assert store.get(key_of(2)) == Failed("unplugged", Ending.UNREADABLE)
    assert store.remove(key_of(1)) == Failed("unplugged")
    assert payload(far, 1) is None


def test_tiers_that_all_keep_nothing_say_so() -> None:
    assert isinstance(Tiered(NullStore(), ReadOnly(MemoryStore())).put(entry_of(1)), Skipped)
    assert isinstance(Tiered(NullStore(), Broken()).put(entry_of(1)), Failed)
    with pytest.raises(TypeError, match="at least one"):
        Tiered()


def test_a_verifying_store_has_each_key_produced_again_once() -> None:
    found: list[Mismatch] = []
    inner = MemoryStore()
    inner.put(entry_of(1, b"same"))
    inner.put(entry_of(2, b"kept"))
    store = Verifying(inner, on_mismatch=found.append)
    for value, content in ((1, b"same"), (2, b"another")):
        assert store.get(key_of(value)) == Absent()
        assert store.put(entry_of(value, content)) == Stored()
    assert [mismatch.key for mismatch in found] == [key_of(2)]
    assert found[0].differing == ("code",)
    assert payload(store, 2) == b"kept"
    assert payload(store, 1) == b"same"


def test_a_verifying_store_lets_hints_through() -> None:
    found: list[Mismatch] = []
    store = Verifying(MemoryStore(), on_mismatch=found.append)
    for record in (["one"], ["another"]):
        hint = Entry.build(Label(HINT, key_of(1)), {}, record)
        store.put(hint)
        assert store.get(key_of(1)) == Found(hint)
    assert found == []


def test_a_verifying_store_says_what_it_found_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Verifying(MemoryStore())
    for content in (b"1", b"2"):
        store.get(key_of(1))
        store.put(entry_of(1, content))
    assert "came out different in code" in caplog.text


@pytest.mark.parametrize("sample", [-0.1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(sample: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Verifying(MemoryStore(), sample=sample)


def test_a_mode_of_readonly_does_not_move_a_damaged_file(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    file = Path(store.path(key_of(1)))
    file.write_bytes(b"damaged")
    ReadOnly(store).get(key_of(1))
    assert file.exists()
    assert not (tmp_path / "quarantine").exists()


def test_a_mode_of_readonly_does_not_touch_times(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put(entry_of(1))
    os.utime(store.path(key_of(1)), (1, 1))
    ReadOnly(store).get(key_of(1))
    assert Path(store.path(key_of(1))).stat().st_mtime == 1


def test_a_group_that_dies_with_the_process_is_refused(tmp_path: Path) -> None:
    group: Any = whorl.fingerprint(object(), by="identity")
    with pytest.raises(TypeError):
        DirectoryStore(tmp_path).put(entry_of(1, under=group))


def test_a_forgotten_entry_that_is_put_again_through_a_verifying_store_is_there() -> None:
    store = Verifying(MemoryStore())
    store.put(entry_of(1))
    store.get(key_of(1))  # sampled: said to be absent
    store.remove(key_of(1))
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(store.get(key_of(1)), Found)


def test_an_entry_that_was_evicted_before_it_was_verified_is_stored_when_put_says_so() -> None:
    inner = MemoryStore()
    store = Verifying(inner)
    store.put(entry_of(1))
    store.get(key_of(1))
    inner.remove(key_of(1))  # a collection, by any process
    assert store.put(entry_of(1)) == Stored()
    assert isinstance(inner.get(key_of(1)), Found)


def test_groups_without_entries_are_not_listed_and_leave_no_directories(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    for number in range(20):
        store.put(entry_of(number, under=key_of(("group", number))))
    store.collect(1)
    assert list(store.groups()) == []
