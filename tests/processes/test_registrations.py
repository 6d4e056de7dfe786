"""What a program registers in a library counts where the guide says how to declare it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COPYREG = """
import copy, copyreg, whorl

class Box:
    pass

def made():
    return "n"

copyreg.pickle(Box, lambda box: (made, ()))
BOX = Box()

@whorl.cached(reads=[copyreg.dispatch_table])
def answer():
    return copy.copy(BOX)

print(answer(), answer.stats()["ran"])
"""
CODECS = """
import codecs, whorl

def handler(error):
    return "n", error.end

codecs.register_error("mine", handler)

@whorl.cached(reads=[handler])
def answer():
    return "\\xe9".encode("ascii", "mine").decode()

print(answer(), answer.stats()["ran"])
"""


@pytest.mark.parametrize("program", [COPYREG, CODECS], ids=["copyreg", "codecs"])
def test_a_registration_that_is_declared_counts(program: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    environment = os.environ | {"WHORL_CACHE_DIR": str(tmp_path / "cache"), "WHORL_CACHE": "on"}
    said = []
    for text in (program, program, program.replace('"n"', '"other"')):
        script.write_text(text)
        words = [sys.executable, str(script)]
        said.append(subprocess.check_output(words, text=True, env=environment).strip())
    assert said == ["n 1", "n 0", "other 1"]
