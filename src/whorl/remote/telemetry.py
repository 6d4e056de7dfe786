"""OpenTelemetry: a span for each request and each compile, and counters, if the program uses it.

Nothing is imported for this: a program that exports telemetry has imported `opentelemetry` before,
and for all others it would be 30 ms for nothing.

    span      whorl.remote.get          tier, outcome (found, absent, or a reason)
    span      whorl.compile             function, compiler
    counter   whorl.remote.hits         tier; likewise misses, requests, stored, dropped, bytes_in,
                                        bytes_out, leases, seconds, seconds_saved, ...
    counter   whorl.remote.errors       tier, reason
    counter   whorl.remote.refused      tier, reason
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from whorl.calls.events import watches
from whorl.fingerprint.names import full_name
from whorl.lazy import logger
from whorl.signals import pass_on
from whorl.version import __version__

__all__ = ["count", "request_span", "watch_compiles"]

log = logger("whorl.remote")

_NAME: Final = "whorl"
_REASONS: Final = {"error": "errors", "refused": "refused"}
_counters: Final[dict[str, Any]] = {}
_failed: Final[list[bool]] = []  # whether it went wrong: then it is left alone


class _NoSpan:
    """In place of a span where nobody wants one."""

    def set_attribute(self, name: str, value: object) -> None:
        """Nothing."""


NO_SPAN: Final = nullcontext(_NoSpan())


def _loaded(name: str) -> Any:
    """A module of OpenTelemetry if the program has imported it."""
    return None if _failed else sys.modules.get(f"opentelemetry.{name}")


def request_span(tier: str, what: str) -> AbstractContextManager[Any]:
    """A span around one request to a shared cache."""
    return _span(f"whorl.remote.{what}", {"whorl.tier": tier})


def _span(name: str, attributes: Mapping[str, str]) -> AbstractContextManager[Any]:
    trace = _loaded("trace")
    if trace is None:
        return NO_SPAN
    try:
        tracer = trace.get_tracer(_NAME, __version__)
        span: AbstractContextManager[Any] = tracer.start_as_current_span(
            name, attributes=dict(attributes), kind=trace.SpanKind.CLIENT
        )
    except Exception as error:
        _give_up(error)
        return NO_SPAN
    return span


def count(tier: str, numbers: Mapping[str, float]) -> None:
    """Add to the counters of a shared cache what its statistics count."""
    metrics = _loaded("metrics")
    if metrics is None:
        return
    try:
        for what, number in numbers.items():
            kind, colon, reason = what.partition(": ")
            attributes = {"whorl.tier": tier} | ({"reason": reason} if colon else {})
            _counter(metrics, _REASONS.get(kind, kind) if colon else what).add(number, attributes)
    except Exception as error:
        _give_up(error)


def _counter(metrics: Any, what: str) -> Any:
    counter = _counters.get(what)
    if counter is None:
        name = f"whorl.remote.{what}"
        counter = metrics.get_meter(_NAME, __version__).create_counter(name)
        _counters[what] = counter
    return counter


def watch_compiles() -> None:
    """Have a span around each compile of this process from now on."""
    if _compile_span not in watches:
        watches.append(_compile_span)


@contextlib.contextmanager
def _compile_span(function: Any, compiler: Any) -> Iterator[None]:
    names = {"whorl.function": full_name(function), "whorl.compiler": str(compiler.name)}
    with _span("whorl.compile", names):
        yield


def _give_up(error: Exception) -> None:
    pass_on(error)
    _failed.append(True)
    log.warning("there is no telemetry of shared caches: %s: %s", type(error).__name__, error)
