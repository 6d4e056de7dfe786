"""Checks the settings, the cache directory, bundles, the toolchain, the launch and the threads."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

from whorl import settings
from whorl.errors import BadSetting
from whorl.fingerprint.digest import StableDigest
from whorl.store import DirectoryLeases, DirectoryStore, Failed, NoLease
from whorl.store.safety import danger

from . import units
from .output import silence_logger

LITTLE_SPACE: Final = 256 << 20
_NETWORK: Final = frozenset(("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "fuse"))


class Check(NamedTuple):
    """The result of one check. `state` is ok, note (worth knowing) or broken."""

    area: str
    name: str
    state: str
    text: str


def run_checks(cache_dir: settings.Setting[Path]) -> Iterator[Check]:
    """Run all checks, in the order in which a call depends on them."""
    for area, check in (
        ("settings", lambda: _settings(cache_dir)),
        ("directory", lambda: _directory(cache_dir.value)),
        ("remote", _remote),
        ("bundles", _bundles),
        ("toolchain", _toolchain),
        ("launch", lambda: _launch(cache_dir.value)),
        ("threads", _threads),
    ):
        yield from _guarded(area, check)


def _guarded(area: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """The results of a check; an exception is a result too."""
    try:
        yield from check()
    except Exception as error:
        yield Check(area, type(error).__name__, "broken", str(error).splitlines()[0])


# -- settings ---------------------------------------------------------------------------


def _settings(cache_dir: settings.Setting[Path]) -> Iterator[Check]:
    try:
        current = settings.current()
    except BadSetting as error:
        yield Check("settings", str(error.name), "broken", str(error))
        return
    for name in settings.OPTIONS:
        setting: settings.Setting[Any] = (
            cache_dir if name == "cache_dir" else getattr(current, name)
        )
        value = units.size(setting.value) if name == "cache_max_size" else setting.value
        value = " ".join(map(str, value)) if name == "remote" else value
        shown = "-" if value == "" else value
        state = "note" if (name, setting.value) in _WORTH_KNOWING else "ok"
        yield Check("settings", name, state, f"{shown} (from {setting.origin})")
    yield from _unknown_variables()


def _unknown_variables() -> Iterator[Check]:
    """Environment variables that look like settings and are not, such as misspelt ones."""
    known = settings.variables()
    for name in sorted(os.environ):
        if name.startswith("WHORL_") and name not in known:
            close = get_close_matches(name, known, 1, 0.7)
            text = f"not a setting; {close[0]} is one" if close else "not a setting of whorl"
            yield Check("settings", name, "note", text)


_WORTH_KNOWING: Final = {
    ("cache", "off"), ("cache", "readonly"), ("interpret", True), ("debug", True),
    ("require_hit", True),
}  # fmt: skip


# -- directory --------------------------------------------------------------------------


def _directory(root: Path) -> Iterator[Check]:
    yield Check("directory", "path", "ok", str(root))
    if not root.is_dir():
        yield _missing(root)
        return
    status = root.stat()
    reason = danger(status)
    mode = stat.S_IMODE(status.st_mode)
    if reason is not None:
        yield Check("directory", "safe", "broken", f"{reason} (mode {mode:04o}): it is not used")
    else:
        owner = f"user {status.st_uid}, " if sys.platform != "win32" else ""
        yield Check("directory", "safe", "ok", f"{owner}mode {mode:04o}")
    yield _writable(root)
    yield from _space(root)
    aside = root / "quarantine"
    damaged = len(list(aside.iterdir())) if aside.is_dir() else 0
    if damaged:
        yield Check("directory", "quarantine", "note", f"{damaged} damaged files were moved here")


def _remote() -> Iterator[Check]:
    """The shared caches in their order: where each was named, and whether it answers."""
    remote, origin = settings.current().remote
    if not remote:
        return
    from whorl.remote.address import Address
    from whorl.remote.keyring import BadKey, Keyring
    from whorl.remote.tiers import store_of

    keys = Keyring.from_settings(settings.current())
    for problem in keys.problems:
        yield Check("remote", "keys", "note", problem)
    for number, url in enumerate(remote, 1):
        name = f"tier {number}"
        try:
            with silence_logger("whorl.remote"):
                store = store_of(Address.parse(url, origin), keys)
                start = time.perf_counter()
                got = store.get(StableDigest(os.urandom(16).hex()))
        except (BadKey, BadSetting) as error:
            yield Check("remote", name, "broken", str(error))
            continue
        milliseconds = (time.perf_counter() - start) * 1000
        if isinstance(got, Failed):
            yield Check("remote", name, "broken", f"{url} (from {origin}): {got.reason}")
            continue
        reason = store.why_not_written
        use = "read and written" if reason is None else f"read only: {reason}"
        trust = "; entries are not checked: trust=all" if store.sealer.trust_all else ""
        state = "note" if trust else "ok"
        text = f"{url} (from {origin}): {use}, {milliseconds:.1f} ms{trust}"
        yield Check("remote", name, state, text)


def _missing(root: Path) -> Check:
    above = next((parent for parent in root.parents if parent.exists()), None)
    if root.exists() or (above is not None and not above.is_dir()):
        return Check("directory", "exists", "broken", "a file is in its place")
    if above is None or not os.access(above, os.W_OK | os.X_OK):
        return Check("directory", "exists", "broken", f"not yet, and {above} cannot be written to")
    return Check("directory", "exists", "ok", "not yet; it is created with the first entry")


def _writable(root: Path) -> Check:
    if settings.current().cache.value == "readonly":
        return Check("directory", "writable", "note", "not tested: WHORL_CACHE is readonly")
    try:
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        return Check(
            "directory", "writable", "note", f"no ({error.strerror}): the cache is read-only"
        )
    return Check("directory", "writable", "ok", _locks(root))


def _locks(root: Path) -> str:
    with tempfile.TemporaryDirectory(dir=root, prefix="doctor-") as folder:
        lease = DirectoryLeases(folder).take("doctor")
        if isinstance(lease, NoLease):
            return "yes, but files cannot be locked: processes may repeat each other's work"
        lease.release(done=True)
    return "yes, and files can be locked"


def _space(root: Path) -> Iterator[Check]:
    free = shutil.disk_usage(root).free
    state = "note" if free < LITTLE_SPACE else "ok"
    yield Check("directory", "free space", state, units.size(free))
    if hasattr(os, "statvfs"):
        kind = _file_system(root)
        flags = os.statvfs(root).f_flag
        options = [name for name, flag in (("noexec", 8), ("read-only", 1)) if flags & flag]
        network = (
            ["a network file system: locks may not reach all machines"] if kind in _NETWORK else []
        )
        text = "; ".join([kind, *options, *network])
        yield Check("directory", "file system", "note" if network else "ok", text)


def _file_system(root: Path) -> str:
    """The type of the file system of a path, if the system tells."""
    try:
        rows = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown kind"
    path = str(root.resolve())
    fitting = [
        row
        for row in rows
        if len(row) > 2 and (path == row[1] or path.startswith(row[1].rstrip("/") + "/"))
    ]
    return max(fitting, key=lambda row: len(row[1]))[2] if fitting else "unknown kind"


# -- bundles ----------------------------------------------------------------------------


def _bundles() -> Iterator[Check]:
    """The bundles of installed distributions: how much of each fits here."""
    from whorl.shipping.bundle_report import report_on
    from whorl.store.installed_bundles import installed_bundles

    with silence_logger("whorl.store"):
        bundles = installed_bundles()
    for bundle in bundles:
        if bundle.store is None:
            yield Check("bundles", bundle.distribution, "broken", bundle.problem)
        else:
            report = report_on(bundle.store)
            state = "ok" if report.fitting else "note"
            yield Check("bundles", bundle.distribution, state, f"{report} ({bundle.path})")


# -- toolchain --------------------------------------------------------------------------


def _toolchain() -> Iterator[Check]:
    here = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield Check("toolchain", "Python", "ok", here)
    yield Check("toolchain", "whorl", "ok", str(vars(sys.modules["whorl"])["__version__"]))
    for name in ("numpy", "llvmlite"):
        try:
            yield Check("toolchain", name, "ok", version(name))
        except PackageNotFoundError:
            text = "is not installed: only what is cached or shipped can be launched"
            yield Check("toolchain", name, "note" if name == "llvmlite" else "broken", text)
            return
    yield from _guarded("toolchain", _llvm)


def _llvm() -> Iterator[Check]:
    from whorl.launch.level import host_level
    from whorl.launch.machine import binding

    llvm_version = ".".join(map(str, binding().llvm_version_info))
    target = settings.current().target
    yield Check("toolchain", "LLVM", "ok", llvm_version)
    level = f"{host_level()}; kernels are compiled for {target.value}"
    yield Check("toolchain", "processor", "ok", level)
    yield Check("toolchain", "a kernel compiles and runs", *_compile_and_run())


def _compile_and_run() -> tuple[str, str]:
    """Whether a small kernel compiles and gives the right result, without the cache."""
    from whorl.kernels import kernel

    def doubled(n: int) -> int:
        return 2 * n

    begun = time.perf_counter()
    before = settings.current()
    try:
        settings.configure(cache="off", require_hit=False, interpret=False)
        answer = kernel(cache="process")(doubled)(21)
    finally:
        settings.restore(before)
    if answer != 42:
        return "broken", f"2 * 21 is {answer}"
    return "ok", f"yes, in {units.duration(time.perf_counter() - begun)}"


# -- launch and threads -----------------------------------------------------------------


def _launch(root: Path) -> Iterator[Check]:
    yield Check("launch", "machine code", *_machine_code())
    yield Check("launch", "native", *_native_launch(root))
    yield Check("launch", "fingerprints", *_native_walk())


def _machine_code() -> tuple[str, str]:
    """How machine code gets into executable memory."""
    from whorl.launch import Image, Unmappable, map_image
    from whorl.launch.mapped import REFUSED, runs_written_memory

    if runs_written_memory():
        return "ok", "memory may become executable"
    try:
        map_image(Image(b"\xc3", {"nothing": 0}, ()))
    except Unmappable as reason:
        return "broken", f"{reason}; WHORL_INTERPRET=1 runs kernels as plain Python"
    return "note", f"{REFUSED}; code is run from memory files"


def _native_launch(root: Path) -> tuple[str, str]:
    """Whether kernels are launched natively in a new process, and by what, or why not."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "whorl.cli.rehearsal"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode < 0:
        return "broken", f"the test process was ended by signal {-done.returncode}"
    try:
        reason, origin = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = done.stderr.strip().splitlines()[-1:]
        return "broken", "".join(last) or "the test process printed nothing"
    if reason:
        return "note", f"off: {reason}"
    return "ok", f"on; the launcher is {_launcher_origin(origin, root)}"


def _native_walk() -> tuple[str, str]:
    """Whether fingerprints are taken natively, and by what, or why not."""
    from whorl.native_walk.walk_loading import status

    on, text = status()
    return ("ok", f"native; {text}") if on else ("note", f"in Python: {text}")


def _launcher_origin(origin: str, root: Path) -> str:
    """Where processes that use a cache have the launcher from; the rehearsal uses an empty one."""
    from whorl.launch.layout_search import object_layout
    from whorl.launch.level import lowest_level
    from whorl.launch.routine import launcher_for
    from whorl.launch.stored_routine import FOUND, SHIPPED

    if origin == SHIPPED or not root.is_dir():
        return origin
    launcher = launcher_for(object_layout(), lowest_level())
    return FOUND if launcher.is_stored(DirectoryStore(root)) else origin


def _threads() -> Iterator[Check]:
    from whorl.launch.runtime import find_runtime

    with silence_logger("whorl.kernels"):
        runtime = find_runtime()
    count = settings.current().threads.value
    if runtime is None:
        text = "no OpenMP runtime found: parallel loops run on one thread"
        yield Check("threads", "runtime", "note", text)
    else:
        yield Check("threads", "runtime", "ok", f"{runtime.name}, {count} threads")
