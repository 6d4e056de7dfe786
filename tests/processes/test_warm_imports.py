"""What a process imports that uses whorl, and that finds its kernel in the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from whorl.store import Totals

KERNEL = """
import math
import numpy as np
import whorl

FACTOR = 2.0

@whorl.func
def scaled(v):
    return FACTOR * math.sqrt(v)

@whorl.kernel
def total(x, n: int):
    s = 0.0
    for i in range(n):
        s += scaled(x[i])
    return s
"""
HEAVY = (
    "llvmlite", "click", "rich", "platformdirs", "filelock", "logging", "pathlib", "decimal",
    "zoneinfo", "random", "tempfile", "importlib.metadata", "numpy.ma", "dataclasses",
    "whorl.errors", "whorl.fingerprint.bytecode", "whorl.fingerprint.class_table",
    "whorl.fingerprint.fingerprinter", "whorl.fingerprint.markers", "whorl.fingerprint.refusal",
    "whorl.fingerprint.rules", "whorl.fingerprint.tokens", "whorl.fingerprint.tree",
    "whorl.reads.aspects", "whorl.reads.digested", "whorl.reads.generated", "whorl.reads.item",
    "whorl.reads.operations", "whorl.reads.replay", "whorl.reads.settings",
    "whorl.reads.signature", "whorl.reads.view", "whorl.reads.words",
    "whorl.jit.explain", "whorl.jit.drift", "whorl.kernels.pipeline", "whorl.kernels.lowering",
    "json", "whorl.options", "whorl.log_level", "whorl.artifacts.assembly",
    "whorl.artifacts.damage", "whorl.artifacts.label", "whorl.artifacts.lowered",
    "whorl.store.atomic_file", "whorl.store.count_file", "whorl.store.ending",
    "whorl.store.flight", "whorl.store.lease", "whorl.store.listing", "whorl.store.mapping",
    "whorl.store.medium", "whorl.store.outcome", "whorl.store.stamp", "whorl.store.totals",
    "whorl.store.unusable", "whorl.store.writing",
)  # fmt: skip


def run(text: str, tmp_path: Path) -> str:
    env = {**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout


def test_importing_whorl_imports_next_to_nothing(tmp_path: Path) -> None:
    text = "import sys, numpy, json; before = set(sys.modules); import whorl\n"
    text += "print(json.dumps(sorted(set(sys.modules) - before)))"
    new = set(json.loads(run(text, tmp_path)))
    assert {name for name in new if name.startswith("whorl")} == {
        "whorl", "whorl.lazy", "whorl.locks", "whorl.version",
    }  # fmt: skip
    assert not new & set(HEAVY)


def test_importing_whorl_opens_only_its_own_modules(tmp_path: Path) -> None:
    text = """
import sys, numpy
opened = []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
import whorl
opened = list(opened)
import os
own = (os.sep + "whorl" + os.sep, "__future__")
print([path for path in opened if not any(part in path for part in own)])
"""
    assert run(text, tmp_path).strip() == "[]"


def test_a_warm_process_imports_no_compiler_and_no_rules(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(KERNEL)
    text = """
import sys, numpy
import numpy as np
before = set(sys.modules)
import mine
result = mine.total(np.full(9, 4.0), 9)
new = set(sys.modules) - before
import json
print(json.dumps([result, mine.total.stats(), sorted(new)]))
"""
    run(text, tmp_path)
    result, stats, new = json.loads(run(text, tmp_path))
    assert result == 36.0
    assert "compiled" not in stats
    assert not set(new) & set(HEAVY)
    assert "ast" not in new  # NumPy has imported it, and whorl adds nothing to that


def test_what_a_warm_process_has_counted_is_written_when_it_ends_without_json(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(KERNEL)
    text = """
import atexit, sys, numpy as np
atexit.register(lambda: print("json" in sys.modules, "whorl.store.totals" in sys.modules))
import mine
mine.total(np.full(9, 4.0), 9)
"""
    run(text, tmp_path)
    before = Totals.of(tmp_path / "cache" / "statistics")
    assert run(text, tmp_path).split() == ["False", "False"]
    after = Totals.of(tmp_path / "cache" / "statistics")
    assert after.programs["mine.total"].found == before.programs["mine.total"].found + 1
    assert after.hits > before.hits
