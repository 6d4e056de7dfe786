"""The C++ compiler that CMake finds, its flags, and the processor if these ask for that one."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from whorl.fingerprint.digest import hash_bytes
from whorl.lazy import importing

__all__ = ["cpp_toolchain"]

_VARIABLES: Final = frozenset(
    (
        "CC", "CXX", "CUDACXX", "CUDAHOSTCXX", "HIPCXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS",
        "CUDAFLAGS", "HIPFLAGS", "LDFLAGS", "CUDAARCHS", "HIPARCHS", "CPATH", "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "SDKROOT", "MACOSX_DEPLOYMENT_TARGET",
    )
)  # fmt: skip
_COMPILERS: Final = ("c++", "g++", "clang++")  # in the order of CMake
_FOR_THIS_PROCESSOR: Final = "=native"


def cpp_toolchain(distributions: Iterable[str] = (), flags: Iterable[str] = ()) -> dict[str, str]:
    """What decides which machine code C++ becomes here, by name.

    `distributions` are packages whose headers are used, `flags` those beside the environment's.

    >>> toolchain = cpp_toolchain(["numpy"])
    >>> toolchain["platform"] == cpp_toolchain()["platform"], "numpy" in toolchain
    (True, True)
    """
    facts = {
        name: text
        for name, text in sorted(os.environ.items())
        if text and (name in _VARIABLES or name.startswith(("CMAKE_", "GridTools_")))
    }
    facts["compiler"] = _compiler(os.environ.get("CXX", ""))
    soabi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
    facts["platform"] = f"{platform.system()} {platform.machine()} {soabi}"
    for name in distributions:
        facts[name] = _version(name)
    if any(_FOR_THIS_PROCESSOR in text for text in (*facts.values(), *flags)):
        facts["processor"] = _processor()
    return facts


def _compiler(wanted: str) -> str:
    """The version of the compiler and the digest of its program; empty if there is none."""
    names = [wanted.split(maxsplit=1)[0]] if wanted.split() else _COMPILERS
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        return ""
    program = os.path.realpath(found)
    status = os.stat(program)  # noqa: PTH116  # a text goes on
    return _identity(program, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _identity(program: str, changed: int, size: int) -> str:
    """What a compiler says that it is; asked once, as long as its file is not changed."""
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    said = done.stdout.partition("\n")[0].strip()
    return f"{said} {hash_bytes(Path(program).read_bytes()).hex()[:16]}"


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


@functools.cache
def _processor() -> str:
    with importing:
        from llvmlite import binding  # large

    features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_host_cpu_name()} {hash_bytes(features.encode()).hex()[:16]}"
