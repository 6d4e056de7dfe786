"""Entries as files of an HTTP server that takes PUT: nginx, Apache, bazel-remote and others.

    plain    PATH/NAMESPACE/NAME         collections are made with MKCOL where a PUT asks for it
    bazel    PATH/ac/SHA-256-OF-NAME     the layout of bazel-remote and its relatives

Redirects are not followed: they could lead anywhere, with our password. Proxies are not used.
"""

from __future__ import annotations

import time
from base64 import b64encode
from email.utils import parsedate_to_datetime
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any, Final
from urllib.parse import quote

from .address import Address
from .engine import BaseEngine, EngineTrouble, Reason, status_trouble
from .wire import Wire, connect, troubles

__all__ = ["HttpEngine"]

_ABSENT: Final = (404, 410)
_IN_PATHS: Final = "/%:@!$&'()*+,;=~"  # what stays as the URL has it
_NO_COLLECTION: Final = (404, 409, 500)  # the last from nginx


class HttpEngine(BaseEngine):
    """Bytes by GET and PUT."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._root = quote(address.path.rstrip("/"), safe=_IN_PATHS)
        self._connection: HTTPConnection | None = None
        self._wire: Wire | None = None
        self._is_made = False  # whether collections were made
        self._headers = {"User-Agent": "whorl", "Accept-Encoding": "identity"}
        if address.user or address.password:
            secret = f"{address.user}:{address.password}".encode()
            self._headers["Authorization"] = f"Basic {b64encode(secret).decode()}"

    def get(self, name: str, most: int) -> bytes | None:
        """The bytes of a name."""
        status, data, _ = self._ask("GET", self._path(name), most=most)
        if status in _ABSENT:
            return None
        if status != 200:
            raise status_trouble(status)
        return data

    def put(self, name: str, data: bytes, ttl: float | None) -> None:
        """Keep bytes under a name; make the collections above it if the server wants that."""
        path = self._path(name)
        status, _, _ = self._ask("PUT", path, data)
        if status in _NO_COLLECTION and self._address.layout == "plain" and not self._is_made:
            self._is_made = True
            parts = path.strip("/").split("/")
            for i in range(1, len(parts)):
                self._ask("MKCOL", f"/{'/'.join(parts[:i])}/")  # one that is there stays
            status, _, _ = self._ask("PUT", path, data)
        if not 200 <= status < 300:
            raise status_trouble(status)

    def remove(self, name: str) -> bool:
        """Forget a name."""
        status, _, _ = self._ask("DELETE", self._path(name))
        if status not in _ABSENT and not 200 <= status < 300:
            raise status_trouble(status)
        return status not in _ABSENT

    def clock(self) -> float | None:
        """The time that the server gives with its answers, in whole seconds."""
        _, _, response = self._ask("HEAD", self._path("clock"))
        try:
            return parsedate_to_datetime(response.headers["Date"]).timestamp()
        except (TypeError, ValueError):
            return None

    def close(self) -> None:
        """Close the connection."""
        wire, self._wire, self._connection = self._wire, None, None
        if wire is not None:
            wire.abandon()

    def _path(self, name: str) -> str:
        place = f"{self._address.namespace}/{name}"
        if self._address.layout == "bazel":
            return f"{self._root}/ac/{sha256(place.encode()).hexdigest()}"
        return f"{self._root}/{quote(place)}"

    def _ask(
        self, method: str, path: str, body: bytes | None = None, most: int = 1 << 16
    ) -> tuple[int, bytes, HTTPResponse]:
        """One request. A connection that was closed while idle is opened again."""
        deadline = time.monotonic() + self._address.timeout
        try:
            with troubles():
                if self._connection is None:
                    self._open()
                wire = self._wire
                assert wire is not None
                was_used = wire.is_used
                try:
                    return self._request(method, path, body, most, deadline)
                except ConnectionError:  # RemoteDisconnected is one
                    if not was_used:
                        raise
                self.close()
                self._open()
                return self._request(method, path, body, most, deadline)
        except IncompleteRead:
            self.close()
            raise EngineTrouble(Reason.TRUNCATED) from None
        except (HTTPException, ValueError):
            self.close()
            raise EngineTrouble(Reason.NONSENSE) from None
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        address = self._address
        self._connection = HTTPConnection(address.host, address.port)
        self._wire = connect(address)
        sock: Any = self._wire
        self._connection.sock = sock

    def _request(
        self, method: str, path: str, body: bytes | None, most: int, deadline: float
    ) -> tuple[int, bytes, HTTPResponse]:
        wire, connection = self._wire, self._connection
        assert wire is not None
        assert connection is not None
        wire.deadline = deadline
        connection.request(method, path, body, self._headers)
        response = connection.getresponse()
        data = self._body(response, most if response.status == 200 else 1 << 16)
        wire.is_used = True
        if response.will_close:
            self.close()
        return response.status, data, response

    def _body(self, response: HTTPResponse, most: int) -> bytes:
        length = response.length
        if length is not None and length > most:
            self.close()
            if response.status == 200:
                raise EngineTrouble(Reason.TOO_LARGE)
            return b""
        data = response.read(most + 1)
        if len(data) > most:
            raise EngineTrouble(Reason.TOO_LARGE)
        if length is not None and len(data) < length:
            raise EngineTrouble(Reason.TRUNCATED)
        return data
