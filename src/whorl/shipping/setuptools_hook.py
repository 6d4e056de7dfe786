"""The build hook for setuptools: it works where `[tool.whorl]` is in pyproject.toml.

[build-system]
requires = ["setuptools>=77", "whorl"]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whorl.lazy import importing

from .build_process import build_in_process, wheel_tag
from .configuration import ShippedKernels


def finalize_distribution(distribution: Any) -> None:
    """Let the commands of a distribution build its bundle; called by setuptools for each one."""
    root = Path.cwd()
    shipped = ShippedKernels.of_project(root)
    if shipped is None:
        return
    file, targets, needed = shipped.file, shipped.targets, shipped.files
    with importing:
        from setuptools.command.bdist_wheel import bdist_wheel
        from setuptools.command.build_py import build_py
        from setuptools.command.sdist import sdist

    class BuildPackages(distribution.cmdclass.get("build_py", build_py)):  # type: ignore[misc]  # the base is known at run time
        """Builds the bundle behind the modules, unless the install is an editable one."""

        def run(self) -> None:
            super().run()
            if not self.editable_mode:
                path = Path(self.build_lib) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                self.announce(build_in_process(root, path), 2)

    class BuildWheel(distribution.cmdclass.get("bdist_wheel", bdist_wheel)):  # type: ignore[misc]  # the base is known at run time
        """Gives the wheel the tag of what is in it."""

        def get_tag(self) -> tuple[str, str, str]:
            python, abi, platform = wheel_tag(targets).split("-")
            return python, abi, platform

    class BuildSource(distribution.cmdclass.get("sdist", sdist)):  # type: ignore[misc]  # the base is known at run time
        """Adds the lists and scripts that a wheel is built with."""

        def add_defaults(self) -> None:
            super().add_defaults()
            self.filelist.extend(needed)

    distribution.has_ext_modules = lambda: True  # as far as directories go
    distribution.cmdclass["build_py"] = BuildPackages
    distribution.cmdclass["bdist_wheel"] = BuildWheel
    distribution.cmdclass["sdist"] = BuildSource
