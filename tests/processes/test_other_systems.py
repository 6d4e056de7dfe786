"""Nothing is in the way of systems that have no fork, no fcntl and no image of Linux.

A process of this machine is made to look like one there, as far as a module can tell: it has not
the names that Python has on POSIX systems only. What those systems do otherwise is not shown.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# What is imported before is not whorl, and knows the system that it is on.
PRETEND = """
import sys, os
import asyncio, concurrent.futures.process, ctypes, getpass, mmap, multiprocessing, platform
import selectors, shutil, socket, ssl, subprocess, sysconfig, tempfile, webbrowser
import click, filelock, llvmlite.binding, numpy, platformdirs, rich.console, rich.progress
import rich.table, xxhash

sysconfig.get_config_vars()
system = sys.argv[1]
linux = "memfd_create sched_getaffinity posix_fadvise posix_fallocate"
posix = '''fork register_at_fork getuid geteuid getgid getegid O_NOFOLLOW O_CLOEXEC O_DIRECTORY
    mkfifo uname chown getloadavg sysconf statvfs pread pwrite fdatasync killpg environb'''
names = linux if system == "darwin" else linux + " " + posix
for name in names.split():
    if hasattr(os, name):
        delattr(os, name)
if system == "win32":
    os.supports_bytes_environ = False
    for name in ("fcntl", "grp", "posix", "pwd", "resource", "termios"):
        sys.modules[name] = None
sys.platform = system
"""
MODULES = """
import importlib, pkgutil
import whorl
for module in pkgutil.walk_packages(whorl.__path__, "whorl."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # an adapter, without the library that it is for
        if not module.name.startswith(f"whorl.adapters.{str(error.name).split('.')[0]}."):
            raise
"""
WORK = """
import whorl
from loops import norm2, square
assert norm2(numpy.ones(10)) == 10.0
assert (square(3), square(3)) == (9, 9)
print(norm2.stats(), whorl.launch.status())
"""
LOOPS = """
import whorl

@whorl.kernel
def norm2(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s

@whorl.cached
def square(n):
    return n * n
"""


def on(system: str, program: str, place: Path) -> str:
    """What a program prints that takes this machine for another one."""
    done = subprocess.run(
        [sys.executable, "-c", PRETEND + program, system],
        cwd=place,
        env={**os.environ, "WHORL_CACHE_DIR": str(place / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_every_module_can_be_imported(system: str, tmp_path: Path) -> None:
    on(system, MODULES, tmp_path)


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_what_one_process_has_made_another_one_finds(system: str, tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    assert "'compiled': 1" in on(system, WORK, tmp_path)
    found = on(system, WORK, tmp_path)
    assert "{'found': 1}" in found
    assert "images are for Linux" in found
