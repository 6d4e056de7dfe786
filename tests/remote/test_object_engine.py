"""Object stores: what goes wrong has the same names as elsewhere, and conditions are tried out."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable

import pytest

from tests.remote.servers import FakeHttp, RawServer, answering, free_port, http_answer
from tests.remote.stores import counts_of, far_store
from tests.remote.test_bad_servers import resetting, silent
from tests.store.children import ends_within
from tests.store.entries import key_of
from whorl.remote import object_engine
from whorl.remote.address import Address
from whorl.remote.engine import EngineTrouble, Reason
from whorl.remote.object_engine import ObjectEngine
from whorl.store import Absent, Failed, NoLease

pytest.importorskip("obstore", reason="object stores need the package obstore")


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setattr(object_engine, "_probed", {})


def url_at(port: int) -> str:
    times = "timeout=400ms&connect_timeout=300ms"
    return f"s3://bucket/prefix?endpoint=http://127.0.0.1:{port}&{times}"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (http_answer("401 Unauthorized"), Reason.FORBIDDEN),
        (http_answer("403 Forbidden", b"<Error/>"), Reason.FORBIDDEN),
        (http_answer("429 Too Many Requests"), Reason.BUSY),
        (http_answer("500 Oops"), Reason.SERVER),
        (http_answer("503 Slow Down"), Reason.BUSY),
        (http_answer("302 Found", b"", "Location: http://127.0.0.1:1/"), None),
        (b"SSH-2.0-OpenSSH\r\n", None),
        (http_answer("200 OK", b"half", "ETag: x", length=1000), None),
    ],
)
def test_a_server_that_says_no_costs_one_request(answer: bytes, reason: Reason | None) -> None:
    with answering(answer, then_close=True) as server:
        store = far_store(url_at(server.port))
        start = time.monotonic()
        got = [store.get(key_of(n)) for n in range(5)]
        assert time.monotonic() - start < 1.5
        assert isinstance(got[0], Failed)
        assert all(isinstance(each, Absent) for each in got[1:])
        errors = [name for name in counts_of(store) if name.startswith("error")]
        assert len(errors) == 1
        if reason is not None:
            assert errors == [f"error: {reason.value}"]


@pytest.mark.parametrize(("serve", "reason"), [(silent, Reason.TIMEOUT), (resetting, Reason.RESET)])
def test_a_server_that_does_not_answer_costs_its_timeout_once(
    serve: Callable[[socket.socket], None], reason: Reason
) -> None:
    with RawServer(serve) as server:
        store = far_store(url_at(server.port))
        start = time.monotonic()
        for n in range(5):
            store.get(key_of(n))
        assert time.monotonic() - start < 1.5
        assert counts_of(store)[f"error: {reason.value}"] == 1


def test_a_server_that_is_not_there_is_named() -> None:
    store = far_store(url_at(free_port()))
    store.get(key_of("x"))
    assert counts_of(store)[f"error: {Reason.REFUSED.value}"] == 1


def test_a_server_that_ignores_conditions_has_no_leases() -> None:
    with FakeHttp() as server:  # which overwrites, whatever the headers say
        engine = ObjectEngine(Address.parse(url_at(server.port)))
        with pytest.raises(EngineTrouble, match="ignores conditions"):
            engine.take("leases/x", "token", 5.0)
        assert not engine.can_lease
        assert not any("leases" in path for path in server.files)


def test_a_server_without_leases_is_used_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    with FakeHttp() as server:
        patient = url_at(server.port).replace("timeout=400ms&connect_timeout=300ms", "timeout=20")
        store = far_store(patient)
        assert store.leases is not None
        assert store.leases.take("x") is NoLease.UNAVAILABLE
        assert isinstance(store.get(key_of("x")), Absent)
        assert not store.server.reading.is_open
        assert "machines may repeat each other's work" in caplog.text
        assert "is not used" not in caplog.text


def test_in_a_forked_child_an_object_store_is_not_asked() -> None:
    with FakeHttp() as server:
        store = far_store(url_at(server.port))
        assert isinstance(store.get(key_of("x")), Absent)

        def child() -> None:
            assert isinstance(store.get(key_of("y")), Failed)
            assert counts_of(store)[f"error: {Reason.FORKED.value}"] == 1

        assert ends_within(10, child)


def test_without_obstore_the_reason_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> object:
        raise EngineTrouble(Reason.MISSING, "pip install 'whorl[s3]'")

    monkeypatch.setattr(object_engine, "_obstore", missing)
    store = far_store(url_at(free_port()))
    assert store.leases is None
    got = store.get(key_of("x"))
    assert isinstance(got, Failed)
    assert "whorl[s3]" in got.reason


def test_credentials_of_the_url_are_used_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with answering(http_answer("403 Forbidden"), then_close=True) as server:
        url = f"s3://name:verysecret@bucket/x?endpoint=http://127.0.0.1:{server.port}"
        far_store(url).get(key_of("x"))
    assert "not allowed" in caplog.text
    assert "verysecret" not in caplog.text
    assert os.environ["AWS_ACCESS_KEY_ID"] == "any"
