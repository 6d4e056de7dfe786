"""OpenTelemetry: spans and counters for who uses it, and nothing at all for who does not."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import whorl
from tests.remote.servers import FakeRedis
from tests.remote.stores import far_store
from tests.store.entries import entry_of, key_of
from whorl.calls.events import watches
from whorl.remote import telemetry
from whorl.store import Failed

metrics = pytest.importorskip(
    "opentelemetry.sdk.metrics", reason="needs the package opentelemetry-sdk"
)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is exported from now on, by a provider that only whorl is asked to use."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Any:
    from opentelemetry import metrics as api
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = metrics.MeterProvider([reader])
    monkeypatch.setattr(api, "get_meter", provider.get_meter)
    monkeypatch.setattr(telemetry, "_counters", {})

    def read() -> dict[str, float]:
        data: Any = reader.get_metrics_data()
        every = [
            (metric.name, point.attributes.get("reason", ""), point.value)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]
        return {f"{name}:{reason}".rstrip(":"): value for name, reason, value in every}

    yield read
    provider.shutdown()


def test_each_request_is_a_span_and_each_number_a_counter(spans: Any, counters: Any) -> None:
    with FakeRedis("secret") as redis:
        store = far_store(f"redis://:secret@127.0.0.1:{redis.port}/0")
        store.get(key_of("x"))
        store.put(entry_of("x"))
        assert store.flush()
        store.forget_answers()
        store.get(entry_of("x").key)
    tier = f"redis://127.0.0.1:{redis.port}/0"
    mine = [s for s in spans.get_finished_spans() if s.attributes.get("whorl.tier") == tier]
    names = [span.name for span in mine]
    assert names == ["whorl.remote.get", "whorl.remote.put", "whorl.remote.get"]
    first = mine[0].attributes
    assert first["outcome"] == "absent"
    counted = counters()
    assert counted["whorl.remote.requests"] >= 3
    assert counted["whorl.remote.hits"] == counted["whorl.remote.misses"] == 1
    assert "secret" not in str(spans.get_finished_spans()[0].to_json())


def test_a_failure_is_counted_by_its_reason(spans: Any, counters: Any) -> None:
    store = far_store("redis://127.0.0.1:1/0")
    assert isinstance(store.get(key_of("x")), Failed)
    tier = "redis://127.0.0.1:1/0"
    (span,) = [s for s in spans.get_finished_spans() if s.attributes.get("whorl.tier") == tier]
    assert span.attributes["outcome"] == "connection refused"
    assert counters()["whorl.remote.errors:connection refused"] == 1


def test_each_compile_is_a_span(spans: Any) -> None:
    far_store("redis://127.0.0.1:1/0")
    telemetry.watch_compiles()

    @whorl.kernel(cache="process")
    def first(x):  # type: ignore[no-untyped-def]  # a kernel
        return x[0]

    try:
        first(np.ones(2))
    finally:
        watches.clear()
    every = spans.get_finished_spans()  # leases of other tests may still be renewed
    (span,) = [each for each in every if each.name == "whorl.compile"]
    assert span.attributes["whorl.compiler"] == "whorl-kernel"
    assert span.attributes["whorl.function"].endswith("first")


def test_telemetry_that_fails_breaks_nothing_and_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from opentelemetry import trace

    def broken(*names: str) -> None:
        raise RuntimeError("no telemetry today")

    monkeypatch.setattr(trace, "get_tracer", broken)
    monkeypatch.setattr(telemetry, "_failed", [])
    with FakeRedis() as redis:
        store = far_store(f"redis://127.0.0.1:{redis.port}/0")
        for name in ("x", "y"):
            assert not isinstance(store.get(key_of(name)), Failed)
    assert telemetry._failed == [True]


def test_a_program_without_telemetry_imports_none_of_it() -> None:
    text = (
        "import sys; from whorl.store import open_url; import whorl;"
        "whorl.configure(signing_key='correct horse battery');"
        "from whorl.fingerprint.digest import StableDigest;"
        "open_url('redis://127.0.0.1:1/0').get(StableDigest('0' * 32));"
        "print([m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
