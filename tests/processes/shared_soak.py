"""Machines on a shared cache while everything goes wrong; every result is checked.

    python -m tests.processes.shared_soak --seconds 600

Two machines of three processes each obtain keys at random, and forget some. Between them and a real
Redis is a proxy that delays, cuts, changes and drops what passes. Meanwhile the Redis is stopped,
filled, killed and started again empty; processes are killed, also while they hold leases; and
somebody writes forged entries: bits flipped, ends cut off, entries of other keys, entries that a
stranger has sealed. Behind it is a second Redis that may only be read. In the end all of that
stops, and everything has to be found or made again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes.servers import Server, redis_at
from tests.remote.keys import OTHER
from tests.remote.servers import RawServer
from whorl.artifacts import Artifact, Label, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.remote.address import Address
from whorl.remote.engine import EngineTrouble
from whorl.remote.far_store import place_of
from whorl.remote.keyring import Keyring
from whorl.remote.redis_engine import RedisEngine
from whorl.remote.seal import Sealer
from whorl.remote.tiers import store_of
from whorl.settings import Settings

__all__ = ["SECRET", "Soak", "body_of", "key_of_number"]

SECRET = "correct horse battery staple"
REST = 0.2  # seconds of a breaker: thirty would hide most faults


def key_of_number(number: int) -> StableDigest:
    return StableDigest(hash_hex(b"key %d" % number))


def body_of(number: int) -> bytes:
    return random.Random(number).randbytes(2000)


WORK = """
import json, logging, os, random, sys, time
from tests.processes.shared_soak import REST, body_of, key_of_number
from whorl.artifacts import Artifact, Label, encode
from whorl.store import default_cache

logging.disable(logging.CRITICAL)
cache, chance = default_cache(), random.Random(os.getpid())
directory, late = cache.store.tiers
for far in late.tiers.tiers:
    far.server.reading.rest = far.server.writing.rest = REST
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
every = sys.argv[2] == "every"
number, wrong, keys = 0, 0, int(sys.argv[4])
todo = [*range(keys)] if every else None
while (todo if every else not os.path.exists(sys.argv[3])):
    n = todo.pop() if every else chance.randrange(keys)
    key, body = key_of_number(n), body_of(n)

    def produce():
        time.sleep(0.002)
        return encode(Artifact({"code": body}), Label("artifact", key, seconds=0.002))

    obtained = cache.obtain(key, produce)
    number += 1
    wrong += bytes(obtained.entry.payload("code")) != body
    if not every and chance.random() < 0.3:
        directory.remove(key)
    if wrong or number % 5 == 0:
        os.write(log, b"%d %d\\n" % (5 if not wrong else 1, wrong))
        wrong = 0
tiers = cache.statistics.totals.tiers
print(json.dumps({"made": number, "tiers": tiers}))
"""


class FaultyProxy(RawServer):
    """Passes on what comes, now and then not as it came."""

    def __init__(self, target: int, seed: int) -> None:
        self._target = target
        self._chance = random.Random(seed)
        self.is_faulty = True
        self.faults: Counter[str] = Counter()
        super().__init__(self._talk)

    def _talk(self, near: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._target), 1.0) as far:
            back = threading.Thread(target=self._back, args=(far, near), daemon=True)
            back.start()
            while data := near.recv(1 << 16):
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)
            back.join(5)

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                fault, changed = self._changed(data)
                self.faults[fault] += 1
                near.sendall(changed)
                if fault == "cut":
                    break
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)

    def _changed(self, data: bytes) -> tuple[str, bytes]:
        number = self._chance.randrange(60) if self.is_faulty else 99
        place = self._chance.randrange(len(data))
        if number == 0:
            time.sleep(0.8)  # longer than the timeout
            return "late", data
        if number == 1:
            time.sleep(0.1)
            return "slow", data
        if number in (2, 3):
            return "cut", data[:place]
        if number in (4, 5):
            flipped = bytes([data[place] ^ (1 << self._chance.randrange(8))])
            return "flipped", data[:place] + flipped + data[place + 1 :]
        if number == 6:
            return "doubled", data + data
        if number == 7:
            return "nonsense", self._chance.randbytes(40)
        return "passed", data


@dataclass
class Soak:
    """One run: what to do to whom, and what came of it."""

    folder: Path
    seconds: float
    processes: int = 3
    keys: int = 300
    results: int = 0
    wrong: int = 0
    killed: int = 0
    forged: int = 0
    refused: int = 0
    after: dict[str, int] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Everything at once for so long, then everything in peace."""
        with redis_at(self.folder) as redis, redis_at(self.folder) as archive:
            self._fill(archive)
            with FaultyProxy(redis.port, 23) as proxy:
                assert isinstance(proxy, FaultyProxy)
                self._rage(redis, proxy, archive)
                proxy.is_faulty = False
                self._check_peace(proxy, archive)
                self.events.update({f"answer {name}": n for name, n in proxy.faults.items()})
        for line in (self.folder / "results").read_text().split("\n"):
            number, _, wrong = line.partition(" ")
            self.results += int(number or 0)
            self.wrong += int(wrong or 0)

    def _fill(self, archive: Server) -> None:
        """Some entries in the Redis that may only be read."""
        settings = Settings.from_environment({"WHORL_SIGNING_KEY": SECRET})
        address = Address.parse(f"redis://127.0.0.1:{archive.port}/0")
        store = store_of(address, Keyring.from_settings(settings))
        for n in range(0, self.keys, 10):
            entry = encode(Artifact({"code": body_of(n)}), Label("artifact", key_of_number(n)))
            store.put(entry)
        assert store.flush(20)

    def _start(self, machine: str, proxy: FaultyProxy, archive: Server, how: str, log: str) -> Work:
        near = f"redis://127.0.0.1:{proxy.port}/0?timeout=500ms&lease=2"
        behind = f"redis://127.0.0.1:{archive.port}/0?readonly"
        env = {
            **os.environ,
            "WHORL_CACHE_DIR": str(self.folder / machine),
            "WHORL_REMOTE": f"{near} {behind}",
            "WHORL_SIGNING_KEY": SECRET,
            "WHORL_KEYS_DIR": str(self.folder / "keys"),
        }
        command = [sys.executable, "-c", WORK, str(self.folder / log), how]
        command += [str(self.folder / "stop"), str(self.keys)]
        return subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def _rage(self, redis: Server, proxy: FaultyProxy, archive: Server) -> None:
        machines = [m for m in ("one", "two") for _ in range(self.processes)]
        works = [self._start(m, proxy, archive, "some", "results") for m in machines]
        while not (self.folder / "results").exists():  # the first process is at work
            time.sleep(0.02)
        chance, until = random.Random(7), time.monotonic() + self.seconds
        forger = threading.Thread(target=self._forge, args=(redis, until), daemon=True)
        forger.start()
        while time.monotonic() < until or not (self.forged and self.killed):
            time.sleep(chance.uniform(0.2, 0.8))
            match chance.randrange(8):
                case 0 | 1 | 2:
                    place = chance.randrange(len(works))
                    works[place].kill()
                    _end(works[place])
                    works[place] = self._start(machines[place], proxy, archive, "some", "results")
                    self.killed += 1
                case 3:
                    redis.signal(signal.SIGSTOP)
                    time.sleep(0.7)
                    redis.signal(signal.SIGCONT)
                    self.events["stopped for a while"] += 1
                case 4:
                    redis.kill()
                    time.sleep(0.3)
                    redis.start()
                    self.events["killed and started empty"] += 1
                case 5:
                    self._order(redis, "CONFIG SET maxmemory 1")
                    time.sleep(0.4)
                    self._order(redis, "CONFIG SET maxmemory 0")
                    self.events["full"] += 1
                case 6:
                    proxy.drop_connections()
                    self.events["connections dropped"] += 1
        (self.folder / "stop").touch()
        for work in works:
            with contextlib.suppress(subprocess.TimeoutExpired):
                work.wait(30)
            _end(work)
        forger.join(20)
        redis.signal(signal.SIGCONT)
        self._order(redis, "CONFIG SET maxmemory 0")

    def _order(self, redis: Server, line: str) -> None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", redis.port), 1.0) as connection,
        ):
            connection.settimeout(1.0)
            connection.sendall(f"{line}\r\n".encode())
            connection.recv(100)

    def _forge(self, redis: Server, until: float) -> None:
        """Overwrite entries with others that nobody should take for them."""
        chance = random.Random(11)
        engine = RedisEngine(Address.parse(f"redis://127.0.0.1:{redis.port}/0?timeout=500ms"))
        stranger = Sealer("whorl", {OTHER.id: OTHER}, OTHER)
        while time.monotonic() < until or not self.forged:
            try:
                names = [name for name in engine.names() if place_of(name) is not None]
                for name in chance.sample(names, min(len(names), 20)):
                    forged = self._forgery(chance, engine, name, names, stranger)
                    engine.put(name, forged, None)
                    self.forged += 1
            except EngineTrouble:
                pass
            time.sleep(0.05)
        engine.close()

    def _forgery(
        self, chance: random.Random, engine: RedisEngine, name: str, names: list[str], other: Sealer
    ) -> bytes:
        data = engine.get(name, 1 << 20) or b"x"
        place = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            case 1:
                return data[:place]
            case 2:
                return engine.get(chance.choice(names), 1 << 20) or b""
        found = place_of(name)
        assert found is not None
        label = Label("artifact", found.key, found.under)
        return other.seal(encode(Artifact({"code": b"forged"}), label))

    def _check_peace(self, proxy: FaultyProxy, archive: Server) -> None:
        """Two more machines obtain every key; the second makes nothing that the first has made."""
        proxy.drop_connections()
        for machine in ("three", "four"):
            work = self._start(machine, proxy, archive, "every", "results")
            out, err = work.communicate(timeout=120)
            assert work.returncode == 0, err
            tiers = json.loads(out)["tiers"]
            hits = sum(row.get("hits", 0) for row in tiers.values())
            self.after[machine] = int(hits)
            self.refused += int(
                sum(n for row in tiers.values() for what, n in row.items() if "refused" in what)
            )


Work = subprocess.Popen[str]


def _end(work: Work) -> None:
    """Have done with a process; one that fails by itself is an error."""
    if work.poll() is None:
        work.kill()
    _, err = work.communicate(timeout=20)
    assert work.returncode in (0, -signal.SIGKILL), err


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        soak = Soak(Path(place), options.seconds)
        soak.run()
    print(f"{soak.results:,} results, {soak.wrong} wrong")
    print(f"{soak.killed} processes killed, {soak.forged:,} entries forged")
    print(f"found by two machines afterwards, of {soak.keys}: {soak.after}")
    print(f"refused by these two: {soak.refused}")
    for what, number in sorted(soak.events.items()):
        print(f"  {what}: {number:,}")
    sys.exit(1 if soak.wrong else 0)


if __name__ == "__main__":
    main()
