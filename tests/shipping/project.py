"""A small project that ships kernels, built into a directory like one of installed packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from whorl.shipping.build_process import build_in_process

PYPROJECT = """
[project]
name = "tiny"
version = "1.0"

[project.entry-points."whorl.bundles"]
tiny = "tiny"

[tool.whorl]
package = "tiny"
targets = ["x86-64"]

[tool.whorl.kernels]
"tiny.loops:total" = ["f64[::1], i64"]
"""
LOOPS = """
import math
import whorl


def weight(x):
    return math.sqrt(x) * 2


@whorl.kernel
def total(x, n):
    s = 0.0
    for i in range(n):
        s += weight(x[i])
    return s
"""
WITHOUT_LLVM = "import sys; sys.modules['llvmlite'] = None\n"
CALL = """
import json
import numpy as np
import whorl
from tiny.loops import total
try:
    answer = [total(np.full(4, 4.0), n) for n in range(6) for _ in range(2)][-1 - 2]
except whorl.WhorlError as error:
    answer = f"{type(error).__name__}: {error}"
from whorl.launch.native_tables import native_classes
native = type(total) is native_classes(whorl.NumericKernel).native
print(json.dumps([answer, total.stats(), native]))
"""


def written_project(root: Path, pyproject: str = PYPROJECT, loops: str = LOOPS) -> Path:
    (root / "tiny").mkdir(parents=True, exist_ok=True)
    (root / "pyproject.toml").write_text(pyproject)
    (root / "tiny" / "__init__.py").write_text("")
    (root / "tiny" / "loops.py").write_text(loops)
    return root


def installed(root: Path, site: Path) -> Path:
    """Build the bundle of a project, and put all of it where packages are installed."""
    (site / "tiny").mkdir(parents=True)
    for name in ("__init__.py", "loops.py"):
        (site / "tiny" / name).write_bytes((root / "tiny" / name).read_bytes())
    build_in_process(root, site / "tiny" / "kernels.whorl")
    announced(site, "tiny = tiny")
    return site


def announced(site: Path, row: str, name: str = "tiny-1.0") -> None:
    notes = site / f"{name}.dist-info"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "entry_points.txt").write_text(
        f"[console_scripts]\na = b:c\n\n[whorl.bundles]\n{row}\n"
    )


def called(site: Path, cache: Path, program: str = CALL, **variables: str) -> Any:
    """What a program prints as JSON in a new process."""
    own = {"PYTHONPATH": str(site), "WHORL_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **own, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
