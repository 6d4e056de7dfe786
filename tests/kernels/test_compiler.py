"""What identifies the tools behind a kernel."""

from __future__ import annotations

from pathlib import Path

from whorl.kernels.compiler import KernelCompiler, _installed


def installed(home: Path, record: str | None) -> str:
    beside = home / "package-1.2.dist-info"
    beside.mkdir(parents=True)
    if record is not None:
        (beside / "RECORD").write_text(record)
    found = _installed(str(home / "package"))
    assert found is not None
    return found


def test_two_installations_of_one_version_differ_by_their_files(tmp_path: Path) -> None:
    one = installed(tmp_path / "one", "package/emit.py,sha256=abc,10\n")
    other = installed(tmp_path / "other", "package/emit.py,sha256=abd,10\n")
    again = installed(tmp_path / "again", "package/emit.py,sha256=abc,10\n")
    assert one.startswith("1.2 ")
    assert one == again != other


def test_an_installation_without_a_list_of_its_files_is_its_version(tmp_path: Path) -> None:
    assert installed(tmp_path, None) == "1.2"


def test_a_package_that_is_not_installed_has_no_version(tmp_path: Path) -> None:
    assert _installed(str(tmp_path / "package")) is None


def test_the_toolchain_names_llvmlite() -> None:
    assert ", llvmlite " in KernelCompiler().toolchain
