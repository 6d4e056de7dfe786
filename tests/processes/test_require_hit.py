"""WHORL_REQUIRE_HIT=1: what is kept runs, what is not is an error, and nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.processes.programs import QUICK_IMPORTS, written

PROGRAM = """
import sys
import numpy as np
import whorl

{prelude}
SCALE = {scale}

@whorl.kernel
def scaled(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * SCALE
    return total

for _ in range(6):
    answer = scaled(np.arange(4.0))
print(answer, "llvmlite" in sys.modules, type(scaled).__call__ is not None)
"""


def run(folder: Path, *, scale: float, prelude: str = "", **variables: str) -> tuple[int, str, str]:
    """Run the program; what it prints and says."""
    script = (
        written(folder, {"solve.py": PROGRAM.format(scale=scale, prelude=prelude)}) / "solve.py"
    )
    environment = {
        **os.environ, **QUICK_IMPORTS, "WHORL_CACHE_DIR": str(folder / "cache"), **variables,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_a_kernel_that_is_kept_runs_without_a_compiler(tmp_path: Path) -> None:
    assert run(tmp_path, scale=2.0)[:2] == (0, "12.0 True True\n")
    code, out, err = run(tmp_path, scale=2.0, WHORL_REQUIRE_HIT="1")
    assert (code, out, err) == (0, "12.0 False True\n", "")


def test_an_edit_is_an_error_that_says_what_was_edited(tmp_path: Path) -> None:
    run(tmp_path, scale=2.0)
    code, out, err = run(tmp_path, scale=3.0, WHORL_REQUIRE_HIT="1")
    assert (code, out) == (1, "")
    assert "RequiredHit: solve.scaled is not in the cache" in err
    assert "global:solve.SCALE: 2.0 -> 3.0  (read at solve.py:" in err
    assert "whorl warm SCRIPT" in err


def test_an_empty_cache_is_an_error_and_stays_without_code(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, scale=2.0, WHORL_REQUIRE_HIT="1")
    assert code == 1
    assert "solve.scaled: miss, first compile" in err
    assert not list((tmp_path / "cache").rglob("v1/groups/**/*"))


def test_configure_asks_for_it_as_well(tmp_path: Path) -> None:
    prelude = "whorl.configure(require_hit=True)"
    code, _, err = run(tmp_path, scale=2.0, prelude=prelude)
    assert (code, "RequiredHit" in err) == (1, True)


def test_without_the_launcher_in_the_cache_kernels_run_all_the_same(tmp_path: Path) -> None:
    run(tmp_path, scale=2.0)
    for entry in (tmp_path / "cache" / "v1" / "entries").rglob("*"):
        if entry.is_file() and b'"image"' in entry.read_bytes()[:4096]:
            entry.unlink()
    code, out, err = run(tmp_path, scale=2.0, WHORL_REQUIRE_HIT="1")
    assert (code, out, err) == (0, "12.0 False True\n", "")
