"""Recorded calls are compiled by Dask workers and by MPI ranks, where these are installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes.programs import ROOT
from whorl.fleet import read_calls

LIST = """\
{"whorl_call":1,"kernel":"examples.programs.histogram:histogram","args":[0,1],\
"values":[["array","<f8",[2],"C","rw",{}],["array","<i8",[2],"C","rw",{}]]}
"""


def warmed(tmp_path: Path, *command: str) -> str:
    calls = tmp_path / "calls.jsonl"
    calls.write_text(LIST)
    assert len(read_calls(calls)) == 1
    env = {**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(calls)], cwd=ROOT, env=env, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs the package distributed"
)
def test_workers_of_dask_compile(tmp_path: Path) -> None:
    assert ": compiled by " in warmed(tmp_path, sys.executable, "examples/warm_dask.py")
    assert ": found by " in warmed(tmp_path, sys.executable, "examples/warm_dask.py")


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpiexec") is None,
    reason="needs the package mpi4py and mpiexec",
)
def test_ranks_of_mpi_compile(tmp_path: Path) -> None:
    options = ["--allow-run-as-root", "--oversubscribe"] if os.getuid() == 0 else []
    mpi = ["mpiexec", *options, "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    assert ": compiled by " in warmed(tmp_path, *mpi, "examples/warm_mpi.py")
