"""Entries as objects of a bucket: S3 and what speaks its protocol, Google Cloud Storage, Azure.

The client is obstore, without its retries. Leases need a conditional create, which some servers
accept and ignore; so it is tried out with the first lease, which does not count if it is ignored.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any, Final

from whorl.lazy import importing, load
from whorl.signals import pass_on

from .address import Address
from .background import background_thread
from .engine import BaseEngine, EngineTrouble, Reason, listing_end, status_trouble

__all__ = ["ObjectEngine"]

_FIRST_PROCESS: Final[list[int]] = []  # whose threads obstore has
_probed: Final[dict[str, bool]] = {}  # whether a bucket has conditional create
_PROBE: Final = "whorl-probe"
_MARKS: Final = (
    ("timed out", Reason.TIMEOUT),
    ("timedout", Reason.TIMEOUT),
    ("connection refused", Reason.REFUSED),
    ("connection reset", Reason.RESET),
    ("connection closed", Reason.RESET),
    ("certificate", Reason.CERTIFICATE),
    ("dns error", Reason.UNKNOWN_HOST),
    ("incomplete", Reason.TRUNCATED),
    ("end of file before message length", Reason.TRUNCATED),
    ("redirect", Reason.REDIRECT),
    ("error sending request", Reason.RESET),
)


class ObjectEngine(BaseEngine):
    """Bytes as objects under the prefix and the namespace."""

    can_list = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self._prefix = f"{address.path.strip('/')}/{address.namespace}/".lstrip("/")
        self._obstore = _obstore()
        self._store = self._open()

    def _open(self) -> Any:
        address = self._address
        options = {
            "timeout": f"{address.timeout * 1000:.0f}ms",
            "connect_timeout": f"{address.connect_timeout * 1000:.0f}ms",
        }
        from_url: Any = load("obstore.store").from_url
        config: dict[str, Any] = {}
        if address.endpoint:
            config["endpoint"] = address.endpoint
            options["allow_http"] = "true"
        if address.scheme == "s3":
            config["disable_bulk_delete"] = True  # which some servers do not have
        if address.region:
            config["region"] = address.region
        elif address.scheme == "s3" and not _variable("AWS_REGION", "AWS_DEFAULT_REGION"):
            config["region"] = "us-east-1"
        if address.user:
            names = ("access_key_id", "secret_access_key")
            config.update(zip(names, (address.user, address.password), strict=True))
        try:
            return from_url(
                f"{address.scheme}://{address.host}",
                config=config or None,
                client_options=options,
                retry_config={"max_retries": 0},
            )
        except Exception as error:
            pass_on(error)
            raise _trouble(error) from None

    @property
    def can_lease(self) -> bool:  # type: ignore[override]  # asked, not fixed
        """As far as is known without asking."""
        return _probed.get(self._place, True)

    @property
    def _place(self) -> str:
        return f"{self._address.name} {self._address.endpoint}"

    def get(self, name: str, most: int) -> bytes | None:
        """The bytes of a name."""
        found = self._object(name, most)
        return None if found is None else found[0]

    def _object(self, name: str, most: int) -> tuple[bytes, str | None] | None:
        self._check_process()
        try:
            result = self._obstore.get(self._store, self._prefix + name)
            if result.meta["size"] > most:
                raise EngineTrouble(Reason.TOO_LARGE)
            return bytes(result.bytes()), result.meta.get("e_tag")
        except FileNotFoundError:
            return None
        except EngineTrouble:
            raise
        except Exception as error:
            pass_on(error)
            raise _trouble(error) from None

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name; how long, a rule of the bucket may say."""
        self._put(name, data, "overwrite")

    def swap(self, name: str, old: bytes | None, new: bytes, ttl: float | None) -> bool:
        """Keep bytes if those of the name are still `old`, where the server has conditions."""
        if not self._has_conditions():
            self.put(name, new, ttl)
            return True
        if old is None:
            return self._put(name, new, "create")
        found = self._object(name, len(old))
        if found is None or found[0] != old:
            return False
        return self._put(name, new, {"e_tag": found[1]})

    def remove(self, name: str) -> bool:
        """Forget a name; these servers do not say whether there was something."""
        self._check_process()
        try:
            self._obstore.delete(self._store, self._prefix + name)
        except FileNotFoundError:
            return False
        except Exception as error:
            pass_on(error)
            raise _trouble(error) from None
        return True

    def names(self, prefix: str = "") -> Iterator[str]:
        """All names of the namespace that begin so."""
        self._check_process()
        until = listing_end(self._address, prefix)
        try:
            for page in self._pages(prefix):
                if time.monotonic() > until:
                    return
                for meta in page:
                    name = meta["path"].removeprefix(self._prefix)
                    if name.startswith(prefix):
                        yield name
                    elif name > prefix:  # they come in order
                        return
        except Exception as error:
            pass_on(error)
            raise _trouble(error) from None

    def _pages(self, prefix: str) -> Any:
        """A listing of a directory that begins where names begin so."""
        start = f"{self._prefix}{prefix}"
        offset = {"offset": start} if prefix else {}
        return self._obstore.list(self._store, prefix=start.rpartition("/")[0], **offset)

    # -- leases -------------------------------------------------------------------------

    def take(self, name: str, token: str, seconds: float) -> str | None:
        """Create the object of a lease; one that has ended is taken over."""
        is_created = self._create_while_probed(name, _lease(token, seconds))
        if not self._has_conditions():
            self.remove(name)
            raise EngineTrouble(
                Reason.NO_LEASES, "it ignores conditions: machines may repeat each other's work"
            )
        if is_created:
            return None
        found = self._object(name, 1024)
        if found is None:  # given back meanwhile
            return None if self._put(name, _lease(token, seconds), "create") else ""
        holder, until = _read_lease(found[0])
        if time.time() < until:
            return holder
        taken = self._put(name, _lease(token, seconds), {"e_tag": found[1]})
        return None if taken else holder

    def renew(self, name: str, token: str, seconds: float) -> bool:
        """Write the object of a lease again, with a later end."""
        found = self._object(name, 1024)
        if found is None or _read_lease(found[0])[0] != token:
            return False
        return self._put(name, _lease(token, seconds), {"e_tag": found[1]})

    def release(self, name: str, token: str) -> None:
        """Remove the object of a lease."""
        found = self._object(name, 1024)
        if found is not None and _read_lease(found[0])[0] == token:
            self.remove(name)

    def has_conditions(self) -> bool:
        """Whether an object is created only where there is none: tried out, not assumed.

        The object stays there, so from the second time on this takes one request.
        """
        place = f"{self._address.path.strip('/')}/{_PROBE}".lstrip("/")  # of all namespaces
        return any(not self._put_at(place, b"1", "create") for _ in range(2))

    def _has_conditions(self) -> bool:
        if self._place not in _probed:
            _probed[self._place] = self.has_conditions()
        return _probed[self._place]

    def _create_while_probed(self, name: str, data: bytes) -> bool:
        """Create an object, and learn at the same time whether that means anything here."""
        if self._place in _probed:
            return self._put(name, data, "create")
        troubles: list[EngineTrouble] = []

        def probe() -> None:
            try:
                self._has_conditions()
            except EngineTrouble as trouble:
                troubles.append(trouble)

        thread = background_thread(probe, "whorl-probe")
        thread.start()
        try:
            return self._put(name, data, "create")
        finally:
            thread.join()
            for trouble in troubles:  # of the probe alone: the next lease tries it again
                raise EngineTrouble(Reason.NO_LEASES, f"conditions cannot be tried: {trouble}")

    def _put(self, name: str, data: bytes, mode: Any) -> bool:
        """Whether an object was written; a condition that does not hold is no trouble."""
        return self._put_at(self._prefix + name, data, mode)

    def _put_at(self, place: str, data: bytes, mode: Any) -> bool:
        self._check_process()
        try:
            self._obstore.put(self._store, place, data, mode=mode, use_multipart=False)
        except FileExistsError:
            return False
        except Exception as error:
            pass_on(error)
            if type(error).__name__ in ("AlreadyExistsError", "PreconditionError"):
                return False
            if type(error).__name__ == "NotFoundError" and isinstance(mode, dict):
                return False
            raise _trouble(error) from None
        return True

    def _check_process(self) -> None:
        """The threads of obstore are not in a forked child: it would wait for ever there."""
        if not _FIRST_PROCESS:
            _FIRST_PROCESS.append(os.getpid())
        if _FIRST_PROCESS[0] != os.getpid():
            raise EngineTrouble(Reason.FORKED, "start processes with spawn or forkserver")


def _obstore() -> Any:
    with importing:
        try:
            import obstore
        except ImportError:
            raise EngineTrouble(Reason.MISSING, "pip install 'whorl[s3]'") from None
    return obstore


def _variable(*names: str) -> bool:
    return any(os.environ.get(name) for name in names)


def _trouble(error: Exception) -> EngineTrouble:
    """Why obstore failed; its own text may hold secrets, so none of it is handed on."""
    kind = type(error).__name__
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        return EngineTrouble(Reason.FORBIDDEN)
    text = str(error).lower()
    status = re.search(r"status code: (\d{3})", text)
    if status is not None:
        return status_trouble(int(status[1]))
    for mark, reason in _MARKS:
        if mark in text:
            return EngineTrouble(reason)
    return EngineTrouble(Reason.OTHER, kind)


def _lease(token: str, seconds: float) -> bytes:
    return f"{time.time() + seconds:.3f} {token}".encode()


def _read_lease(data: bytes) -> tuple[str, float]:
    until, _, token = data.decode("utf-8", "replace").partition(" ")
    try:
        return token, float(until)
    except ValueError:
        return token, 0.0
