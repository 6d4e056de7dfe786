"""Versions of Python in, a table out: what the tests say under each interpreter that is found.

`make test-all` runs this. An interpreter is looked for on PATH, under pyenv, and in each folder of
CHROOT, where the tests run on a copy of the checkout. PYTHONS names the interpreters instead.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Counts", "Interpreter", "counts_in", "every_interpreter", "table"]

ROOT = Path(__file__).parent.parent
SHOW = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
# What a process needs to install packages; of the rest, a chroot has its own.
HANDED_ON = ("PIP_", "SSL_CERT", "REQUESTS_CA", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter that runs, and the chroot that it is in."""

    path: str
    version: str
    chroot: str | None = None

    @property
    def series(self) -> str:
        """The version without its last part."""
        return self.version.rpartition(".")[0]

    def __str__(self) -> str:
        place = "" if self.chroot is None else f" in {self.chroot}"
        return f"Python {self.version}{place}"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tests ended how; `failed` has the errors too."""

    passed: int
    failed: int
    skipped: int


def counts_in(line: str) -> Counts | None:
    """What the last line of pytest says; None if it is no such line.

    >>> counts_in("2 failed, 7 passed, 1 skipped, 3 errors in 0.12s (0:00:00)")
    Counts(passed=7, failed=5, skipped=1)
    >>> counts_in("collecting ...")
    """
    line = re.sub(r"\x1b\[[\d;]*m", "", line)
    if not re.search(r"\d+ \w+(, .*)? in [\d.]+s", line):
        return None
    said = {name.rstrip("s"): int(count) for count, name in re.findall(r"(\d+) ([a-z]+)", line)}
    failed = said.get("failed", 0) + said.get("error", 0)
    return Counts(said.get("passed", 0), failed, said.get("skipped", 0))


def table(rows: Sequence[tuple[str, Counts | str]]) -> str:
    """Interpreters with their counts, or with why there are none.

    >>> print(table([("Python 3.11.7", Counts(12, 0, 3)), ("Python 3.12", "not found")]))
    interpreter    passed  failed  skipped
    Python 3.11.7      12       0        3
    Python 3.12    not found
    """
    width = max(len(name) for name, _ in (("interpreter", ""), *rows))
    lines = [f"{'interpreter':<{width}}  passed  failed  skipped"]
    for name, said in rows:
        if isinstance(said, Counts):
            said = f"{said.passed:>6}  {said.failed:>6}  {said.skipped:>7}"
        lines.append(f"{name:<{width}}  {said}")
    return "\n".join(lines)


# -- finding ----------------------------------------------------------------------------


def every_interpreter(
    versions: Sequence[str], named: Sequence[str], chroots: Sequence[str]
) -> Iterator[Interpreter | str]:
    """The interpreters to run the tests with; a text says which cannot be run."""
    if named:
        for path in named:
            yield running_at(path) or f"{path}: does not run"
        return
    for version in versions:
        yield _found(version, chroots) or f"Python {version}: not found"


def _found(version: str, chroots: Sequence[str]) -> Interpreter | None:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    paths = [f"python{version}", *map(str, pyenv.glob(f"versions/{version}.*/bin/python3"))]
    tries: list[tuple[str, str | None]] = [(path, None) for path in paths]
    tries += [(f"python{version}", chroot) for chroot in chroots]
    for path, chroot in tries:  # a name may be a shim without an interpreter behind it
        found = running_at(path, chroot)
        if found is not None and found.series == version:
            return found
    return None


def running_at(path: str, chroot: str | None = None) -> Interpreter | None:
    words = [path, "-c", SHOW] if chroot is None else [*_inside(chroot, "/"), path, "-c", SHOW]
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return Interpreter(path, said, chroot)


# -- running ----------------------------------------------------------------------------


def _inside(chroot: str, folder: str) -> list[str]:
    """The words before a command that is to run in a folder of a chroot."""
    handed_on = [f"{k}={v}" for k, v in os.environ.items() if k.startswith(HANDED_ON)]
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    surroundings = ["env", "-i", "HOME=/root", "LANG=C.UTF-8", path, *handed_on]
    return ["chroot", chroot, *surroundings, "sh", "-c", 'cd "$0" && exec "$@"', folder]


def _copied(chroot: str) -> str:
    """A copy of the checkout in a chroot, with the environments of earlier runs: its folder there.

    What git knows of or would add is copied, whether it is committed or not.
    """
    number = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    inside = f"/var/tmp/whorl-{number}"
    folder = Path(f"{chroot}{inside}")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if not old.name.startswith(".venv"):
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file():  # not one that was deleted
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return inside


def run(interpreter: Interpreter, make: str, environment: str) -> Counts | str:
    """What the tests say; what they print is shown meanwhile."""
    arguments = os.environ.get("TEST_ARGS", "")  # for pytest
    words = ["test", f"VENV={environment}", f"PYTHON={interpreter.path}", f"ARGS={arguments}"]
    if interpreter.chroot is None:
        words = [make, "--no-print-directory", *words]
    else:
        words = [*_inside(interpreter.chroot, _copied(interpreter.chroot)), "make", *words]
    counts = None
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            counts = counts_in(line) or counts
    if process.returncode and (counts is None or not counts.failed):
        return f"make test ended with {process.returncode}"
    return counts or "nothing was counted"


def main() -> int:
    """Run the tests under each interpreter; 0 if all have passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--pythons", default="", help="interpreters, instead of those found")
    parser.add_argument("--chroot", default="", help="folders in which interpreters may be too")
    parser.add_argument("--make", default="make")
    said = parser.parse_args()
    rows: list[tuple[str, Counts | str]] = []
    environments: set[str] = set()
    for each in every_interpreter(said.versions, said.pythons.split(), said.chroot.split()):
        if isinstance(each, str):
            name, _, why = each.partition(": ")
            rows.append((name, why))
            continue
        print(each, flush=True)
        environment = f".venv-{each.series}"
        while environment in environments:  # two of one series
            environment += "-other"
        environments.add(environment)
        rows.append((str(each), run(each, said.make, environment)))
    print(table(rows))
    ended = [said for _, said in rows if said not in ("not found",)]
    are_good = [isinstance(said, Counts) and not said.failed for said in ended]
    return 0 if are_good and all(are_good) else 1


if __name__ == "__main__":
    sys.exit(main())
