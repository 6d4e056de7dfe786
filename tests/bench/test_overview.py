"""Benchmarks are run one after the other, whatever becomes of each, and summed up in one table."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OVERVIEW = ROOT / "bench" / "overview.py"

BENCH = """\
import json, sys
from pathlib import Path
path = Path(sys.argv[sys.argv.index("--json") + 1])
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(json.dumps({record}))
"""


def goal(wanted: str, measured: float | None, verdict: str) -> dict[str, object]:
    return {
        "goal": f"a goal {wanted}",
        "wanted": wanted,
        "measured": measured,
        "failure": None,
        "verdict": verdict,
    }


def record(*goals: dict[str, object]) -> dict[str, object]:
    return {
        "machine": {"python": "CPython 3.11.7", "load_average": 0.5},
        "settings": {"mode": "full"},
        "cases": [1, 2, 3],
        "goals": list(goals),
    }


GOOD = record(goal("at most 2 x", 1.5, "met"), goal("exactly 20 times", 20.0, "met"))
MIXED = record(
    goal("at least 100 x", 3.25, "NOT met"), goal("at most 1.04858 MB", None, "not measured")
)


def overview(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, OVERVIEW, *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def benches(tmp_path: Path) -> Path:
    """A folder with benchmarks: two that work, one that raises, one that writes nothing."""
    for name, made in (("good", GOOD), ("mixed", MIXED)):
        (tmp_path / f"{name}.py").write_text(BENCH.format(record=repr(made)))
    (tmp_path / "broken.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "silent.py").write_text("print('nothing to say')\n")
    return tmp_path


def test_goals_of_all_benchmarks_are_in_one_table(benches: Path) -> None:
    ended = overview("good", "mixed", "--benches", benches)
    assert ended.returncode == 0, ended.stderr
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert "good (full, CPython 3.11.7, load 0.5)" in lines
    assert "a goal at most 2 x at most 2 x 1.50 x met" in lines
    assert "a goal exactly 20 times exactly 20 times 20 times met" in lines
    assert "a goal at least 100 x at least 100 x 3.25 x NOT met" in lines
    assert "a goal at most 1.04858 MB at most 1.05 MB - not measured" in lines
    assert "4 goals: 2 met, 1 NOT met, 1 not measured." in lines
    summary = json.loads((benches / "results" / "summary.json").read_text())
    assert summary["good"]["goals"] == GOOD["goals"]
    assert "cases" not in summary["good"]


def test_one_that_fails_is_named_and_does_not_stop_the_others(benches: Path) -> None:
    ended = overview("broken", "silent", "absent", "good", "--benches", benches)
    assert ended.returncode == 1
    assert "broken: it failed, exit status 3" in ended.stdout
    assert "silent: there is no record" in ended.stdout
    assert "absent: there is no absent.py" in ended.stdout
    assert "2 goals: 2 met" in ended.stdout
    assert "Without figures: broken, silent, absent." in ended.stdout


def test_what_an_earlier_run_has_recorded_does_not_count_as_measured_now(benches: Path) -> None:
    overview("good", "--benches", benches)
    old = benches / "results" / "good.json"
    os.utime(old, (1, 1))
    (benches / "good.py").write_text("pass\n")
    ended = overview("good", "--benches", benches)
    assert "good: it wrote no record" in ended.stdout


def test_a_quick_run_does_not_replace_the_records_of_a_full_one(benches: Path) -> None:
    overview("good", "--benches", benches)
    (benches / "good.py").write_text(BENCH.format(record=repr(MIXED)))
    overview("good", "--quick", "--benches", benches)
    results = benches / "results"
    assert json.loads((results / "good.json").read_text()) == GOOD
    assert json.loads((results / "quick" / "good.json").read_text()) == MIXED


def test_records_that_are_there_are_shown_without_running_anything(benches: Path) -> None:
    overview("good", "mixed", "--benches", benches)
    (benches / "results" / "torn.json").write_text("{")
    for script in benches.glob("*.py"):
        script.unlink()
    ended = overview("--show", "--benches", benches)
    assert "4 goals: 2 met, 1 NOT met, 1 not measured." in ended.stdout
    assert "torn: its record cannot be read" in ended.stdout


def test_a_record_without_goals_is_named_and_no_fault(benches: Path) -> None:
    (benches / "other.py").write_text(BENCH.format(record=repr({"edits": {}})))
    ended = overview("other", "good", "--benches", benches)
    assert ended.returncode == 0
    assert "other (its record has no goals)" in ended.stdout


def test_without_names_it_says_what_to_do() -> None:
    ended = overview()
    assert ended.returncode == 2
    assert "which benchmarks?" in ended.stderr


def test_the_makefile_names_every_benchmark() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (listed,) = (line for line in makefile.splitlines() if line.startswith("BENCHES :="))
    names = set(listed.partition(":=")[2].split())
    scripts = {
        path.stem
        for path in (ROOT / "bench").glob("*.py")
        if re.search(r"^(import|from) harness\b", path.read_text(), re.M)
        and "def main" in path.read_text()
    }
    assert names == scripts - {"overview"}
