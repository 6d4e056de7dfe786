"""The build hook for hatchling: `[tool.hatch.build.targets.wheel.hooks.whorl]` in pyproject.toml.

[build-system]
requires = ["hatchling", "whorl"]

[tool.hatch.build.targets.wheel.hooks.whorl]
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from .build_process import build_in_process, wheel_tag
from .configuration import BadConfiguration, ShippedKernels


class WhorlBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]  # hatchling is only there where something is built
    """Puts the bundle that `[tool.whorl]` describes into a wheel."""

    PLUGIN_NAME = "whorl"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle, unless the install is an editable one, and give the wheel its tag."""
        if version == "editable" or self.target_name != "wheel":
            return
        root = Path(self.root)
        shipped = ShippedKernels.of_project(root)
        if shipped is None:
            raise BadConfiguration("there is no such table")
        self._folder = tempfile.TemporaryDirectory(prefix="whorl-wheel-")
        path = Path(self._folder.name) / "kernels.whorl"
        self.app.display_info(build_in_process(root, path))
        build_data["force_include"][str(path)] = shipped.file
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag(shipped.targets)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built beside the wheel."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()


@hookimpl  # type: ignore[untyped-decorator,unused-ignore]  # see above
def hatch_register_build_hook() -> type[WhorlBuildHook]:
    """Tell hatchling of the hook."""
    return WhorlBuildHook
