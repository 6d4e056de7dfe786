"""The table `[tool.whorl]` of a pyproject.toml: which kernels a wheel ships, for what.

[tool.whorl]
package = "solver"                           # the bundle is solver/kernels.whorl
targets = ["x86-64-v2", "x86-64-v3"]         # by default these, or aarch64 on such a machine
calls = ["calls.jsonl"]                      # lists that `whorl record` wrote
script = "tools/typical.py"                  # a program that is run, and whose calls are shipped
path = "src"                                 # where the package is; by default src or .

[tool.whorl.kernels]                         # types as `kernel.compile` takes them
"solver.heat:step" = ["f64[:, ::1], f64[:, ::1], f64"]

[project.entry-points."whorl.bundles"]       # by which the bundle is found
solver = "solver"
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from whorl.errors import BadSetting, WhorlError
from whorl.fast_dataclasses import dataclass
from whorl.launch.level import X86_LEVELS, check_level, lowest_level
from whorl.store.installed_bundles import BUNDLE_FILE, GROUP

_TARGETS: Final = ("x86-64-v2", "x86-64-v3")
_KEYS: Final = ("package", "targets", "calls", "script", "path", "kernels")


class BadConfiguration(WhorlError, ValueError):
    """The table `[tool.whorl]` makes no sense; `reason` says why, and what to write.

    >>> print(BadConfiguration("targets is 3; write a list of texts"))
    [tool.whorl] in pyproject.toml: targets is 3; write a list of texts
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"[tool.whorl] in pyproject.toml: {self.reason}"


@dataclass(frozen=True, slots=True)
class ShippedKernels:
    """What a wheel ships: the package that gets the bundle, kernels with types, lists of calls,
    and programs whose calls it ships.

    >>> ShippedKernels.of({"package": "solver", "kernels": {"solver:step": ["i64"]}}).file
    'solver/kernels.whorl'
    """

    package: str
    targets: tuple[str, ...]
    kernels: tuple[tuple[str, str], ...]  # module:name, and types separated by commas
    calls: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    path: str = ""

    @classmethod
    def of_project(cls, root: Path) -> ShippedKernels | None:
        """What the project in a directory ships; None if it has no such table."""
        try:
            text = (root / "pyproject.toml").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        project = tomllib.loads(text)
        table = project.get("tool", {}).get("whorl")
        if table is None:
            return None
        shipped = cls.of(table)
        for name in shipped.files:
            if not (root / name).is_file():
                raise BadConfiguration(f"{name} does not exist; it is looked for beside this file")
        announced = project.get("project", {}).get("entry-points", {}).get(GROUP, {})
        if shipped.package not in announced.values():
            raise BadConfiguration(
                f"nothing announces the bundle, so that nobody would find it; add\n"
                f'  [project.entry-points."{GROUP}"]\n'
                f'  {shipped.package.replace(".", "-")} = "{shipped.package}"'
            )
        return shipped

    @classmethod
    def of(cls, table: dict[str, Any]) -> ShippedKernels:
        """What a table says; `BadConfiguration` if it makes no sense."""
        unknown = sorted(table.keys() - set(_KEYS))
        if unknown:
            raise BadConfiguration(f"{unknown[0]} is not known; known are {', '.join(_KEYS)}")
        package = table.get("package")
        if type(package) is not str or not package:
            raise BadConfiguration('package is missing; write package = "solver"')
        here = _TARGETS if lowest_level() in X86_LEVELS else (lowest_level(),)
        targets = _texts(table, "targets", here)
        for target in targets:
            try:
                check_level(target)
            except BadSetting as error:
                raise BadConfiguration(f"targets: {error}") from None
        kernels = table.get("kernels", {})
        if type(kernels) is not dict:
            raise BadConfiguration('kernels is a table: "solver.heat:step" = ["f64[:, ::1], i64"]')
        rows = [(name, types) for name in kernels for types in _texts(kernels, name, ())]
        calls, scripts = _texts(table, "calls", ()), _texts(table, "script", ())
        if not rows and not calls and not scripts:
            raise BadConfiguration(
                "it names no kernels, no calls and no script; there is nothing to ship"
            )
        path = table.get("path", "")
        if type(path) is not str:
            raise BadConfiguration(f"path is {path!r}; write a directory")
        return cls(package, targets, tuple(rows), calls, scripts, path)

    @property
    def file(self) -> str:
        """Where the bundle is in a wheel."""
        return f"{self.package.replace('.', '/')}/{BUNDLE_FILE}"

    @property
    def files(self) -> tuple[str, ...]:
        """Files of the project that a build needs, beside its packages."""
        return self.calls + self.scripts

    def source(self, root: Path) -> Path:
        """The directory that the package is imported from while it is built."""
        if self.path:
            return root / self.path
        return root / "src" if (root / "src").is_dir() else root


def _texts(table: dict[str, Any], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = table.get(name, list(default))
    if type(value) is str:
        value = [value]
    if type(value) is not list or any(type(each) is not str for each in value):
        raise BadConfiguration(f"{name} is {value!r}; write a list of texts")
    return tuple(value)
