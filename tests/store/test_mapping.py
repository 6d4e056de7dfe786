"""Large entries are mapped on file systems of this machine, and read on all others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from whorl.artifacts import Artifact, Label, encode
from whorl.fingerprint.digest import StableDigest
from whorl.store import DirectoryStore, Found, mapping

KEY = StableDigest("0" * 32)
LARGE = bytes(range(256)) * 10_000

MOUNTS = """\
22 27 0:21 / / rw,relatime - ext4 /dev/sda rw
23 22 0:22 / /net rw shared:1 - nfs4 server:/net rw
24 23 0:23 / /net/me/fast\\040disk rw - xfs /dev/sdb rw
25 22 0:24 / /scratch rw - lustre scratch rw
26 22 0:25 / /over rw - ext4 /dev/sdc rw
27 26 0:26 / /over rw - cifs //server/over rw
odd line
"""


@pytest.mark.parametrize(
    ("directory", "local"),
    [
        ("/var/cache", True),
        ("/net/me/.cache", False),
        ("/net/me/fast disk/cache", True),
        ("/net/me/fast disks", False),
        ("/nets/me", True),
        ("/scratch", False),
        ("/over/cache", False),
    ],
)
def test_the_innermost_mount_says_what_is_local(
    directory: str, local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    monkeypatch.setattr(mapping, "_MOUNTS", str(mounts))
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    assert mapping.is_local.__wrapped__(directory) is local


def test_a_system_that_does_not_tell_has_nothing_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "_MOUNTS", "/no/such/file")
    assert not mapping.is_local.__wrapped__("/")


@pytest.mark.parametrize("local", [True, False])
def test_a_large_entry_is_the_same_mapped_and_read(
    local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "is_local", lambda root: local)
    store = DirectoryStore(tmp_path / "store")
    store.put(encode(Artifact({"code": LARGE}), Label("artifact", KEY)))
    got = store.get(KEY)
    assert isinstance(got, Found)
    assert isinstance(got.entry.data, memoryview) is (local and sys.platform == "linux")
    assert bytes(got.entry.payload("code")) == LARGE
    Path(store.path(KEY)).unlink()  # evicted by somebody: what is mapped stays
    assert bytes(got.entry.payload("code")) == LARGE
    store.put(got.entry)
    assert isinstance(store.get(KEY), Found)


def test_a_damaged_large_entry_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "is_local", lambda root: True)
    store = DirectoryStore(tmp_path / "store")
    store.put(encode(Artifact({"code": LARGE}), Label("artifact", KEY)))
    file = Path(store.path(KEY))
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    assert not isinstance(store.get(KEY), Found)
    assert not file.exists()
