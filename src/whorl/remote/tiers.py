"""URLs in, shared caches out that can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl import settings as _settings
from whorl.errors import BadSetting
from whorl.lazy import importing, logger
from whorl.options import Url
from whorl.settings import Settings

from .address import MANY, REDIS, Address
from .far_store import FarStore
from .keyring import BadKey, Keyring
from .seal import Sealer
from .telemetry import watch_compiles

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["open_tiers", "open_url", "store_of"]

log = logger("whorl.remote")

_warned: Final[set[object]] = set()


def open_url(url: str | Url) -> FarStore:
    """The shared cache at a URL, with the keys of the settings.

    `BadSetting` for a URL that makes no sense, `BadKey` where no key is there to check its entries
    with. The server is asked with the first lookup.
    """
    settings = _settings.current()
    return store_of(Address.parse(url), Keyring.from_settings(settings))


def open_tiers(settings: Settings) -> list[FarStore]:
    """The shared caches that settings name, nearest first.

    One with a URL that makes no sense, or without a key, is left out with a warning: a process
    opens them at its first miss, and that call goes on.
    """
    remote, origin = settings.remote
    keys = Keyring.from_settings(settings)
    for problem in keys.problems:
        _warn_once("%s", problem)
    stores = []
    for url in remote:
        try:
            stores.append(store_of(Address.parse(url, origin), keys))
        except BadSetting as error:
            _warn_once("%s\n  This shared cache is not used.", error)
        except BadKey as error:
            _warn_once("%s", error)
    return stores


def store_of(address: Address, keys: Keyring) -> FarStore:
    """The shared cache at an address, if there is a key to check its entries with."""
    trust_all = address.trust == "all"
    if not keys.keys and not trust_all:
        why = f" ({'; '.join(keys.problems)})" if keys.problems else ""
        raise BadKey(
            f"{address.url} is not used: there is no key to check its entries with{why}. Run "
            "`whorl keys new NAME` or `whorl keys trust FILE`, or let the URL say trust=all, and "
            "whoever can write there can run code here"
        )
    signer = None
    if not address.readonly:
        try:
            signer = keys.signer(address.key)
        except BadKey as error:
            _warn_once("nothing is uploaded to %s: %s", address.url, error)
    if trust_all:
        _warn_once(
            "entries of %s are used without a seal: whoever can write there can run code here",
            address.url,
        )
    watch_compiles()
    sealer = Sealer(
        address.namespace,
        keys.keys,
        signer,
        trust_all,
        address.compression,
        address.max_size,
        address.ttl,
    )
    return FarStore(address, sealer, engine_of)


def engine_of(address: Address) -> Engine:
    """A new connection to where an address says, not opened yet."""
    with importing:
        if address.scheme in MANY:
            from .redis_group_engine import RedisGroupEngine

            return RedisGroupEngine(address)
        if address.scheme in REDIS:
            from .redis_engine import RedisEngine

            return RedisEngine(address)
        if address.scheme in ("http", "https"):
            from .http_engine import HttpEngine

            return HttpEngine(address)
        from .object_engine import ObjectEngine

        return ObjectEngine(address)


def _warn_once(message: str, *words: object) -> None:
    topic = (message, *map(str, words))
    if topic not in _warned:
        _warned.add(topic)
        log.warning(message, *words)
