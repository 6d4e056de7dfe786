"""Runs the builder of bundles in a process of its own, for build hooks.

A build hook lives in the process of a build backend, whose modules, settings and warnings are its
own affair. The kernels of a project are imported in a new process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from whorl.errors import WhorlError
from whorl.launch.level import machine_of
from whorl.lazy import importing

from .bundle_builder import build_bundle
from .configuration import BadConfiguration, ShippedKernels

_GLIBC: Final = ("manylinux_2_17", "manylinux2014")  # two names of one


def build_in_process(root: Path, path: Path) -> str:
    """Build the bundle of a project; what was built, in words. RuntimeError if it cannot be."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, str(root), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"it ended with code {done.returncode}")
    sys.stderr.write(done.stderr)  # of scripts, and warnings
    return str(json.loads(done.stdout.splitlines()[-1]))


def wheel_tag(targets: Iterable[str]) -> str:
    """The tag of a wheel with a bundle: code for this version of Python, and for the machines of
    the targets. A wheel for two kinds of machines has the tags of both.

    An image calls functions of the C library by name, which every glibc since 2.17 has.

    >>> wheel_tag(["x86-64-v2", "x86-64-v3"]).startswith("cp3")
    True
    """
    with importing:
        import sysconfig

    python = "cp{}{}".format(*sys.version_info[:2])
    if sys.platform == "linux":
        machines = dict.fromkeys(map(machine_of, targets))
        tags = [f"{glibc}_{each}" for each in machines for glibc in _GLIBC]
    else:
        tags = [sysconfig.get_platform().replace("-", "_").replace(".", "_")]
    return f"{python}-none-{'.'.join(tags)}"


def main(arguments: list[str]) -> int:
    """Build the bundle of the project in one directory into a file."""
    root, path = map(Path, arguments)
    try:
        shipped = ShippedKernels.of_project(root)
        if shipped is None:
            raise BadConfiguration("there is no such table")
        built = build_bundle(shipped, root, path)
    except (WhorlError, OSError) as error:
        print(f"whorl: {error}", file=sys.stderr)
        return 1
    print(json.dumps(f"{shipped.file}: {built.entries} entries, {built.size} bytes"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
