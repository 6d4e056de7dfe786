"""What a compile takes from its target is a read, and so is what the target lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Looking, LookingAtProgram, program_kernel
from whorl.jit.compiler import Program, Target
from whorl.reads import Inputs
from whorl.store import Cache


def test_what_a_compiler_takes_from_the_target_it_is_handed_is_a_read(store: Cache) -> None:
    class Targeting(Looking):
        def compile(self, program: Program, inputs: Inputs) -> whorl.Artifact:
            return whorl.Artifact({}, {"made": program.target.properties["lanes"]})

    target = [Target("x86", "cpu", {"lanes": 4})]
    compiler = Targeting(lambda inputs: None, target=lambda: target[0])

    @whorl.jit(compiler, store=store)
    def kernel() -> None: ...

    assert kernel() == 4
    target[0] = Target("x86", "cpu", {"lanes": 8})
    assert kernel() == 8


class Targeted(LookingAtProgram):
    """What it compiles for is said from outside."""

    now = whorl.Target("gpu9", "gpu:0", {})

    def target(self) -> whorl.Target:
        return self.now


@pytest.mark.parametrize(
    "look",
    [
        lambda properties: properties.get("warp", 32),
        lambda properties: "warp" in properties,
        sorted,
        len,
        dict,
        lambda properties: list(properties.items()),
    ],
)
@pytest.mark.parametrize("calls", [1, 5])
def test_what_a_target_has_and_has_not_is_read(
    look: Callable[[Mapping[str, Any]], Any], calls: int
) -> None:
    compiler = Targeted(lambda program, inputs: look(program.target.properties))
    kernel = program_kernel(compiler.look, compiler=compiler)
    for properties in ({}, {"warp": 64}, {"warp": 32, "lanes": 4}, {}):
        compiler.now = whorl.Target("gpu9", "gpu:0", properties)
        assert [kernel() for _ in range(calls)] == [look(properties)] * calls
