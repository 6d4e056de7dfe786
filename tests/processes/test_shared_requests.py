"""How many requests a hit and a miss make in a shared cache, by real programs on two machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import ROOT
from tests.remote.servers import FakeRedis
from whorl.remote.seal import machine_name

SECRET = "correct horse battery staple"
KERNELS = """
import numpy as np
import whorl

SCALE = 2.0

@whorl.func
def scaled(v):
    return SCALE * v

@whorl.kernel
def total(x):
    sum = 0.0
    for i in range(x.size):
        sum += scaled(x[i])
    return sum

@whorl.kernel
def peak(x):
    most = x[0]
    for i in range(x.size):
        most = max(most, x[i])
    return most
"""
RUN = """
import json, sys, time
import numpy as np
import kernels
from whorl.store import default_cache
results = {}
for name in sys.argv[1:]:
    kernel = getattr(kernels, name)
    start = time.perf_counter()
    result = kernel(np.arange(4.0))
    results[name] = [result, dict(kernel.stats()), time.perf_counter() - start]
print(json.dumps([results, default_cache().statistics.totals.seconds_spent]))
"""


def run(
    machine: Path,
    server: FakeRedis | int,
    *kernels: str,
    options: str = "",
    edit: tuple[str, str] = ("", ""),
    **more: str,
) -> dict[str, Any]:
    """What a program says that runs on a machine, which is a directory of its own."""
    machine.mkdir(exist_ok=True)
    (machine / "kernels.py").write_text(KERNELS.replace(*edit, 1))
    port = server if isinstance(server, int) else server.port
    env = {
        **os.environ,
        "WHORL_CACHE_DIR": str(machine / "cache"),
        "WHORL_REMOTE": f"redis://127.0.0.1:{port}/0?{options}",
        "WHORL_SIGNING_KEY": SECRET,
        "WHORL_KEYS_DIR": str(machine / "keys"),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, *kernels],
        cwd=machine, env=env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)[0]
    return {**results, "stderr": done.stderr}


@pytest.fixture
def redis() -> Any:
    with FakeRedis() as server:
        yield server


def test_what_one_machine_stored_another_finds_with_two_requests(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    redis.commands.clear()
    found = run(tmp_path / "two", redis, "total")
    assert found["total"][0] == 12.0
    assert found["total"][1]["found"] == 1
    assert "compiled" not in found["total"][1]
    assert redis.names == ["GET", "GET"]


def test_a_second_run_on_a_machine_asks_nobody(tmp_path: Path, redis: FakeRedis) -> None:
    run(tmp_path / "one", redis, "total", "peak")
    run(tmp_path / "two", redis, "total", "peak")
    redis.commands.clear()
    for machine in ("one", "two"):
        found = run(tmp_path / machine, redis, "total", "peak")
        assert found["total"][1]["found"] == 1
        assert redis.names == []


def test_a_miss_makes_three_requests_that_the_program_waits_for(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    before_uploads = []
    for words in redis.commands:
        if words[0] == b"SET":
            break
        before_uploads.append(words[0])
    assert before_uploads == [b"GET", b"EVAL", b"GET"]
    stored = [name.rpartition(b":")[2] for name in redis.entries()]
    assert len(stored) >= 4  # the artifact, two manifests, the hint


def test_the_artifact_is_uploaded_before_the_manifest_before_the_hint(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    uploads = [words for words in redis.commands if words[0] == b"SET" or b"sha1hex" in words[1]]
    sizes = [len(words[2]) if words[0] == b"SET" else 0 for words in uploads]
    assert sizes.index(0) == len(sizes) - 1  # the hint is the last, by a script
    assert max(sizes) == sizes[0]


def test_a_hint_is_joined_with_that_of_another_machine(tmp_path: Path, redis: FakeRedis) -> None:
    run(tmp_path / "one", redis, "total")
    run(tmp_path / "two", redis, "peak")
    found = run(tmp_path / "three", redis, "total", "peak")
    assert [found[name][1].get("found") for name in ("total", "peak")] == [1, 1]
    assert found["total"][0] == 12.0
    assert found["peak"][0] == 3.0


def test_an_older_hint_of_a_machine_does_not_hide_a_newer_one(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    run(tmp_path / "two", redis, "total")  # has its hint, without `peak`
    run(tmp_path / "one", redis, "peak")
    found = run(tmp_path / "two", redis, "peak")
    assert found["peak"][1].get("found") == 1


def test_with_latency_a_hit_waits_for_two_round_trips(tmp_path: Path, redis: FakeRedis) -> None:
    run(tmp_path / "one", redis, "total")
    quick = run(tmp_path / "two", redis, "total")["total"][2]
    redis.delay = 0.2
    slow = run(tmp_path / "three", redis, "total")["total"][2]
    assert slow - quick < 2 * 0.2 + 0.15


def test_a_dead_server_costs_no_more_than_its_timeout_and_changes_nothing(tmp_path: Path) -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        redis.delay = 60
        start = time.monotonic()
        made = run(tmp_path / "one", redis, "total", "peak", options="timeout=500ms")
        assert made["total"][0] == 12.0
        assert made["stderr"].count("is not used for 30 s: timeout") == 1
        assert time.monotonic() - start < 30
    again = run(tmp_path / "one", 1, "total", "peak")
    assert again["total"][1]["found"] == 1
    assert again["stderr"] == ""


def test_what_was_not_uploaded_when_a_process_ends_is_counted_and_said(tmp_path: Path) -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        slow = time.monotonic()
        redis.replace = lambda words: (
            time.sleep(3) or None if words[0] == b"SET" else None  # type: ignore[func-returns-value]
        )
        made = run(tmp_path / "one", redis, "total", options="timeout=4")
        assert made["total"][0] == 12.0
        assert "not all that was made is uploaded" in made["stderr"]
        assert time.monotonic() - slow < 25


def test_a_forged_entry_on_the_server_is_compiled_again(tmp_path: Path, redis: FakeRedis) -> None:
    run(tmp_path / "one", redis, "total", WHORL_SIGNING_KEY="a stranger with a key")
    found = run(tmp_path / "two", redis, "total")
    assert found["total"][0] == 12.0
    assert found["total"][1]["compiled"] == 1
    assert "signed by an unknown key" in found["stderr"]


def test_a_process_that_finds_everything_here_imports_nothing_of_shared_caches(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    text = "import sys, kernels, numpy; kernels.total(numpy.arange(4.0));"
    text += "print([m for m in sys.modules if m.startswith('whorl.remote')])"
    env = {
        **os.environ,
        "WHORL_CACHE_DIR": str(tmp_path / "one" / "cache"),
        "WHORL_REMOTE": f"redis://127.0.0.1:{redis.port}/0",
        "WHORL_SIGNING_KEY": SECRET,
    }
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=tmp_path / "one", env=env, capture_output=True, text=True, check=True
    )
    assert "whorl.remote" not in done.stdout


def test_a_wrong_option_is_said_at_the_first_call_though_that_is_found_here(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    asked = len(redis.commands)
    found = run(tmp_path / "one", redis, "total", options="tiemout=2")
    assert found["total"][1]["found"] == 1
    assert found["stderr"].count("without the option 'tiemout'") == 1
    assert "timeout" in found["stderr"]
    assert not redis.commands[asked:]


def test_a_read_only_cache_finds_what_others_stored_and_keeps_nothing(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    redis.commands.clear()
    found = run(tmp_path / "two", redis, "total", "peak", WHORL_CACHE="readonly")
    assert found["total"][1]["found"] == 1
    assert found["peak"][0] == 3.0
    assert {*redis.names} == {"GET"}
    assert not (tmp_path / "two" / "cache").exists()


def test_a_miss_is_explained_by_what_another_machine_has_stored(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    why = run(tmp_path / "two", redis, "total", WHORL_LOG="why", WHORL_TARGET="x86-64")
    assert f"from the nearest compile, on {machine_name()}" in why["stderr"]
    assert "-> linux-x86-64" in why["stderr"]
    edited = run(
        tmp_path / "three", redis, "total", edit=("sum = 0.0", "sum = 1.0"), WHORL_LOG="why"
    )
    assert f"it differs from what {machine_name()} has stored" in edited["stderr"]
    assert "  code: " in edited["stderr"]


def test_a_miss_that_nobody_asks_about_makes_no_request_for_its_explanation(
    tmp_path: Path, redis: FakeRedis
) -> None:
    run(tmp_path / "one", redis, "total")
    redis.commands.clear()
    run(tmp_path / "two", redis, "total", WHORL_TARGET="x86-64")
    assert b"SCAN" not in {words[0] for words in redis.commands}


def test_why_compares_with_other_machines(tmp_path: Path, redis: FakeRedis) -> None:
    run(tmp_path / "one", redis, "total")
    run(tmp_path / "two", redis, "total", WHORL_TARGET="x86-64")
    env = {
        **os.environ,
        "WHORL_REMOTE": f"redis://127.0.0.1:{redis.port}/0",
        "WHORL_SIGNING_KEY": SECRET,
    }
    command = [sys.executable, "-m", "whorl", "why", "--shared", "--json", "--cache-dir"]
    done = subprocess.run(
        [*command, str(tmp_path / "two" / "cache")], env=env, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    (miss,) = json.loads(done.stdout)
    (row,) = miss["shared"]
    assert row["machine"] == machine_name()
    differing = {each["path"]: each["here"] for each in row["differences"]}
    assert differing["target"] == "linux-x86-64"


def test_an_interrupt_while_uploads_are_waited_for_ends_the_program(tmp_path: Path) -> None:
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)
        redis.delay = 0.2
        text = (
            "import os, signal, threading, time, whorl\n"
            "from tests.store.entries import entry_of\n"
            "whorl.configure(signing_key='correct horse battery')\n"
            f"far = whorl.store.open_url('redis://127.0.0.1:{redis.port}/0')\n"
            "for n in range(100): far.put(entry_of(n))\n"
            "later = lambda: (time.sleep(0.5), os.kill(os.getpid(), signal.SIGINT))\n"
            "threading.Thread(target=later, daemon=True).start()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert len(redis.commands) < 15  # the five seconds were not used
        assert "Traceback" not in done.stderr
        assert "not all that was made is uploaded" in done.stderr
