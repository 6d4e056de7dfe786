"""A socket with a deadline: whatever a server does, an operation ends in time.

The timeout of a socket is for each call. A server that sends one byte a second never exceeds it;
so here every call gets what is left of the time for the whole operation.
"""

from __future__ import annotations

import contextlib
import io
import socket
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from whorl.lazy import load

from .background import background_thread
from .engine import EngineTrouble, Reason

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from .address import Address

__all__ = ["Wire", "connect", "troubles"]


class Wire:
    """A connection whose operations end before `deadline`, in the time of `time.monotonic`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._files = 0
        self._is_closing = False
        self.deadline = 0.0
        self.is_used = False  # whether an answer has come through it
        weakref.finalize(self, connection.close).atexit = False  # whoever forgets to close it

    def _hurry(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)

    def sendall(self, data: Any) -> None:
        """Send all of it."""
        self._hurry()
        self._connection.sendall(data)  # whose timeout is for all of it

    def recv_into(self, buffer: WriteableBuffer) -> int:
        """Receive what there is."""
        self._hurry()
        return self._connection.recv_into(buffer)

    def makefile(self, mode: str = "rb", *rest: object) -> io.BufferedReader:
        """A file to read from, as `http.client` and the Redis client want one."""
        self._files += 1
        return io.BufferedReader(_Raw(self), 1 << 16)

    def file_closed(self) -> None:
        """One file less: the last one closes the connection, if somebody wanted it closed."""
        self._files -= 1
        if self._is_closing and self._files <= 0:
            self._connection.close()

    def close(self) -> None:
        """Close it when the last file is closed, as sockets do."""
        self._is_closing = True
        if self._files <= 0:
            self._connection.close()

    def abandon(self) -> None:
        """Close it now."""
        with contextlib.suppress(OSError):
            self._connection.close()


class _Raw(io.RawIOBase):
    """The bytes that come through a wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire: Wire | None = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return 0 if self._wire is None else self._wire.recv_into(buffer)

    def close(self) -> None:
        wire, self._wire = self._wire, None
        super().close()
        if wire is not None:
            wire.file_closed()


def connect(address: Address) -> Wire:
    """A connection to where an address says, within its time for connections."""
    until = time.monotonic() + address.connect_timeout
    connection = _connected(address, until)
    try:
        if address.scheme != "unix":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.is_encrypted:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            context = _tls_context(address)
            connection = context.wrap_socket(connection, server_hostname=address.host)
    except BaseException:
        connection.close()
        raise
    return Wire(connection)


def _tls_context(address: Address) -> Any:
    """What is trusted, and who we are; `EngineTrouble` with the file that cannot be read."""
    try:
        context = load("ssl").create_default_context(cafile=address.ca or None)
        if address.cert:
            context.load_cert_chain(address.cert, address.cert_key or None)
    except OSError as error:  # an error of ssl is one too
        files = ", ".join(filter(None, (address.ca, address.cert, address.cert_key)))
        raise EngineTrouble(Reason.CERTIFICATE, f"{files}: {error.strerror or error}") from None
    return context


def _connected(address: Address, until: float) -> socket.socket:
    """A socket that is connected with the first place of a host that answers in time."""
    if address.scheme == "unix":
        places: list[tuple[int, Any]] = [(socket.AF_UNIX, address.path)]
    else:
        places = _resolve(address.host, address.port, address.connect_timeout)
    for number, (family, target) in enumerate(places, 1):
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            left = (until - time.monotonic()) / (len(places) - number + 1)
            connection.settimeout(max(left, 0.001))
            connection.connect(target)
        except BaseException as error:
            connection.close()
            if number == len(places) or not isinstance(error, OSError):
                raise
        else:
            return connection
    raise EngineTrouble(Reason.UNKNOWN_HOST, address.host)


def _resolve(host: str, port: int, timeout: float) -> list[tuple[int, Any]]:
    """The places of a host. The system's own resolver knows no timeout: a thread waits for it."""
    answers: list[list[Any] | None] = []

    def resolve() -> None:
        try:
            answers.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            answers.append(None)

    if host.replace(".", "").isdigit() or ":" in host or host == "localhost":
        resolve()
    else:
        thread = background_thread(resolve, "whorl-resolve")
        thread.start()
        thread.join(timeout)
    if not answers:
        raise EngineTrouble(Reason.TIMEOUT, "the name of the host is not resolved")
    rows = answers[0]
    if not rows:
        raise EngineTrouble(Reason.UNKNOWN_HOST, host)
    return [(family, target) for family, _, _, _, target in rows]


@contextlib.contextmanager
def troubles() -> Iterator[None]:
    """Whatever goes wrong with a connection, as a `EngineTrouble` with its reason."""
    try:
        yield
    except EngineTrouble:
        raise
    except TimeoutError:
        raise EngineTrouble(Reason.TIMEOUT) from None
    except ConnectionRefusedError:
        raise EngineTrouble(Reason.REFUSED) from None
    except (ConnectionError, EOFError):
        raise EngineTrouble(Reason.RESET) from None
    except FileNotFoundError:
        raise EngineTrouble(Reason.REFUSED, "there is no such socket") from None
    except PermissionError:
        raise EngineTrouble(Reason.FORBIDDEN) from None
    except OSError as error:
        if type(error).__module__ == "ssl":  # which is imported for encrypted connections only
            raise _tls_trouble(error) from None
        raise EngineTrouble(Reason.OTHER, error.strerror or "") from None
    except MemoryError:
        raise EngineTrouble(Reason.TOO_LARGE, "not enough memory") from None


def _tls_trouble(error: OSError) -> EngineTrouble:
    """Why a connection is not encrypted, by the name of the error: OpenSSL has hundreds."""
    kind, words = type(error).__name__, str(getattr(error, "reason", None) or "")
    if kind == "SSLCertVerificationError" or any(mark in words for mark in _OF_CERTIFICATES):
        return EngineTrouble(Reason.CERTIFICATE, words)
    if kind in ("SSLEOFError", "SSLZeroReturnError"):
        return EngineTrouble(Reason.RESET)
    return EngineTrouble(Reason.NONSENSE, words)


_OF_CERTIFICATES: Final = (
    "CERTIFICATE",
    "UNKNOWN_CA",
    "BAD_SIGNATURE",
)
