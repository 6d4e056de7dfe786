"""Names that are keywords, paths or no text do no harm."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.jit.compilers import Make, as_in_a_new_process, compiles
from whorl.reads import Inputs
from whorl.testing import recorded_events


@pytest.mark.parametrize("name", ["class", "lambda", "None"])
def test_a_function_may_be_called_like_a_keyword(make: Make, name: str) -> None:
    def one(x: Any = None) -> None: ...

    one.__name__ = name
    assert make(lambda inputs: 1, one)() == 1


def test_a_signature_that_a_function_shows_to_others_is_not_how_it_is_called(make: Make) -> None:
    def shown(a: Any, b: Any = 1) -> None: ...

    def function(*args: Any) -> None: ...

    function.__signature__ = inspect.signature(shown)  # type: ignore[attr-defined]  # what is tested
    kernel = make(lambda inputs: inputs.names, function)
    assert kernel(1, 2, 3) == ("args",)


PAIR = "\ud83d\ude00"  # two surrogates, which are no character


def test_two_surrogates_stay_two(make: Make) -> None:
    kernel = make(lambda inputs: [PAIR, inputs.arg("x").value()])
    assert kernel(PAIR) == [PAIR, PAIR]
    again = as_in_a_new_process(kernel)
    assert (again(PAIR), compiles(again)) == ([PAIR, PAIR], 0)
    assert (again("\U0001f600"), compiles(again)) == ([PAIR, "\U0001f600"], 1)


def test_names_with_surrogates_are_found_again(make: Make) -> None:
    def kernel(x: Any) -> None: ...

    scope = {"__name__": "apart", PAIR: 3}
    function = types.FunctionType(kernel.__code__, scope, "kernel")

    def look(inputs: Inputs) -> Any:
        return [inputs.arg("x").attr(PAIR).value(), inputs.function().glob(PAIR).value()]

    made = make(look, function)
    held = types.SimpleNamespace(**{PAIR: 5})
    assert made(held) == [5, 3]
    again = as_in_a_new_process(made)
    assert (again(held), compiles(again)) == ([5, 3], 0)


def test_a_global_with_a_dot_in_its_name_is_found(make: Make) -> None:
    globals()["dotted.name"] = 7
    try:

        def kernel(x: Any) -> None: ...

        made = make(lambda inputs: inputs.function().glob("dotted.name").value(), kernel)
        assert made(1) == 7
        assert (as_in_a_new_process(made)(1)) == 7
        globals()["dotted.name"] = 8
        assert made(1) == 8
    finally:
        del globals()["dotted.name"]


PLUGIN = """
import whorl
class Reading:
    name, version, toolchain, settings = "reading", "1", "t", ()
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"m": inputs.function().glob("A").value()})
    def load(self, artifact, device):
        return lambda x: artifact.metadata["m"]
A = 1
@whorl.jit(Reading())
def k(x):
    return A
"""


def test_modules_may_be_named_like_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plug.py"
    file.write_text(PLUGIN)
    module: Any = types.ModuleType("plugins/mod")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(PLUGIN, str(file), "exec"), module.__dict__)
    with recorded_events() as events:
        assert [module.k(0) for _ in range(5)] == [1] * 5
        module.A = 2
        assert module.k(0) == 2
    assert [event.what.value for event in events].count("recalled") >= 4


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are texts there")
def test_programs_may_have_names_that_are_no_texts(tmp_path: Path) -> None:
    program = os.path.join(os.fsencode(tmp_path), b"p\xff.py")  # noqa: PTH118  # no text
    with open(program, "w") as file:  # noqa: PTH123  # so no Path
        file.write(f"{PLUGIN}\nk(0)\nprint(dict(k.stats()))\n")
    said = [
        subprocess.run(
            [sys.executable, program],
            env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)
    ]
    assert "compiled" in said[0]
    assert said[1] == "{'found': 1}\n"
