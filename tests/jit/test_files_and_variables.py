"""Files and variables that a compile reads: how they are named, where they lie, what has none."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Looking, Make, as_in_a_new_process, compiles, program_kernel
from whorl import settings
from whorl.jit import kernel_lookup as module
from whorl.jit.compiler import Target
from whorl.reads import AbsentRead, Inputs
from whorl.store import Cache, default_cache
from whorl.testing import fresh_cache


def test_a_changed_default_of_a_declared_variable_is_seen_or_was_copied(make: Make) -> None:
    environment: dict[str, str | None] = {"WHORL_TEST_Q": "1"}
    look = lambda inputs: inputs.env("WHORL_TEST_Q")
    kernel = make(look, extra={"environment": environment})
    before = [kernel() for _ in range(4)]
    environment["WHORL_TEST_Q"] = "2"
    assert kernel() == kernel.lookup.world((None, None), Target("x")).environment["WHORL_TEST_Q"]
    assert before == ["1"] * 4


def test_what_was_found_in_another_directory_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings.current()

    def kernel(x: int) -> None: ...

    made = whorl.jit(Looking(lambda inputs: inputs.arg("x").value()))(kernel)
    try:
        whorl.configure(cache_dir=tmp_path / "one")
        made(1)
        made._renew()

        def between() -> Cache:
            found = default_cache()
            monkeypatch.setattr(module, "default_cache", default_cache)
            whorl.configure(cache_dir=tmp_path / "other")
            return found

        monkeypatch.setattr(module, "default_cache", between)
        made(1)
        made(1)
        assert sorted((tmp_path / "other").rglob("groups/*/*/*")) != []
    finally:
        settings.restore(before)


@pytest.mark.parametrize("name", ["\0", "\ud800", "a\0b"])
def test_a_file_that_cannot_be_is_absent(make: Make, name: str) -> None:
    def look(inputs: Inputs) -> str:
        try:
            return inputs.file(name).decode()
        except AbsentRead:
            return "absent"

    kernel = make(look)
    assert kernel(1) == "absent"
    again = as_in_a_new_process(kernel)
    assert (again(1), compiles(again)) == ("absent", 0)


def test_a_default_that_no_system_has_is_refused_by_its_name() -> None:
    class Odd(Looking):
        environment: Any = {"EC": "\ud800"}

    with pytest.raises(ValueError, match=r"Odd\.environment: 'EC'"):
        whorl.jit(Odd(lambda inputs: None))(lambda x: None)


@pytest.mark.parametrize("calls", [1, 5])
def test_a_file_may_be_named_by_a_path(tmp_path: Path, calls: int) -> None:
    header = tmp_path / "x.h"
    header.write_text("1")
    kernel = program_kernel(lambda program, inputs: inputs.file(header))
    assert [kernel() for _ in range(calls)] == [b"1"] * calls
    header.write_text("two")
    assert [kernel() for _ in range(calls)] == [b"two"] * calls


@pytest.mark.parametrize("name", [b"x.h", 3, None])
def test_what_is_no_name_of_a_file_is_said_at_once(name: Any) -> None:
    kernel = program_kernel(lambda program, inputs: inputs.file(name))
    with pytest.raises(TypeError, match="a file is named by a str or a path"):
        kernel()


BESIDE = """
import whorl
class C:
    name, version, settings, toolchain = "c", "1", (), "none"
    def compile(self, program, inputs):
        return whorl.Artifact({}, {"file": inputs.file("x.h")})
    def load(self, artifact, device):
        return lambda: artifact.metadata["file"]
@whorl.jit(C())
def kernel(): ...
"""


def test_files_are_beside_the_function_whatever_the_working_directory_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "m.py").write_text(BESIDE)
    (tmp_path / "below" / "x.h").write_text("1")
    monkeypatch.chdir(tmp_path)
    with fresh_cache():
        kernel: Any = runpy.run_path(str(Path("below") / "m.py"))["kernel"]
        monkeypatch.chdir("/")
        assert [kernel() for _ in range(4)] == [b"1"] * 4
