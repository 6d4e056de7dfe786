"""Runs a program of a test in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(directory: Path, *command: str, **variables: str) -> str:
    """A real process, with its own memory and a cache beside its files."""
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{directory}{os.pathsep}{root}",
        "WHORL_CACHE_DIR": str(directory.parent / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
