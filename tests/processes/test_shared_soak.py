"""Processes of two machines on a server that misbehaves at random: every result is right.

A few seconds; `make soak` is the same for ten minutes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.processes.shared_soak import Soak
from tests.processes.test_shared_requests import SECRET
from tests.remote.servers import FakeRedis

SECONDS = 3.0
WORK = """
import json, logging, os, random, sys, time
from whorl.artifacts import Artifact, Label, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.store import default_cache

logging.disable(logging.CRITICAL)
cache, chance = default_cache(), random.Random(os.getpid())
directory, late = cache.store.tiers
for far in late.tiers.tiers:
    far.server.reading.rest = far.server.writing.rest = 0.2
until, number, wrong = time.monotonic() + float(sys.argv[1]), 0, 0
while time.monotonic() < until:
    n = chance.randrange(300)
    key, body = StableDigest(hash_hex(b"key %d" % n)), random.Random(n).randbytes(2000)
    def produce():
        time.sleep(0.002)
        return encode(Artifact({"code": body}), Label("artifact", key))
    wrong += bytes(cache.obtain(key, produce).entry.payload("code")) != body
    number += 1
    if chance.random() < 0.3:
        directory.remove(key)
print(json.dumps([number, wrong, *cache.statistics.totals.tiers.values()]))
"""


def test_no_result_is_wrong_whatever_the_server_does(tmp_path: Path) -> None:
    chance = random.Random(23)
    with FakeRedis() as redis:
        assert isinstance(redis, FakeRedis)

        def fault(words: list[bytes]) -> bytes | None:
            match chance.randrange(60):
                case 0:
                    time.sleep(0.8)
                case 1:
                    return b"-ERR no\r\n"
                case 2:
                    return b"$100\r\nshort\r\n"
                case 3 | 4:
                    other = chance.choice([*redis.entries().values()] or [b"x"])
                    return b"$%d\r\n%b\r\n" % (len(other), other)
                case 5:
                    redis.drop_connections()
                case 6:
                    return b"\0\0\0\r\n"
                case 7:  # restarted empty
                    redis.values.clear()
            return None

        redis.replace = fault
        processes = []
        for machine in ("one", "two"):
            env = {
                **os.environ,
                "WHORL_CACHE_DIR": str(tmp_path / machine),
                "WHORL_REMOTE": f"redis://127.0.0.1:{redis.port}/0?timeout=500ms&lease=2",
                "WHORL_SIGNING_KEY": SECRET,
                "WHORL_KEYS_DIR": str(tmp_path / "keys"),
            }
            command = [sys.executable, "-c", WORK, str(SECONDS)]
            processes += [
                subprocess.Popen(
                    command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
                for _ in range(2)
            ]
        for process in processes:
            out, err = process.communicate(timeout=SECONDS + 60)
            assert process.returncode == 0, err
            number, wrong, counts = json.loads(out)
            assert number > 50
            assert wrong == 0
            assert counts["requests"] > 0


def test_no_result_is_wrong_while_a_real_server_and_its_users_are_killed(tmp_path: Path) -> None:
    soak = Soak(tmp_path, SECONDS, processes=2, keys=60)
    soak.run()
    assert soak.wrong == 0
    assert soak.results > 2 * soak.keys  # those of the two that came afterwards
    assert soak.killed > 0
    assert soak.forged > 0
    assert soak.after["four"] == soak.keys  # found, all of it, when there was peace
