"""A cache directory on a network file system, seen through two mounts: every result is right.

    WHORL_TEST_NETWORK="/mnt/one:/mnt/two" python -m pytest -s -k test_network_directory

The two are mounts of the same directory, as two machines have them: NFS, or any other network file
system. How often something was made twice depends on whether locks reach the other mount.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLACES = os.environ.get("WHORL_TEST_NETWORK", "")
KEYS, PROCESSES = 30, 4
WORK = """
import json, os, random, sys, time
from tests.processes.shared_soak import body_of, key_of_number
from whorl.artifacts import Artifact, Label, encode
from whorl.store import Cache, DirectoryStore

cache, keys = Cache(DirectoryStore(sys.argv[1])), [*range(int(sys.argv[2]))]
random.Random(int(sys.argv[3])).shuffle(keys)
made, wrong, hits = 0, 0, []
for turn in range(2):
    for n in keys:
        def produce():
            global made
            made += 1
            time.sleep(0.02)
            return encode(Artifact({"code": body_of(n)}), Label("artifact", key_of_number(n)))
        begun = time.perf_counter()
        entry = cache.obtain(key_of_number(n), produce).entry
        if turn:
            hits.append(time.perf_counter() - begun)
        wrong += bytes(entry.payload("code")) != body_of(n)
print(json.dumps([made, wrong, sorted(hits)[len(hits) // 2]]))
"""


@pytest.mark.skipif(not PLACES, reason="WHORL_TEST_NETWORK names no mounts")
def test_machines_that_share_a_directory_get_right_results() -> None:
    mounts = [Path(place) / f"whorl-{os.getpid()}" for place in PLACES.split(":")]
    mounts[0].mkdir(mode=0o700)
    works = [
        subprocess.Popen(
            [sys.executable, "-c", WORK, str(mount / "cache"), str(KEYS), str(number)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for mount in mounts
        for number in range(PROCESSES)
    ]  # fmt: skip
    made = 0
    for work in works:
        out, err = work.communicate(timeout=300)
        assert work.returncode == 0, err
        assert err == ""
        numbers = json.loads(out)
        made += numbers[0]
        assert numbers[1] == 0
        print(f"made {numbers[0]}, a hit {numbers[2] * 1e6:.0f} µs")
    assert KEYS <= made <= KEYS * len(works)
    print(f"{made} productions of {KEYS} keys by {len(works)} processes on {len(mounts)} mounts")
    assert not [*(mounts[0] / "cache").glob("quarantine/*")]
    time.sleep(0.1)
