"""Leases among machines: one compile of a key in a whole fleet.

A lease ends by itself after some seconds, so a holder that was killed is replaced. While a compile
goes on, a thread renews its lease. When the entry is made, the lease is given back behind its
upload: whoever gets it next finds the entry.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from typing import TYPE_CHECKING, Final

from whorl.lazy import logger
from whorl.locks import reset_in_child
from whorl.store import Lease, NoLease

from .background import background_thread
from .engine import EngineTrouble, Reason

if TYPE_CHECKING:
    from .engine import Engine
    from .far_store import FarStore

__all__ = ["FarLeases"]

log = logger("whorl.remote")

_RENEWALS: Final = 3  # in the time of a lease
_TOKEN: Final = re.compile(r"([^/]+)/(\d+)/(\w+)", re.ASCII)  # host, process, a random number


class _FarLease:
    """The right to produce one entry, renewed until it is released."""

    def __init__(self, leases: FarLeases, name: str, token: str) -> None:
        self._leases = leases
        self._name = name
        self._token = token

    def release(self, *, done: bool) -> None:
        """Give it back behind what is being uploaded."""
        self._leases.give_back(self._name, self._token)


class FarLeases:
    """The leases on the server of a store."""

    def __init__(self, store: FarStore) -> None:
        self._store = store
        self._seconds = store.address.lease
        self._holders: dict[str, str] = {}
        self._host = socket.gethostname() or "unnamed"
        self.reset_in_child()
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """What the parent holds, the parent renews."""
        self._held: dict[str, str] = {}
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def place(self) -> str:
        """The server and the namespace."""
        return f"{self._store.address.name} {self._store.address.namespace}"

    def take(self, name: str) -> Lease | NoLease:
        """The lease, if nobody has it. A server that does not answer has none."""
        token = f"{self._host}/{os.getpid()}/{os.urandom(8).hex()}"
        try:
            return self._take(name, token)
        except BaseException:  # an interrupt: the server may have granted it
            self.give_back(name, token)
            raise

    def _take(self, name: str, token: str) -> Lease | NoLease:
        holder = self._store.server.ask("take", lambda engine: self._holder_at(engine, name, token))
        if holder is not None:
            if not isinstance(holder, str):
                return NoLease.UNAVAILABLE
            self._holders[name] = holder
            self._store.server.count(leases_held_elsewhere=1)
            return NoLease.HELD
        self._holders.pop(name, None)
        self._store.server.count(leases=1)
        self._store.forget_answers()  # whoever had it may have put the entry
        with self._lock:
            self._held[name] = token
            if self._thread is None:
                self._thread = background_thread(self._renew, "whorl-lease")
                with contextlib.suppress(RuntimeError):  # the interpreter is ending
                    self._thread.start()
        return _FarLease(self, name, token)

    def _holder_at(self, engine: Engine, name: str, token: str) -> str | None:
        """None if the lease is taken, otherwise the token of its holder; "" if that is not known.

        Nobody waits for a text that whorl has not written.
        """
        holder = engine.take(_name(name), token, self._seconds)
        if holder and _TOKEN.fullmatch(holder) is None:
            raise EngineTrouble(Reason.NONSENSE, "the holder of a lease")
        return holder

    def holder(self, name: str) -> str:
        """Who has the lease."""
        match = _TOKEN.fullmatch(self._holders.get(name, ""))
        return "another machine" if match is None else f"process {match[2]} on {match[1][:64]}"

    def give_back(self, name: str, token: str) -> None:
        """Release a lease when what was queued before is uploaded."""

        def release() -> None:
            with self._lock:
                if self._held.get(name) == token:
                    del self._held[name]
                if not self._held:
                    self._wake.set()
            self._store.server.ask("release", lambda engine: engine.release(_name(name), token))

        self._store.queue.add(f"lease {name}", release)

    def _renew(self) -> None:
        """While leases are held, hold them for longer."""
        wake = self._wake
        while True:
            is_woken = wake.wait(self._seconds / _RENEWALS)
            wake.clear()
            with self._lock:
                held = dict(self._held)
                if not held:
                    self._thread = None
                    return
            if is_woken:
                continue
            for name, token in held.items():
                renewed = self._store.server.ask(
                    "renew",
                    lambda engine, name=name, token=token: engine.renew(  # type: ignore[misc]  # defaults bind now
                        _name(name), token, self._seconds
                    ),
                )
                if renewed is False:
                    log.debug("the lease of %s has ended before its compile", name)
                elif isinstance(renewed, EngineTrouble):
                    break


def _name(name: str) -> str:
    return f"leases/{name}"
