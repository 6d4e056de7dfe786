"""The server behind a shared cache: asked in time or not at all, counted, and warned about once.

The first failure opens the breaker: for a while nobody asks, then one does. Uploads have a breaker
of their own, as a server that is full can still be read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from whorl.lazy import logger
from whorl.locks import reset_in_child
from whorl.signals import pass_on
from whorl.store import Statistics

from . import telemetry
from .address import Address
from .breaker import Breaker
from .engine import Engine, EngineTrouble, Reason

__all__ = ["Resting", "Server"]

log = logger("whorl.remote")

T = TypeVar("T")
_IDLE_ENGINES: Final = 4
_HARMLESS: Final = (Reason.TOO_LARGE, Reason.NO_LEASES)  # of the entry or the engine: it works


class Resting:
    """In place of an answer while the breaker is open."""

    def __str__(self) -> str:
        return "it failed a moment ago"


RESTING: Final = Resting()


class Server:
    """Engines of one address, each used by one thread at a time, and what came of asking."""

    def __init__(
        self,
        address: Address,
        make_engine: Callable[[Address], Engine],
        reading: Breaker | None = None,
        writing: Breaker | None = None,
    ) -> None:
        self.address = address
        self.reading = reading or Breaker()
        self.writing = writing or Breaker()
        self.statistics = Statistics()
        self._make_engine = make_engine
        self._warned: set[object] = set()
        self.reset_in_child()
        reset_in_child(self)

    def reset_in_child(self) -> None:
        """Connections are those of the parent."""
        self._idle: list[Engine] = []

    def count(self, **numbers: float) -> None:
        """Add to what this tier has done."""
        self.statistics.tier(self.address.name, **numbers)
        telemetry.count(self.address.name, numbers)

    def ask(
        self, what: str, operation: Callable[[Engine], T], *, breaker: Breaker | None = None
    ) -> T | EngineTrouble | Resting:
        """What the server answers; why it does not; or `RESTING` while nobody asks.

        `what` is the name of the operation, for telemetry.
        """
        breaker = breaker or self.reading
        if (self.reading.is_open and breaker is self.writing) or not breaker.allows():
            self.count(rests=1)
            return RESTING
        with telemetry.request_span(self.address.name, what) as span:
            result = self._ask(operation, breaker)
            is_absent = result is None and what == "get"
            is_trouble = isinstance(result, EngineTrouble)
            span.set_attribute(
                "outcome", str(result) if is_trouble else "absent" if is_absent else "done"
            )
            return result

    def _ask(self, operation: Callable[[Engine], T], breaker: Breaker) -> T | EngineTrouble:
        start = time.perf_counter()
        engine: Engine | None = None
        try:
            engine = self.engine()
            result = operation(engine)
        except Exception as error:  # whatever it is, the program goes on
            if engine is not None:
                engine.close()
            pass_on(error)
            trouble = error if isinstance(error, EngineTrouble) else _unforeseen(error)
            return self._troubled(trouble, breaker, time.perf_counter() - start)
        except BaseException:
            if engine is not None:
                engine.close()
            raise
        breaker.closed()
        self.count(requests=1, seconds=time.perf_counter() - start)
        if len(self._idle) < _IDLE_ENGINES:
            self._idle.append(engine)
        else:
            engine.close()
        return result

    def _troubled(self, trouble: EngineTrouble, breaker: Breaker, seconds: float) -> EngineTrouble:
        numbers = {f"error: {trouble.reason.value}": 1.0}
        if trouble.reason in _HARMLESS:
            self.count(requests=1, seconds=seconds, **numbers)
            self.warn_once(trouble.reason, "%s: %s", self.address.url, trouble)
            return trouble
        breaker.opened()
        self.count(requests=1, seconds=seconds, opened=1, **numbers)
        self.warn_once(
            trouble.reason,
            "%s is not used for %.0f s: %s. The program goes on without.",
            self.address.url,
            breaker.rest,
            trouble,
        )
        return trouble

    def engine(self) -> Engine:
        """A connection that nobody uses, or a new one."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._make_engine(self.address)

    def warn_once(self, topic: object, message: str, *words: object) -> None:
        """Warn, unless something of the same topic was said before."""
        if topic not in self._warned:
            self._warned.add(topic)
            log.warning(message, *words)


def _unforeseen(error: Exception) -> EngineTrouble:
    return EngineTrouble(Reason.OTHER, type(error).__name__)
