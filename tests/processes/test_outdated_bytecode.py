"""A kernel that Python loads from an outdated .pyc: what the error advises helps."""

from __future__ import annotations

import os
import py_compile
import re
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = "import whorl\n@whorl.kernel\ndef k(a):\n    a[0] = 1.0\n"
PROGRAM = "import kernels, numpy as np; x = np.zeros(1); kernels.k(x); print(x[0])"


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("is_hashed", [True, False])
def test_an_outdated_file_of_bytecode_is_named_and_can_be_removed(
    tmp_path: Path, *, is_hashed: bool
) -> None:
    source = tmp_path / "kernels.py"
    source.write_text(KERNEL)
    mode = py_compile.PycInvalidationMode
    py_compile.compile(
        str(source), invalidation_mode=mode.UNCHECKED_HASH if is_hashed else mode.TIMESTAMP
    )
    before = source.stat()
    source.write_text(KERNEL.replace("1.0", "2.0"))  # of the same size
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # and of the same time
    for _ in range(2):  # to start it again is of no use
        ended = _run(tmp_path)
        assert "is not in its file" in ended.stderr
    named = re.search(r"Remove (\S+\.pyc), and start the program again\.", ended.stderr)
    assert named is not None
    Path(named[1]).unlink()
    assert _run(tmp_path).stdout == "2.0\n"
