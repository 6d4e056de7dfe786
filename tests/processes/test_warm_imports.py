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
WARM = """
    whorl whorl.errors whorl.fast_dataclasses whorl.lazy whorl.locks whorl.settings whorl.signals
    whorl.version whorl.artifacts whorl.artifacts.entry whorl.artifacts.record whorl.fingerprint
    whorl.fingerprint.bytecode whorl.fingerprint.definition whorl.fingerprint.digest
    whorl.fingerprint.static_lookup whorl.fingerprint.names whorl.fingerprint.notebooks
    whorl.fingerprint.refusal whorl.fingerprint.source whorl.fingerprint.source_index
    whorl.fingerprint.syntax whorl.calls whorl.calls.binding whorl.calls.events whorl.store.cache
    whorl.jit whorl.jit.kernel whorl.jit.compiler whorl.jit.key whorl.jit.kernel_lookup
    whorl.jit.specialization whorl.kernels whorl.kernels.kernel_compiler whorl.kernels.language
    whorl.kernels.numeric_kernel whorl.launch whorl.launch.launched_kernel whorl.launch.callable
    whorl.launch.graph_status whorl.launch.image whorl.launch.launch_errors
    whorl.launch.launch_record whorl.launch.level whorl.launch.machine whorl.launch.mapped
    whorl.launch.plain_launch whorl.launch.native_tables whorl.launch.runtime
    whorl.launch.scalar_functions whorl.launch.returned_arrays whorl.launch.slot_types
    whorl.launch.toolchain whorl.reads whorl.reads.library whorl.reads.facts
    whorl.reads.compiler_settings whorl.reads.value_fact whorl.reads.replay whorl.reads.trace
    whorl.reads.world whorl.store whorl.store.atomic_file whorl.store.directory whorl.store.listing
    whorl.store.protocol whorl.store.outcome whorl.store.safety whorl.store.statistics xxhash
    xxhash.version xxhash._xxhash __future__ _json _sha2 _sha256 atexit binascii copy errno fcntl
    mmap ctypes._layout
"""
"""What a process imports that has its kernel from the cache: each takes 0.1 to 0.4 ms.

Whoever adds one knows what for, and what `bench/warmstart.py` says to it.
"""


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
    assert new <= set(WARM.split())


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


def test_a_warm_process_imports_no_more_than_it_needs(tmp_path: Path) -> None:
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
    assert sorted(set(new) - set(WARM.split())) == ["mine"]


def test_what_a_warm_process_has_counted_is_written_when_it_ends_without_json(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(KERNEL)
    text = """
import atexit, sys, numpy as np
atexit.register(lambda: print("json" in sys.modules, "pathlib" in sys.modules))
import mine
mine.total(np.full(9, 4.0), 9)
"""
    run(text, tmp_path)
    before = Totals.of(tmp_path / "cache" / "statistics")
    assert run(text, tmp_path).split() == ["False", "False"]
    after = Totals.of(tmp_path / "cache" / "statistics")
    assert after.programs["mine.total"].found == before.programs["mine.total"].found + 1
    assert after.hits > before.hits
