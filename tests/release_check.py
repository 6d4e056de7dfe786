"""Builds what a release publishes, and tries it in fresh environments of every Python found.

`make release-check` runs this, from a clean copy of the checkout:

    build     sdist and wheel twice, and the wheel from the sdist: the same bytes each time
    contents  what is in them and what is not, the metadata, the size
    install   the wheel under each Python, the sdist under the first one: the programs of
              README.md, a smoke test, `whorl doctor`
    shipped   the wheel of examples/shipped in an environment without llvmlite
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tests.docs.markdown_steps import Save, steps  # noqa: E402  # found from anywhere
from tests.every_python import Interpreter, every_interpreter  # noqa: E402

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
MOST_BYTES = 2 << 20
UNWANTED = re.compile(r"(^|/)(tests?|docs|bench|changelog\.d|\.\w+|__pycache__)(/|$)|\.pyc$")
WANTED = ("whorl/py.typed", "whorl/cli/report.html", "whorl/__init__.py")
SMOKE = """
import json
import numpy as np
import whorl

@whorl.kernel
def dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s

@whorl.cached
def square(n):
    return n * n

x = np.arange(5.0)
assert [dot(x, x) for _ in range(9)] == [30.0] * 9
assert square(7) == 49
from whorl.launch.stored_routine import origins
print(json.dumps([whorl.__version__, origins, whorl.launch.status()]))
"""
SHIPPED = """
import json, sys, time
import numpy as np, whorl
import heat
old = np.zeros((5, 5)); old[2, 2] = 1.0
new = old.copy()
begun = time.perf_counter()
heat.diffuse(new, old, 0.25)
took = time.perf_counter() - begun
assert (new[2, 1], heat.largest(new)) == (0.25, 0.25)
assert "llvmlite" not in sys.modules
print(json.dumps(took))
"""


class Wrong(Exception):
    """What is not as it should be."""


def main() -> int:
    """Check everything; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", default="", help="interpreters, instead of those found")
    named = parser.parse_args().pythons.split()
    with tempfile.TemporaryDirectory(prefix="whorl-release-") as folder:
        try:
            _check(Path(folder), named)
        except Wrong as wrong:
            print(f"NOT READY: {wrong}", file=sys.stderr)
            return 1
    print("ready for a release")
    return 0


def _check(folder: Path, named: list[str]) -> None:
    wheel, sdist = _built(folder)
    _check_wheel(wheel)
    _check_sdist(sdist)
    _check_texts()
    first: Interpreter | None = None
    for each in every_interpreter(VERSIONS, named, ()):
        if isinstance(each, str):
            print(f"left out: {each}")
            continue
        _try_out(each, wheel, folder / f"wheel-{each.version}")
        if first is None:
            first = each
            _try_out(each, sdist, folder / "sdist")
            _try_shipped(each, wheel, folder / "shipped")
    if first is None:
        raise Wrong("no Python was found to try it with")


# -- building ---------------------------------------------------------------------------


def _built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built twice from a copy, and the wheel from the sdist too."""
    copy = folder / "checkout"
    _copy_checkout(copy)
    _run([sys.executable, "-m", "whorl.launch.image_builder"], PYTHONPATH=str(copy / "src"))
    builds = [folder / "first", folder / "second", folder / "again"]
    for place in builds[:2]:
        _run([sys.executable, "-m", "hatchling", "build", "-d", str(place)], copy)
    (sdist,) = builds[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    _run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(builds[2])], unpacked
    )
    (wheel,) = builds[0].glob("*.whl")
    for other in (builds[1] / wheel.name, builds[1] / sdist.name, builds[2] / wheel.name):
        same = builds[0] / other.name
        if other.read_bytes() != same.read_bytes():
            raise Wrong(f"{other.name} is not the same when it is built again")
    print(f"built {wheel.name} ({wheel.stat().st_size} bytes) and {sdist.name}, twice the same")
    return wheel, sdist


def _copy_checkout(place: Path) -> None:
    """What git knows of or would add, and nothing else."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((ROOT / name).read_bytes())


# -- contents ---------------------------------------------------------------------------


def _check_wheel(wheel: Path) -> None:
    from whorl.launch.known_layouts import KNOWN_LAYOUTS

    if wheel.stat().st_size > MOST_BYTES:
        raise Wrong(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {MOST_BYTES}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(_only(names, "/METADATA")).decode()
    _refuse([name for name in names if UNWANTED.search(name)], wheel)
    _refuse([name for name in names if not name.startswith(("whorl/", "whorl-"))], wheel)
    missing = [name for name in WANTED if name not in names]
    if missing:
        raise Wrong(f"{wheel.name} lacks {missing[0]}")
    images = [name for name in names if name.startswith("whorl/launch/images/")]
    if len(images) < len(KNOWN_LAYOUTS):
        raise Wrong(f"{wheel.name} has {len(images)} images for {len(KNOWN_LAYOUTS)} layouts")
    for line in (f"Version: {_version()}", "Name: whorl", "Requires-Python: >=3.11"):
        if line not in metadata.splitlines():
            raise Wrong(f"the metadata of {wheel.name} has no line {line!r}")
    for version in VERSIONS:
        if f"Programming Language :: Python :: {version}" not in metadata:
            raise Wrong(f"no classifier names Python {version}, which the tests run under")
    print(f"contents: {len(names)} files, {len(images)} images")


def _check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for wanted in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO"):
        if wanted not in names:
            raise Wrong(f"{sdist.name} lacks {wanted}")
    _refuse([name for name in names if re.search(r"(^|/)(\.venv|\.git/|__pycache__)", name)], sdist)


def _check_texts() -> None:
    """Every fragment is one sentence in one file, and the changelog names this version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if "version" in project:
        raise Wrong("the version is in pyproject.toml and in src/whorl/version.py")
    if f"## {_version()}" not in (ROOT / "CHANGELOG.md").read_text():
        raise Wrong(f"CHANGELOG.md has no part about {_version()}: `make changelog` gathers it")


def _refuse(names: list[str], where: Path) -> None:
    if names:
        raise Wrong(f"{where.name} holds {names[0]}, which is no part of it")


def _only(names: Iterable[str], end: str) -> str:
    (name,) = (name for name in names if name.endswith(end))
    return name


def _version() -> str:
    text = (ROOT / "src" / "whorl" / "version.py").read_text()
    return str(re.findall(r'__version__ = "(.*)"', text)[0])


# -- trying it --------------------------------------------------------------------------


def _try_out(interpreter: Interpreter, built: Path, place: Path) -> None:
    """Install what was built into a fresh environment, and do there what README.md says."""
    python = _environment(interpreter, place, str(built))
    version, origins, status = _json(python, SMOKE, place)
    if version != _version():
        raise Wrong(f"{built.name} says that it is {version}")
    if not status[0]:
        raise Wrong(f"{interpreter}: kernels are not launched natively: {status[1]}")
    for name, program in _programs():
        (place / name).write_text(program)
        _run([python, name], place, **_fresh(place))
    _run([python, str(ROOT / "tests" / "docs" / "markdown_program.py"), str(ROOT / "README.md"),
          "README.md"], place, **_fresh(place))  # fmt: skip
    _run([python, "-m", "whorl", "doctor"], place, **_fresh(place))
    print(f"{interpreter}: {built.suffix[1:]}, README and doctor work; launcher {origins}")


def _try_shipped(interpreter: Interpreter, wheel: Path, place: Path) -> None:
    """Build the wheel of the example, and run it where there is no llvmlite."""
    builder = _environment(interpreter, place / "builder", str(wheel), "hatchling")
    example = place / "example"
    for path in (ROOT / "examples" / "shipped").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            copy = example / path.relative_to(ROOT / "examples" / "shipped")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    _run([builder, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)], example)
    (built,) = place.glob("heat-*.whl")
    user = _environment(interpreter, place / "user", str(wheel), str(built), "pytest")
    _run([user, "-m", "pip", "uninstall", "-qqy", "llvmlite"])
    own_tests = str(example / "tests")
    _run([user, "-m", "pytest", "-q", own_tests], place, **_fresh(place), WHORL_REQUIRE_HIT="1")
    took = min(_json(user, SHIPPED, place, WHORL_REQUIRE_HIT="1") for _ in range(3))
    print(f"{interpreter}: {built.name} runs without llvmlite; first call {took * 1e3:.1f} ms")


def _programs() -> Iterator[tuple[str, str]]:
    """The programs that README.md tells its reader to save."""
    for step in steps((ROOT / "README.md").read_text(encoding="utf-8")):
        if isinstance(step, Save) and step.name.endswith(".py"):
            yield step.name, step.text


def _environment(interpreter: Interpreter, place: Path, *packages: str) -> str:
    place.mkdir(parents=True, exist_ok=True)
    _run([interpreter.path, "-m", "venv", str(place / "venv")])
    python = str(place / "venv" / "bin" / "python")
    _run([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages], place)
    return python


def _fresh(place: Path) -> dict[str, str]:
    return {"WHORL_CACHE_DIR": str(place / "cache"), "PYTHONPATH": ""}


def _json(python: str, program: str, place: Path, **variables: str) -> Any:
    (place / "program.py").write_text(program)
    printed = _run([python, "program.py"], place, **_fresh(place), **variables)
    return json.loads(printed.splitlines()[-1])


def _run(words: list[str], place: Path | None = None, **variables: str) -> str:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("WHORL_")}
    done = subprocess.run(
        words, cwd=place, env={**kept, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        shown = "\n  ".join([" ".join(words), *last])
        raise Wrong(f"this ended with code {done.returncode}:\n  {shown}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
