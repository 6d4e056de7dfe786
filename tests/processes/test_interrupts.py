"""Signals during a launch: Ctrl-C ends it, other handlers run, and nothing is lost or freed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
import os, signal, subprocess, sys, weakref
import numpy as np
import whorl

whorl.configure(threads=2)


@whorl.kernel
def parallel(a, n):
    for i in whorl.prange(a.size):
        x = a[i]
        for j in range(n):
            x = x * 0.999999 + 1e-9 * j
        a[i] = x


@whorl.kernel
def uneven(a, n):
    for i in whorl.prange(2):
        x = a[i]
        if i == 1:
            for j in range(n):
                x = x * 0.999999 + 1e-9 * j
        a[i] = x


@whorl.kernel
def serial(a, n):
    x = 0.0
    for j in range(n):
        x = x * 0.999999 + 1e-9 * j
    a[0] = x


@whorl.kernel
def over_and_over(a, n):
    for step in range(n):
        for i in range(a.size):
            a[i] += 1.0


@whorl.kernel
def by_twos(a, n):
    x = 0.0
    for j in range(0, n, 2):
        x = x * 0.999999 + 1e-9 * j
    a[0] = x


@whorl.func
def endless(a):
    while a[0] >= 0.0:
        a[1] += 1.0


@whorl.kernel
def called(a, n):
    for i in range(n):
        endless(a)


@whorl.kernel
def graph(flag, a, n):
    while whorl.graph.do_while(flag):
        for i in whorl.prange(a.size):
            a[i] += 1.0


@whorl.kernel(nogil=True)
def unlocked(a, n):
    endless(a)


@whorl.kernel
def reduced(a, n):
    s = 0.0
    for i in whorl.prange(n):
        s += np.sin(i * 1e-3)
    return s


class Model:
    def __init__(self):
        self.a = np.ones(1000)

    @whorl.kernel
    def run(self, n):
        for step in range(n):
            for i in range(self.a.size):
                self.a[i] = self.a[i] * 0.5 + 1.0


def soon(number, seconds=0.1):
    \"\"\"A signal from outside: during a launch no other thread of this process runs.\"\"\"
    subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -{number} {os.getpid()}"])
"""

INTERRUPTED = """
for name in sys.argv[1:]:
    kernel = globals()[name]
    given = (np.ones((), np.int32),) if name == "graph" else ()
    stops = (np.zeros((), np.int32),) if name == "graph" else ()
    few = np.full(2, -1.0) if name in ("called", "unlocked") else np.ones(2)
    for calls in (1, 6):  # launched by Python at first, and natively then
        for _ in range(calls):
            kernel(*stops, few.copy(), 1)
        soon("INT")
        try:
            kernel(*given, np.ones(2), 10**13)
        except KeyboardInterrupt:
            print(name, "is interrupted")
"""

CASES = ["parallel", "uneven", "serial", "over_and_over", "by_twos", "called", "graph", "unlocked",
         "reduced"]  # fmt: skip


def run(tmp_path: Path, text: str, *args: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(KERNELS + text)
    done = subprocess.run(
        [sys.executable, str(file), *args],
        env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_ctrl_c_ends_every_kind_of_loop(tmp_path: Path) -> None:
    expected = [f"{name} is interrupted" for name in CASES for _ in range(2)]
    assert run(tmp_path, INTERRUPTED, *CASES) == expected


HANDLED = """
seen = []
model = Model()
for _ in range(6):
    model.run(1)


def rebinding(number, frame):
    array = weakref.ref(model.a)
    model.a = None
    seen.append(array() is not None)


def raising(number, frame):
    raise TimeoutError("too late")


signal.signal(signal.SIGUSR1, rebinding)
signal.signal(signal.SIGALRM, raising)
soon("USR1")
signal.setitimer(signal.ITIMER_REAL, 0.5)
array = weakref.ref(model.a)
try:
    model.run(10**12)
except TimeoutError as error:
    print(error, seen, array())
"""


def test_handlers_run_during_a_launch_and_may_raise_or_replace_what_it_works_on(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, HANDLED) == ["too late [True] None"]
