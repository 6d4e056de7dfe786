"""The kernel compiler, as an implementation of the protocol of `jit`."""

from __future__ import annotations

import os
import sys
import types
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import hash_hex
from whorl.fingerprint.source import code_digest, place_of_code
from whorl.jit.target import Target
from whorl.launch import machine
from whorl.launch.launch_record import ABI
from whorl.launch.level import can_run, host_level
from whorl.launch.parts import parts_of
from whorl.launch.plain_launch import PlainLaunch
from whorl.lazy import importing
from whorl.settings import current

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.artifacts import Artifact
    from whorl.jit import Program
    from whorl.reads import Inputs

__all__ = ["KernelCompiler"]


@dataclass(frozen=True, slots=True)
class KernelCompiler:
    """Compiles kernels through LLVM. What is None is as the settings say at each call."""

    level: str | None = None
    debug: bool | None = None
    nogil: bool = False

    name = "whorl-kernel"
    version = f"3 abi {ABI}"  # what was made for another record is never found
    settings = ("nogil",)  # the others are in the target

    @property
    def toolchain(self) -> str:
        """LLVM decides what the code is, together with this package."""
        return _toolchain()

    def target(self) -> Target:
        """What is compiled for now: an architecture's level, and whether with checks."""
        settings = current()
        level = self.level or settings.target.value
        debug = settings.debug.value if self.debug is None else self.debug
        return _target(level, debug)

    def before_compile(self) -> None:
        """Import LLVM: what that reads of the environment is no read of the compile."""
        machine.binding()

    def compile(self, program: Program, inputs: Inputs) -> Artifact:
        """Lower, run the passes, and let LLVM make machine code."""
        with importing:
            from .pipeline import compiled  # a process that finds everything needs none of it

        inputs.asking(_first_line(program.function.__code__))
        return compiled(inputs, nogil=self.nogil)

    def load(self, artifact: Artifact, device: str) -> PlainLaunch:
        """Make an artifact callable with the values of its function's parameters.

        A kernel that reads globals, or has checkpoints, is told its function too.
        """
        metadata = artifact.metadata
        if metadata["abi"] != ABI or not can_run(metadata["level"]):
            raise RuntimeError(
                f"this machine ({host_level()}) cannot run code for {metadata['level']}, ABI "
                f"{metadata['abi']}"
            )
        return PlainLaunch(parts_of(artifact, metadata["level"]))


def _first_line(code: types.CodeType) -> str:
    """Where a function begins, for people: file, number, text."""
    text = "".join(code_digest(code).written[:1]).strip()
    file, line = place_of_code(code)
    return f"{file}:{line}: `{text}`"


@cache
def _toolchain() -> str:
    """LLVM and this package, as they are installed; of a checkout, what its files hold."""
    whorl = os.path.dirname(os.path.dirname(__file__))
    own = _installed(whorl)
    if own is None:
        texts = [
            text for part in ("kernels", "launch") for text in _texts(os.path.join(whorl, part))
        ]
        own = hash_hex(b"".join(texts))[:16]
    spec = PathFinder.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        return f"whorl {own}, no llvmlite"
    llvmlite = _installed(spec.submodule_search_locations[0])
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


def _installed(package: str) -> str | None:
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


@cache
def _target(level: str, debug: bool) -> Target:
    cpu = host_level() if level == "host" else level
    if not can_run(cpu):
        raise ValueError(f"this machine is {host_level()}: it cannot run code for {cpu}")
    return Target(f"{sys.platform}-{cpu}", "cpu", {"cpu": cpu, "debug": debug})
