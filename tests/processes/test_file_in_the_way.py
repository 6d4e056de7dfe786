"""A file where the cache should be costs the cache, not the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import numpy as np

import whorl


@whorl.kernel
def first(x):
    return x[0]


@whorl.cached
def twice(x):
    return 2 * x


print([first(np.ones(1)) for _ in range(4)], twice(1), twice(1))
"""


def test_a_file_in_the_place_of_the_directory_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "cache").write_text("not yours")
    ran = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=os.environ | {"WHORL_CACHE_DIR": str(tmp_path / "cache"), "WHORL_LOG": "warning"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "[1.0, 1.0, 1.0, 1.0] 2 2\n"), ran.stderr
    assert ran.stderr.count("nothing is kept in") == ran.stderr.count("\n") == 1
    assert (tmp_path / "cache").read_text() == "not yours"
