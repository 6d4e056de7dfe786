"""Modules that are replaced, imported twice or taken away: each function reads its own globals."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jit.compilers import Make, Thing, compiles
from tests.jit.running import run
from whorl.reads import AbsentRead, Inputs

Replace = Callable[..., Any]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """A module under a name, in place of the one that has it."""

    def module(name: str, text: str) -> Any:
        made: Any = types.ModuleType(name)
        exec(textwrap.dedent(text), made.__dict__)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return module


STEP = "SCALE = 2\ndef step(x=None):\n    return SCALE\n"
HELPER = "K = 2\ndef helper(x):\n    return x * K\n"


def scale(inputs: Inputs) -> Any:
    return inputs.function().glob("SCALE").value()


def called(inputs: Inputs) -> Any:
    return inputs.arg("x").code().glob("K").value()


@pytest.mark.parametrize("calls", [1, 5], ids=["plain", "generated"])
def test_a_kernel_of_a_replaced_module_reads_the_globals_it_was_defined_in(
    make: Make, module: Replace, calls: int
) -> None:
    old = module("replaced", STEP)
    kernel = make(scale, old.step)
    assert [kernel() for _ in range(calls)] == [2] * calls
    new = module("replaced", STEP)
    new.SCALE = 3
    assert kernel() == 2
    old.SCALE = 4
    assert [kernel() for _ in range(calls)] == [4] * calls
    new.SCALE = 2
    assert kernel() == 4
    assert make(scale, new.step)() == 2


@pytest.mark.parametrize("calls", [1, 5], ids=["plain", "generated"])
def test_a_function_of_a_replaced_module_reads_the_globals_it_was_defined_in(
    make: Make, module: Replace, calls: int
) -> None:
    old = module("replaced", HELPER)
    kernel = make(called)
    assert [kernel(old.helper) for _ in range(calls)] == [2] * calls
    new = module("replaced", HELPER)
    old.K = 7
    assert [kernel(old.helper) for _ in range(calls)] == [7] * calls
    assert [kernel(new.helper) for _ in range(calls)] == [2] * calls
    new.K = 8
    assert [kernel(old.helper), kernel(new.helper)] == [7, 8]


def test_a_function_of_a_new_module_and_a_kernel_of_the_old_one_keep_apart(
    make: Make, module: Replace
) -> None:
    def look(inputs: Inputs) -> Any:
        return (scale(inputs), called(inputs))

    old = module("replaced", STEP + HELPER)
    kernel = make(look, old.step)
    assert kernel(old.helper) == (2, 2)
    new = module("replaced", STEP + HELPER)
    new.SCALE, old.K = 3, 5
    assert kernel(new.helper) == (2, 2)
    assert kernel(old.helper) == (2, 5)
    old.SCALE = 9
    assert [kernel(old.helper), kernel(new.helper)] == [(9, 5), (9, 2)]


def test_a_global_that_is_asked_for_by_module_is_that_of_the_module_of_this_moment(
    make: Make, module: Replace
) -> None:
    def look(inputs: Inputs) -> Any:
        try:
            return inputs.glob("replaced", "SCALE").value()
        except AbsentRead:
            return "absent"

    old = module("replaced", STEP)
    kernels = [make(look, old.step), make(look)]
    assert [[kernel() for _ in range(4)] for kernel in kernels] == [[2] * 4] * 2
    module("replaced", STEP).SCALE = 3
    assert [[kernel() for _ in range(4)] for kernel in kernels] == [[3] * 4] * 2
    del sys.modules["replaced"]
    assert [kernel() for kernel in kernels] == ["absent", "absent"]
    sys.modules["replaced"] = old
    assert [kernel() for kernel in kernels] == [2, 2]


def test_a_module_that_a_global_holds_is_read_through_the_global(
    make: Make, module: Replace
) -> None:
    held = module("held", "TILE = 8\n")
    user = module("replaced", "import held\ndef step(x=None):\n    return held.TILE\n")
    kernel = make(lambda inputs: inputs.function().glob("held").attr("TILE").value(), user.step)
    assert [kernel() for _ in range(4)] == [8] * 4
    new = module("held", "TILE = 16\n")
    assert kernel() == user.step() == 8
    held.TILE = 9
    assert kernel() == user.step() == 9
    user.held = new
    assert kernel() == user.step() == 16


def test_what_was_replaced_and_comes_back_is_found_again(make: Make, module: Replace) -> None:
    old = module("replaced", STEP)
    kernel = make(scale, old.step)
    kernel()
    module("replaced", STEP)
    kernel()
    sys.modules["replaced"] = old
    kernel()
    assert compiles(kernel) == 2  # as a module's function, and apart from it


TWICE = """
import sys
import whorl
from tests.jit.compilers import Looking

K = 1


def helper(x):
    return x * K


def look(inputs):
    code = inputs.function()
    return (code.glob("K").value(), inputs.arg("x").code().glob("K").value())


@whorl.jit(Looking(look))
def kernel(x):
    return K


if __name__ == "__main__":
    before = [kernel(helper) for _ in range(4)][-1] if sys.argv[1:] else None
    K = 5
    import solver

    answers = [[kernel(solver.helper), kernel(helper)] for _ in range(4)][-1]
    print(before, answers, kernel.stats().get("compiled", 0))
"""


def test_a_program_that_is_started_and_imported_as_well_is_two_modules(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(TWICE)
    assert run(directory, "solver.py") == "None [(5, 1), (5, 5)] 2"
    assert run(directory, "solver.py") == "None [(5, 1), (5, 5)] 0"
    assert run(directory, "solver.py", "first") == "(1, 1) [(5, 1), (5, 5)] 1"
    assert run(directory, "solver.py", "first") == "(1, 1) [(5, 1), (5, 5)] 0"


def module_of(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = types.ModuleType(name)
    exec(textwrap.dedent(text), module.__dict__)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def test_two_functions_of_the_same_code_read_the_globals_of_their_own_modules(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def step(x=None):\n    return SCALE\n"
    one = module_of("found_one", f"SCALE = 2\n{text}", monkeypatch)
    other = module_of("found_other", f"SCALE = 3\n{text}", monkeypatch)
    look = lambda inputs: inputs.function().glob("SCALE").value()
    assert make(look, one.step)() == 2
    assert make(look, other.step)() == 3


def test_a_function_exchanged_for_one_of_the_same_code_reads_the_globals_of_its_own_module(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def force(x):\n    return x * K\n"
    one = module_of("found_one", f"K = 2\n{text}", monkeypatch)
    other = module_of("found_other", f"K = 3\n{text}", monkeypatch)
    kernel = make(lambda inputs: inputs.arg("x").code().glob("K").value())
    assert kernel(one.force) == 2
    assert kernel(other.force) == 3


SOLVER = """
from dataclasses import dataclass
import whorl
from tests.jit.compilers import Looking

@dataclass
class Config:
    n: int

CONFIG = Config(3)

def helper(x):
    return x

def look(inputs):
    code = inputs.function()
    return (code.glob("CONFIG").value().n, code.glob("helper").value() is None)

compiler = Looking(look)

@whorl.jit(compiler)
def kernel(x):
    return CONFIG, helper

def main():
    kernel(1)
    print(compiler.compiles)

if __name__ == "__main__":
    main()
"""


def test_a_program_that_is_started_finds_what_it_made_when_it_was_imported(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(SOLVER)
    assert run(directory, "-c", "import solver; solver.main()") == "1"
    assert run(directory, "-c", "import solver; solver.main()") == "0"
    assert run(directory, "solver.py") == "0"


def test_what_stands_in_for_a_module_is_read_like_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "found_fancy", Thing(TILE=8))

    def look(inputs: Inputs) -> Any:
        try:
            return inputs.glob("found_fancy", "TILE").value()
        except AbsentRead:
            return "absent"

    assert make(look)() in (8, "absent")
