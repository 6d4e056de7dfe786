"""What machine code is made by: this package and LLVM, as they are installed."""

from __future__ import annotations

import os
from binascii import b2a_base64
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from typing import Any, Final

from whorl.fingerprint.digest import hash_hex
from whorl.lazy import importing, load
from whorl.version import __version__

_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
_COMPILING: Final = ("jit", "kernels", "launch", "native_walk", "reads", "systems", "ufuncs")
"""The parts of this package that decide what a compile makes."""
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")


@cache
def toolchain() -> str:
    """LLVM and this package, as they are installed."""
    spec = PathFinder.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        return f"whorl {own_identity()}, no llvmlite"
    llvmlite = identity_of(spec.submodule_search_locations[0])
    if llvmlite is None:
        with importing:
            from importlib.metadata import version

        llvmlite = version("llvmlite")
    return f"whorl {own_identity()}, llvmlite {llvmlite}"


@cache
def own_identity() -> str:
    """The version of this package, and the digest of its files that decide what a compile makes.

    A checkout and the wheel that was built from it have the same. What an installer has written
    beside a package lists the digest of every file; elsewhere the files are read, in 2 ms.

    >>> own_identity().startswith(__version__)
    True
    """
    rows = _rows_by_record(_PACKAGE) or _rows_by_files(_PACKAGE)
    return f"{__version__} {hash_hex(b'/'.join(sorted(rows)))[:16]}"


def _rows_by_record(package: str) -> list[bytes]:
    """The rows of the files in the record of the installer; none if that does not list them."""
    _, record = _installed(package)
    parts = tuple(f"{os.path.basename(package)}/{part}/".encode() for part in _COMPILING)
    rows = [row for row in record if row.startswith(parts) and b".py," in row]
    return [] if any(b",sha256=" not in row for row in rows) else rows


def _rows_by_files(package: str) -> Iterator[bytes]:
    """The same rows, from the files themselves."""
    hashed = _sha256()
    above = len(os.path.dirname(package)) + 1
    for part in _COMPILING:
        for path in _python_files(os.path.join(package, part)):
            with open(path, "rb") as file:
                text = file.read()
            name = path[above:].replace(os.sep, "/")
            digest = b2a_base64(hashed(text).digest(), newline=False).translate(_URL_SAFE, b"=")
            yield b"%s,sha256=%s,%d" % (name.encode(), digest, len(text))


def _sha256() -> Any:
    """The hash of an installer's record; `hashlib`, which takes 1 ms to import, where need be."""
    for module in ("_sha2", "_sha256", "hashlib"):  # from Python 3.12 on, before, and anywhere
        with suppress(ImportError, AttributeError):
            return load(module).sha256
    raise ImportError("this Python has no sha256")


def _python_files(directory: str) -> Iterator[str]:
    for entry in os.scandir(directory):
        if entry.is_dir():
            yield from _python_files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def identity_of(package: str) -> str | None:
    """The version of an installed package, and which of all that are called so.

    The files of the package count; scripts and notes are others in every environment. Finding it
    by `importlib.metadata` takes 20 ms.
    """
    notes, record = _installed(package)
    if not notes:
        return None
    version = notes.removesuffix(".dist-info").partition("-")[2]
    own = [
        row
        for row in record
        if not row.startswith((b"..", notes.encode())) and not row.endswith(b",,")
    ]
    return f"{version} {hash_hex(b'/'.join(sorted(own)))[:8]}" if record else version


def _installed(package: str) -> tuple[str, list[bytes]]:
    """The directory of notes that an installer has written beside a package, and the rows of the
    record in it: one for each file, with its digest. Some installers write none."""
    beside, name = os.path.split(package)
    for entry in os.listdir(beside):
        if entry.startswith(f"{name}-") and entry.endswith(".dist-info"):
            try:
                with open(os.path.join(beside, entry, "RECORD"), "rb") as file:
                    return entry, file.read().splitlines()
            except FileNotFoundError:
                return entry, []
    return "", []
