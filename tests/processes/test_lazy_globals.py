"""Kernels whose globals are lazy imports: they are imported where Python would import them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 15), reason="`lazy import` is a statement from Python 3.15 on"
)

LIBRARY = """
import sys
sys.imported = [*getattr(sys, "imported", ()), __name__]
FACTOR = 3.0
def doubled(v):
    return 2.0 * v
"""
BETWEEN = "lazy import library\n"
KERNELS = """
import sys
import numpy as np
import whorl
import between
lazy import library
lazy import library as other
lazy from library import FACTOR
lazy from library import doubled

@whorl.kernel
def by_constant(x):
    x[0] = x[1] * FACTOR

@whorl.kernel
def by_module(x):
    x[0] = x[1] * library.FACTOR

@whorl.kernel
def by_function(x):
    x[0] = doubled(x[1])

@whorl.kernel
def by_static(x):
    x[0] = x[1] * whorl.static(other.FACTOR)

@whorl.kernel
def by_another_module(x):
    x[0] = x[1] * between.library.FACTOR

def results(kernel, calls=8):
    found = set()
    for _ in range(calls):
        x = np.array([0.0, 1.0])
        kernel(x)
        found.add(float(x[0]))
    return sorted(found)
"""
NAMES = ("by_constant", "by_module", "by_function", "by_static", "by_another_module")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "between.py").write_text(BETWEEN)
    (tmp_path / "mine.py").write_text(KERNELS)
    return tmp_path


def run(text: str, place: Path) -> list[str]:
    own = {"WHORL_CACHE_DIR": str(place / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    env = {**os.environ, **own}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=place, env=env, check=False, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_lazy_import_is_what_it_stands_for(name: str, place: Path) -> None:
    text = f"""
import mine, sys
kernel = mine.{name}
print(getattr(sys, "imported", None))
print(mine.results(kernel), sys.imported, kernel.python_calls < 8)
"""
    expected = "[2.0]" if name == "by_function" else "[3.0]"
    for _ in range(2):  # compiled, and found in the cache
        assert run(text, place) == ["None", f"{expected} ['library'] True"]
    (place / "library.py").write_text(LIBRARY.replace("3.0", "5.0").replace("2.0", "5.0"))
    assert run(text, place) == ["None", "[5.0] ['library'] True"]


@pytest.mark.parametrize("name", NAMES)
def test_the_interpreted_kernel_imports_it_too(name: str, place: Path) -> None:
    text = f"""
import mine, sys
kernel = mine.{name}
print(mine.results(kernel.interpret, 1), sys.imported)
"""
    assert run(text, place) == [f"{'[2.0]' if name == 'by_function' else '[3.0]'} ['library']"]


def test_a_name_that_becomes_a_lazy_import_later_is_noticed(place: Path) -> None:
    (place / "second.py").write_text(LIBRARY.replace("3.0", "7.0"))
    text = """
import mine, sys
print(mine.results(mine.by_constant), mine.results(mine.by_module))
exec("lazy from second import FACTOR\\nlazy import second as library", vars(mine))
print(sys.imported)
print(mine.results(mine.by_module), mine.results(mine.by_constant), sys.imported)
"""
    assert run(text, place) == [
        "[3.0] [3.0]",
        "['library']",
        "[7.0] [7.0] ['library', 'second']",
    ]


def test_an_import_that_fails_is_named(place: Path) -> None:
    (place / "library.py").unlink()
    text = """
import mine
for kernel in (mine.by_constant, mine.by_module):
    try:
        mine.results(kernel)
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
"""
    first, second = run(text, place)
    why = "ModuleNotFoundError: No module named 'library'"
    assert first.startswith("KernelError mine.py:13:")
    assert first.endswith(f"the lazy import of 'FACTOR' fails: {why}")
    assert second.endswith(f"the lazy import of 'library' fails: {why}")
