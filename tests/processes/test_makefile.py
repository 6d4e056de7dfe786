"""make help: every target that says what it does, in two columns."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.processes.programs import ROOT


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")
def test_make_help_lists_every_target_in_two_columns() -> None:
    makefile = (ROOT / "Makefile").read_text()
    described = dict(re.findall(r"^([^\s:#]+):.*## (.*)$", makefile, re.MULTILINE))
    words = ["make", "--no-print-directory", "help"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
    assert {row[0]: row[-1] for row in rows} == described
    assert len({line.rindex(row[-1]) for line, row in zip(lines, rows, strict=True)}) == 1
