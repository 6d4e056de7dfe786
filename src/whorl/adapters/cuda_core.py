"""Compiled programs of NVIDIA's cuda.core in whorl's cache, for `Program.compile(cache=...)`.

The key is that of cuda.core: a digest of the text of a program, its options and the versions of
the compilers. What it cannot know, such as the headers that a program includes, it refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from whorl.fingerprint.digest import StableDigest
from whorl.lazy import load
from whorl.locks import local
from whorl.store import Cache, KeyPart, default_cache

from .code_description import key_of
from .host_library import HostLibrary

__all__ = ["LIBRARY", "ProgramCache"]

LIBRARY: Final = HostLibrary("cuda-core", (1, 0), (2, 0))


class ProgramCache:
    """What `Program.compile` takes as `cache=`: compiled programs by their keys.

    Without a `cache`, they are kept in the one of this process. `whorl gc` removes entries.

    >>> from whorl.store import MemoryStore
    >>> programs = ProgramCache(Cache(MemoryStore()))
    >>> programs.get(b"key") is None
    True
    """

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        self._asked = _Asked()
        if LIBRARY.version():  # deriving from it would import cuda.core with this module
            base: Any = getattr(load("cuda.core.utils"), "ProgramCacheResource", None)
            if base is not None:
                base.register(type(self))

    def get(self, key: bytes | str, default: bytes | None = None) -> bytes | None:
        """The program of a key, or `default`."""
        entry = self._store.find(_key_of_program(key)) if _is_supported() else None
        if entry is None:
            self._asked.last = perf_counter()
            return default
        return bytes(entry.payloads["program"])

    def __getitem__(self, key: bytes | str) -> bytes:
        """The program of a key; KeyError if there is none."""
        program = self.get(key)
        if program is None:
            raise KeyError(key)
        return program

    def __setitem__(self, key: bytes | str, value: Any) -> None:
        """Keep a program: bytes, or an `ObjectCode`."""
        if not _is_supported():
            return
        code = getattr(value, "code", value)
        if isinstance(code, str):  # the path of a file
            code = Path(code).read_bytes()
        digest = key.hex() if isinstance(key, bytes | bytearray) else key
        self._store.keep(
            _key_of_program(key),
            {"program": bytes(code)},
            name=str(getattr(value, "name", "") or "program"),
            parts=[KeyPart("source and options", digest)],
            seconds=perf_counter() - self._asked.last,
            toolchain=LIBRARY.toolchain(),
        )

    def update(self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]], /) -> None:
        """Keep several programs."""
        for key, value in items.items() if isinstance(items, Mapping) else items:
            self[key] = value

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> ProgramCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _store(self) -> Cache:
        return self._cache or default_cache()


class _Asked(local):
    """When this thread has last asked for a program that was not there."""

    def __init__(self) -> None:
        self.last = perf_counter()


def _key_of_program(key: bytes | bytearray | str) -> StableDigest:
    """The key of an entry. A text stands for its bytes, as cuda.core has it."""
    return key_of("cuda.core", key.encode() if isinstance(key, str) else bytes(key))


@cache
def _is_supported() -> bool:
    return LIBRARY.is_supported()
