"""Settings in, the cache that they describe out; and the one of this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whorl import settings as _settings
from whorl.lazy import importing, logger
from whorl.locks import RLock
from whorl.settings import Settings

from .cache import Cache
from .directory import DirectoryStore

if TYPE_CHECKING:
    from whorl.errors import UnsafeDirectory

__all__ = ["default_cache", "open_cache"]

log = logger("whorl.store")

_lock = RLock()
_cache: Cache | None = None


def open_cache(settings: Settings) -> Cache:
    """The cache that settings describe. A directory that is not safe is not used, and that is said.

    >>> from whorl.settings import Settings
    >>> open_cache(Settings.from_environment({"WHORL_CACHE": "off"})).store.__class__.__name__
    'NullStore'
    """
    mode = settings.cache.value
    if mode == "off":
        return _no_cache()
    root = settings.cache_place.value
    try:
        directory = DirectoryStore(root, max_size=settings.cache_max_size.value)
    except _unsafe() as error:
        log.warning("%s", error)
        return _no_cache()
    if mode == "readonly":
        with importing:
            from .wrappers import ReadOnly

        return Cache(ReadOnly(directory))
    return Cache(directory)


def _unsafe() -> type[UnsafeDirectory]:
    with importing:
        from whorl.errors import UnsafeDirectory  # imported if there is an error to compare with it

    return UnsafeDirectory


def _no_cache() -> Cache:
    with importing:
        from .memory import NullStore

    return Cache(NullStore())


def default_cache() -> Cache:
    """The cache of this process, as `whorl.configure` and the environment say."""
    global _cache  # noqa: PLW0603  # one process, one default
    cache = _cache
    while cache is None:
        settings = _settings.current()
        opened = open_cache(settings)
        with _lock:
            if _settings.current() is settings:  # otherwise `configure` was faster
                _cache = cache = _cache or opened
    return cache


def _reopen(before: Settings, after: Settings) -> None:
    global _cache
    with _lock:
        cache, _cache = _cache, None
    if cache is not None:
        cache.statistics.flush()


_settings.on_change(_reopen)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603  # a thread that is not in the child may hold the old one
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
