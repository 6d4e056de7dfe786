"""What counts of a C++ toolchain: the compiler by what it says and is, variables, the processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from whorl.adapters.cpp_toolchain import cpp_toolchain


def compiler(place: Path, name: str, version: str) -> Path:
    place.mkdir(exist_ok=True)
    program = place / name
    program.write_text(f"#!/bin/sh\necho 'compiler {version}'\n")
    program.chmod(0o755)
    return program


def test_another_compiler_of_the_same_name_is_another_toolchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    compiler(tmp_path / "bin", "c++", "12.1")
    before = cpp_toolchain()
    assert before["compiler"].startswith("compiler 12.1 ")
    assert cpp_toolchain() == before
    compiler(tmp_path / "bin", "c++", "13.10")
    assert cpp_toolchain()["compiler"].startswith("compiler 13.10 ")
    monkeypatch.setenv("CXX", f"{compiler(tmp_path / 'other', 'mine', '7')} -m64")
    assert cpp_toolchain()["compiler"].startswith("compiler 7 ")


@pytest.mark.parametrize("name", ["CXXFLAGS", "LDFLAGS", "CPATH", "CMAKE_PREFIX_PATH"])
def test_variables_that_cmake_reads_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    before = cpp_toolchain()
    monkeypatch.setenv(name, "")
    assert cpp_toolchain() == before
    monkeypatch.setenv(name, "/opt/other")
    assert cpp_toolchain() == {**before, name: "/opt/other"}
    monkeypatch.setenv("UNRELATED", "1")
    assert cpp_toolchain() == {**before, name: "/opt/other"}


def test_the_processor_counts_if_code_is_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXXFLAGS", raising=False)
    assert "processor" not in cpp_toolchain(flags=["-O3"])
    assert cpp_toolchain(flags=["-DCMAKE_CXX_FLAGS=-march=native"])["processor"]
    monkeypatch.setenv("CXXFLAGS", "-O2 -mtune=native")
    assert cpp_toolchain()["processor"]


def test_where_there_is_no_compiler_that_is_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert cpp_toolchain(["no-such-package"]).items() >= {
        "compiler": "", "no-such-package": ""
    }.items()  # fmt: skip
