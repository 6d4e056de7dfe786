"""Runs the builder of bundles in a process of its own, for build hooks.

A build hook lives in the process of a build backend, whose modules, settings and warnings are its
own affair. The kernels of a project are imported in a new process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from whorl.errors import WhorlError
from whorl.lazy import importing

from .bundle_builder import build_bundle
from .configuration import BadConfiguration, ShippedKernels


def build_in_process(root: Path, path: Path) -> str:
    """Build the bundle of a project; what was built, in words. RuntimeError if it cannot be."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__, str(root), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"it ended with code {done.returncode}")
    return str(json.loads(done.stdout.splitlines()[-1]))


def wheel_tag() -> str:
    """The tag of a wheel with a bundle: code for this version of Python, on any Linux of this kind.

    An image calls functions of the C library by name, which every glibc since 2.17 has.

    >>> wheel_tag().startswith("cp3")
    True
    """
    with importing:
        import platform
        import sysconfig

    python = "cp{}{}".format(*sys.version_info[:2])
    system = sys.platform
    if system == "linux":
        system = f"manylinux_2_17_{platform.machine()}.manylinux2014_{platform.machine()}"
    else:
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-none-{system}"


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
