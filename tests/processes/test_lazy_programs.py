"""Programs in which every import is lazy, whorl's own included (from Python 3.15 on)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.processes.programs import printed, written

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 15), reason="lazy imports are new in Python 3.15"
)

PROGRAM = """
import sys
if sys.argv[1:]:
    sys.set_lazy_imports(sys.argv[1])
import json
import math
import numpy as np
import settings
from settings import scaled
import whorl

def helper(x):
    return settings.RATE * x + math.sqrt(4)

@whorl.cached
def kept(x):
    return helper(x) + scaled(x)

@whorl.kernel
def total(x):
    sum = 0.0
    for i in range(x.size):
        sum += settings.RATE * x[i]
    return sum

found = [kept(3), kept(3), [float(total(np.ones(3))) for _ in range(6)]]
print(json.dumps([found, kept.stats()["ran"], total.stats().get("compiled", 0)]))
"""
SETTINGS = "import math\nRATE = {}\ndef scaled(x):\n    return math.floor(RATE) * x\n"


@pytest.mark.parametrize("how", ["argument", "variable"])
def test_results_are_kept_and_edits_are_noticed(tmp_path: Path, how: str) -> None:
    arguments = ("all",) if how == "argument" else ()
    environment = {"WHORL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    lazily = environment | ({} if arguments else {"PYTHON_LAZY_IMPORTS": "all"})
    written(tmp_path, {"program.py": PROGRAM})
    answers = []
    for rate in (2.0, 2.0, 3.5, 2.0):
        written(tmp_path, {"settings.py": SETTINGS.format(rate)})
        answers.append(printed("program.py", *arguments, cwd=tmp_path, environment=lazily))
    two = [14.0, 14.0, [6.0] * 6]
    three = [21.5, 21.5, [10.5] * 6]
    assert answers == [[two, 1, 1], [two, 0, 0], [three, 1, 1], [two, 0, 0]]
    eagerly = printed("program.py", cwd=tmp_path, environment=environment)
    assert eagerly == [two, 0, 0]  # what one has made, the other finds
