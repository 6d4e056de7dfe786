"""The demo: what it says once is not said again by every process that it starts."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from examples import demo
from whorl.launch import runtime


def test_without_a_runtime_the_demo_says_so_once_and_its_processes_want_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    threads: list[str] = []

    def started(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        threads.append(options["env"]["WHORL_NUM_THREADS"])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(subprocess, "run", started)
    monkeypatch.setattr(runtime, "_NAMES", {})
    runtime.find_runtime.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "whorl.kernels"):
            demo.main()
    finally:
        runtime.find_runtime.cache_clear()
    assert threads == ["1"] * 5
    assert len(caplog.records) == 1
    assert "OpenMP" in caplog.records[0].getMessage()
