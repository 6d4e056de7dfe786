"""The kernel compiler, as `jit` sees it: a function's views in, an artifact out."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any, Final

from whorl.artifacts import Artifact
from whorl.errors import KernelError
from whorl.jit import Program, Target
from whorl.reads import Inputs
from whorl.reads.trace import Plain
from whorl.settings import current

from . import ir
from .emit import emit
from .launch import launcher, plain_slots, plain_type
from .lowering import lower
from .machine import can_run, host_level, machine_code
from .passes import run_passes
from .record import ABI
from .text import text_of
from .types import Scalar
from .walk import statements_in

__all__ = ["KernelCompiler"]


@dataclass(frozen=True, slots=True)
class KernelCompiler:
    """Compiles kernels through LLVM. What is None is as the settings say at each call."""

    level: str | None = None
    debug: bool | None = None
    nogil: bool = False

    name = "whorl-kernel"
    version = "1"

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

    def compile(self, program: Program, inputs: Inputs) -> Artifact:
        """Lower, run the passes, and let LLVM make machine code."""
        level, debug = inputs.target("cpu"), inputs.target("debug")
        lowered = lower(inputs, debug=debug)
        function = lowered.function
        try:
            run_passes(function, _dump)
            text, shown = emit(function), text_of(function)
        except RecursionError:
            raise _too_deep(inputs.function().function) from None
        statements = list(statements_in(function.body))
        told: dict[str, Plain] = {
            "abi": ABI,
            "level": level,
            "slots": plain_slots(lowered.paths, [slot.type for slot in function.slots]),
            "result": _plain_result(function.result),
            "sites": tuple(
                (site.error, site.text, site.line, tuple(map(plain_type, site.types)))
                for site in function.sites
            ),
            "parallel": any(isinstance(each, ir.Parallel) for each in statements),
            "prints": any(isinstance(each, ir.Print) for each in statements),
            "nogil": self.nogil,
        }
        payloads = {
            "object": machine_code(text, level),
            "llvm": text.encode(),
            "ir": shown.encode(),
        }
        return Artifact(payloads, told)

    def load(self, artifact: Artifact, device: str) -> Callable[..., Any]:
        """Kernels are loaded with the function they were made of: see `load_for`."""
        raise NotImplementedError("a kernel is loaded together with its function")

    def load_for(self, artifact: Artifact, function: types.FunctionType) -> Callable[..., Any]:
        """Make an artifact callable with the arguments of its function."""
        told = artifact.metadata
        if told["abi"] != ABI or not can_run(told["level"]):
            raise RuntimeError(
                f"this machine ({host_level()}) cannot run code for {told['level']}, ABI "
                f"{told['abi']}"
            )
        return launcher(artifact, function, told["level"])


def _too_deep(function: types.FunctionType) -> KernelError:
    code = function.__code__
    return KernelError(
        f"{function.__qualname__} is nested too deeply",
        "Split long chains of operators, or of if and elif.",
        PurePath(code.co_filename).name,
        code.co_firstlineno,
        1,
    )


@cache
def _toolchain() -> str:
    from importlib.metadata import version

    return f"llvmlite {version('llvmlite')}, whorl {version('whorl')}"


@cache
def _target(level: str, debug: bool) -> Target:
    cpu = host_level() if level == "host" else level
    if not can_run(cpu):
        raise ValueError(f"this machine is {host_level()}: it cannot run code for {cpu}")
    return Target(f"{sys.platform}-{cpu}", "cpu", {"cpu": cpu, "debug": debug})


def _plain_result(result: ir.Result) -> Plain:
    match result:
        case ir.Local():
            assert isinstance(result.type, Scalar)
            return ("number", result.type.kind, result.type.bits)
        case tuple():
            return ("tuple", tuple(_plain_result(part) for part in result))
    return None


def _dump(name: str, function: ir.Function) -> None:
    wanted: Final = current().dump.value
    if wanted in (name, "all"):
        print(f"# after {name}\n{text_of(function)}", file=sys.stderr)
