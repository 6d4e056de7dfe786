"""Programs in files, run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_KEPT = ("PATH", "PYTHONPATH", "HOME", "LANG")


def write(directory: Path, files: Mapping[str, str]) -> Path:
    """A program in a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).write_text(text)
    return directory


def environment(cache: Path, **more: str) -> dict[str, str]:
    """Variables with which a program uses whorl's cache in this directory."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    variables = {"WHORL_CACHE_DIR": str(cache / "whorl"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **variables, **more}


def run(directory: Path, variables: Mapping[str, str], *words: str) -> tuple[str, str]:
    """What a new process writes to its output and to its errors."""
    done = subprocess.run(
        [sys.executable, *(words or ("run.py",))],
        check=False,
        cwd=directory,
        env=dict(variables),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr
