"""Where memory may not become executable, kernels run from memory files or say why they cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native
from tests.processes.programs import QUICK_IMPORTS

pytestmark = needs_native

DENY = """
import ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN
    sys.exit(77)
"""

KERNELS = """
import numpy as np, whorl

class Thing:
    def __init__(self):
        self.x = np.arange(4.0)

@whorl.kernel
def total(thing, k):
    s = 0.0
    for i in range(thing.x.size):
        s += thing.x[i] * k
    return s

@whorl.kernel
def steps(x, stop):
    x[0] += 1
    with whorl.checkpoint(7, yield_on=stop):
        x[1] += 1
    x[2] += np.sin(x[0])

def results():
    thing, x, stop = Thing(), np.zeros(3), np.zeros((), np.int32)
    for k in range(8):
        assert total(thing, k) == 6.0 * k
        steps(x, stop)
        steps.resume(x, stop, from_checkpoint=7)
    assert x[0] == 8 and x[1] == 16
"""

NO_MEMORY_FILES = """
import os
def memfd_create(*args):
    raise OSError(38, "Function not implemented")
os.memfd_create = memfd_create
"""


def run(
    tmp_path: Path, *parts: str, module: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that is built of parts; skip where the system has no such protection."""
    file = tmp_path / "program.py"
    file.write_text("\n".join(parts))
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "WHORL_CACHE_DIR": str(tmp_path / "cache"),
        **QUICK_IMPORTS, **variables,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, env=environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("this kernel cannot deny that memory becomes executable (PR_SET_MDWE)")
    return done


def test_kernels_are_compiled_found_and_launched_natively(tmp_path: Path) -> None:
    native = "from tests.kernels.native_calls import is_native\nprint(is_native(total))"
    root = f"import sys; sys.path.append({str(Path(__file__).parents[2])!r})"
    for _ in range(2):  # the second one finds everything in the cache
        done = run(tmp_path, DENY, root, KERNELS, "results()", native)
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
        assert not done.stderr


def test_without_memory_files_there_is_an_error_with_a_remedy_that_works(tmp_path: Path) -> None:
    done = run(tmp_path, DENY, NO_MEMORY_FILES, KERNELS, "total(Thing(), 2)")
    assert done.returncode == 1
    assert "RuntimeError: machine code cannot be run: this system lets no memory" in done.stderr
    assert "WHORL_INTERPRET=1" in done.stderr
    again = run(tmp_path, DENY, NO_MEMORY_FILES, KERNELS, "results()", WHORL_INTERPRET="1")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("has_files", [True, False])
def test_the_doctor_says_it(tmp_path: Path, has_files: bool) -> None:
    call = "from whorl.cli.command import main\nsys.exit(main(['doctor', '--json']))"
    done = run(tmp_path, DENY, "" if has_files else NO_MEMORY_FILES, call)
    rows = {row["name"]: (row["state"], row["text"]) for row in json.loads(done.stdout)}
    state, text = rows["machine code"]
    assert "lets no memory become executable" in text
    assert state == ("note" if has_files else "broken")
    assert done.returncode == (0 if has_files else 1)
    if has_files:
        assert rows["a kernel compiles and runs"][0] == "ok"
        state, text = rows["native"]
        assert (state, text.partition(";")[0]) == ("ok", "on")
    else:
        assert rows["RuntimeError"][1].startswith("machine code cannot be run: this system lets no")
