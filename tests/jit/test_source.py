"""The name and the source of a function count for a compile that is shown them."""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Looking, LookingAtProgram, Make, as_in_a_new_process, compiles
from tests.jit.running import run
from whorl.jit.compiler import Program
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore
from whorl.testing import fresh_cache


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('def kernel(x: "f32"):', 'def kernel(x: "f64"):'),
        ("def kernel(x, n=1):", "def kernel(x, n=2):"),
    ],
)
def test_what_the_source_shows_to_a_compiler_is_part_of_the_key(
    tmp_path: Path, before: str, after: str
) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    text = textwrap.dedent(
        """
        import whorl
        from tests.jit.compilers import Looking
        @whorl.jit(Looking(lambda inputs: inputs.function().source))
        HEAD
            return x
        print(kernel(1).splitlines()[0])
        """
    )
    for head in (before, after):
        (directory / "solver.py").write_text(text.replace("HEAD", head))
        assert run(directory, "solver.py").replace("'", '"') == head


def test_a_name_that_was_changed_after_the_kernel_was_made_is_in_the_key(make: Make) -> None:
    def named(n: int) -> None: ...

    class Naming(Looking):
        def compile(self, program: Program, inputs: Inputs) -> whorl.Artifact:
            self.compiles += 1
            inputs.arg("n").type()
            return whorl.Artifact({"code": b"x"}, {"made": program.function.__name__})

    kernel = make(lambda inputs: None, named)
    compiler = Naming(lambda inputs: None)
    kernel = Kernel(kernel.function, compiler, kernel.choices, kernel.own_cache)
    named.__name__ = "renamed"
    assert kernel(1) == "renamed"
    named.__name__ = "named"
    assert as_in_a_new_process(kernel)(1) == "named"
    named.__name__ = "again"
    assert kernel(1.5) == "again"  # by a start that was made before
    named.__name__ = "renamed"
    assert as_in_a_new_process(kernel)(1.5) == "renamed"


def test_the_source_of_a_lambda_is_the_lambda_alone(make: Make, tmp_path: Path) -> None:
    found = []
    for text in ("first", "second"):
        path = tmp_path / f"{text}.py"
        path.write_text(f"f, X = (lambda n: n + 1), {text!r}\n", encoding="utf-8")
        names: dict[str, Any] = {"__name__": "lambdas"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        kernel = make(lambda inputs: inputs.function().source, names["f"])
        found.append((kernel(1), compiles(kernel)))
    assert found == [("lambda n: n + 1", 1), ("lambda n: n + 1", 0)]


def test_two_methods_of_one_text_have_names_of_their_own() -> None:
    compiler, store = LookingAtProgram(lambda program, inputs: program.name), Cache(MemoryStore())

    class A:
        @whorl.jit(compiler, store=store)
        def step(self) -> None: ...

    class B:
        @whorl.jit(compiler, store=store)
        def step(self) -> None: ...

    names: list[Any] = [A().step(), B().step()]
    assert [name.rpartition("<locals>.")[2] for name in names] == ["A.step", "B.step"]
    assert names[0].startswith(f"{__name__}.")


PROGRAM = '''
import whorl
class C:
    name, version, settings, toolchain = "c", "1", (), "none"
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"text": inputs.function().source})
    def load(self, artifact, device):
        return lambda x: artifact.metadata["text"]
A = B = int
@whorl.jit(C())
def kernel(x: A = 1):  # a comment
    def inner():
        """one"""
    return inner
result = kernel(1)
compiled = kernel.stats()["compiled"]
'''


@pytest.mark.parametrize(
    ("before", "after", "is_seen"),
    [
        ('"""one"""', '"""two"""', True),
        ("x: A", "x: B", True),
        ("= 1)", "= 2)", True),
        ("# a comment", "# another", False),
        ("import whorl\n", "import whorl\n\n\n", False),
    ],
)
def test_the_text_of_a_function_is_read_if_a_compile_is_shown_it(
    tmp_path: Path, before: str, after: str, is_seen: bool
) -> None:
    program = tmp_path / "program.py"
    with fresh_cache():
        program.write_text(PROGRAM)
        first = runpy.run_path(str(program))
        program.write_text(PROGRAM.replace(before, after))
        second = runpy.run_path(str(program))
    assert (second["compiled"], second["result"] != first["result"]) == (is_seen, is_seen)
    assert "# a" not in second["result"]
