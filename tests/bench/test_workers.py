"""Programs that another process holds take their turns among the others, or say why not."""

from __future__ import annotations

import gc
import importlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"

SCRIPT = """
import os, signal, sys, threading, time
import workers

class Program:
    def __init__(self, name, size):
        self.name, self.size, self.calls = name, size, 0
        if name == "unknown":
            raise LookupError(name)
        if name == "restless":
            threading.Thread(target=self.spin, daemon=True).start()

    def spin(self):
        while True:
            pass

    def call(self):
        self.calls += 1
        if self.name == "slow":
            time.sleep(0.01)
        if self.name == "raising" and self.calls > 1:
            raise ZeroDivisionError
        if self.name == "dying" and self.calls > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "endless" and self.calls > 1:
            time.sleep(60)

    def result(self):
        return [sys.argv[1], self.size, self.calls]

print("a greeting that is no answer")
workers.serve(Program)
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("PYTHONPATH", str(BENCH))
    yield importlib.import_module("workers"), importlib.import_module("harness")
    gc.unfreeze()  # rounds freeze what is alive


@pytest.fixture
def worker(bench: tuple[Any, Any], tmp_path: Path) -> Iterator[Any]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with bench[0].started(script, ["peer"]) as started:
        yield started
    assert started.process.returncode is not None


def test_a_program_is_loaded_with_its_size_and_called_as_often_as_asked(worker: Any) -> None:
    worker.ask("load", "quick", 7)
    assert worker.ask("time", "quick", 3) >= 0.0
    assert worker.ask("result", "quick") == ["peer", 7, 4]


def test_the_seconds_are_those_of_the_calls_alone(worker: Any) -> None:
    worker.ask("load", "slow", 1)
    assert worker.task("slow").perform(3) >= 0.03


def test_what_a_program_raises_is_named_and_the_others_stay(bench: Any, worker: Any) -> None:
    with pytest.raises(bench[1].NoAnswer, match="LookupError"):
        worker.ask("load", "unknown", 1)
    worker.ask("load", "quick", 1)
    assert worker.ask("result", "quick") == ["peer", 1, 1]


def test_a_task_that_fails_elsewhere_leaves_the_rounds_under_its_name(
    bench: Any, worker: Any
) -> None:
    harness = bench[1]
    for program in ("slow", "raising"):
        worker.ask("load", program, 1)
    tasks = {"here": lambda: None, **{name: worker.task(name) for name in ("slow", "raising")}}
    endings = harness.alternate(tasks, harness.QUICK, trusted=True)
    assert endings["raising"] == harness.Failed("ZeroDivisionError")
    assert min(endings["slow"].samples) >= 0.01
    assert len(endings["here"].samples) == harness.QUICK.rounds


def test_a_worker_that_dies_is_named_by_its_signal_for_all_its_programs(
    bench: Any, worker: Any
) -> None:
    harness = bench[1]
    for program in ("dying", "quick"):
        worker.ask("load", program, 1)
    tasks = {name: worker.task(name) for name in ("dying", "quick")}
    endings = harness.alternate(tasks, harness.QUICK, trusted=True)
    assert set(endings.values()) == {harness.Failed(signal.SIGKILL.name)}


def test_a_worker_that_does_not_answer_is_ended(bench: Any, worker: Any) -> None:
    hasty = bench[0].Worker(worker.process, worker.connection, timeout_seconds=0.3)
    worker.ask("load", "endless", 1)
    with pytest.raises(bench[1].NoAnswer, match=r"timeout > 0\.3 s"):
        hasty.ask("time", "endless", 1)
    with pytest.raises(bench[1].NoAnswer, match="SIGKILL"):
        worker.ask("used")


def test_a_worker_that_rests_is_told_from_one_that_spins(worker: Any) -> None:
    worker.ask("load", "quick", 1)
    assert worker.idles()
    worker.ask("load", "restless", 1)
    assert not worker.idles()
