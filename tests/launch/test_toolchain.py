"""A wheel of whorl and the checkout it was built from are the same toolchain."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path

import pytest

import whorl
from whorl.launch import toolchain

PACKAGE = Path(whorl.__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site") / "whorl"
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def record(package: Path, leave_out: str = "") -> None:
    """Write what an installer writes beside a package."""
    rows = []
    for path in sorted(package.rglob("*")):
        if path.is_file():
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
            name = path.relative_to(package.parent).as_posix()
            hashed = f"sha256={digest.decode().rstrip('=')},{path.stat().st_size}"
            rows.append(f"{name},{',' if name == leave_out else hashed}")
    rows += ["whorl/launch/__pycache__/native.cpython-311.pyc,,", "../../../bin/whorl,sha256=x,200"]
    notes = package.parent / "whorl-0.1.0.dist-info"
    notes.mkdir(exist_ok=True)
    (notes / "RECORD").write_text("\n".join(rows) + "\n")


def identity(package: Path) -> tuple[list[bytes], list[bytes]]:
    by_record = toolchain._rows_by_record(str(package))
    return sorted(by_record), sorted(toolchain._rows_by_files(str(package)))


def test_the_record_of_an_installer_and_the_files_say_the_same(copy: Path) -> None:
    record(copy)
    by_record, by_files = identity(copy)
    assert by_record == by_files
    assert len(by_files) > 100


def test_a_record_without_digests_is_not_used(copy: Path) -> None:
    record(copy, leave_out="whorl/launch/native.py")
    by_record, by_files = identity(copy)
    assert by_record == []
    assert len(by_files) > 100


def test_an_edit_of_a_file_that_decides_what_is_compiled_is_another_identity(copy: Path) -> None:
    before = identity(copy)[1]
    (copy / "cli" / "ls.py").write_text("# no part of a compile\n")
    assert identity(copy)[1] == before
    (copy / "reads" / "facts.py").write_text("# a part of it\n")
    assert identity(copy)[1] != before
