"""Runs tests on aarch64, under qemu-user, on a machine that is none.

`make test-aarch64` runs this. The first time it puts Debian's Python for aarch64, and the packages
that the tests need, into `.venv-aarch64`. Nothing of the system is changed: qemu starts that
Python, and every Python that the tests start, through one small script.

Needs `apt install qemu-user debootstrap`; debootstrap wants to be started by root, or by fakeroot.
Everything takes ten times as long there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = (
    "tests/launch/test_image.py",
    "tests/launch/test_native.py",
    "tests/systems",
    "tests/kernels/test_language.py",
    "tests/kernels/test_numbers.py",
    "tests/kernels/test_ahead_of_time.py",
    "tests/kernels/test_array_threads.py",
    "tests/kernels/test_exceptions.py",
    "tests/native_walk/test_walk.py",
)
"""What depends on the processor: code, images, launches, threads."""
DEBIAN = "python3,python3-venv,libgomp1,libstdc++6"
NOT_THERE = ("hatchling", "import-linter", "mypy", "obstore", "redis", "ruff")
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_17_aarch64",
             "manylinux2014_aarch64")  # fmt: skip


SHIPPED = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
import heat
old = np.zeros((5, 5)); old[2, 2] = 1.0
new = old.copy()
heat.diffuse(new, old, 0.25)
assert (new[2, 1], heat.largest(new)) == (0.25, 0.25)
assert heat.smoothed(np.arange(4.0), 1).tolist() == [0.5, 1.0, 2.0, 2.5]
"""


class Unable(Exception):
    """Why nothing can be run."""


def main() -> int:
    """Run tests; the exit code of pytest."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--place", type=Path, default=ROOT / ".venv-aarch64")
    parser.add_argument("--suite", default="bookworm", help="the release of Debian")
    parser.add_argument("words", nargs="*", help="for pytest")
    options = parser.parse_args()
    place = options.place.resolve()
    try:
        if not (place / "complete").exists():
            print(f"setting up {place}, some minutes ...", flush=True)
            set_up(place, options.suite)
        if not options.words:
            check_shipped(place)
    except Unable as error:
        print(error, file=sys.stderr)
        return 1
    words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    return subprocess.run(
        [place / "python", *words, *(options.words or TESTS)], cwd=ROOT, check=False
    ).returncode


def set_up(place: Path, suite: str) -> None:
    """Everything that tests need, in a directory."""
    tools = {name: shutil.which(name) for name in ("qemu-aarch64", "debootstrap", "dpkg-deb")}
    missing = [name for name, path in tools.items() if path is None]
    if missing:
        raise Unable(f"{', '.join(missing)} not found: apt install qemu-user debootstrap")
    shutil.rmtree(place, ignore_errors=True)
    system = place / "system"
    system.mkdir(parents=True)
    _download(place / "packages", suite)
    for package in (place / "packages").glob("var/cache/apt/archives/*.deb"):
        _run("dpkg-deb", "-x", str(package), str(system))
    python = next(iter(sorted((system / "usr" / "bin").glob("python3.[0-9]*"))), None)
    if python is None or not re.fullmatch(r"python3\.\d+", python.name):
        raise Unable("there is no Python in what Debian has for aarch64")
    # Python finds its home and `sys.executable` by the name that it is called by: this script.
    script = system / "usr" / "bin" / "python-under-qemu"
    words = f"{tools['qemu-aarch64']} -L {system} -0 {script} {python}"
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o755)
    (place / "python").symlink_to(script)
    site = system / "usr" / "local" / "lib" / python.name / "dist-packages"
    _install(site, python.name.removeprefix("python"))
    (site / "whorl.pth").write_text(f"{ROOT / 'src'}\n")
    _run(str(place / "python"), "-c", "import numpy, llvmlite.binding, pytest, whorl")
    (place / "complete").touch()


def check_shipped(place: Path) -> None:
    """Kernels that were compiled and linked here, for a wheel, run there without LLVM."""
    words = [str(place / "python"), "-c", "import sys; print(sys.version_info[:2])"]
    there = subprocess.run(words, capture_output=True, text=True, check=True)
    if there.stdout.strip() != str(sys.version_info[:2]):
        print(f"not tried: a wheel made here; its Python is {there.stdout.strip()}")
        return
    with tempfile.TemporaryDirectory(prefix="whorl-qemu-") as folder:
        project, site = Path(folder, "project"), Path(folder, "site")
        shutil.copytree(ROOT / "examples" / "shipped", project)
        file = project / "pyproject.toml"
        file.write_text(re.sub("targets = .*", 'targets = ["aarch64"]', file.read_text()))
        _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=project)
        (wheel,) = Path(folder).glob("heat-*aarch64.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        _run(
            str(place / "python"), "-c", SHIPPED,
            PYTHONPATH=str(site), WHORL_CACHE_DIR=str(Path(folder, "cache")), WHORL_REQUIRE_HIT="1",
        )  # fmt: skip
    print(f"{wheel.name}, made here, runs there without LLVM")


def _download(place: Path, suite: str) -> None:
    """Debian's packages for a minimal system with Python; none of them is installed."""
    words = ["--download-only", "--arch=arm64", "--variant=minbase", f"--include={DEBIAN}"]
    _run("debootstrap", *words, suite, str(place))


def _install(site: Path, version: str) -> None:
    """The packages of PyPI that the tests need, for aarch64."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    packages = [each for each in wanted if not each.startswith(NOT_THERE)]
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    _run(
        sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check",
        "--target", str(site), "--python-version", version, "--only-binary=:all:",
        *platforms, *packages,
    )  # fmt: skip


def _run(*words: str, cwd: Path | None = None, **variables: str) -> None:
    env = {**os.environ, "LC_ALL": "C", **variables}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-5:]
        raise Unable("\n  ".join([f"this ended with code {done.returncode}: {words[0]}", *last]))


if __name__ == "__main__":
    sys.exit(main())
