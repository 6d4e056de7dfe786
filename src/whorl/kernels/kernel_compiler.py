"""The kernel compiler, as an implementation of the protocol of `jit`."""

from __future__ import annotations

import sys
import types
from functools import cache
from typing import TYPE_CHECKING

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.source import code_digest, place_of_code
from whorl.jit.compiler import Target
from whorl.launch import machine
from whorl.launch.launch_record import ABI
from whorl.launch.level import architecture_of, can_run, host_level, level_named, levels_for
from whorl.launch.plain_launch import PlainLaunch, parts_of
from whorl.launch.toolchain import own_identity, toolchain
from whorl.lazy import importing
from whorl.settings import current

if TYPE_CHECKING:
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
    parallel: bool = False
    fastmath: tuple[str, ...] = ()  # flags of LLVM, sorted

    name = "whorl-kernel"
    version = f"3 abi {ABI}"  # what was made for another record is never found
    settings = ("nogil", "parallel", "fastmath")  # the others are in the target

    @property
    def toolchain(self) -> str:
        """LLVM decides what the code is, together with this package."""
        return toolchain()

    def target(self) -> Target:
        """What is compiled for now: an architecture's level, and whether with checks."""
        settings = current()
        level = self.level or settings.target.value
        debug = settings.debug.value if self.debug is None else self.debug
        return _target(level, debug)

    def shipped_targets(self, target: Target, toolchain: str) -> tuple[Target, ...]:
        """Code of this very whorl by any LLVM, for the level of a target and those below it."""
        if not toolchain.startswith(f"whorl {own_identity()}, "):
            return ()
        properties = target.properties
        return tuple(_target(level, properties["debug"]) for level in levels_for(properties["cpu"]))

    def before_compile(self) -> None:
        """Import LLVM: what that reads of the environment is no read of the compile."""
        machine.binding()

    def compile(self, program: Program, inputs: Inputs) -> Artifact:
        """Lower, run the passes, and let LLVM make machine code."""
        with importing:
            from .pipeline import compiled  # a process that finds everything needs none of it

        inputs.asking(_first_line(program.function.__code__))
        return compiled(inputs, nogil=self.nogil, parallel=self.parallel, fastmath=self.fastmath)

    def load(self, artifact: Artifact, device: str) -> PlainLaunch:
        """Make an artifact callable with the values of its function's parameters.

        A kernel that reads globals, or has checkpoints, is told its function too.
        """
        metadata = artifact.metadata
        level, abi = metadata["level"], metadata["abi"]
        if abi != ABI:
            raise RuntimeError(f"this code was made for another launch record, {abi} and not {ABI}")
        if not can_run(level):
            raise RuntimeError(
                f"this machine is {host_level()}: it cannot run code for {level}.\n"
                "  Leave the option or setting `target` out here, or name a lower level."
            )
        return PlainLaunch(parts_of(artifact))


def _first_line(code: types.CodeType) -> str:
    """Where a function begins, for people: file, number, text."""
    text = "".join(code_digest(code).written[:1]).strip()
    file, line = place_of_code(code)
    return f"{file}:{line}: `{text}`"


@cache
def _target(level: str, debug: bool) -> Target:
    cpu = level_named(level)
    return Target(f"{sys.platform}-{architecture_of(cpu)}", "cpu", {"cpu": cpu, "debug": debug})
