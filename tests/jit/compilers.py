"""A compiler for tests: a function says what it reads, and what it made is what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import whorl
from whorl.jit.compiler import Program
from whorl.reads import Inputs

Look = Callable[[Inputs], Any]


class Looking:
    """Compiles to whatever `look` returns; a launch returns that and the arguments."""

    name = "looking"

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
