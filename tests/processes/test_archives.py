"""Code that was imported from an archive is known by its source, like any other."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

MODULE = """
import whorl

RATE = 2.0


def scaled(x):
    return x * RATE


@whorl.kernel
def scale(a):
    for i in range(a.size):
        a[i] = scaled(a[i])


@whorl.cached
def total(n):
    return scaled(n) + 1
"""

RUN = """
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
import whorl
from packed import scale, scaled, total

a = np.ones(3)
scale(a)
print(a[0], scale.stats()["compiled"], total(3), total.stats()["ran"], whorl.fingerprint(scaled))
"""


def told(place: Path, cache: Path) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(place)],
        env={"WHORL_CACHE_DIR": str(cache), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def packed(archive: Path, text: str) -> Path:
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("packed.py", text)
    return archive


def test_a_module_in_an_archive_is_compiled_found_and_edited_like_one_in_a_directory(
    tmp_path: Path,
) -> None:
    archive, cache = tmp_path / "app.zip", tmp_path / "cache"
    first = told(packed(archive, MODULE), cache)
    assert first[:4] == ["2.0", "1", "7.0", "1"]
    assert told(archive, cache)[:4] == ["2.0", "0", "7.0", "0"]
    commented = MODULE.replace("    return x * RATE", "    # a comment\n    return x * RATE")
    assert told(packed(archive, commented), cache)[:4] == ["2.0", "0", "7.0", "0"]
    edited = MODULE.replace("x * RATE", "x * RATE + 1")
    assert told(packed(archive, edited), cache)[:4] == ["3.0", "1", "8.0", "1"]


def test_code_in_an_archive_has_the_digest_that_it_has_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "packed.py").write_text(MODULE)
    inside = told(packed(tmp_path / "app.zip", MODULE), tmp_path / "cache")
    outside = told(tmp_path, tmp_path / "cache")
    assert inside[4] == outside[4]
    assert outside[:4] == ["2.0", "0", "7.0", "0"]
