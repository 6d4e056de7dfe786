"""What machine code is made by: this package and LLVM, as they are installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder

from whorl.fingerprint.digest import hash_hex
from whorl.lazy import importing

__all__ = ["identity_of", "toolchain"]


@cache
def toolchain() -> str:
    """LLVM and this package, as they are installed; of a checkout, what its files hold."""
    whorl = os.path.dirname(os.path.dirname(__file__))
    own = identity_of(whorl)
    if own is None:
        parts = (os.path.join(whorl, part) for part in ("kernels", "launch", "systems"))
        texts = [text for part in parts for text in _texts(part)]
        own = hash_hex(b"".join(texts))[:16]
    spec = PathFinder.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        return f"whorl {own}, no llvmlite"
    llvmlite = identity_of(spec.submodule_search_locations[0])
    if llvmlite is None:
        with importing:
            from importlib.metadata import version

        llvmlite = version("llvmlite")
    return f"whorl {own}, llvmlite {llvmlite}"


def _texts(directory: str) -> Iterator[bytes]:
    """What the Python files below a directory hold, in the order of their names."""
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry.path)
        elif entry.name.endswith(".py"):
            with open(entry.path, "rb") as file:
                yield file.read()


def identity_of(package: str) -> str | None:
    """The version of an installed package, and which of all that are called so.

    What an installer writes beside a package lists the digest of every file. Those of the package
    count; scripts and notes are others in every environment. Finding it by `importlib.metadata`
    takes 20 ms.
    """
    beside, name = os.path.split(package)
    for entry in os.listdir(beside):
        if entry.startswith(f"{name}-") and entry.endswith(".dist-info"):
            version = entry.removesuffix(".dist-info").partition("-")[2]
            try:
                with open(os.path.join(beside, entry, "RECORD"), "rb") as file:
                    rows = file.read().splitlines()
            except FileNotFoundError:  # some installers write none
                return version
            notes = entry.encode()
            own = [
                row
                for row in rows
                if not row.startswith((b"..", notes)) and not row.endswith(b",,")
            ]
            return f"{version} {hash_hex(b'/'.join(sorted(own)))[:8]}"
    return None
