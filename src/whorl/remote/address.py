"""The URL of a shared cache in, where it is and how it is to be used out.

    redis://host:6379/0     rediss://…     unix:///run/redis.sock
    redis+cluster://host:6379,host:6380    rediss+cluster://…
    redis+sentinel://host:26379,host:26379/service/0    rediss+sentinel://…
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

Some engines have more: see `whorl.url_options`. Secrets stand in the URL as user and password, or
in the usual variables of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from whorl.errors import BadSetting
from whorl.fast_dataclasses import dataclass
from whorl.options import Url
from whorl.url_options import ENCRYPTED, parsed_options

from .seal import MAX_SIZE, Compression

__all__ = ["Address", "check_urls"]

REDIS: Final = ("redis", "rediss", "unix")
MANY: Final = ("redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
_DEFAULT_PORTS: Final = {
    "redis": 6379, "rediss": 6379, "http": 80, "https": 443, "redis+cluster": 6379,
    "rediss+cluster": 6379, "redis+sentinel": 26379, "rediss+sentinel": 26379,
}  # fmt: skip


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
    hosts: tuple[tuple[str, int], ...] = ()  # of a cluster, or of sentinels
    service: str = ""  # that sentinels watch
    ca: str = ""  # file of certificates to trust instead of the system's
    cert: str = ""  # file with the certificate of this client, and its key unless that is apart
    cert_key: str = ""

    def __repr__(self) -> str:
        return f"<address {self.url}>"  # without the password

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is to be."""
        return self.scheme in ENCRYPTED

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

        values = parsed_options(shown, setting)
        if "compression" in values:
            values["compression"] = Compression[values["compression"].upper()]
        try:
            first, hosts = _hosts(shown.reveal())
            split = urlsplit(first)
            port = split.port or _DEFAULT_PORTS.get(split.scheme, 0)
        except ValueError:
            raise bad("a URL such as redis://host:6379/0") from None
        scheme = split.scheme
        if not (split.path if scheme == "unix" else split.hostname):
            raise bad("a URL with a host, bucket or path")
        if split.fragment:
            raise bad("a URL without #; write it as %23")
        if scheme in ("redis", "rediss"):
            text = split.path.strip("/")
            if not re.fullmatch(r"\d{0,5}", text):
                raise bad("a URL whose path is the number of a database, such as redis://host/0")
            values["db"] = int(text or 0)
        if scheme in MANY:
            values |= {"hosts": hosts, **_place(split, bad)}
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


def _hosts(url: str) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The URL with its first host alone, and all hosts with their ports if it may have several.

    ValueError if one is none. `urlsplit` takes no list of hosts.
    """
    match = re.fullmatch(r"([a-z+]+)://([^/?#]*@)?([^/?#@]*)(.*)", url, re.DOTALL)
    if match is None or match[1] not in MANY:
        return url, ()
    scheme, user, every, rest = match.groups()
    hosts = []
    for text in every.split(","):
        one = urlsplit(f"//{text}")
        if not one.hostname:
            raise ValueError(text)
        hosts.append((one.hostname, one.port or _DEFAULT_PORTS[scheme]))
    return f"{scheme}://{user or ''}{every.split(',')[0]}{rest}", tuple(hosts)


def _place(split: SplitResult, bad: Callable[[str], BadSetting]) -> dict[str, Any]:
    """The service and the database in the path of a cluster or of sentinels."""
    first, _, second = split.path.strip("/").partition("/")
    if split.scheme.endswith("cluster"):
        if first not in ("", "0") or second:
            raise bad("a URL without a path: a cluster has one database")
        return {}
    if not first or not re.fullmatch(r"\d{0,5}", second):
        raise bad("a URL such as redis+sentinel://host:26379/service/0, with the service's name")
    return {"service": unquote(first), "db": int(second or 0)}


def check_urls(urls: Iterable[Url], setting: str) -> None:
    """Raise `BadSetting` for the first URL that makes no sense.

    >>> check_urls([Url("redis://host/0?timeout=2")], "remote")
    """
    for url in urls:
        Address.parse(url, setting)
