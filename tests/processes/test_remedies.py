"""What is advised to a program that may not compile, or runs under pytest, helps when done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNEL = """\
import numpy as np
import whorl


@whorl.kernel
def halved(x):
    assert x[0] > 0
    x[0] = x[0] / 2


def run():
    x = np.ones(1)
    halved(x)
    return x[0]
"""
SCRIPT = KERNEL + "\n\nif __name__ == '__main__':\n    print(run())\n"
TEST = KERNEL + "\n\ndef test_it():\n    assert run() == 0.5\n"


def _run(
    *words: str, folder: Path, need: str = "0", cache: str = "cache"
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "WHORL_CACHE_DIR": str(folder / cache), "WHORL_REQUIRE_HIT": need,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_cache_that_has_to_have_it_can_be_filled(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    refused = _run("script.py", folder=tmp_path, need="1")
    assert "Fill the cache first (whorl warm SCRIPT, whorl import BUNDLE)" in refused.stderr
    assert "WHORL_REQUIRE_HIT=0" in refused.stderr
    assert _run("script.py", folder=tmp_path, need="0", cache="other").stdout == "0.5\n"
    warmed = _run("-m", "whorl", "warm", "script.py", folder=tmp_path)
    assert warmed.returncode == 0, warmed.stderr
    assert _run("script.py", folder=tmp_path, need="1").stdout == "0.5\n"
    exported = _run("-m", "whorl", "export", "bundle.whorl", folder=tmp_path)
    assert exported.returncode == 0, exported.stderr
    imported = _run("-m", "whorl", "import", "bundle.whorl", folder=tmp_path, cache="third")
    assert imported.returncode == 0, imported.stderr
    assert _run("script.py", folder=tmp_path, need="1", cache="third").stdout == "0.5\n"


def test_a_kernel_that_pytest_has_rewritten_can_be_put_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "test_rewritten.py").write_text(TEST)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    refused = _run(*words, "test_rewritten.py", folder=tmp_path)
    assert "Put it into a module of its own, or PYTEST_DONT_REWRITE into" in refused.stdout
    (tmp_path / "test_not.py").write_text('"""PYTEST_DONT_REWRITE"""\n' + TEST)
    (tmp_path / "elsewhere.py").write_text(KERNEL)
    text = "import elsewhere\n\ndef test_it():\n    assert elsewhere.run() == 0.5\n"
    (tmp_path / "test_elsewhere.py").write_text(text)
    done = _run(*words, "test_not.py", "test_elsewhere.py", folder=tmp_path)
    assert "2 passed" in done.stdout, done.stdout
