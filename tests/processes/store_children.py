"""Entries that can be told right from wrong, and processes that use one store at once.

A test has a function `ran` in a process of its own. That one forks as many children as it needs,
ends them as it likes, and what it returns comes back as JSON. So imports are paid for once, and
a child is there within a millisecond.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.processes.programs import printed
from whorl.artifacts import Artifact, Entry, Label, decode, encode
from whorl.fingerprint.digest import StableDigest, hash_hex
from whorl.store import Cache, DirectoryStore, Statistics

__all__ = [
    "Child",
    "as_ordinary_user",
    "cache_at",
    "entry_of",
    "files_below",
    "is_right",
    "key_of",
    "lines_of",
    "note",
    "ran",
    "size_below",
    "start",
    "version_of",
]

NOBODY: Final = 65534
PATIENCE: Final = 30.0  # seconds after which a child that says nothing has failed


# -- entries ----------------------------------------------------------------------------


def key_of(number: int) -> StableDigest:
    """The key of a number; the keys of neighbours are far apart."""
    return StableDigest(hash_hex(b"key %d" % number))


def payload_of(number: int, version: int, size: int) -> bytes:
    """Bytes that no other number, version or size has."""
    return random.Random(f"{number} {version} {size}").randbytes(size)


def entry_of(
    number: int,
    size: int = 1000,
    *,
    version: int = 0,
    toolchain: str = "",
    under: StableDigest | None = None,
) -> Entry:
    """An entry that says what it should hold, and holds that."""
    made = Artifact(
        {"code": payload_of(number, version, size)},
        {"number": number, "version": version, "size": size},
    )
    return encode(made, Label("artifact", key_of(number), under, toolchain=toolchain))


def version_of(entry: Entry) -> int:
    """The version of an entry from `entry_of`, all of whose content is checked."""
    artifact = decode(entry)
    assert isinstance(artifact, Artifact)
    number, version, size = (artifact.metadata[name] for name in ("number", "version", "size"))
    assert isinstance(number, int)
    assert isinstance(version, int)
    assert isinstance(size, int)
    assert entry.key == key_of(number)
    assert bytes(artifact.payloads["code"]) == payload_of(number, version, size)
    return version


def is_right(entry: Entry, number: int) -> bool:
    """Whether this is the entry of a number, with all that it should hold."""
    return entry.key == key_of(number) and version_of(entry) >= 0


def cache_at(root: str | Path, *, lease: float = 600.0) -> Cache:
    """A cache in a directory, as `open_cache` makes it."""
    statistics = Statistics(Path(root) / "statistics")
    store = DirectoryStore(root, statistics=statistics)
    return Cache(store, leases=store.leases, statistics=statistics, lease=lease)


# -- files ------------------------------------------------------------------------------


def files_below(directory: str | Path) -> list[Path]:
    """Every file below a directory."""
    return [Path(at) / name for at, _, names in os.walk(directory) for name in names]


def size_below(directory: str | Path) -> int:
    """The bytes of all files below a directory; files may come and go meanwhile."""
    total = 0
    for file in files_below(directory):
        try:
            total += file.lstat().st_size
        except FileNotFoundError:
            continue
    return total


def note(file: Path, line: str) -> None:
    """Append a line in one write: what many processes note does not get mixed up."""
    log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, line.encode() + b"\n")
    finally:
        os.close(log)


def lines_of(file: Path) -> list[str]:
    """The lines that were noted."""
    return file.read_text().splitlines() if file.exists() else []


# -- children ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Child:
    """A process that was forked, and the pipe that it answers through."""

    pid: int
    pipe: int

    def result(self, patience: float = PATIENCE) -> Any:
        """What its work returned, as JSON can say it; None if it was killed before."""
        deadline = time.monotonic() + patience
        text = b""
        try:
            while True:
                if not select.select([self.pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    self.send(signal.SIGKILL)
                    raise TimeoutError(f"the child is not done after {patience} s")
                part = os.read(self.pipe, 1 << 16)
                if not part:
                    break
                text += part
        finally:
            os.close(self.pipe)
            os.waitpid(self.pid, 0)
        answer = json.loads(text) if text else {}
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer.get("result")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)


def start(work: Callable[[], object]) -> Child:
    """Fork a child that does this."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Child(pid, read)
    try:
        os.close(read)
        try:
            answer = {"result": work()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        os.write(write, json.dumps(answer).encode())
    finally:  # whoever reads may be gone; what is above us on the stack is the parent's
        os._exit(0)


def as_ordinary_user() -> None:
    """Give up the rights of root, if this is root: permissions do not bind it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def ran(module: str, function: str, *arguments: str | Path, **options: Any) -> Any:
    """What a function of a test module returns in a process of its own."""
    program = (
        "import json, sys\n"
        f"from {module} import {function} as function\n"
        "print(json.dumps(function(*sys.argv[1:])))"
    )
    return printed("-c", program, *arguments, **options)
