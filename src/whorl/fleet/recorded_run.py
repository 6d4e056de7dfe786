"""Runs a program and collects the calls of its kernels, for `whorl record` and build hooks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from whorl.fast_dataclasses import dataclass

from .call_list import RecordedCall, read_calls


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """How a program ended, and the specializations that it has used."""

    code: int
    calls: list[RecordedCall]


def run_recorded(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    place: Path | None = None,
    output: int | None = None,
) -> RecordedRun:
    """Run Python with these words, and record all its processes. `output` is a file's number.

    >>> import os
    >>> run_recorded(["-c", "import whorl"], os.environ)
    RecordedRun(code=0, calls=[])
    """
    with tempfile.TemporaryDirectory(prefix="whorl-record-") as folder:
        lines = Path(folder) / "lines"
        own = {"WHORL_RECORD": str(lines), "WHORL_INTERPRET": "0"}
        code = subprocess.run(
            [sys.executable, *words],
            cwd=place, env={**environment, **own}, stdout=output, check=False,
        ).returncode  # fmt: skip
        return RecordedRun(code, read_calls(lines) if lines.exists() else [])
