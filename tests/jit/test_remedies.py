"""What is advised where a compile looks at something that cannot be recorded helps when done.

After that a call compiles, and compiles again when what counts is another.
"""

from __future__ import annotations

import threading
from abc import ABC
from collections.abc import Callable
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Make, Thing, compiles
from whorl.reads import Inputs

ADVICE = "Pass the data that you need from it as an argument (a number, a string, an array)"
IN_PROCESS = 'store\n  the artifact in this process only: cache="process"'


class Model:
    def __init__(self, number: int) -> None:
        self.number, self.lock = number, threading.Lock()


def test_what_counts_of_a_value_can_be_passed(make: Make) -> None:
    whole = make(lambda inputs: inputs.arg("x").attr("model").value().number)
    with pytest.raises(whorl.UnsupportedRead) as caught:
        whole(Thing(model=Model(1)))
    assert ADVICE in str(caught.value)
    assert "register_signature" not in str(caught.value)  # which would be of no use here
    part = make(lambda inputs: inputs.arg("x").value())
    assert [part(Model(number).number) for number in (1, 1, 2)] == [1, 1, 2]
    assert compiles(part) == 2


def test_what_is_made_can_be_kept_in_this_process(make: Make) -> None:
    def look(inputs: Any) -> Any:
        return inputs.arg("x").attr("model").value().number

    with pytest.raises(whorl.UnsupportedRead) as caught:
        make(look)(Thing(model=Model(1)))
    assert IN_PROCESS in str(caught.value)
    kernel, thing = make(look, cache="process"), Thing(model=Model(1))
    assert [kernel(thing), kernel(thing)] == [1, 1]
    thing.model.number = 2
    assert kernel(thing) == 2
    thing.model = Model(3)
    assert kernel(thing) == 3
    assert compiles(kernel) == 3


class Known:
    def __init__(self, number: int, lock: object) -> None:
        self.number, self.lock = number, lock


def test_a_strict_kernel_need_not_be_strict(make: Make) -> None:
    def look(inputs: Any) -> Any:
        return inputs.arg("x").value().number

    with pytest.raises(whorl.UnsupportedRead, match="identity alone") as caught:
        make(look, cache="process", strict=True)(Model(1))
    assert "let the kernel not be strict" in str(caught.value)
    kernel = make(look, cache="process")
    assert [kernel(Model(number)) for number in (1, 2)] == [1, 2]


def test_a_class_that_is_asked_about_is_to_be_at_the_top_of_its_module(make: Make) -> None:
    class Local(ABC):  # noqa: B024  # that it is abstract is the point
        pass

    with pytest.raises(whorl.UnsupportedRead) as caught:
        make(lambda inputs: inputs.arg("x").is_instance(Local))(Known(1, None))
    assert "Define the class at the top of its module." in str(caught.value)
    kernel = make(lambda inputs: inputs.arg("x").is_instance(Top))
    assert [kernel(Known(1, None)), kernel(Under(1, None))] == [False, True]


class Top(ABC):  # noqa: B024  # as above
    pass


class Under(Known, Top):
    pass


def test_what_is_called_is_to_be_written_in_python(make: Make) -> None:
    def look(inputs: Any) -> Any:
        return str(inputs.arg("x").code().path)

    with pytest.raises(whorl.UnsupportedRead) as caught:
        make(look)(len)
    assert "Let it be a function that is written in Python." in str(caught.value)
    assert make(look)(lambda held: len(held)) == "arg:x"  # noqa: PLW0108  # so is the lambda


class Levelled:
    """A compiler with a setting that counts, and one that cannot be known."""

    name, version, toolchain = "levelled", "1", "none"

    def __init__(self) -> None:
        self.level, self.lock = 1, threading.Lock()

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        return whorl.Artifact({}, {"made": self.level})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        return lambda x: artifact.metadata["made"]


class Named(Levelled):
    settings = ("level",)


def test_settings_of_a_compiler_name_what_counts() -> None:
    def kernel(x: object) -> None: ...

    with pytest.raises(whorl.UnsupportedRead, match="compiler:lock") as caught:
        whorl.jit(Levelled())(kernel)(1)
    assert "Name the attributes that decide what the compiler makes" in str(caught.value)
    compiler = Named()
    named = whorl.jit(compiler)(kernel)
    assert [named(1), named(1)] == [1, 1]
    compiler.level = 2
    assert named(1) == 2


SCALE = 2


def scaled(x: int) -> int:
    return x * SCALE


def test_what_has_drifted_can_be_restored_or_followed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(inputs: Any) -> Any:
        return inputs.function().glob("SCALE").value()

    held, following = make(look, scaled, on_drift="raise"), make(look, scaled)
    assert [held(1), following(1)] == [2, 2]
    monkeypatch.setitem(globals(), "SCALE", 3)
    with pytest.raises(whorl.Drifted) as caught:
        held(1)
    assert 'Restore it, or let the kernel follow with on_drift="recompile".' in str(caught.value)
    assert make(look, scaled, on_drift="recompile")(1) == following(1) == 3
    monkeypatch.undo()
    assert held(1) == 2
