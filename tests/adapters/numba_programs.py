"""Programs of Numba functions, run in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["LOCATOR", "RECORDING", "run", "write"]

LOCATOR = {"NUMBA_CACHE_LOCATOR_CLASSES": "whorl.adapters.numba.Locator"}

RECORDING = '''\
"""Runs the functions of a module, and prints what they return and whether they were found."""
import json, sys, warnings
warnings.simplefilter("ignore")
if "--install" in sys.argv:
    import whorl.adapters.numba
    whorl.adapters.numba.install()
import kernels

found = {}
for name in sorted(vars(kernels)):
    if name.startswith("run_"):
        result, function = getattr(kernels, name)()
        if hasattr(function, "stats"):
            hits = sum(function.stats.cache_hits.values())
        else:
            hits = getattr(function, "cache_hits", None)
        found[name[4:]] = [repr(result), hits]
print(json.dumps(found))
'''


def write(home: Path, files: Mapping[str, str]) -> Path:
    """Write a program."""
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return home


def run(
    home: Path, *words: str, cache: Path, file: str = "main.py", **environment: str
) -> tuple[Any, str]:
    """The JSON that a program prints, and what it says on the standard error."""
    ended = subprocess.run(
        [sys.executable, str(home / file), *words],
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")},
            "WHORL_CACHE_DIR": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",  # edits within a second keep their size and time
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout or "null"), ended.stderr
