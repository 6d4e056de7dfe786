"""`whorl record` and `whorl warm --calls`, on a script that is started twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run

SCRIPT = """
import sys
import numpy as np
import whorl


@whorl.kernel
def total(x):
    sum = 0.0
    for i in range(x.size):
        sum += x[i]
    return sum


if __name__ == "__main__":
    print(total(np.ones(5)), total(np.ones(5, np.float32)))
    sys.exit(len(sys.argv) - 1)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recorded_script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_one_run_calls_is_compiled_elsewhere_without_running_it(here: Path, run: Run) -> None:
    one, two = ("--cache-dir", here / "one"), ("--cache-dir", here / "two")
    recorded = run("record", *one, "-o", "calls.jsonl", "run/recorded_script.py", "more")
    assert recorded.code == 1  # the script's own
    assert "2 calls, 2 of this run" in recorded.err
    again = run("record", *one, "-a", "-o", "calls.jsonl", "--json", "run/recorded_script.py")
    assert (again.json["calls"], again.json["recorded"], again.code) == (2, 2, 0)
    warmed = run("warm", *two, "--calls", "calls.jsonl", "--json")
    rows: list[dict[str, Any]] = warmed.json["calls"]
    assert [row["outcome"] for row in rows] == ["compiled", "compiled"], rows
    env = {**os.environ, "WHORL_CACHE_DIR": str(here / "two"), "WHORL_REQUIRE_HIT": "1"}
    done = subprocess.run(
        [sys.executable, "run/recorded_script.py"], env=env, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == "5.0 5.0\n"


def test_a_list_that_is_none_is_wrong_usage(here: Path, run: Run) -> None:
    Path("bad.jsonl").write_text("{}\n")
    assert "bad.jsonl:1: it is no recorded call" in run("warm", "--calls", "bad.jsonl").err
    assert run("warm", "--calls", "bad.jsonl").code == 2
    assert run("warm", "--calls", "missing.jsonl").code == 2
    assert run("warm", "--calls", "bad.jsonl", "run/recorded_script.py").code == 2
    assert run("record", "-a", "-o", "bad.jsonl", "run/recorded_script.py").code == 1
    assert run("record", "missing.py").code == 2
    assert Path("bad.jsonl").read_text() == "{}\n"


def test_an_empty_list_is_done_at_once(here: Path, run: Run) -> None:
    Path("empty.jsonl").write_text("# nothing\n")
    assert run("warm", "--calls", "empty.jsonl", "--json").json["calls"] == []


def test_a_call_that_cannot_be_compiled_is_said(here: Path, run: Run) -> None:
    Path("calls.jsonl").write_text('{"whorl_call": 1, "kernel": "nowhere:f"}\n')
    failed = run("warm", "--calls", "calls.jsonl")
    assert failed.code == 1
    assert "nowhere:f: nowhere cannot be imported" in failed.err
