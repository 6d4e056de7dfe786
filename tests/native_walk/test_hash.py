"""XXH3 in the systems dialect is the one of `xxhash`, compiled and as plain Python."""

from __future__ import annotations

import ctypes
import random

import pytest
import xxhash

from tests.native_walk.compiled_walk import needs_native_walk
from tests.systems.compiled import native
from whorl.native_walk.xxh3 import SECRET, put_digest
from whorl.systems import u64

SIZES = (*range(300), 511, 512, 513, 1023, 1024, 1025, 1087, 1088, 1089, 2048, 2049, 4097, 70_001)


def words(size: int) -> tuple[bytes, list[int], ctypes.Array[ctypes.c_char], object]:
    content = random.Random(size).randbytes(size)
    data = ctypes.create_string_buffer(content, size + 1)
    secret, out = ctypes.create_string_buffer(SECRET, 192), ctypes.create_string_buffer(16)
    places = [ctypes.addressof(data), size, ctypes.addressof(secret), ctypes.addressof(out)]
    return content, places, out, (data, secret)


@needs_native_walk
def test_the_compiled_hash_is_that_of_xxhash_for_every_size() -> None:
    for size in SIZES:
        content, places, out, _ = words(size)
        native(put_digest)(*places)
        assert out.raw == xxhash.xxh3_128_digest(content), size


@pytest.mark.parametrize("size", [0, 1, 3, 4, 8, 9, 16, 17, 65, 128, 129, 240, 241, 1025])
def test_the_plain_hash_is_that_of_xxhash(size: int) -> None:
    content, places, out, _ = words(size)
    put_digest(*map(u64, places))
    assert out.raw == xxhash.xxh3_128_digest(content)
