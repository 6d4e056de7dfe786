"""Many processes of several machines that miss the same keys compile each of them once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.servers import redis_at
from tests.processes.test_shared_requests import KERNELS, SECRET
from tests.remote.servers import FakeRedis

KEYS = """
import json, os, random, sys, time
from pathlib import Path
from whorl.artifacts import Artifact, Label, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.store import default_cache

folder, number, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
cache = default_cache()
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "go").exists():
    time.sleep(0.002)
made, numbers = [], list(range(number))
random.shuffle(numbers)
for n in numbers:
    key = StableDigest(hash_hex(b"key %d" % n))
    def produce():
        made.append(n)
        print("making", n, flush=True) if len(sys.argv) > 4 else None
        time.sleep(seconds)
        return encode(Artifact({"code": b"%d" % n}), Label("artifact", key))
    got = cache.obtain(key, produce)
    assert bytes(got.entry.payload("code")) == b"%d" % n
print(json.dumps(made))
"""
RUN = """
import json, os, sys, time
from pathlib import Path
import numpy as np
folder = Path(sys.argv[1])
sys.path.insert(0, str(folder / "code"))
import kernels
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "go").exists():
    time.sleep(0.002)
assert kernels.total(np.arange(4.0)) == 12.0
assert kernels.peak(np.arange(4.0)) == 3.0
print(json.dumps([k for k in ("total", "peak") if getattr(kernels, k).stats()["compiled"]]))
"""


@contextlib.contextmanager
def server_of(kind: str, folder: Path) -> Iterator[int]:
    if kind == "redis":
        with redis_at(folder) as server:
            yield server.port
    else:
        with FakeRedis() as fake:
            yield fake.port


def start(
    folder: Path, machine: str, port: int, program: str, *arguments: str, options: str = ""
) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "WHORL_CACHE_DIR": str(folder / machine),
        "WHORL_REMOTE": f"redis://127.0.0.1:{port}/0?{options}",
        "WHORL_SIGNING_KEY": SECRET,
        "WHORL_KEYS_DIR": str(folder / "keys"),
    }
    command = [sys.executable, "-c", program, str(folder), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


def go(folder: Path, number: int) -> None:
    until = time.monotonic() + 60
    while len([*folder.glob("ready-*")]) < number:
        assert time.monotonic() < until
        time.sleep(0.01)
    (folder / "go").touch()


def printed(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return out.splitlines()


@pytest.mark.parametrize("kind", ["fake", "redis"])
def test_two_machines_with_eight_processes_each_make_fifty_entries_once(
    kind: str, tmp_path: Path
) -> None:
    with server_of(kind, tmp_path) as port:
        processes = [
            start(tmp_path, machine, port, KEYS, "50", "0.02")
            for machine in ("one", "two")
            for _ in range(8)
        ]
        go(tmp_path, 16)
        made = Counter(n for process in processes for n in json.loads(printed(process)[-1]))
    assert sorted(made) == list(range(50))
    assert made.total() == 50, [n for n, count in made.items() if count > 1]


@pytest.mark.parametrize("kind", ["fake", "redis"])
def test_kernels_that_two_machines_miss_at_once_are_compiled_once(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "kernels.py").write_text(KERNELS)
    with server_of(kind, tmp_path) as port:
        processes = [
            start(tmp_path, machine, port, RUN) for machine in ("one", "two") for _ in range(3)
        ]
        go(tmp_path, 6)
        compiled = [name for process in processes for name in json.loads(printed(process)[-1])]
    assert sorted(compiled) == ["peak", "total"]


def test_a_holder_that_is_killed_is_replaced_on_another_machine(tmp_path: Path) -> None:
    with FakeRedis() as redis:
        options = "lease=1500ms"
        doomed = start(tmp_path, "one", redis.port, KEYS, "1", "60", "say", options=options)
        go(tmp_path, 1)
        assert doomed.stdout is not None
        assert doomed.stdout.readline().startswith("making")
        other = start(tmp_path, "two", redis.port, KEYS, "1", "0", options=options)
        time.sleep(2.5)  # longer than a lease: the holder renews it
        assert other.poll() is None
        doomed.send_signal(signal.SIGKILL)
        doomed.communicate()
        killed = time.monotonic()
        assert json.loads(printed(other)[-1]) == [0]
        assert time.monotonic() - killed < 6
