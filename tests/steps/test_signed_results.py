"""A signed result is good for its own key alone, and a key that others may know signs nothing."""

from __future__ import annotations

import hmac
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl.artifacts import Entry, Label
from whorl.fingerprint.digest import StableDigest
from whorl.store import DirectoryStore, Found, signature

RUNS: list[int] = []


def half(x: int) -> Fraction:
    return Fraction(x, 2)


def third(x: int) -> Fraction:
    return Fraction(x, 3)


def entries(store: DirectoryStore) -> list[Entry]:
    found = [store.get(key, group) for group in store.groups() for key in store.iterate(group)]
    return [got.entry for got in found if isinstance(got, Found)]


def resealed(entry: Entry, key: StableDigest, under: StableDigest | None) -> Entry:
    """The same content as the entry of another key, with digests that are right."""
    payloads = {place.name: bytes(entry.view(place)) for place in entry.payloads}
    return Entry.build(Label("result", key, under), payloads, entry.record)


@pytest.mark.parametrize("serializer", [None, pickle], ids=["pickle", "serializer"])
def test_a_result_that_is_replayed_under_another_key_is_not_read(
    tmp_path: Path, serializer: Any
) -> None:
    store = DirectoryStore(tmp_path / "store")
    load = whorl.cached(store=store, serializer=serializer)(half)
    load(1)
    (first,) = entries(store)
    load(2)
    (second,) = (entry for entry in entries(store) if entry.key != first.key)
    store.put(resealed(second, first.key, first.under))
    again = whorl.cached(store=store, serializer=serializer)(half)
    assert again(1) == Fraction(1, 2)
    assert again(2) == Fraction(2, 2)


def test_a_result_that_is_replayed_in_another_group_is_not_read(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    whorl.cached(store=store)(half)(1)
    (theirs,) = entries(store)
    whorl.cached(store=store)(third)(1)
    (ours,) = (entry for entry in entries(store) if entry.under != theirs.under)
    store.put(resealed(theirs, ours.key, ours.under))
    assert whorl.cached(store=store)(third)(1) == Fraction(1, 3)


def test_a_result_that_was_signed_the_old_way_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whorl.configure(signing_key="a secret of sixteen characters")
    store = DirectoryStore(tmp_path / "store")
    whorl.cached(store=store)(half)(1)
    (entry,) = entries(store)
    kind, main, _ = entry.record
    data = pickle.dumps(Fraction(9, 2))
    old = hmac.new(b"a secret of sixteen characters", f"pickle {main}".encode() + b"\0" + data,
                   "sha256").hexdigest()  # fmt: skip
    label = Label("result", entry.key, entry.under)
    store.put(Entry.build(label, {"pickle": data}, [kind, main, old]))
    assert whorl.cached(store=store)(half)(1) == Fraction(1, 2)
    assert caplog.records == []


# -- the file of the key ---------------------------------------------------------------------

modes = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")


def spoiled_by_mode(mode: int) -> Callable[[Path], object]:
    return lambda file: file.chmod(mode)


def spoiled_by_link(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def spoiled_by_owner(file: Path) -> None:
    if os.geteuid():
        pytest.skip("only root gives away")
    os.chown(file, 65534, 65534)


SPOILED: dict[str, Callable[[Path], object]] = {
    "readable by all": spoiled_by_mode(0o644),
    "readable by the group": spoiled_by_mode(0o640),
    "writable by all": spoiled_by_mode(0o602),
    "a link": spoiled_by_link,
    "another user's": spoiled_by_owner,
    "empty": lambda file: file.write_bytes(b""),
    "too long": lambda file: file.write_bytes(bytes(33)),
}


@modes
@pytest.mark.parametrize("how", SPOILED)
def test_a_key_that_others_may_know_is_refused_and_the_remedy_works_literally(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    whorl.configure(cache_dir=tmp_path / "a cache")
    whorl.cached(half)(1)
    file = tmp_path / "a cache" / "signing.key"
    before = file.read_bytes()
    SPOILED[how](file)
    signature._keys.clear()  # as in another process
    spoiled = whorl.cached(half)
    assert [spoiled(x) for x in (1, 2, 3)] == [Fraction(1, 2), Fraction(1), Fraction(3, 2)]
    (record,) = caplog.records
    assert str(file) in record.getMessage()
    assert record.levelname == "WARNING"
    command = re.search("`([^`]*)`", record.getMessage())
    assert command is not None
    subprocess.run(command[1], shell=True, check=True)
    caplog.clear()
    runs = whorl.cached(half)
    assert [runs(x) for x in (1, 2)] == [Fraction(1, 2), Fraction(1)]
    assert file.read_bytes() != before
    assert file.stat().st_mode & 0o777 == 0o600
    again = whorl.cached(half)
    assert [again(x) for x in (1, 2)] == [Fraction(1, 2), Fraction(1)]
    assert again.stats()["found"] == 2
    assert caplog.records == []
