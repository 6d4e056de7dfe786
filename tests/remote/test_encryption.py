"""Encrypted connections: a certificate that is wrong is a miss with a reason."""

from __future__ import annotations

import datetime
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.servers import FakeRedis, RawServer
from tests.remote.stores import counts_of, far_store
from tests.store.entries import key_of
from whorl.store import Absent, Failed

x509 = pytest.importorskip("cryptography.x509", reason="certificates are made by cryptography")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for localhost that only its owner trusts, with its key."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    file = tmp_path / "certificate.pem"
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(secret + made.public_bytes(pem))
    return file


@pytest.fixture
def redis(certificate: Path) -> Iterator[FakeRedis]:
    server = FakeRedis()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    plain = server._serve

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as encrypted:
            plain(encrypted)

    server._serve = serve
    yield server
    server.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(redis: FakeRedis) -> None:
    for scheme in ("rediss", "https"):
        store = far_store(f"{scheme}://localhost:{redis.port}/0?connect_timeout=2")
        assert isinstance(store.get(key_of("x")), Failed)
        assert counts_of(store)["error: bad certificate"] == 1
    assert not redis.commands


def test_a_certificate_that_is_trusted_is_used(
    redis: FakeRedis, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    store = far_store(f"rediss://localhost:{redis.port}/0?connect_timeout=2")
    assert isinstance(store.get(key_of("x")), Absent)


def test_a_certificate_for_another_host_is_refused(
    redis: FakeRedis, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    store = far_store(f"rediss://127.0.0.1:{redis.port}/0?connect_timeout=2")
    assert isinstance(store.get(key_of("x")), Failed)
    assert counts_of(store)["error: bad certificate"] == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"", "connection lost"), (b"-ERR unknown command\r\n", "answer not understood")],
)
def test_a_server_that_speaks_no_tls_is_not_blamed_for_its_certificate(
    answer: bytes, reason: str
) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(answer)

    with RawServer(serve) as server:
        for scheme in ("rediss", "https"):
            store = far_store(f"{scheme}://localhost:{server.port}/0?connect_timeout=2")
            assert isinstance(store.get(key_of("x")), Failed)
            assert counts_of(store)[f"error: {reason}"] == 1


def test_a_url_names_the_certificates_to_trust(redis: FakeRedis, certificate: Path) -> None:
    options = f"connect_timeout=2&ca={certificate}&cert={certificate}"
    store = far_store(f"rediss://localhost:{redis.port}/0?{options}")
    assert isinstance(store.get(key_of("x")), Absent)


def test_certificates_that_are_not_there_are_a_miss_that_names_the_file(
    redis: FakeRedis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = tmp_path / "missing.pem"
    for option in ("ca", "cert"):
        store = far_store(f"rediss://localhost:{redis.port}/0?{option}={missing}")
        assert isinstance(store.get(key_of("x")), Failed)
        assert counts_of(store)["error: bad certificate"] == 1
    assert str(missing) in caplog.text
