"""Opens the cache that settings describe, and the one of this process."""

from __future__ import annotations

import os
from functools import partial

from whorl import settings as _settings
from whorl.errors import UnsafeDirectory
from whorl.lazy import importing, load, logger
from whorl.locks import ForkSafeLock
from whorl.settings import Settings
from whorl.signals import pass_on

from .cache import Cache
from .directory import DirectoryStore
from .memory import NullStore
from .protocol import BaseStore, Store

__all__ = [
    "as_cache",
    "cache_state",
    "default_cache",
    "open_cache",
    "open_url",
    "prepare",
    "prepared",
]

log = logger("whorl.store")

_lock = ForkSafeLock()
_cache: Cache | None = None
_opened: tuple[Settings, Cache] | None = None  # the settings it was opened with
_ready: tuple[Settings, DirectoryStore, Cache] | None = None  # ... before it was needed
_prepared: list[bool] = []  # whether that was tried


def open_cache(settings: Settings) -> Cache:
    """The cache that settings describe. A directory that is not safe is not used, with a warning.

    >>> from whorl.settings import Settings
    >>> open_cache(Settings.from_environment({"WHORL_CACHE": "off"})).store.__class__.__name__
    'NullStore'
    """
    mode = settings.cache.value
    if mode == "off":
        return Cache(NullStore())
    root = settings.cache_place.value
    try:
        directory = DirectoryStore(root, max_size=settings.cache_max_size.value)
    except UnsafeDirectory as error:
        log.warning("%s", error)
        return Cache(NullStore())
    store: BaseStore = directory
    if settings.remote.value:
        with importing:
            from .late_tiers import LateTiers
            from .wrappers import Tiered

        reshare = any("reshare" in url.reveal() for url in settings.remote.value)
        store = Tiered(directory, LateTiers(partial(_open_tiers, settings), reshare=reshare))
    if mode == "readonly":
        with importing:
            from .wrappers import ReadOnly

        store = ReadOnly(store)
    return Cache(store)


def _open_tiers(settings: Settings) -> BaseStore:
    """The shared caches that settings name. They are a layer above this one: see `LateTiers`."""
    with importing:
        from .wrappers import Tiered

    tiers: list[BaseStore] = load("whorl.remote.tiers").open_tiers(settings)
    return Tiered(*tiers) if tiers else NullStore()


def open_url(url: str) -> BaseStore:
    """The shared cache at a URL, to be put behind a directory: `Cache(Tiered(directory, far))`.

    `BadSetting` for a URL that makes no sense. A server that does not answer is no error: its
    entries are absent.
    """
    far: BaseStore = load("whorl.remote.tiers").open_url(url)
    return far


def as_cache(store: Cache | Store | str | os.PathLike[str]) -> Cache:
    """The cache for a value of `store=`: a cache, a store, or the path of a directory.

    >>> from whorl.store import MemoryStore
    >>> as_cache(MemoryStore()).store
    <whorl.store.memory.MemoryStore object at ...>
    """
    if isinstance(store, Cache):
        return store
    is_path = isinstance(store, str | os.PathLike) and "://" not in os.fspath(store)
    return Cache(DirectoryStore(store) if is_path else store)  # type: ignore[arg-type]


def cache_state(cache: object) -> str:
    """What WHORL_CACHE says of a cache: "on", "off" or "readonly". It is for the default one only.

    >>> cache_state(None)
    'on'
    """
    return _settings.current().cache.value if cache is default_cache() else "on"


def default_cache() -> Cache:
    """The cache of this process, as `whorl.configure` and the environment say."""
    global _cache, _opened  # noqa: PLW0603  # one process, one default
    cache = _cache
    while cache is None:
        settings, ready = _settings.current(), _ready
        if ready is not None and ready[0] is settings and ready[1].trust.was_just_checked:
            _cache = cache = ready[2]
        else:
            opened = open_cache(settings)
            with _lock:  # one for all threads that come here at once
                if _opened is None or _opened[0] is not settings:
                    _opened = settings, opened
                _cache = cache = _opened[1]
        if _settings.current() is not settings:  # `configure` was faster
            _cache = cache = None
    return cache


def prepare() -> None:
    """Open the default cache before the first lookup, once in a process, without any message.

    That is the part of a first lookup that is the same for all kernels of a process. What is opened
    here is used if the settings are still the same when the cache is first needed; errors and
    warnings wait for that moment.
    """
    global _ready  # noqa: PLW0603  # as above
    if _prepared:
        return
    _prepared.append(True)
    settings = _settings.prepared()
    if settings is None or settings.cache.value != "on" or settings.remote.value:
        return
    try:
        directory = DirectoryStore(
            settings.cache_place.value, max_size=settings.cache_max_size.value
        )
    except Exception as error:  # `default_cache` reports it
        pass_on(error)
        return
    _ready = settings, directory, Cache(directory)


def prepared() -> BaseStore | None:
    """The store of this process's cache, if that is open by now, for good or only prepared."""
    cache = _cache or (_ready and _ready[2])
    return cache.store if cache else None


def _reopen(before: Settings, after: Settings) -> None:
    global _cache, _opened, _ready
    with _lock:
        cache, _cache, _opened, _ready = _cache, None, None, None
    if cache is not None:
        cache.statistics.flush()


_settings.on_change(_reopen)
