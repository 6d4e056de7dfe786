"""Kernels for tests: a function says what it reads, and what it made is what comes back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import whorl
from whorl.fingerprint import source
from whorl.jit import key
from whorl.jit.compiler import Program
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore

Look = Callable[[Inputs], Any]
Make = Callable[..., Kernel]


class Looking:
    """Compiles to whatever `look` returns; a launch returns that and the arguments."""

    name = "looking"
    settings = ()

    def __init__(self, look: Look, version: str = "1", **extra: Any) -> None:
        self.look = look
        self.version = version
        self.toolchain = "none"
        self.compiles = 0
        self.loads: list[str] = []
        vars(self).update(extra)

    def compile(self, program: Program, inputs: Inputs) -> whorl.Artifact:
        self.compiles += 1
        return whorl.Artifact({"code": b"x"}, {"made": self.look(inputs)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        self.loads.append(device)
        made = artifact.metadata["made"]
        return lambda *arguments: made


class Thing:
    """Holds whatever it is given."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...
        def __delattr__(self, name: str) -> None: ...


def compiles(kernel: Kernel) -> int:
    """How often a kernel of `Looking` was compiled."""
    compiler: Any = kernel.compiler
    return int(compiler.compiles)


def empty(x: Any = None, y: Any = None) -> None:
    """A function without a body, for compilers that do not look at it."""


def as_in_a_new_process(made: Kernel, **extra: Any) -> Kernel:
    """The kernel as a new process has it."""
    source._known.clear()
    key._of_files.clear()
    compiler: Any = copy.copy(made.compiler)
    compiler.compiles = 0
    vars(compiler).update(extra)
    return Kernel(made.function, compiler, made.choices, made.own_cache)


def kernel_in_memory(look: Look, store: Cache | None = None, **options: Any) -> Kernel:
    """A kernel of `Looking` with one required argument and a store in memory."""

    @whorl.jit(Looking(look), store=store or Cache(MemoryStore()), **options)
    def kernel(x: Any) -> None: ...

    return kernel


class LookingAtProgram:
    """Like `Looking`, with a `look` that takes the program too; what identifies it can be set."""

    name, version, settings = "looking", "1", ()
    toolchain: Any = "none"

    def __init__(self, look: Callable[[whorl.Program, Inputs], Any]) -> None:
        self.look = look

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"found": self.look(program, inputs)})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda *values: artifact.metadata["found"]


def program_kernel(look: Callable[[whorl.Program, Inputs], Any], **choices: Any) -> Any:
    """A kernel of `LookingAtProgram`, or of the given compiler, with a store in memory."""
    choices.setdefault("store", Cache(MemoryStore()))
    compiler = choices.pop("compiler", None) or LookingAtProgram(look)

    @whorl.jit(compiler, **choices)
    def kernel(x: Any = None) -> None: ...

    return kernel


class Inner:
    """A member whose class holds a number."""

    size = 1


class Config:
    """An object with a method that reads its class and that of a member."""

    tile = 64

    def __init__(self) -> None:
        self.inner = Inner()

    def tiles(self) -> int:
        return self.tile + self.inner.size
