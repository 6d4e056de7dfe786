"""Whose code a module is: the user's, an installed distribution's, or Python's own.

The user's code counts by content, an installed distribution by name and version, the
standard library by the version of Python. A module belongs to a distribution when a
`*.dist-info` directory beside its top-level package claims it; an editable install
leaves the code in its own directory, beside no such claim, and so counts as the user's.
A distribution that was built from a local directory keeps its version while its code
changes, so its file digests (RECORD) count as well.
"""

from __future__ import annotations

import csv
import functools
import os
import re
import sys
from pathlib import Path
from typing import Final, Literal

from whorl.fast_dataclasses import dataclass
from whorl.version import __version__

from .digest import hash_hex

__all__ = ["DEFAULT_BOUNDARY", "USER", "Boundary", "Home"]

PYTHON_VERSION: Final = "{}.{}.{}".format(*sys.version_info[:3])


@dataclass(frozen=True, slots=True)
class Home:
    """Where a piece of code comes from."""

    kind: Literal["user", "installed", "standard"]
    name: str = ""
    version: str = ""


USER: Final = Home("user")
_STANDARD: Final = Home("standard", sys.implementation.name, PYTHON_VERSION)


@dataclass(frozen=True, slots=True)
class Boundary:
    """The policy that decides which code counts by content.

    `user` lists top-level packages that count by content although they are installed;
    `named` lists packages that count by name alone although they are the user's.

    >>> Boundary(user=frozenset({"mylib"})).home("mylib.core", None).kind
    'user'
    >>> DEFAULT_BOUNDARY.home("json", None).kind
    'standard'
    """

    user: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for kind in ("user", "named"):
            packages = getattr(self, kind)
            if isinstance(packages, str):
                raise TypeError(f"{kind}= takes a set of package names, not the text {packages!r}")
            object.__setattr__(self, kind, frozenset(packages))

    def home(self, module: str, file: str | None) -> Home:
        """Whose code the module is, given its name and the file it was loaded from."""
        top = module.partition(".")[0]
        if top in self.user:
            return USER
        if top in self.named:
            return Home("installed", top, "")
        if top == "whorl":
            return _whorl()
        return _home(module, file)

    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The policy as data, for the digest."""
        return tuple(sorted(self.user)), tuple(sorted(self.named))


DEFAULT_BOUNDARY: Final = Boundary()


@functools.cache
def _whorl() -> Home:
    """whorl counts by its version, however it is installed: nearly all code here uses it."""
    return Home("installed", "whorl", __version__)


@functools.lru_cache(maxsize=4096)
def _home(module: str, file: str | None) -> Home:
    if file is None:
        top = module.partition(".")[0]
        return _STANDARD if top in sys.stdlib_module_names else USER
    path = Path(file)
    claimed = _claimed(module, path)
    if claimed is not None:
        return _installed(claimed)
    return _STANDARD if _is_standard(path) else USER


def _claimed(module: str, path: Path) -> Path | None:
    """The *.dist-info directory that claims a module, if one lies beside its top-level package."""
    depth = module.count(".") + (1 if path.stem == "__init__" else 0)
    if depth >= len(path.parents):
        return None
    root = path.parents[depth]
    claims = _distributions(root).get(module.partition(".")[0], ())
    if len(claims) > 1:  # a namespace package: each file belongs to one distribution
        inside = path.relative_to(root).as_posix()
        claims = tuple(info for info in claims if inside in _files(info))
    return claims[0] if claims else None


def _is_standard(path: Path) -> bool:
    for folder in _standard_folders():
        if path.is_relative_to(folder):
            inside = path.relative_to(folder).parts
            return "site-packages" not in inside and "dist-packages" not in inside
    return False


@functools.cache
def _standard_folders() -> tuple[Path, ...]:
    """Where Python has its own modules, and where an environment would have them.

    Not from `sysconfig`: from Python 3.13 on, its first use at the end of the stack breaks it.
    """
    own = Path(os.__file__).parent
    folders = {own}
    if own.is_relative_to(sys.base_prefix):
        folders.add(Path(sys.exec_prefix) / own.relative_to(sys.base_prefix))
    return tuple(folders)


@functools.cache
def _distributions(root: Path) -> dict[str, tuple[Path, ...]]:
    """Top-level package -> the *.dist-info directories in this folder that claim it."""
    claims: dict[str, tuple[Path, ...]] = {}
    for info in sorted(root.glob("*.dist-info")):
        for top in _tops(info):
            claims[top] = (*claims.get(top, ()), info)
    return claims


@functools.cache
def _files(info: Path) -> frozenset[str]:
    """The files of a distribution, as RECORD lists them."""
    try:
        record = (info / "RECORD").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(row[0].replace("\\", "/") for row in csv.reader(record.splitlines()) if row)


def _tops(info: Path) -> set[str]:
    files = _files(info)
    if not files:
        return {re.sub(r"[-.]", "_", info.name.partition("-")[0]).lower()}
    firsts = {file.partition("/")[0] for file in files}
    tops = {first.partition(".")[0] for first in firsts if not first.endswith(".dist-info")}
    return tops - {"", "__pycache__"}


@functools.cache
def _installed(info: Path) -> Home:
    name, _, version = info.name.removesuffix(".dist-info").partition("-")
    if (info / "direct_url.json").is_file():
        version += f"+{_build(info)}"
    return Home("installed", name.lower(), version)


def _build(info: Path) -> str:
    """The digests of the files of a local build, without paths of this machine."""
    try:
        lines = (info / "RECORD").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "unknown"
    hashed = sorted(line for line in lines if ",sha256=" in line and ".dist-info" not in line)
    return hash_hex("\n".join(hashed).encode())[:16]
