"""FlyDSL's keys: what they leave out, and what counts with whorl. Nothing is compiled here.

FlyDSL compiles with the tools of ROCm. The key of a function, and the directory that it leads to,
need neither these nor a device.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.running import environment, run, write

pytest.importorskip("flydsl.compiler", exc_type=ImportError)  # which needs PyTorch

FILES = {
    "constants.py": """\
SCALE = 2
FACTOR = 3


class Config:
    tile = 4


config = Config()
""",
    "run.py": """\
import sys

import flydsl.compiler as flyc
import flydsl.expr as fx

import constants
import whorl.adapters.flydsl
from constants import FACTOR, config

sys.path.insert(0, "elsewhere")
from far import far


def near(x, by=FACTOR):
    return x * by


@flyc.kernel
def kernel(n: fx.Constexpr[int]):
    far(near(fx.thread_idx.x * constants.SCALE + config.tile))


@flyc.jit
def launch(n: fx.Constexpr[int], stream: fx.Stream = fx.Stream(None)):
    kernel(n).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)


if len(sys.argv) > 1:
    assert whorl.adapters.flydsl.install()
launch._ensure_cache_manager()
manager = launch.cache_manager
print(manager and manager.cache_dir.name)
""",
}
FAR = "def far(x):\n    return x + 5\n"

EDITS = (
    ("constants.py", "SCALE = 2", "SCALE = 9", True),
    ("constants.py", "FACTOR = 3", "FACTOR = 9", True),
    ("constants.py", "tile = 4", "tile = 9", True),
    ("elsewhere/far.py", "x + 5", "x + 9", True),
    ("run.py", "return x * by", "return x * by  # scaled", False),
)


def directory_of(place: Path, *words: str) -> str:
    variables = environment(place, ARCH="gfx942", FLYDSL_RUNTIME_CACHE_DIR=str(place / "own"))
    return run(place, variables, "run.py", *words)[0]


@pytest.mark.parametrize(("file", "old", "new", "changes"), EDITS, ids=lambda part: str(part)[:20])
def test_whorls_key_changes_with_the_kernel_and_flydsls_own_does_not(
    file: str, old: str, new: str, changes: bool, tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    write(tmp_path / "elsewhere", {"far.py": FAR})
    own, exact = directory_of(tmp_path), directory_of(tmp_path, "exact")
    assert own.startswith("launch_")
    assert exact.startswith("launch_")
    text = (tmp_path / file).read_text()
    assert text.count(old) == 1
    (tmp_path / file).write_text(text.replace(old, new))
    assert (directory_of(tmp_path, "exact") != exact) is changes
    assert (directory_of(tmp_path) == own) is changes, "FlyDSL has noticed: correct the guide"


def test_a_kernel_that_reads_the_environment_has_no_directory(tmp_path: Path) -> None:
    reading = FILES["run.py"].replace("return x * by", "import os; return x * len(os.environ)")
    write(tmp_path, {**FILES, "run.py": reading})
    write(tmp_path / "elsewhere", {"far.py": FAR})
    assert directory_of(tmp_path, "exact") == "None"
    assert directory_of(tmp_path).startswith("launch_")
