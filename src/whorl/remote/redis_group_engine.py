"""Entries on a cluster of Redis servers, or on the one that sentinels name, through redis-py.

Who serves a key, and what to do when that changes, is redis-py's own business. Its import takes 70
to 150 ms, so a single server has a client of its own (`redis_engine`). Its timeout is for each
part of an answer: a server that sends a byte a second is not noticed here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from hashlib import sha1
from typing import Any, Final

from whorl.lazy import importing, load

from .address import Address
from .engine import BaseEngine, EngineTrouble, Reason, listing_end
from .redis_engine import REASONS, RELEASE, RENEW, SWAP, TAKE, milliseconds

__all__ = ["RedisGroupEngine"]

_NAMES: Final = {
    "AuthenticationError": Reason.FORBIDDEN,
    "AuthorizationError": Reason.FORBIDDEN,
    "NoPermissionError": Reason.FORBIDDEN,
    "ReadOnlyError": Reason.FORBIDDEN,
    "TimeoutError": Reason.TIMEOUT,
    "BusyLoadingError": Reason.BUSY,
    "OutOfMemoryError": Reason.FULL,
    "MasterNotFoundError": Reason.REFUSED,
    "ClusterDownError": Reason.SERVER,
    "InvalidResponse": Reason.NONSENSE,
}
_MARKS: Final = (
    ("certificate", Reason.CERTIFICATE),
    ("refused", Reason.REFUSED),
    ("timed out", Reason.TIMEOUT),
    ("timeout", Reason.TIMEOUT),
    ("cannot be connected", Reason.REFUSED),
    ("name or service", Reason.UNKNOWN_HOST),
    ("closed by server", Reason.RESET),
    ("reset by peer", Reason.RESET),
)


class RedisGroupEngine(BaseEngine):
    """Entries as values of a group of Redis servers, under `whorl:` and the namespace."""

    can_lease = True
    can_list = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self._prefix = f"whorl:{address.namespace}:"
        self._opened: Any = None

    def get(self, name: str, most: int) -> bytes | None:
        """The bytes of a name. No more are read than are wanted; an entry is never empty."""
        with _troubles():
            data = bytes(self._client().getrange(self._prefix + name, 0, most))
        if len(data) > most:
            raise EngineTrouble(Reason.TOO_LARGE)
        return data or None

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name."""
        with _troubles():
            self._client().set(
                self._prefix + name, data, px=None if ttl is None else milliseconds(ttl)
            )

    def swap(self, name: str, old: bytes | None, new: bytes, ttl: float | None) -> bool:
        """Keep bytes if those of the name are still `old`."""
        known = "" if old is None else sha1(old, usedforsecurity=False).hexdigest()
        return bool(self._run(SWAP, name, known, new, 0 if ttl is None else milliseconds(ttl)) == 1)

    def remove(self, name: str) -> bool:
        """Forget a name."""
        with _troubles():
            return bool(self._client().delete(self._prefix + name) == 1)

    def names(self, prefix: str = "") -> Iterator[str]:
        """All names of the namespace that begin so, of every server."""
        pattern = (self._prefix + prefix).replace("\\", "\\\\").replace("[", "\\[") + "*"
        until = listing_end(self._address, prefix)
        with _troubles():
            for name in self._client().scan_iter(match=pattern, count=5000):
                if time.monotonic() > until:
                    return
                yield bytes(name).decode("utf-8", "replace").removeprefix(self._prefix)

    def take(self, name: str, token: str, seconds: float) -> str | None:
        """Take a lease; one that is not renewed ends by itself."""
        answer = self._run(TAKE, name, token, milliseconds(seconds))
        return None if answer is None else bytes(answer).decode("utf-8", "replace")

    def renew(self, name: str, token: str, seconds: float) -> bool:
        """Hold a lease for longer."""
        return bool(self._run(RENEW, name, token, milliseconds(seconds)) == 1)

    def release(self, name: str, token: str) -> None:
        """Give a lease back."""
        self._run(RELEASE, name, token)

    def clock(self) -> float | None:
        """The time of one of the servers."""
        with _troubles():
            answer = self._client().time()
        if isinstance(answer, dict):  # of a cluster: by server
            answer = next(iter(answer.values()), None)
        return None if answer is None else answer[0] + answer[1] / 1e6

    def close(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(Exception):
                opened.close()

    def _run(self, script: str, name: str, *arguments: str | bytes | int) -> Any:
        with _troubles():
            return self._client().eval(script, 1, self._prefix + name, *arguments)

    def _client(self) -> Any:
        if self._opened is None:
            with importing:
                try:
                    redis = load("redis")
                except ImportError:
                    raise EngineTrouble(Reason.MISSING, "pip install 'whorl[redis]'") from None
            is_cluster = self._address.scheme.endswith("cluster")
            self._opened = self._cluster(redis) if is_cluster else self._service(redis)
        return self._opened

    def _options(self) -> dict[str, Any]:
        address = self._address
        options: dict[str, Any] = {
            "socket_timeout": address.timeout,
            "socket_connect_timeout": address.connect_timeout,
            "username": (address.user or None) if address.password else None,
            "password": address.password or address.user or None,
            "retry": _no_retry(),
        }
        if address.is_encrypted:
            options |= {
                "ssl": True, "ssl_ca_certs": address.ca or None,
                "ssl_certfile": address.cert or None, "ssl_keyfile": address.cert_key or None,
            }  # fmt: skip
        return options

    def _cluster(self, redis: Any) -> Any:
        nodes = [redis.cluster.ClusterNode(host, port) for host, port in self._address.hosts]
        return redis.cluster.RedisCluster(startup_nodes=nodes, **self._options())

    def _service(self, redis: Any) -> Any:
        """The server that the sentinels name, asked when it is first used."""
        options = self._options()
        sentinel = redis.sentinel.Sentinel(
            list(self._address.hosts),
            sentinel_kwargs={
                name: options[name] for name in options if name not in ("username", "password")
            },
            db=self._address.db,
            **options,
        )
        return sentinel.master_for(self._address.service)


def _no_retry() -> Any:
    return load("redis.retry").Retry(load("redis.backoff").NoBackoff(), 0)


@contextlib.contextmanager
def _troubles() -> Iterator[None]:
    """Whatever redis-py raises, as an `EngineTrouble` with its reason."""
    try:
        yield
    except EngineTrouble:
        raise
    except Exception as error:
        if not type(error).__module__.startswith("redis"):
            raise
        raise _trouble(error) from None


def _trouble(error: Exception) -> EngineTrouble:
    name, text = type(error).__name__, str(error)
    reason = _NAMES.get(name) or REASONS.get(text.partition(" ")[0])
    if reason is None:
        reason = next((each for mark, each in _MARKS if mark in text.lower()), None)
    if reason is None:
        reason = Reason.SERVER if name == "ResponseError" else Reason.RESET
    return EngineTrouble(reason, name)
