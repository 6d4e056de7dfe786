"""Clusters and sentinels that fail: each is a miss with a reason, in time."""

from __future__ import annotations

import sys
import time

import pytest

from tests.remote.servers import FakeRedis, RawServer
from tests.remote.stores import counts_of, far_store
from tests.store.entries import entry_of, key_of
from whorl.store import Failed

SCHEMES = ("redis+cluster://127.0.0.1:{}", "redis+sentinel://127.0.0.1:{}/cache")


@pytest.fixture(params=SCHEMES)
def form(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("redis", reason="clusters need the package redis")
    return str(request.param)


def reason_of(url: str) -> str:
    store = far_store(url)
    start = time.monotonic()
    assert isinstance(store.get(key_of("x")), Failed)
    assert time.monotonic() - start < 3
    store.put(entry_of("x"))
    assert store.flush()
    (reason,) = [name for name in counts_of(store) if name.startswith("error: ")]
    return reason.removeprefix("error: ")


def test_nobody_is_there(form: str) -> None:
    assert reason_of(form.format(1)) == "connection refused"


def test_a_server_that_says_nothing(form: str) -> None:
    with RawServer(lambda connection: time.sleep(5)) as server:
        reason = reason_of(form.format(server.port) + "?timeout=300ms")
    assert reason in ("timeout", "connection refused")  # a sentinel that is silent is none


def test_a_server_that_is_neither(form: str) -> None:
    with FakeRedis() as redis:
        assert reason_of(form.format(redis.port)) in ("server error", "connection refused")


def test_without_the_package_its_name_is_said(
    form: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.startswith("redis.")]:
        monkeypatch.delitem(sys.modules, name)  # other tests may have imported them
    monkeypatch.setitem(sys.modules, "redis", None)
    assert reason_of(form.format(1)) == "package not installed"
    assert "pip install 'whorl[redis]'" in caplog.text
