"""The kernel compiler as a compiler: what identifies its tools, and how it loads an artifact."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import whorl
from whorl.kernels.kernel_compiler import KernelCompiler
from whorl.launch.toolchain import identity_of


def installed(home: Path, record: str | None) -> str:
    beside = home / "package-1.2.dist-info"
    beside.mkdir(parents=True)
    if record is not None:
        (beside / "RECORD").write_text(record)
    found = identity_of(str(home / "package"))
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


def test_where_and_how_a_package_was_installed_is_no_part_of_its_identity(tmp_path: Path) -> None:
    record = """package/__init__.py,sha256=aa,10
package/core.so,sha256=bb,20
package.libs/libz.so,sha256=cc,30
"""
    by_pip = """../../../bin/package,sha256={script},222
package-1.2.dist-info/INSTALLER,sha256=pip,4
package-1.2.dist-info/direct_url.json,sha256={url},99
package-1.2.dist-info/RECORD,,
package/__pycache__/__init__.cpython-311.pyc,,
"""
    one = installed(tmp_path / "one", by_pip.format(script="1", url="2") + record)
    other = installed(tmp_path / "other", by_pip.format(script="3", url="4") + record)
    in_another_order = "\n".join(reversed(record.splitlines()))
    by_another = installed(tmp_path / "third", in_another_order + "\r\n")
    assert one == other == by_another
    for changed in ("aa", "bb", "cc"):
        record_of_another = record.replace(changed, "dd")
        assert installed(tmp_path / changed, record_of_another) != one


def test_a_package_that_is_not_installed_has_no_version(tmp_path: Path) -> None:
    assert identity_of(str(tmp_path / "package")) is None


def test_the_toolchain_names_llvmlite() -> None:
    assert ", llvmlite " in KernelCompiler().toolchain


def test_an_artifact_is_loaded_as_that_of_any_compiler() -> None:
    @whorl.kernel
    def scaled(x, by, n):  # type: ignore[no-untyped-def]
        return x[n] * by

    x = np.arange(4.0)
    assert scaled(x, 2.0, n=3) == 6.0
    artifact = scaled.specializations()[0].artifact
    launch = KernelCompiler().load(artifact, "cpu")
    assert launch(x, 2.0, 3) == 6.0
