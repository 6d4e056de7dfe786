"""Kernels for tests: a function says what it reads, and what it made is what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import whorl
from whorl.jit.compiler import Program
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs

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
