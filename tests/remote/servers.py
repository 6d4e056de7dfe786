"""Small servers in threads, well-behaved and not, on loopback addresses."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from typing import Any

__all__ = ["FakeHttp", "FakeRedis", "RawServer", "free_port", "http_answer"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RawServer:
    """Accepts connections and hands each to a function, in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            self._serve(connection)

    def drop_connections(self) -> None:
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()

    def __enter__(self) -> RawServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class FakeRedis(RawServer):
    """As much of Redis as whorl uses; `commands` are those that came, `delay` holds up each."""

    def __init__(self, password: str = "", delay: float = 0.0) -> None:
        self.values: dict[bytes, tuple[bytes, float]] = {}
        self.commands: list[list[bytes]] = []
        self.password = password
        self.delay = delay
        self.replace: Callable[[list[bytes]], bytes | None] = lambda words: None
        self._lock = threading.Lock()
        super().__init__(self._talk)

    @property
    def names(self) -> list[str]:
        return [" ".join(w.decode()[:24] for w in words[:1]) for words in self.commands]

    def entries(self) -> dict[bytes, bytes]:
        return {key: value for key, (value, _) in self.values.items() if b":leases/" not in key}

    def _talk(self, connection: socket.socket) -> None:
        file = connection.makefile("rb")
        allowed = not self.password
        while True:
            words = _command(file)
            if words is None:
                return
            if words[0] == b"AUTH":
                allowed = words[-1].decode() == self.password
                connection.sendall(b"+OK\r\n" if allowed else b"-WRONGPASS no\r\n")
                continue
            with self._lock:
                self.commands.append(words)
            time.sleep(self.delay)
            answer = self.replace(words)
            if answer is None:
                with self._lock:
                    answer = self._answer(words) if allowed else b"-NOAUTH no\r\n"
            connection.sendall(answer)

    def _live(self, key: bytes) -> bytes | None:
        value, until = self.values.get(key, (None, 0.0))
        if value is None or (until and time.monotonic() > until):
            self.values.pop(key, None)
            return None
        return value

    def _set(self, key: bytes, value: bytes, milliseconds: bytes = b"0") -> None:
        until = time.monotonic() + int(milliseconds) / 1000 if int(milliseconds) else 0.0
        self.values[key] = value, until

    def _answer(self, words: list[bytes]) -> bytes:
        match words:
            case [b"SELECT", _]:
                return b"+OK\r\n"
            case [b"TIME"]:
                return _bulks([b"%d" % int(time.time()), b"0"])
            case [b"GET", key]:
                return _bulk(self._live(key))
            case [b"SET", key, value]:
                self._set(key, value)
                return b"+OK\r\n"
            case [b"SET", key, value, b"PX", milliseconds]:
                self._set(key, value, milliseconds)
                return b"+OK\r\n"
            case [b"DEL", key]:
                return b":%d\r\n" % (self.values.pop(key, None) is not None)
            case [b"SCAN", _, b"MATCH", pattern, *_]:
                keys = [key for key in self.values if key.startswith(pattern.rstrip(b"*"))]
                return b"*2\r\n" + _bulk(b"0") + _bulks(keys)
            case [b"EVAL", script, b"1", key, *arguments]:
                return self._script(script.decode(), key, arguments)
        return b"-ERR unknown command\r\n"

    def _script(self, script: str, key: bytes, arguments: list[bytes]) -> bytes:
        now = self._live(key)
        if "sha1hex" in script:
            known = b"" if now is None else hashlib.sha1(now).hexdigest().encode()
            if known != arguments[0]:
                return b":0\r\n"
            self._set(key, arguments[1], arguments[2])
            return b":1\r\n"
        if "'NX'" in script:
            if now is not None:
                return _bulk(now)
            self._set(key, arguments[0], arguments[1])
            return b"$-1\r\n"
        if now != arguments[0]:
            return b":0\r\n"
        if "PEXPIRE" in script:
            self._set(key, now, arguments[1])
        else:
            del self.values[key]
        return b":1\r\n"


def _command(file: BufferedReader | Any) -> list[bytes] | None:
    line = file.readline()
    if not line:
        return None
    words = []
    for _ in range(int(line[1:])):
        size = int(file.readline()[1:])
        words.append(file.read(size + 2)[:-2])
    return words


def _bulk(value: bytes | None) -> bytes:
    return b"$-1\r\n" if value is None else b"$%d\r\n%b\r\n" % (len(value), value)


def _bulks(values: list[bytes]) -> bytes:
    return b"*%d\r\n" % len(values) + b"".join(map(_bulk, values))


class FakeHttp:
    """Files by PUT and GET; a collection has to be made first if `needs_collections`."""

    def __init__(self, *, needs_collections: bool = False, authorization: str = "") -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.collections: set[str] = {"/cache/"}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words: object) -> None:
                pass

            def end(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("ETag", '"1"')
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def handle_any(self) -> None:
                outer.requests.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if authorization and self.headers.get("Authorization") != authorization:
                    return self.end(401)
                if self.command == "MKCOL":
                    outer.collections.add(self.path)
                    return self.end(201)
                if self.command == "PUT":
                    above = self.path.rpartition("/")[0] + "/"
                    if needs_collections and above not in outer.collections:
                        return self.end(409)
                    outer.files[self.path] = body
                    return self.end(201)
                if self.path not in outer.files:
                    return self.end(404)
                if self.command == "DELETE":
                    del outer.files[self.path]
                    return self.end(204)
                return self.end(200, outer.files[self.path])

            do_GET = do_PUT = do_HEAD = do_DELETE = do_MKCOL = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> FakeHttp:
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def http_answer(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@contextlib.contextmanager
def answering(answer: bytes, *, then_close: bool = False) -> Iterator[RawServer]:
    """Whatever is asked, the same answer."""

    def serve(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            connection.sendall(answer)
            if then_close:
                return

    with RawServer(serve) as server:
        yield server
