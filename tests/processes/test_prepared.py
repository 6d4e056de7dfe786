"""The cache of a process is opened with its first kernel, and is the one that is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import os
import sys
from pathlib import Path

import whorl
from whorl.store import default_cache


class Reading:
    name, version, toolchain = "reading", "1", "none"

    def compile(self, program, inputs):
        inputs.arg("x").type()
        return whorl.Artifact({"code": b"..."})

    def load(self, artifact, device):
        return lambda x: x


@whorl.jit(Reading())
def kernel(x):
    return x
"""
TOLD = """
kernel(1)
place = getattr(getattr(default_cache().store, "inner", default_cache().store), "place", None)
print(type(default_cache().store).__name__, place)
"""


def run(
    tmp_path: Path, between: str = "", *, fails: bool = False, **variables: str
) -> tuple[str, str]:
    """What a program says that does something between making a kernel and calling it."""
    program = tmp_path / "program.py"
    program.write_text(START + between + TOLD)
    kept = {name: value for name, value in os.environ.items() if "WHORL" not in name}
    done = subprocess.run(
        [sys.executable, program],
        env={**kept, "WHORL_CACHE_DIR": str(tmp_path / "first"), **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout, done.stderr


def test_it_is_opened_before_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir(mode=0o700)
    between = "from whorl.store import cache\nready = cache._ready[2]\n"
    said, _ = run(tmp_path, f"{between}assert cache._cache is None\n")
    assert said == f"DirectoryStore {tmp_path / 'first'}\n"
    said, _ = run(tmp_path, f"{between}assert default_cache() is ready\n")
    assert said == f"DirectoryStore {tmp_path / 'first'}\n"


def test_making_kernels_writes_nothing(tmp_path: Path) -> None:
    said, _ = run(tmp_path, "print(Path('first').exists())\n")
    assert said.startswith("False\n")


@pytest.mark.parametrize(
    "between",
    [
        "os.environ['WHORL_CACHE_DIR'] = str(Path('second').resolve())",
        "whorl.configure(cache_dir='second')",
        "default_cache(); whorl.configure(cache_dir='second')",
        "os.environ = {**os.environ, 'WHORL_CACHE_DIR': str(Path('second').resolve())}",
    ],
)
def test_what_is_said_before_the_first_call_counts(tmp_path: Path, between: str) -> None:
    said, _ = run(tmp_path, f"{between}\n")
    assert said == f"DirectoryStore {tmp_path / 'second'}\n"
    assert not (tmp_path / "first").exists()


def test_so_does_a_home(tmp_path: Path) -> None:
    between = (
        "del os.environ['WHORL_CACHE_DIR']\nfrom whorl.store import cache\n"
        f"os.environ['HOME'] = {str(tmp_path / 'home')!r}\nos.environ.pop('XDG_CACHE_HOME', None)\n"
    )
    said, _ = run(tmp_path, between)
    assert str(tmp_path / "home") in said


def test_a_relative_directory_is_that_of_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    said, _ = run(tmp_path, "os.chdir('there')\n", WHORL_CACHE_DIR="relative")
    assert said == f"DirectoryStore {tmp_path / 'there' / 'relative'}\n"


def test_so_is_a_relative_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    between = (
        "os.chdir('there')\nfrom whorl import settings\nprint(settings.current().summary.value)\n"
    )
    said, _ = run(tmp_path, between, WHORL_SUMMARY="told.txt")
    assert said.startswith(f"{tmp_path / 'there' / 'told.txt'}\n")


def test_without_a_home_nothing_is_found_out_before_it_must_be(tmp_path: Path) -> None:
    between = (
        f"os.environ['TMPDIR'] = {str(tmp_path)!r}\nimport tempfile\nprint(tempfile.gettempdir())\n"
    )
    said, _ = run(tmp_path, between, HOME="relative", XDG_CACHE_HOME="", WHORL_CACHE_DIR="")
    assert said.startswith(f"{tmp_path}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="directories have no modes there")
def test_a_directory_that_comes_meanwhile_is_looked_at(tmp_path: Path) -> None:
    between = "Path('first').mkdir()\nPath('first').chmod(0o777)\n"
    said, errors = run(tmp_path, between)
    assert said == "NullStore None\n"
    assert "may write to it" in errors


def test_one_that_was_seen_long_ago_is_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir(mode=0o700)
    between = (
        "from whorl.store import cache\nready = cache._ready[2]\n"
        "ready.store.trust.checked_until = 0.0\nassert default_cache() is not ready\n"
    )
    run(tmp_path, between)


def test_other_modes_are_as_they_were(tmp_path: Path) -> None:
    assert run(tmp_path, WHORL_CACHE="off")[0] == "NullStore None\n"
    assert run(tmp_path, WHORL_CACHE="readonly")[0].startswith("ReadOnly ")
    assert not (tmp_path / "first").exists()


def test_a_bad_setting_is_said_by_the_call(tmp_path: Path) -> None:
    said, errors = run(tmp_path, "print('made')\n", fails=True, WHORL_CACHE_MAX_SIZE="much")
    assert said == "made\n"
    assert "BadSetting" in errors
    assert "WHORL_CACHE_MAX_SIZE" in errors


@pytest.mark.skipif(sys.platform == "win32", reason="directories have no modes there")
def test_a_directory_that_is_not_safe_is_said_once_by_the_call(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first").chmod(0o777)
    said, errors = run(tmp_path, "print('made', file=sys.stderr)\n")
    assert said == "NullStore None\n"
    before, _, after = errors.partition("made\n")
    assert (before, after.count("may write to it")) == ("", 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks there")
def test_a_child_that_is_forked_meanwhile_has_it(tmp_path: Path) -> None:
    between = "child = os.fork()\nif child:\n    os.waitpid(child, 0)\n"
    said, _ = run(tmp_path, between)
    assert said == f"DirectoryStore {tmp_path / 'first'}\n" * 2


def test_threads_that_come_at_once_share_one(tmp_path: Path) -> None:
    between = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom threading import Barrier\n"
        "os.environ['WHORL_CACHE_MAX_SIZE'] = '1G'  # not as it was prepared\n"
        "barrier = Barrier(8)\n"
        "def ask(_):\n    barrier.wait()\n    return default_cache()\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    assert len({id(cache) for cache in pool.map(ask, range(8))}) == 1\n"
    )
    run(tmp_path, between)
