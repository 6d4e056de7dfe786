"""A proxy that delays what passes through it: a server that is some milliseconds away.

The delay is that of a round trip, half of it each way, for any amount of data at once: a line with
latency and without a limit on throughput. Opening a connection takes no time. Where the kernel has
`netem` it would do the same; in many containers it has not.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time

__all__ = ["DelayingProxy"]


class DelayingProxy:
    """Passes on what comes to `port` to another port of this machine, `seconds` per round trip."""

    def __init__(self, target: int, seconds: float) -> None:
        self.seconds = seconds
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> DelayingProxy:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            for connection in (near, far):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pass_on(near, far)
            self._pass_on(far, near)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        """Two threads: one reads at once, one writes when it is time."""
        waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def read() -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(1 << 18):
                    waiting.put((time.monotonic() + self.seconds / 2, data))
            waiting.put((0.0, b""))

        def write() -> None:
            with contextlib.suppress(OSError):
                while True:
                    when, data = waiting.get()
                    if not data:
                        sink.shutdown(socket.SHUT_WR)
                        return
                    time.sleep(max(when - time.monotonic(), 0.0))
                    sink.sendall(data)

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()
