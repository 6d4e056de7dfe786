"""Machines as hosts of their own, in network namespaces, and a cable that is cut between them.

On a loopback address a server that is gone refuses connections at once. Here packets are lost:
nobody answers, and nobody says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SECRET = "a secret of this test"
PORT = 6379
TIMEOUT = 2.0  # seconds for one operation, by default
KERNELS = """
import json, sys, time
import numpy as np
import whorl

@whorl.kernel
def total(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s

@whorl.kernel
def peak(x):
    most = x[0]
    for i in range(x.size):
        most = max(most, x[i])
    return most

@whorl.kernel
def least(x):
    found = x[0]
    for i in range(x.size):
        found = min(found, x[i])
    return found

def main():
    for line in sys.stdin:
        kernel, start = globals()[line.strip()], time.perf_counter()
        result = kernel(np.arange(4.0))
        took = time.perf_counter() - start
        print(json.dumps([result, dict(kernel.stats()), took]), flush=True)
"""


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise unittest.SkipTest(f"network namespaces do not work here: {done.stderr.strip()}")


class Network:
    """A server and machines; each has a network of its own, and a cable to the server."""

    def __init__(self, undo: contextlib.ExitStack, folder: Path) -> None:
        self._undo = undo
        self._name = f"whorl{os.getpid()}"
        self._folder = folder
        self.server = self._namespace("s")
        self._start_redis()

    def _namespace(self, name: str) -> str:
        full = f"{self._name}{name}"
        ip("netns", "add", full)
        self._undo.callback(subprocess.run, ["ip", "netns", "del", full], check=False)
        ip("-n", full, "link", "set", "lo", "up")
        return full

    def _start_redis(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise unittest.SkipTest("redis-server is not installed (apt install redis-server)")
        log = self._folder / "redis.log"
        words = [program, "--port", str(PORT), "--protected-mode", "no", "--save", "",
                 "--logfile", str(log), "--dir", str(self._folder)]  # fmt: skip
        server = subprocess.Popen(["ip", "netns", "exec", self.server, *words])
        self._undo.callback(server.wait, 20)
        self._undo.callback(server.kill)
        until = time.monotonic() + 30
        while not (log.exists() and "Ready to accept" in log.read_text()):
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)

    def machine(self, number: int) -> Machine:
        """A machine, with a directory of its own."""
        near, far = f"wh{os.getpid() % 10**6}n{number}", f"wh{os.getpid() % 10**6}f{number}"
        name = self._namespace(f"m{number}")
        ip("link", "add", near, "netns", name, "type", "veth", "peer", far, "netns", self.server)
        ip("-n", name, "addr", "add", f"10.213.{number}.2/24", "dev", near)
        ip("-n", name, "link", "set", near, "up")
        ip("-n", self.server, "link", "set", far, "up")
        machine = Machine(self, name, f"10.213.{number}.1", far, self._folder / name)
        machine.reconnect()
        return machine


class Machine:
    """Runs programs that use the shared cache of the server."""

    def __init__(self, network: Network, name: str, server: str, plug: str, folder: Path) -> None:
        self._network = network
        self._name = name
        self._server = server
        self._plug = plug
        self._folder = folder
        folder.mkdir()
        (folder / "kernels.py").write_text(KERNELS)

    def reconnect(self) -> None:
        ip("-n", self._network.server, "addr", "add", f"{self._server}/24", "dev", self._plug)

    def cut(self) -> None:
        """From now on, what is sent to the server gets lost."""
        ip("-n", self._network.server, "addr", "del", f"{self._server}/24", "dev", self._plug)

    def forget(self) -> None:
        """Have an empty directory."""
        shutil.rmtree(self._folder / "cache")

    @contextlib.contextmanager
    def program(self) -> Iterator[Program]:
        env = {
            **os.environ,
            "WHORL_CACHE_DIR": str(self._folder / "cache"),
            "WHORL_KEYS_DIR": str(self._folder / "keys"),
            "WHORL_SIGNING_KEY": SECRET,
            "WHORL_REMOTE": f"redis://{self._server}:{PORT}/0",
        }
        words = [sys.executable, "-c", "import kernels; kernels.main()"]
        with (self._folder / "stderr").open("w+") as stderr:
            program = subprocess.Popen(
                ["ip", "netns", "exec", self._name, *words],
                cwd=self._folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=stderr, text=True,
            )  # fmt: skip
            try:
                yield Program(program, self._folder / "stderr")
                assert program.stdin is not None
                program.stdin.close()
                assert program.wait(60) == 0, (self._folder / "stderr").read_text()
            finally:
                program.kill()
                program.wait(20)
                assert program.stdout is not None
                program.stdout.close()


class Program:
    """A process that calls kernels when it is told to."""

    def __init__(self, process: subprocess.Popen[str], stderr: Path) -> None:
        self._process = process
        self._stderr = stderr

    def call(self, kernel: str) -> tuple[float, dict[str, int], float]:
        """Its result, what it counted, and the seconds that the call took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(kernel, file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        assert line, self._stderr.read_text()
        answer: Any = json.loads(line)
        return answer[0], answer[1], answer[2]

    @property
    def said(self) -> str:
        return self._stderr.read_text()


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    if shutil.which("ip") is None:
        raise unittest.SkipTest("ip is not installed (apt install iproute2)")
    with contextlib.ExitStack() as undo:
        yield Network(undo, tmp_path)


def test_a_cable_that_is_cut_costs_one_timeout_and_only_that_machine(network: Network) -> None:
    one, two = network.machine(1), network.machine(2)
    with one.program() as first:
        assert first.call("total")[1]["compiled"] == 1
    with one.program() as first, two.program() as second:
        assert second.call("total")[:2] == (6.0, {"found": 1})
        two.cut()
        result, counts, slow = second.call("peak")  # the connection is there, and nobody answers
        assert (result, counts["compiled"]) == (3.0, 1)
        assert second.said.count("is not used for 30 s: timeout") == 1
        result, counts, quick = second.call("least")  # nobody is asked
        assert (result, counts["compiled"]) == (0.0, 1)
        assert second.said.count("is not used") == 1
        result, counts, compiling = first.call("peak")
        assert (result, counts["compiled"]) == (3.0, 1)
        assert slow < 2 * TIMEOUT + compiling
        assert quick < TIMEOUT + compiling
    two.reconnect()
    with one.program() as first:
        assert first.call("least")[1]["compiled"] == 1
    two.forget()
    with two.program() as second:
        assert [second.call(name)[1] for name in ("peak", "least")] == [{"found": 1}] * 2
