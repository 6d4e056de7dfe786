"""What a compiler was set up with counts: two set up differently share nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.jit.compilers import LookingAtProgram, program_kernel
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, DirectoryStore


class Flagged:
    """A compiler whose artifacts say how it was set up."""

    name, version, toolchain = "flagged", "1", "none"
    level = 1
    flags: Any

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
        made = [inputs.arg("x").type()[0], repr(getattr(self, "flags", None)), self.level]
        return whorl.Artifact({}, {"made": made})

    def load(self, artifact: whorl.Artifact, device: str) -> Callable[..., Any]:
        made = artifact.metadata["made"]
        return lambda *arguments: made


def kernel_of(compiler: Any, store: Cache, **choices: Any) -> Kernel:
    @whorl.jit(compiler, store=store, **choices)
    def kernel(x: Any) -> None: ...

    return kernel


SETTINGS: list[Any] = ["-O2", "-O3", 1, True, 1.0, ["a"], ["a", "b"], {"a": 1}, None, (1, "x")]


def test_two_compilers_that_are_set_up_differently_share_nothing(store: Cache) -> None:
    for _ in range(2):
        for flags in SETTINGS:
            kernel = kernel_of(Flagged(flags=flags), store)
            assert [kernel(1) for _ in range(4)] == [["int", repr(flags), 1]] * 4
    fresh = kernel_of(Flagged(flags="-O3"), store)
    fresh(1)
    assert fresh.stats().get("compiled", 0) == 0


@pytest.mark.parametrize("calls", [1, 5], ids=["plain", "generated"])
def test_a_setting_that_is_changed_is_noticed_by_the_very_next_call(
    store: Cache, calls: int
) -> None:
    compiler = Flagged(flags=["-O2"])
    kernel = kernel_of(compiler, store)
    for _ in range(calls):
        kernel(1)
    compiler.flags.append("-g")
    assert kernel(1)[1] == "['-O2', '-g']"
    compiler.flags = "-O3"
    assert kernel(1)[1] == "'-O3'"
    del compiler.flags
    assert kernel(1)[1] == "None"


@pytest.mark.parametrize("calls", [1, 5], ids=["plain", "generated"])
def test_a_setting_that_comes_later_is_noticed(store: Cache, calls: int) -> None:
    compiler = Flagged()
    kernel = kernel_of(compiler, store)
    assert [kernel(1)[2] for _ in range(calls)] == [1] * calls
    compiler.level = 2
    assert [kernel(1)[2] for _ in range(calls)] == [2] * calls


def test_the_settings_that_count_can_be_named(store: Cache) -> None:
    class Named(Flagged):
        settings = ("level",)

    kernel_of(Named(lock=threading.Lock(), count=1), store)(1)
    kernel = kernel_of(Named(lock=threading.Lock(), count=2), store)
    kernel(1)
    assert kernel.stats().get("compiled", 0) == 0
    Named.level = 5  # of the class: what is named is read wherever it is
    assert kernel(1)[2] == 5


def test_slots_and_fields_are_settings(store: Cache) -> None:
    class Slotted:
        __slots__ = ("level", "unset")
        name, version, toolchain, flags = "flagged", "1", "none", None
        compile, load = Flagged.compile, Flagged.load

        def __init__(self, level: int) -> None:
            self.level = level

    @dataclass(frozen=True)
    class Fielded:
        level: int
        flags: tuple[str, ...] = ()
        extra: dict[str, int] = field(default_factory=dict)
        name: str = "flagged"
        version: str = "1"
        toolchain: str = "none"
        compile, load = Flagged.compile, Flagged.load

    for cls in (Slotted, Fielded):
        assert [kernel_of(cls(level), store)(1)[2] for level in (1, 2, 1)] == [1, 2, 1]


def test_a_setting_that_cannot_be_recorded_is_refused_with_a_way_out(store: Cache) -> None:
    kernel = kernel_of(Flagged(lock=threading.Lock()), store)
    with pytest.raises(whorl.UnsupportedRead, match="compiler:lock") as caught:
        kernel(1)
    assert "`settings`" in str(caught.value)
    process = kernel_of(Flagged(lock=threading.Lock()), store, cache="process")
    assert [process(1) for _ in range(4)][-1][0] == "int"
    assert process.stats()["compiled"] == 1


def test_a_setting_that_a_compile_changes_is_named(
    store: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    class Counting(Flagged):
        compiles = 0

        def compile(self, program: whorl.Program, inputs: Inputs) -> whorl.Artifact:
            self.compiles += 1
            return super().compile(program, inputs)

    kernel_of(Counting(compiles=0), store)(1)
    assert "compiler:compiles" in caplog.text


def test_a_class_of_the_same_name_and_version_is_another_compiler(store: Cache) -> None:
    class Louder(Flagged):
        level = 11

    assert kernel_of(Flagged(), store)(1)[2] == 1
    assert kernel_of(Louder(), store)(1)[2] == 11


def test_an_explanation_names_the_setting(store: Cache) -> None:
    kernel_of(Flagged(flags="-O2"), store)(1)
    (change,) = kernel_of(Flagged(flags="-O3"), store).explain(1).changes
    assert str(change).startswith("compiler:flags: '-O2' -> '-O3'")


@pytest.mark.parametrize("settings", ["level", {"level": 1}, (1,), 3])
def test_settings_that_are_not_names_are_refused(settings: Any, store: Cache) -> None:
    with pytest.raises(TypeError, match="settings"):
        kernel_of(Flagged(settings=settings), store)


def test_a_named_setting_that_is_not_there_is_refused(store: Cache) -> None:
    with pytest.raises(AttributeError, match="'lost'"):
        kernel_of(Flagged(settings=("lost",)), store)(1)


class Tools(LookingAtProgram):
    """Its toolchain depends on one of its settings."""

    settings = ("cc",)  # type: ignore[assignment] # others have none
    cc = "gcc"
    versions: Mapping[str, str] = {"gcc": "12", "clang": "15"}

    def toolchain(self) -> str:
        return f"{self.cc} {self.versions[self.cc]}"


def test_a_toolchain_that_depends_on_a_setting_is_asked_for_each_of_them(tmp_path: Path) -> None:
    def run(clang: str) -> list[Any]:
        compiler = Tools(lambda program, inputs: None)
        compiler.look = lambda program, inputs: compiler.toolchain()
        compiler.versions = {"gcc": "12", "clang": clang}
        store = Cache(DirectoryStore(tmp_path / "store"))
        kernel = program_kernel(compiler.look, compiler=compiler, store=store)
        found = [kernel()]
        compiler.cc = "clang"
        found.append(kernel())
        compiler.cc = "gcc"
        return [*found, kernel()]

    assert run("15") == ["gcc 12", "clang 15", "gcc 12"]
    assert run("16") == ["gcc 12", "clang 16", "gcc 12"]


@pytest.mark.parametrize("said", ["version", "toolchain", "name"])
def test_what_a_compiler_says_of_itself_may_change_between_two_calls(said: str) -> None:
    compiler = LookingAtProgram(lambda program, inputs: None)
    compiler.look = lambda program, inputs: getattr(compiler, said)
    kernel = program_kernel(compiler.look, compiler=compiler)
    before = kernel()
    setattr(compiler, said, "another")
    assert (before, kernel(), kernel()) == (before, "another", "another")
    setattr(compiler, said, before)
    assert kernel() == before
    assert kernel.stats()["compiled"] == 2  # found again
