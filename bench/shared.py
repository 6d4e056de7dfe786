"""Shared caches: what is found far beside what is compiled, for each engine and distance.

Each sample is a new process on a new machine, which is an empty directory. The figure is the time
of its first call: import, start and exit do not count. `delay.py` makes the distance.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import harness
from delay import DelayingProxy
from harness import SUBJECT, Failed, Failure, Goal, NotInstalled, Outcome, Result, Results, Timed

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the servers of the tests are started here too
from tests.processes.servers import nginx_at, redis_at, seaweed_at  # noqa: E402

MILLISECONDS = (0, 1, 20)
LOCAL, COMPILED = "found in the directory", "compiled, no shared cache"
FAR = MILLISECONDS[-1]
FOUND, MISSED, WAITED, PEERS = "found", "missed", "waited", "peers"
REDIS_PY, SCCACHE, CC = "redis-py, one GET", "sccache, a hit", "cc, compiled"
SECRET = "a secret of this benchmark"

PROGRAM = """
import json, os, sys, threading, time
import numpy as np
import whorl

waits = []
if os.environ.get("BENCH_WAITS"):
    from whorl.remote.server import Server

    ask = Server.ask

    def timed(self, *arguments, **options):
        begun = time.perf_counter()
        try:
            return ask(self, *arguments, **options)
        finally:
            if threading.current_thread() is threading.main_thread():
                waits.append(time.perf_counter() - begun)

    Server.ask = timed

@whorl.kernel
def relax(u, out):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

u, out = np.ones((8, 8)), np.zeros((8, 8))
begun = time.perf_counter()
relax(u, out)
seconds = time.perf_counter() - begun
assert out[1, 1] == 1.0
print(json.dumps([seconds, relax.stats().get("compiled", 0), sum(waits)]))
"""
GET = """
import sys, time
begun = time.perf_counter()
import redis
value = redis.Redis(port=int(sys.argv[1])).get("blob")
print(time.perf_counter() - begun)
assert len(value) == 20_000
"""


@dataclass(frozen=True)
class Engine:
    """A server that runs, and how its URL is written for a port."""

    port: int
    url: Callable[[int], str]


# -- Servers -----------------------------------------------------------------------------------


def _redis(folder: Path, stack: ExitStack) -> Engine:
    server = stack.enter_context(redis_at(folder))
    return Engine(server.port, lambda port: f"redis://127.0.0.1:{port}/0")


def _nginx(folder: Path, stack: ExitStack) -> Engine:
    server = stack.enter_context(nginx_at(folder))
    return Engine(server.port, lambda port: f"http://127.0.0.1:{port}/cache")


def _seaweed(folder: Path, stack: ExitStack) -> Engine:
    import obstore  # noqa: F401  # without it there is no client

    server = stack.enter_context(seaweed_at(folder))
    bucket = f"http://127.0.0.1:{server.port}/whorl"
    for request in (
        urllib.request.Request(bucket, method="PUT"),
        urllib.request.Request(f"{bucket}/x", b"x", method="PUT"),
    ):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError):
                urllib.request.urlopen(request, timeout=10).close()
                break
            time.sleep(0.3)
    return Engine(server.port, lambda port: f"s3://whorl/x?endpoint=http://127.0.0.1:{port}")


ENGINES = {"Redis": _redis, "nginx": _nginx, "S3 (SeaweedFS)": _seaweed}


# -- Samples -----------------------------------------------------------------------------------


class Bench:
    """The servers, and machines that are used once."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._machines = count()
        self._namespaces = count()
        self.engines: dict[str, Engine | Failure] = {}
        self.proxies: dict[tuple[str, int], DelayingProxy] = {}
        (folder / "relax.py").write_text(PROGRAM)
        for name, start in ENGINES.items():
            home = folder / name.partition(" ")[0]
            home.mkdir()
            try:
                engine = start(home, stack)
            except (unittest.SkipTest, ImportError):
                self.engines[name] = NotInstalled()
                continue
            self.engines[name] = engine
            for ms in MILLISECONDS:
                proxy = stack.enter_context(DelayingProxy(engine.port, ms / 1000))
                self.proxies[name, ms] = proxy

    def url(self, engine: str, ms: int, options: str) -> str:
        found = self.engines[engine]
        assert isinstance(found, Engine)
        url = found.url(self.proxies[engine, ms].port)
        return f"{url}{'&' if '?' in url else '?'}{options}"

    def namespace(self) -> str:
        return f"n{next(self._namespaces)}"

    def run(
        self, remote: str = "", machine: Path | None = None, waits: str = ""
    ) -> tuple[float, int]:
        """Seconds of the first call of a new process, and how often it compiled.

        With `waits`: the seconds in which that call waited for servers.
        """
        machine = machine or self._folder / f"machine{next(self._machines)}"
        env = {
            **os.environ,
            "WHORL_CACHE_DIR": str(machine),
            "WHORL_REMOTE": remote,
            "BENCH_WAITS": waits,
            "WHORL_SIGNING_KEY": SECRET,
            "WHORL_KEYS_DIR": str(self._folder / "keys"),
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        command = [sys.executable, str(self._folder / "relax.py")]
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        if done.stderr:
            raise RuntimeError(f"it warned: {done.stderr[-500:]}")
        seconds, compiled, waited = json.loads(done.stdout)
        return waited if waits else seconds, compiled


Sample = Callable[[], float]


def samples_of(bench: Bench, keys: Sequence[str]) -> dict[tuple[str, str, str], Sample]:
    """What to time: family, case, contender."""
    samples: dict[tuple[str, str, str], Sample] = {}
    directory = bench._folder / "warm"
    bench.run(machine=directory)

    def local() -> float:
        seconds, compiled = bench.run(machine=directory)
        assert not compiled
        return seconds

    def plain() -> float:
        return bench.run()[0]

    for key in (FOUND, MISSED):
        if key in keys:
            samples[key, COMPILED, SUBJECT] = plain
    if FOUND in keys:
        samples[FOUND, LOCAL, SUBJECT] = local
    for name, engine in bench.engines.items():
        if not isinstance(engine, Engine):
            continue
        full = bench.namespace()
        bench.run(bench.url(name, 0, f"namespace={full}"))
        for ms in MILLISECONDS:

            def found(name: str = name, ms: int = ms, full: str = full) -> float:
                seconds, compiled = bench.run(bench.url(name, ms, f"namespace={full}"))
                assert not compiled
                return seconds

            def missed(name: str = name, ms: int = ms) -> float:
                seconds, compiled = bench.run(bench.url(name, ms, f"namespace={bench.namespace()}"))
                assert compiled == 1
                return seconds

            for key, sample in ((FOUND, found), (MISSED, missed)):
                if key in keys:
                    samples[key, case_of(name, ms), SUBJECT] = sample
        if WAITED in keys:
            for ms in (0, FAR):
                for what, space in (("hit", lambda full=full: full), ("miss", bench.namespace)):
                    samples[WAITED, wait_of(name, what, ms), SUBJECT] = waiting(
                        bench, name, ms, space
                    )
    return samples


def waiting(bench: Bench, name: str, ms: int, namespace: Callable[[], str]) -> Sample:
    """Seconds in which a call waits for a server."""
    return lambda: bench.run(bench.url(name, ms, f"namespace={namespace()}"), waits="1")[0]


def wait_of(engine: str, what: str, ms: int) -> str:
    return f"{engine}, {ms} ms away, a {what}"


def round_trips(near: Outcome, far: Outcome) -> float | None:
    """How many round trips the distance adds: the median over rounds."""
    match near, far:
        case Timed(here), Timed(there):
            pairs = zip(here, there, strict=True)
            return statistics.median((b - a) * 1000 / FAR for a, b in pairs)
    return None


def case_of(engine: str, ms: int) -> str:
    return f"{engine}, {ms} ms away"


def measured(
    samples: dict[tuple[str, str, str], Sample], rounds: int
) -> dict[tuple[str, str, str], Outcome]:
    """Every sample once in each round, in turn."""
    seconds: dict[tuple[str, str, str], list[float]] = {key: [] for key in samples}
    failures: dict[tuple[str, str, str], Failure] = {}
    for _ in range(rounds):
        for key, sample in samples.items():
            if key in failures:
                continue
            try:
                seconds[key].append(sample())
            except Exception as error:  # whatever it is, the others go on
                print(f"{key}: {error}", file=sys.stderr)
                failures[key] = Failed(type(error).__name__)
    return {key: failures.get(key) or Timed(tuple(seconds[key])) for key in samples}


# -- Peers -------------------------------------------------------------------------------------


@contextmanager
def sccache_at(folder: Path, redis_port: int) -> Iterator[Callable[[], float]]:
    """Compiles of one C file through sccache with a Redis: seconds of a hit."""
    program = shutil.which("sccache")
    if program is None or shutil.which("cc") is None:
        raise unittest.SkipTest("sccache or cc is not installed")
    source = folder / "relax.c"
    source.write_text(C_SOURCE)
    env = {
        **os.environ,
        "SCCACHE_REDIS_ENDPOINT": f"tcp://127.0.0.1:{redis_port}",
        "SCCACHE_SERVER_PORT": str(40_000 + os.getpid() % 10_000),
        "SCCACHE_DIR": str(folder / "none"),
    }

    def compile_c() -> float:
        begun = time.perf_counter()
        subprocess.run(
            [program, "cc", "-O3", "-march=native", "-c", str(source), "-o", str(folder / "r.o")],
            env=env, check=True, capture_output=True,
        )  # fmt: skip
        return time.perf_counter() - begun

    subprocess.run([program, "--start-server"], env=env, check=True, capture_output=True)
    try:
        compile_c()
        yield compile_c
    finally:
        subprocess.run([program, "--stop-server"], env=env, check=False, capture_output=True)


C_SOURCE = """
void relax(const double *u, double *out, long n, long m) {
  for (long i = 1; i < n - 1; i++)
    for (long j = 1; j < m - 1; j++)
      out[i * m + j] = 0.25 * (u[(i - 1) * m + j] + u[(i + 1) * m + j]
                               + u[i * m + j - 1] + u[i * m + j + 1]);
}
"""


def peers_of(bench: Bench, stack: ExitStack, folder: Path) -> dict[tuple[str, str, str], Sample]:
    """The same distance, in the ways of others: a blob by redis-py, an object file by sccache."""
    samples: dict[tuple[str, str, str], Sample] = {}
    engine = bench.engines.get("Redis")
    if not isinstance(engine, Engine):
        return {}
    try:
        import redis
    except ImportError:
        redis = None
    if redis is not None:
        redis.Redis(port=engine.port).set("blob", os.urandom(20_000))
    source = folder / "relax.c"
    for ms in MILLISECONDS:
        port = bench.proxies["Redis", ms].port
        case = f"Redis, {ms} ms away"
        if redis is not None:
            samples[PEERS, case, REDIS_PY] = lambda port=port: float(
                subprocess.run(
                    [sys.executable, "-c", GET, str(port)],
                    check=True, capture_output=True, text=True,
                ).stdout
            )  # fmt: skip
        with suppress(unittest.SkipTest, subprocess.CalledProcessError):
            home = folder / f"sccache{ms}"
            home.mkdir()
            samples[PEERS, case, SCCACHE] = _sccache_sample(home, port)
        samples[PEERS, case, SUBJECT] = _found_again(bench, ms)
    if shutil.which("cc") is not None:
        source.write_text(C_SOURCE)
        samples[PEERS, "Redis, 0 ms away", CC] = lambda: _seconds_of(
            ["cc", "-O3", "-march=native", "-c", str(source), "-o", str(folder / "plain.o")]
        )
    return samples


def _sccache_sample(home: Path, port: int) -> Sample:
    """One server at a time: they share nothing but the Redis."""
    if shutil.which("sccache") is None or shutil.which("cc") is None:
        raise unittest.SkipTest("sccache is not installed")

    def sample() -> float:
        with sccache_at(home, port) as compile_c:
            return compile_c()

    return sample


def _found_again(bench: Bench, ms: int) -> Sample:
    full = bench.namespace()
    bench.run(bench.url("Redis", 0, f"namespace={full}"))
    return lambda: bench.run(bench.url("Redis", ms, f"namespace={full}"))[0]


def _seconds_of(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun


# -- Goals -------------------------------------------------------------------------------------

TITLES = {
    FOUND: "The first call of a process on a new machine, found in a shared cache, ms",
    MISSED: "The same, found nowhere: compiled, and uploaded behind the program, ms",
    WAITED: "How long the first call waits for a server, with connecting and its client, ms",
    PEERS: "A hit in Redis, beside the ways of others (see README), ms",
}


def goals(results: Results) -> Iterator[Goal]:
    """How many round trips a hit and a miss wait for, by the time that distance adds."""
    for name in ENGINES:
        for what, wanted in (("hit", 2), ("miss", 3)):
            near, far = (results.find(WAITED, wait_of(name, what, ms)) for ms in (0, FAR))
            if near is not None and far is not None:
                text = f"{name}: round trips that a {what} waits for"
                trips = round_trips(near.outcomes[SUBJECT], far.outcomes[SUBJECT])
                yield Goal(text, "at most", wanted + NOISE, "", trips, far.failure)
    compiled, found = results.find(FOUND, COMPILED), results.find(FOUND, case_of("Redis", 1))
    if compiled and found:
        times_less = harness.ratio(compiled.outcomes[SUBJECT], found.outcomes[SUBJECT])
        text = "Compiled, beside found in a Redis 1 ms away"
        yield Goal(text, "at least", 3, "x", times_less, found.failure)


NOISE = 0.5  # round trips: two processes are compared, on a machine that does other things


# -- The command -------------------------------------------------------------------------------


def main() -> None:
    options = harness.arguments(
        __file__,
        "Shared caches on real servers: found far beside compiled.",
        (FOUND, MISSED, WAITED, PEERS),
        "three rounds: rough figures in a minute",
    )
    run = harness.Run(options, ["whorl", "redis", "obstore", "sccache"])
    rounds = 3 if options.quick else 11
    results = Results()
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        run.begins("servers start")
        bench = Bench(folder, stack)
        samples = samples_of(bench, options.cases)
        if PEERS in options.cases:
            samples |= peers_of(bench, stack, folder)
        run.begins(f"{len(samples)} samples, {rounds} rounds")
        outcomes = measured(samples, rounds)
    cases = dict.fromkeys((family, case) for family, case, _ in samples)
    for family, case in sorted(cases, key=lambda row: list(TITLES).index(row[0])):
        row = {name: outcomes[f, c, name] for f, c, name in samples if (f, c) == (family, case)}
        results.append(Result(family, TITLES[family], "ms", case, 1, row))
    names = [
        name
        for name in (SUBJECT, REDIS_PY, SCCACHE, CC)
        if any(name in result.outcomes for result in results)
    ]
    tables = [harness.results_table(results, names)]
    missing = [name for name, engine in bench.engines.items() if not isinstance(engine, Engine)]
    if missing:
        tables.append(f"Left out, not installed: {', '.join(missing)}.")
    run.publish("Shared caches", results, list(goals(results)), tables, names)


if __name__ == "__main__":
    main()
