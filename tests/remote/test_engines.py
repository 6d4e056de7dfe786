"""Entries come back from each engine as they were put, through small servers in threads."""

from __future__ import annotations

import base64
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.keys import TEAM, ed25519, public_part
from tests.remote.servers import FakeHttp, FakeRedis, free_port
from tests.remote.stores import counts_of, entry_in, far_store
from tests.store.entries import entry_of, key_of
from whorl.store import Absent, Found, Skipped, Stored
from whorl.store.listing import Name

GROUP = key_of("group")


@pytest.fixture
def redis() -> Iterator[FakeRedis]:
    server = FakeRedis()
    yield server
    server.close()


@pytest.mark.parametrize("engine", ["redis", "http", "webdav", "bazel"])
def test_what_is_put_is_found_by_another(engine: str) -> None:
    if engine == "redis":
        server: FakeRedis | FakeHttp = FakeRedis()
        url = f"redis://127.0.0.1:{server.port}/0"
    else:
        server = FakeHttp(needs_collections=engine == "webdav")
        url = f"http://127.0.0.1:{server.port}/cache"
        url += "?layout=bazel" if engine == "bazel" else ""
    with server:
        first, second = far_store(url), far_store(url)
        entries = [
            entry_of(n, os.urandom(n), under) for n in (0, 9, 99_999) for under in (None, GROUP)
        ]
        for entry in entries:
            assert isinstance(second.get(entry.key, entry.under), Absent)
            assert isinstance(first.put(entry), Stored)
            assert entry_in(first.get(entry.key, entry.under)).data == entry.data  # queued or not
        assert first.flush()
        second.forget_answers()
        for entry in entries:
            assert bytes(entry_in(second.get(entry.key, entry.under)).data) == bytes(entry.data)
        assert isinstance(second.remove(entries[0].key), Stored)
        assert isinstance(second.get(entries[0].key), Absent)
        counts = counts_of(second)
        assert (counts["hits"], counts["misses"]) == (6, 7)
        assert counts["bytes_in"] > 99_999


def test_the_database_and_the_password_are_those_of_the_url(redis: FakeRedis) -> None:
    redis.password = "pass/word"
    store = far_store(f"redis://:pass%2Fword@127.0.0.1:{redis.port}/3")
    assert isinstance(store.get(key_of("x")), Absent)
    assert redis.commands[0][:2] == [b"SELECT", b"3"]


def test_a_redis_on_a_unix_socket_is_used() -> None:
    server = FakeRedis()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "redis.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def accept() -> None:
            connection, _ = listener.accept()
            server._run(connection)

        threading.Thread(target=accept, daemon=True).start()
        store = far_store(f"unix://{path}")
        assert isinstance(store.get(key_of("x")), Absent)
        assert len(server.commands) == 1
        listener.close()
    server.close()


def test_every_address_of_a_host_is_tried(
    redis: FakeRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(host: str, port: int, **rest: object) -> list[object]:
        places = [("127.0.0.1", free_port()), ("127.0.0.1", port)]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    store = far_store(f"redis://somewhere:{redis.port}/0")
    assert isinstance(store.get(key_of("x")), Absent)


def test_names_hold_the_namespace_and_the_format(redis: FakeRedis) -> None:
    store = far_store(f"redis://127.0.0.1:{redis.port}/0?namespace=ci")
    entry = entry_of("x", under=GROUP)
    store.put(entry)
    assert store.flush()
    assert [*redis.values] == [f"whorl:ci:v1.2/{GROUP}-{entry.key}".encode()]
    other = far_store(f"redis://127.0.0.1:{redis.port}/0?namespace=dev")
    assert isinstance(other.get(entry.key, GROUP), Absent)
    assert [*store.places()] == [Name(entry.key, GROUP)]


def test_redis_forgets_after_the_time_to_live(redis: FakeRedis) -> None:
    store = far_store(f"redis://127.0.0.1:{redis.port}/0?ttl=1h")
    store.put(entry_of("x"))
    assert store.flush()
    assert redis.commands[-1][3:] == [b"PX", b"3600000"]


def test_http_authorizes_with_user_and_password() -> None:
    word = base64.b64encode(b"me:secret").decode()
    with FakeHttp(authorization=f"Basic {word}") as server:
        store = far_store(f"http://me:secret@127.0.0.1:{server.port}/cache")
        store.put(entry_of("x"))
        assert store.flush()
        assert len(server.files) == 1


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("käse/\u2603", "/k%C3%A4se/%E2%98%83/whorl/"),
        ("a%20b/~x,y=z", "/a%20b/~x,y=z/whorl/"),
        ("", "/whorl/"),
    ],
)
def test_a_path_may_hold_what_a_url_may(path: str, asked: str) -> None:
    with FakeHttp() as server:
        store = far_store(f"http://127.0.0.1:{server.port}/{path}")
        store.put(entry_of("x"))
        assert store.flush()
        (file,) = server.files
        assert file.startswith(asked)
        assert isinstance(store.get(key_of("x")), Found)


def test_one_connection_serves_many_requests(redis: FakeRedis) -> None:
    store = far_store(f"redis://127.0.0.1:{redis.port}/0")
    for n in range(20):
        store.get(key_of(n))
    assert redis.connections == 1


@pytest.mark.parametrize("engine", ["redis", "http"])
def test_a_connection_that_was_closed_while_idle_is_opened_again(engine: str) -> None:
    server = FakeRedis() if engine == "redis" else FakeHttp()
    with server:
        store = far_store(f"{engine}://127.0.0.1:{server.port}/{0 if engine == 'redis' else 'x'}")
        store.get(key_of(1))
        if isinstance(server, FakeRedis):
            server.drop_connections()
        else:
            store.server._idle[0]._wire._connection.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
        time.sleep(0.05)
        assert isinstance(store.get(key_of(2)), Absent)
        assert "error" not in str(counts_of(store))


def test_a_reader_without_a_private_key_uploads_nothing(redis: FakeRedis) -> None:
    key = ed25519()
    url = f"redis://127.0.0.1:{redis.port}/0"
    ci, reader = far_store(url, key), far_store(url, public_part(key))
    ci.put(entry_of("x"))
    assert ci.flush()
    before = len(redis.commands)
    assert isinstance(reader.put(entry_of("y")), Skipped)
    assert reader.leases is None
    assert entry_in(reader.get(key_of("x"))).data == entry_of("x").data
    assert len(redis.commands) == before + 1


def test_a_read_only_url_uploads_nothing(redis: FakeRedis) -> None:
    store = far_store(f"redis://127.0.0.1:{redis.port}/0?readonly")
    assert isinstance(store.put(entry_of("x")), Skipped)
    assert store.leases is None
    assert store.flush()
    assert not redis.commands


def test_what_is_trusted_by_nobody_is_not_opened(redis: FakeRedis) -> None:
    url = f"redis://127.0.0.1:{redis.port}/0"
    far_store(url, ed25519()).put(entry_of("x"))
    stranger = far_store(url, ed25519("44"))
    stranger.put(entry_of("x"))
    assert stranger.flush()
    store = far_store(url, TEAM)
    assert not isinstance(store.get(key_of("x")), Stored)
    assert counts_of(store)["refused: signed by an unknown key"] == 1
