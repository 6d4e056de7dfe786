"""Threads: as many as there are said to be, and one where there is no runtime for more."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import whorl
from tests.kernels.test_language import parallel
from whorl.launch import runtime


def test_without_a_runtime_loops_are_serial_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = whorl.configure()
    runtime.find_runtime.cache_clear()
    monkeypatch.setattr(runtime, "_NAMES", {})
    x = np.random.default_rng(0).random(1000)
    try:
        with caplog.at_level(logging.WARNING, "whorl.kernels"):
            whorl.configure(threads=4)
            for _ in range(6):
                out, bins = np.zeros_like(x), np.zeros(4, np.int64)
                total, low = parallel(x, out, bins)
        assert total == pytest.approx(2 * x.sum())
        assert low == 2 * x.min()
        assert bins.sum() == 1000
        said = [record for record in caplog.records if "OpenMP" in record.getMessage()]
        assert len(said) == 1
    finally:
        runtime.find_runtime.cache_clear()
        whorl.settings.restore(before)


def test_one_thread_needs_no_runtime_and_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = whorl.configure()
    runtime.find_runtime.cache_clear()
    monkeypatch.setattr(runtime, "_NAMES", {})
    x = np.ones(10)
    try:
        with caplog.at_level(logging.WARNING, "whorl.kernels"):
            whorl.configure(threads=1)
            parallel(x, np.zeros_like(x), np.zeros(4, np.int64))
        assert not caplog.records
    finally:
        runtime.find_runtime.cache_clear()
        whorl.settings.restore(before)


@pytest.mark.parametrize("threads", [0, -1, "many", 1.5, 10**9])
def test_a_number_of_threads_that_is_none_is_refused(threads: object) -> None:
    with pytest.raises(whorl.BadSetting, match="threads"):
        whorl.configure(threads=threads)  # type: ignore[arg-type] # on purpose


LOADED = """
import os
from whorl.launch.runtime import find_runtime

print(find_runtime().name, os.environ.get("GOMP_SPINCOUNT"))
"""


@pytest.mark.parametrize(
    ("said", "spins", "left"),
    [
        ({}, "5000", "None"),
        ({"GOMP_SPINCOUNT": "7"}, "7", "7"),
        ({"OMP_WAIT_POLICY": "passive"}, "0", "None"),
    ],
)
def test_waiting_threads_soon_sleep_unless_somebody_wants_it_otherwise(
    said: dict[str, str], spins: str, left: str
) -> None:
    runtime_found = runtime.find_runtime()
    if runtime_found is None or "gomp" not in runtime_found.name:
        pytest.skip("there is no runtime of GNU's")
    quiet = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    others = {name: text for name, text in os.environ.items() if name not in quiet}
    run = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={**others, **said, "OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"GOMP_SPINCOUNT = '{spins}'" in run.stderr
    assert run.stdout.split() == [runtime_found.name, left]


LIMITED = """
import os, re, resource, sys
import numpy as np
import whorl


@whorl.kernel
def counted(a):
    for i in whorl.prange(a.size):
        a[i] = a[i] + i


whorl.configure(threads=1)
a = np.zeros(10_000)
for _ in range(6):
    counted(a)
whorl.configure(threads=8)
if sys.argv[1] == "memory":
    size = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
    resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), size + (20 << 20)))
else:
    os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
for _ in range(6):
    counted(a)
print((a == 12 * np.arange(10_000)).all())
"""


@pytest.mark.parametrize("limit", ["memory", "processes"])
def test_where_threads_cannot_be_started_loops_run_on_fewer_and_that_is_said_once(
    tmp_path: Path, limit: str
) -> None:
    found = runtime.find_runtime()
    if sys.platform != "linux" or found is None:
        pytest.skip("it is GNU's runtime, on Linux, that ends the process")
    if limit == "processes" and os.getuid() != 0:
        pytest.skip("a user may have processes elsewhere; only root can become another one")
    file = tmp_path / "limited.py"
    file.write_text(LIMITED)
    run = subprocess.run(
        [sys.executable, str(file), limit],
        env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "True\n"), run.stderr
    assert run.stderr.count("of 8 threads: more cannot be started") == 1
