"""The URL of a shared cache in, where it is and how it is to be used out.

    redis://host:6379/0     rediss://…     unix:///run/redis.sock
    http://host/path        https://…
    s3://bucket/prefix      gs://…         az://…

    ?timeout=2              seconds for one operation
    &connect_timeout=0.5    seconds for a connection
    &readonly               nothing is uploaded
    &namespace=whorl        caches of one server beside each other
    &ttl=30d                older entries are not used; Redis forgets them
    &trust=all              entries without a seal of a known key are used too
    &reshare                what is found in a nearer tier is uploaded too
    &key=NAME               the key to seal with, where there are several
    &lease=15               seconds after which a compile that was killed is begun by another
    &compression=zlib       or zstd, or none
    &max_size=256M          of one entry

Some engines have more: see `options_of`. Secrets stand in the URL as user and password, or in the
usual variables of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from whorl.errors import BadSetting
from whorl.fast_dataclasses import dataclass
from whorl.options import Url, size_of

from .seal import HAS_ZSTD, MAX_SIZE, Compression

__all__ = ["SCHEMES", "Address", "options_of"]

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NAMESPACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REDIS: Final = ("redis", "rediss", "unix")
_OBJECTS: Final = ("s3", "gs", "az")
SCHEMES: Final = (*_REDIS, "http", "https", *_OBJECTS)
_DEFAULT_PORTS: Final = {"redis": 6379, "rediss": 6379, "http": 80, "https": 443}


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", text)
    if match is None or not float(match[1]):
        raise ValueError("a time such as 2, 500ms or 30d")
    return float(match[1]) * _UNITS[match[2]]


def _switch(text: str) -> bool:
    if text.lower() in ("", "1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError("1 or 0")


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(" or ".join(choices))
        return text

    return parse


def _name(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise ValueError("letters, digits, dots and dashes")
    return text


def _size(text: str) -> int:
    try:
        return size_of("max_size", text)
    except BadSetting as error:
        raise ValueError(error.expected) from None


def _compression(text: str) -> Compression:
    if text == "zstd" and not HAS_ZSTD:
        raise ValueError("zlib or none: this Python has no zstd")
    return Compression[_one_of("zlib", "zstd", "none")(text).upper()]


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,5}", text):
        raise ValueError("a number")
    return int(text)


_COMMON: Final[dict[str, Callable[[str], Any]]] = {
    "timeout": _seconds,
    "connect_timeout": _seconds,
    "readonly": _switch,
    "namespace": _name,
    "ttl": _seconds,
    "trust": _one_of("all", "keys"),
    "reshare": _switch,
    "key": str,
    "lease": _seconds,
    "compression": _compression,
    "max_size": _size,
}
_MORE: Final[dict[str, dict[str, Callable[[str], Any]]]] = {
    **{scheme: {"layout": _one_of("plain", "bazel")} for scheme in ("http", "https")},
    **{scheme: {"endpoint": str, "region": str} for scheme in _OBJECTS},
    "unix": {"db": _number},
}


def options_of(scheme: str) -> dict[str, Callable[[str], Any]]:
    """The options that the URL of a scheme may have."""
    return {**_COMMON, **_MORE.get(scheme, {})}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a shared cache is, and how it is to be used.

    >>> address = Address.parse("redis://:secret@host/1?timeout=500ms&readonly")
    >>> address.host, address.port, address.db, address.timeout, address.readonly
    ('host', 6379, 1, 0.5, True)
    >>> str(address.url)
    'redis://***@host/1?timeout=500ms&readonly'
    """

    url: Url
    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""
    user: str = ""
    password: str = ""
    timeout: float = 2.0
    connect_timeout: float = 0.5
    readonly: bool = False
    namespace: str = "whorl"
    ttl: float | None = None
    trust: str = "keys"
    reshare: bool = False
    key: str | None = None
    lease: float = 15.0
    compression: Compression = Compression.ZLIB
    max_size: int = MAX_SIZE
    layout: str = "plain"
    endpoint: str = ""
    region: str = ""
    db: int = 0

    @property
    def name(self) -> str:
        """What statistics and messages call it: where it is, without options and secrets."""
        shown = str(self.url).partition("?")[0]
        return re.sub(r"://[^/]*@", "://", shown)

    @classmethod
    def parse(cls, url: str | Url, setting: str = "url") -> Address:
        """The address in a URL; `BadSetting` with what it should be if it is none."""
        shown = url if isinstance(url, Url) else Url(url)

        def bad(wanted: str) -> BadSetting:
            return BadSetting(setting, shown, wanted)

        try:
            split = urlsplit(shown.reveal())
            port = split.port or _DEFAULT_PORTS.get(split.scheme, 0)
        except ValueError:
            raise bad("a URL such as redis://host:6379/0") from None
        scheme = split.scheme
        if scheme not in SCHEMES:
            raise bad(f"a URL that begins with one of {', '.join(f'{s}://' for s in SCHEMES)}")
        if not (split.path if scheme == "unix" else split.hostname):
            raise bad("a URL with a host, bucket or path")
        if split.fragment:
            raise bad("a URL without #; write it as %23")
        values = _options(split, bad)
        if scheme in ("redis", "rediss"):
            text = split.path.strip("/")
            if not re.fullmatch(r"\d{0,5}", text):
                raise bad("a URL whose path is the number of a database, such as redis://host/0")
            values["db"] = int(text or 0)
        return cls(
            shown,
            scheme,
            split.hostname or "",
            port,
            unquote(split.path) if scheme == "unix" else split.path,
            unquote(split.username or ""),
            unquote(split.password or ""),
            **values,
        )


def _options(split: SplitResult, bad: Callable[[str], BadSetting]) -> dict[str, Any]:
    known = options_of(split.scheme)
    values: dict[str, Any] = {}
    for name, text in parse_qsl(split.query, keep_blank_values=True):
        if name not in known:
            raise bad(f"a URL without the option {name!r}; there are {', '.join(sorted(known))}")
        try:
            values[name] = known[name](text)
        except ValueError as error:
            raise bad(f"a URL with {name}={error}") from None
    return values
