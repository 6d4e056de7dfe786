"""Finds the bundles that installed distributions ship.

A distribution announces a bundle by an entry point of the group `whorl.bundles`. Its value is the
name of a package, in whose directory the bundle is:

    [whorl.bundles]
    solver = "solver.shipped"        # solver/shipped/kernels.whorl

No package is imported to find it. A bundle is trusted as the code beside it is: whoever can write
there can change what the program does anyway.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from typing import Final

from whorl.fast_dataclasses import dataclass
from whorl.lazy import importing, logger

from .bundle import BadBundle
from .bundle_store import BundleStore

log = logger("whorl.store")

GROUP: Final = "whorl.bundles"
BUNDLE_FILE: Final = "kernels.whorl"

_unused: Final[list[None]] = []  # one for each that wants to find none


@dataclass(frozen=True, slots=True)
class InstalledBundle:
    """A bundle that a distribution announces; `problem` says why there is no store of it."""

    distribution: str
    package: str
    path: str
    store: BundleStore | None = None
    problem: str = ""


def installed_bundles() -> tuple[InstalledBundle, ...]:
    """The bundles of all distributions on `sys.path`, as they were when this was first asked.

    One that cannot be read is a warning, once.

    >>> type(installed_bundles())
    <class 'tuple'>
    """
    return () if _unused else _all_bundles()


@contextmanager
def unused_bundles() -> Iterator[None]:
    """Inside, no bundle is found: what a new one is to hold has to be compiled.

    >>> with unused_bundles():
    ...     installed_bundles()
    ()
    """
    _unused.append(None)
    try:
        yield
    finally:
        _unused.pop()


@cache
def _all_bundles() -> tuple[InstalledBundle, ...]:
    bundles = tuple(_opened(*place) for place in dict.fromkeys(_announced()))
    for bundle in bundles:
        if bundle.problem:
            log.warning(
                "the bundle of %s is not used: %s", bundle.distribution or "?", bundle.problem
            )
    return bundles


def _announced() -> Iterator[tuple[str, str]]:
    """Distributions and the packages that they announce.

    Some 5 us for a distribution; `importlib.metadata` takes 20 ms to import.
    """
    for place in dict.fromkeys(sys.path):
        try:
            names = os.listdir(place or os.curdir)
        except OSError:
            continue
        for name in sorted(names):
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                    text = file.read()
            except OSError:
                continue
            if GROUP.encode() in text:
                distribution = name.rpartition(".")[0].replace("-", " ", 1)
                for value in _values(text.decode("utf-8", "replace")):
                    yield distribution, value


def _values(text: str) -> Iterator[str]:
    """The values of the entry points of the group."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[] ")
        elif group == GROUP and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].partition(":")[0].partition("[")[0].strip()


def _opened(distribution: str, package: str) -> InstalledBundle:
    directory = _directory_of(package)
    if directory is None:
        problem = f"there is no package {package}, which it announces"
        return InstalledBundle(distribution, package, "", problem=problem)
    path = os.path.join(directory, BUNDLE_FILE)
    try:
        return InstalledBundle(distribution, package, path, BundleStore(path))
    except (BadBundle, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return InstalledBundle(distribution, package, path, problem=f"{path}: {reason}")


def _directory_of(package: str) -> str | None:
    """The directory of a package, which is not imported for that."""
    top, *below = package.split(".")
    module = sys.modules.get(top)
    places = list(getattr(module, "__path__", ()))
    if not places:
        with importing:
            spec = PathFinder.find_spec(top)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
    for place in places:
        directory = os.path.join(place, *below)
        if os.path.isdir(directory):
            return directory
    return None
