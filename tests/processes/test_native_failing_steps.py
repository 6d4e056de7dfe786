"""Every step of the native set-up fails once, in processes of their own: results are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native
from tests.processes.programs import ROOT

pytestmark = needs_native


def run(tmp_path: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.processes.native_failing_steps",
         *arguments],
        cwd=ROOT, env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path)}, check=False,
        capture_output=True, text=True, timeout=1800 if "WHORL_TEST_LONG" in os.environ else 120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("program", ["called", "resumed"])
def test_whichever_step_fails_the_results_are_right_and_one_warning_names_the_cause(
    tmp_path: Path, program: str
) -> None:
    run(tmp_path, "failing", program)


@pytest.mark.parametrize("program", ["called", "resumed"])
def test_at_whichever_step_it_is_interrupted_the_caller_knows_and_goes_on(
    tmp_path: Path, program: str
) -> None:
    run(tmp_path, "interrupted", program)


def test_at_whichever_step_new_tables_are_interrupted_what_calls_find_is_kept_alive(
    tmp_path: Path,
) -> None:
    run(tmp_path, "showing")


def test_what_interrupts_dropping_tables_leaves_none_that_could_be_found(tmp_path: Path) -> None:
    run(tmp_path, "dropping")
