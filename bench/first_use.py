"""A process that has imported NumPy, whorl and one module in; what its first use took out.

That is all that the process has, and its modules have their bytecode, as those of most programs.
Whatever else is imported, compiled or collected before leaves less of whorl in the processor's
caches, which is half of what a first use costs; how much that is, is measured as a case of its own.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from xxhash import xxh3_128_digest

import whorl
from whorl.jit.compiler import target_of
from whorl.jit.kernel import obtain
from whorl.reads import CodeView

MODULE = "relaxation"
PAYLOAD = 50_000
"""Bytes of an artifact that a new process finds."""

VARIABLES = {f"BENCH_RELAX_{number}": "default" for number in range(5)}

Look: TypeAlias = Callable[[CodeView, whorl.Inputs], object]


def arrays() -> tuple[Any, ...]:
    return tuple(np.zeros((64, 64), np.float32) for _ in range(3))


def look_at_all(code: CodeView, inputs: whorl.Inputs) -> None:
    """Three arrays, an int, two constants, five globals, five variables."""
    for name in ("x", "y", "z"):
        inputs.arg(name).array()
    inputs.arg("n").type()
    inputs.arg("tile").value()
    inputs.arg("order").value()
    for name in ("OMEGA", "HALO", "SCHEME", "LIMITS"):
        code.glob(name).value()
    code.glob("clip").code()
    for name in VARIABLES:
        inputs.env(name)


@dataclass(frozen=True)
class Reading:
    """A compiler that looks, and whose code does nothing."""

    look: Look
    launch: Callable[..., object]
    payload: int = 0
    toolchain: str | None = "none"
    environment: Mapping[str, str | None] = field(default_factory=lambda: VARIABLES)
    name: str = "reading"
    version: str = "1"
    settings: ClassVar = ()
    code: ClassVar = "by version"  # as one that is installed: what is measured are lookups

    def compile(self, program: whorl.Program, inputs: whorl.Inputs) -> whorl.Artifact:
        self.look(program.code, inputs)
        return whorl.Artifact({"code": bytes(self.payload)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., object]:
        return self.launch


def launched(*values: object) -> None:
    """What is called in the end."""


def child(way: str, toolchain: str, *modules: str) -> None:
    """In a new process: import everything, and tell how long what comes first took."""
    if way == "crowded":
        import_module("harness")
    for name in modules:
        import_module(name)
    compiler = Reading(look_at_all, launched, PAYLOAD, toolchain or None)
    decorate, function = whorl.jit(compiler), import_module(MODULE).relax
    before = set(sys.modules)
    began = time.perf_counter()
    kernel = decorate(function)
    making = time.perf_counter() - began
    args = (*arrays(), 3)
    values, target = kernel.lookup.binding.bind(*args), target_of(compiler)
    tasks: list[Callable[[], object]] = [partial(kernel, *args)] * 10
    if way in ("lookup", "crowded"):
        tasks = [partial(obtain, kernel.lookup, values, target)]
    elif way == "making":
        tasks = [partial(kernel, *args)]
    elif way == "files":
        kernel.lookup.counts["found"] = len(files := files_of(kernel))
        tasks = [partial(read_and_hash, files)]
    if way != "making":
        before = set(sys.modules)
    if way == "crowded":
        gc.collect()
        gc.freeze()
    gc.disable()  # whether it falls into these microseconds is chance
    seconds = [seconds_of(task) for task in tasks]
    late = sorted(sys.modules.keys() - before)
    told = [*seconds[:2], *([max(seconds[2:])] if seconds[2:] else [])]
    if way == "making":
        told = [making]
    print(json.dumps({"seconds": told, "stats": kernel.stats(), "late": late}))


def seconds_of(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def files_of(kernel: whorl.Kernel) -> list[str]:
    """What is read on the way to a first hit: the source and the hint, when the kernel is made,
    and the artifact. By their names alone."""
    store = Path(os.environ["WHORL_CACHE_DIR"]) / "v1"
    hints = [path for path in (store / "entries").rglob("*/*") if b'["hint",' in path.read_bytes()]
    artifacts = [path for path in store.rglob("groups/*/*/*") if path.stat().st_size > PAYLOAD]
    return [kernel.function.__code__.co_filename, *map(str, hints[:1]), *map(str, artifacts[:1])]


def read_and_hash(files: Sequence[str]) -> None:
    """What no lookup that knows files by their bytes can do without."""
    for name in files:
        file = os.open(name, os.O_RDONLY)
        xxh3_128_digest(os.read(file, os.fstat(file).st_size))
        os.close(file)
