"""A broken, slow, lying or dead server costs at most its timeout once, and changes no result."""

from __future__ import annotations

import logging
import os
import random
import socket
import struct
import time
from collections.abc import Callable

import pytest

from tests.remote.keys import OTHER, TEAM, sealer_of
from tests.remote.servers import FakeHttp, FakeRedis, RawServer, answering, free_port, http_answer
from tests.remote.stores import counts_of, entry_in, far_store
from tests.store.entries import entry_of, key_of
from whorl.remote.address import Address
from whorl.remote.far_store import name_of
from whorl.store import Absent, Cache, Ending, Failed, Found, MemoryStore, Tiered

TIMES = "timeout=300ms&connect_timeout=200ms"
GROUP = key_of("group")


def silent(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def resetting(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def closing(connection: socket.socket) -> None:
    connection.recv(1 << 16)


def dripping(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    while True:
        connection.sendall(b"$")
        time.sleep(0.1)


def check_costs_its_timeout_once(
    port: int, scheme: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = far_store(f"{scheme}://127.0.0.1:{port}/0?{TIMES}")
    near = MemoryStore()
    cache = Cache(Tiered(near, store))
    start = time.monotonic()
    with caplog.at_level(logging.WARNING):
        for n in range(10):
            entry = entry_of(n)
            obtained = cache.obtain(entry.key, lambda entry=entry: entry)  # type: ignore[misc]
            assert obtained.how in (Ending.PRODUCED, Ending.UNLOCKED)
            assert obtained.entry is entry
        store.flush(2.0)
    assert time.monotonic() - start < 1.5
    counts = counts_of(store)
    assert counts.get(f"error: {reason}", 0) >= 1, counts
    assert sum(n for name, n in counts.items() if name.startswith("error")) <= 2, counts
    assert counts["rests"] >= 9
    warned = [r for r in caplog.records if "is not used for" in r.getMessage()]
    assert len(warned) <= 2
    assert reason in warned[0].getMessage()
    assert len([*near.iterate()]) == 10


@pytest.mark.parametrize("scheme", ["redis", "http"])
@pytest.mark.parametrize(
    ("serve", "reason"),
    [
        (silent, "timeout"),
        (dripping, "timeout"),
        (resetting, "connection lost"),
        (closing, "connection lost"),
    ],
)
def test_a_server_that_accepts_and_does_not_answer(
    scheme: str,
    serve: Callable[[socket.socket], None],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if scheme == "http" and serve is dripping:
        serve, reason = _dripping_http, "timeout"
    with RawServer(serve) as server:
        check_costs_its_timeout_once(server.port, scheme, reason, caplog)


def _dripping_http(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-More: 1\r\n")
        time.sleep(0.1)


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_a_server_that_is_not_there(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    check_costs_its_timeout_once(free_port(), scheme, "connection refused", caplog)


def test_a_host_that_nobody_knows(caplog: pytest.LogCaptureFixture) -> None:
    store = far_store(f"redis://nowhere.invalid/0?{TIMES}")
    start = time.monotonic()
    assert isinstance(store.get(key_of("x")), Failed)
    assert time.monotonic() - start < 1.5
    assert {"error: unknown host", "error: timeout"} & counts_of(store).keys()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (http_answer("401 Unauthorized"), "not allowed"),
        (http_answer("403 Forbidden", b"no"), "not allowed"),
        (http_answer("429 Too Many Requests"), "too many requests"),
        (http_answer("500 Oops", b"<html>" * 100), "server error"),
        (http_answer("503 Busy"), "too many requests"),
        (http_answer("302 Found", b"", "Location: http://127.0.0.1:1/"), "redirect"),
        (b"SSH-2.0-OpenSSH\r\n", "answer not understood"),
        (b"\0" * 5000 + b"\r\n", "answer not understood"),
    ],
)
def test_an_http_server_that_says_no(
    answer: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with answering(answer) as server:
        check_costs_its_timeout_once(server.port, "http", reason, caplog)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"-NOAUTH Authentication required.\r\n", "not allowed"),
        (b"-LOADING Redis is loading\r\n", "too many requests"),
        (b"-ERR what\r\n", "server error"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answer not understood"),
        (b":17\r\n", "answer not understood"),
        (b"$notanumber\r\n", "answer not understood"),
        (b"*99999999\r\n", "answer not understood"),
        (b"$5\r\nabcdefgh", "answer not understood"),
    ],
)
def test_a_redis_that_says_no(answer: bytes, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    with answering(answer) as server:
        check_costs_its_timeout_once(server.port, "redis", reason, caplog)


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_half_a_body_is_a_miss(scheme: str, caplog: pytest.LogCaptureFixture) -> None:
    sealed = sealer_of(TEAM).seal(entry_of(0))
    whole = (
        b"$%d\r\n%b\r\n" % (len(sealed), sealed)
        if scheme == "redis"
        else http_answer("200 OK", sealed)
    )
    with answering(whole[: len(whole) // 2], then_close=True) as server:
        check_costs_its_timeout_once(server.port, scheme, "incomplete answer", caplog)


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_an_endless_body_is_not_read(scheme: str) -> None:
    large = b"$999999999999\r\n" if scheme == "redis" else http_answer("200 OK", length=10**12)
    with answering(large + bytes(1000)) as server:
        store = far_store(f"{scheme}://127.0.0.1:{server.port}/0?{TIMES}")
        assert isinstance(store.get(key_of("x")), Failed)
        assert counts_of(store)["error: too large"] == 1


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_another_body_is_a_miss_and_the_server_is_asked_on(scheme: str) -> None:
    other = sealer_of(TEAM).seal(entry_of("another"))
    answer = (
        b"$%d\r\n%b\r\n" % (len(other), other)
        if scheme == "redis"
        else http_answer("200 OK", other)
    )
    with answering(answer) as server:
        store = far_store(f"{scheme}://127.0.0.1:{server.port}/0")
        for n in range(5):
            assert isinstance(store.get(key_of(n)), Failed)
        assert counts_of(store)["refused: wrong signature"] == 5
        assert isinstance(store.get(key_of("another")), Found)


def test_a_missing_file_is_absent_and_no_failure() -> None:
    with FakeHttp() as server:
        store = far_store(f"http://127.0.0.1:{server.port}/cache")
        assert isinstance(store.get(key_of("x")), Absent)
        assert not store.server.reading.is_open


def test_after_a_rest_one_lookup_tries_again() -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        store = far_store(f"redis://127.0.0.1:{redis.port}/0?{TIMES}", rest=0.3)
        store.put(entry_of("x"))
        assert store.flush()
        redis.replace = lambda words: b"-ERR broken\r\n"
        asked = len(redis.commands)
        assert isinstance(store.get(key_of(1)), Failed)
        assert isinstance(store.get(key_of(2)), Absent)
        assert len(redis.commands) == asked + 1
        redis.replace = lambda words: None
        time.sleep(0.35)
        assert isinstance(store.get(key_of("x")), Found)
        assert not store.server.reading.is_open


def test_a_server_that_is_full_is_still_read(caplog: pytest.LogCaptureFixture) -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        store = far_store(f"redis://127.0.0.1:{redis.port}/0")
        store.put(entry_of("x"))
        assert store.flush()
        redis.replace = lambda words: b"-OOM full\r\n" if words[0] == b"SET" else None
        for n in range(5):
            store.put(entry_of(n))
        assert store.flush()
        assert counts_of(store)["error: no space"] == 1
        assert counts_of(store)["dropped"] == 5
        assert caplog.text.count("not all that was made is uploaded") == 1
        assert isinstance(store.get(key_of("x")), Found)


def test_an_entry_that_is_not_right_is_left_on_the_server() -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        store = far_store(f"redis://127.0.0.1:{redis.port}/0")
        name = f"whorl:whorl:{name_of(key_of('x'), None)}".encode()
        redis.values[name] = b"forged", 0.0
        assert isinstance(store.get(key_of("x")), Failed)
        assert redis.values[name][0] == b"forged"
        assert all(words[0] == b"GET" for words in redis.commands)


def test_what_a_forger_puts_on_the_server_is_never_used() -> None:
    """Random forgeries, replays, cuts and swaps on the server, and right entries in between."""
    chance = random.Random(7)
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        store = far_store(f"redis://127.0.0.1:{redis.port}/0")
        entries = [entry_of(n, os.urandom(500), GROUP if n % 2 else None) for n in range(20)]
        for entry in entries:
            store.put(entry)
        assert store.flush()
        right = redis.entries()
        stranger = sealer_of(OTHER)
        wrong = 0
        for _ in range(600):
            entry = chance.choice(entries)
            name = f"whorl:whorl:{name_of(entry.key, entry.under)}".encode()
            forged = bytearray(right[name])
            match chance.randrange(5):
                case 0:
                    forged[chance.randrange(len(forged))] ^= 1 << chance.randrange(8)
                case 1:
                    del forged[chance.randrange(len(forged)) :]
                case 2:
                    forged = bytearray(chance.choice([v for k, v in right.items() if k != name]))
                case 3:
                    forged = bytearray(stranger.seal(entry_of("evil")))
                case 4:
                    forged = bytearray(bytes(entry.data))
            redis.values[name] = bytes(forged), 0.0
            store.forget_answers()
            got = store.get(entry.key, entry.under)
            wrong += isinstance(got, Found)
            redis.values[name] = right[name], 0.0
            store.forget_answers()
            assert bytes(entry_in(store.get(entry.key, entry.under)).data) == bytes(entry.data)
        assert wrong == 0


def test_a_listing_that_never_ends_is_given_up_for_an_explanation() -> None:
    page = b"*2\r\n$1\r\n7\r\n*0\r\n"
    with answering(page) as server:
        store = far_store(f"redis://127.0.0.1:{server.port}/0?timeout=200ms")
        start = time.monotonic()
        assert [*store.elsewhere(key_of("group"))] == []
        assert time.monotonic() - start < 3


def test_an_address_shows_no_password() -> None:
    address = Address.parse("redis://user:password@host/0")
    assert "password" not in repr(address)
    assert "password" not in repr(far_store("redis://user:password@host/0"))
