"""A directory of a store in, the keys out that its files are named by."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from whorl.fingerprint.digest import StableDigest

__all__ = ["keys_in_group", "keys_in_groups", "keys_in_shards"]


def keys_in_shards(entries: str) -> Iterator[StableDigest]:
    """The keys of all entries that are in no group."""
    for shard in _subdirectories(entries):
        yield from _keys(f"{entries}{os.sep}{shard}", shard)


def keys_in_group(group: str) -> Iterator[StableDigest]:
    """The keys of the entries of one group."""
    return _keys(group, "")


def keys_in_groups(groups: str) -> Iterator[StableDigest]:
    """The groups that have entries."""
    for shard in _subdirectories(groups):
        for rest in _subdirectories(f"{groups}{os.sep}{shard}"):
            with contextlib.suppress(ValueError):
                yield StableDigest(shard + rest)


def _subdirectories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as scan:
            return [found.name for found in scan if found.is_dir(follow_symlinks=False)]
    except (OSError, MemoryError):
        return []


def _keys(directory: str, prefix: str) -> Iterator[StableDigest]:
    try:
        names = os.listdir(directory)
    except (OSError, MemoryError):
        return
    for name in names:
        with contextlib.suppress(ValueError):
            yield StableDigest(prefix + name)
