"""A package with shipped kernels runs without LLVM and without a compile, and never wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native
from tests.shipping.project import (
    CALL,
    LOOPS,
    PYPROJECT,
    WITHOUT_LLVM,
    announced,
    called,
    installed,
    written_project,
)
from whorl.shipping.build_process import build_in_process
from whorl.store.bundle_store import BundleStore

pytestmark = needs_native

FOUND = [16.0, {"found": 1}]
ONLY_HITS = {"WHORL_REQUIRE_HIT": "1"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = written_project(tmp_path_factory.mktemp("project"))
    return installed(project, tmp_path_factory.mktemp("site") / "packages")


def test_a_machine_that_never_saw_it_needs_no_llvm_and_stores_nothing(
    site: Path, tmp_path: Path
) -> None:
    answer = called(site, tmp_path / "cache", WITHOUT_LLVM + CALL, **ONLY_HITS)
    assert answer[:2] == FOUND
    for part in ("entries", "groups"):
        assert not [path for path in (tmp_path / "cache").rglob(f"{part}/**/*") if path.is_file()]


def test_what_is_not_shipped_says_what_to_install(site: Path, tmp_path: Path) -> None:
    other = CALL.replace("np.full(4, 4.0)", "np.full(4, 4.0, 'f4')")
    answer, _, _ = called(site, tmp_path / "cache", WITHOUT_LLVM + other)
    assert answer.startswith("NoCompiler: llvmlite is not installed, so nothing can be compiled")
    assert "pip install llvmlite" in answer
    assert called(site, tmp_path / "cache", other)[1] == {"missed": 1, "compiled": 1, "produced": 1}


def test_code_of_a_lower_level_serves_and_calls_become_native(site: Path, tmp_path: Path) -> None:
    for level in ("host", "x86-64-v2"):
        assert called(site, tmp_path / "cache", WHORL_TARGET=level, **ONLY_HITS)[:2] == FOUND
    called(site, tmp_path / "cache")  # which compiles the launcher if it is not shipped
    assert called(site, tmp_path / "cache")[2] is True


def test_edited_code_is_compiled_and_shipped_code_is_not_used_for_it(
    site: Path, tmp_path: Path
) -> None:
    edited = tmp_path / "edited"
    (edited / "tiny").mkdir(parents=True)
    for name in ("__init__.py", "kernels.whorl"):
        (edited / "tiny" / name).write_bytes((site / "tiny" / name).read_bytes())
    (edited / "tiny" / "loops.py").write_text(LOOPS.replace("* 2", "* 3"))
    announced(edited, "tiny = tiny")
    answer = called(edited, tmp_path / "cache")
    assert answer[:2] == [24.0, {"missed": 1, "compiled": 1, "produced": 1}]
    assert called(edited, tmp_path / "cache")[:2] == [24.0, {"found": 1}]


def test_a_comment_and_another_patch_release_of_python_or_numpy_change_nothing(
    site: Path, tmp_path: Path
) -> None:
    later = """
import sys
class Version(tuple):
    major, minor, micro = sys.version_info[:2] + (99,)
    releaselevel, serial = "final", 0
sys.version_info = Version(sys.version_info[:2] + (99, "final", 0))
sys.version = sys.version.replace(" ", "+later ", 1)
import numpy
numpy.__version__ = numpy.__version__.rpartition(".")[0] + ".99"
"""
    answer = called(site, tmp_path / "cache", later + WITHOUT_LLVM + CALL, **ONLY_HITS)
    assert answer[:2] == FOUND


@pytest.mark.parametrize("change", ["another whorl", "another python", "off"])
def test_what_does_not_fit_is_not_found_and_does_no_harm(
    change: str, site: Path, tmp_path: Path
) -> None:
    prelude, variables = "", {}
    if change == "another whorl":
        prelude = (
            "import whorl.launch.toolchain as t, whorl.kernels.kernel_compiler as k\n"
            "k.own_identity = lambda: '9.9 0123456789abcdef'\n"
        )
    elif change == "another python":
        prelude = "import whorl.reads.library as lib\nlib._MINOR = {lib._PYTHON: 'python 3.99'}\n"
    else:
        variables = {"WHORL_CACHE": "off"}
    answer = called(site, tmp_path / "cache", prelude + CALL, **variables)
    assert answer[0] == 16.0
    assert answer[1]["compiled"] == 1


@pytest.mark.parametrize("damage", ["cut off", "flipped", "absent", "another file"])
def test_a_damaged_bundle_costs_a_compile(damage: str, site: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "tiny").mkdir(parents=True)
    for name in ("__init__.py", "loops.py", "kernels.whorl"):
        (broken / "tiny" / name).write_bytes((site / "tiny" / name).read_bytes())
    announced(broken, "tiny = tiny")
    bundle = broken / "tiny" / "kernels.whorl"
    data = bytearray(bundle.read_bytes())
    match damage:
        case "cut off":
            bundle.write_bytes(data[:-9])
        case "flipped":  # in every page, so that the artifact is hit
            data[100:-2000:512] = bytes(255 - byte for byte in data[100:-2000:512])
            bundle.write_bytes(data)
        case "absent":
            bundle.unlink()
        case _:
            bundle.write_text("no bundle at all")
    answer = called(broken, tmp_path / "cache")
    assert answer[:2] == [16.0, {"missed": 1, "compiled": 1, "produced": 1}]


def test_kernels_that_were_compiled_here_before_are_found_in_the_cache(tmp_path: Path) -> None:
    project = written_project(tmp_path / "project")
    assert called(project, tmp_path / "cache")[1]["compiled"] == 1
    assert called(project, tmp_path / "cache", **ONLY_HITS)[:2] == FOUND


def test_a_recorded_list_is_shipped_too(tmp_path: Path) -> None:
    line = (
        '{"whorl_call":1,"kernel":"tiny.loops:total","args":[0,1],"kwargs":{},'
        '"values":[["array","<f8",[3],"C","rw",{}],["int",3]]}\n'
    )
    recorded = PYPROJECT.partition("[tool.whorl.kernels]")[0] + 'calls = ["calls.jsonl"]\n'
    project = written_project(tmp_path / "project", recorded)
    (project / "calls.jsonl").write_text(line)
    site = installed(project, tmp_path / "site")
    assert called(site, tmp_path / "cache", **ONLY_HITS)[:2] == FOUND


def test_two_builds_of_one_project_are_the_same_bytes(site: Path, tmp_path: Path) -> None:
    again = installed(written_project(tmp_path / "elsewhere"), tmp_path / "site")
    assert (again / "tiny" / "kernels.whorl").read_bytes() == (
        site / "tiny" / "kernels.whorl"
    ).read_bytes()


def test_a_bundle_is_complete_where_the_package_is_installed_already(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(site))
    again = installed(written_project(tmp_path / "project"), tmp_path / "site")
    assert (again / "tiny" / "kernels.whorl").read_bytes() == (
        site / "tiny" / "kernels.whorl"
    ).read_bytes()


SCRIPT = """
import numpy as np
import whorl
from tiny.loops import total

@whorl.kernel
def own(n):
    return n + 1

print("a line that no build hook takes for its own")
total(np.zeros(own(2)), 3)
"""


def scripted_project(root: Path, script: str = SCRIPT, row: str = 'script = "typical.py"') -> Path:
    table = PYPROJECT.partition("[tool.whorl.kernels]")[0] + row + "\n"
    project = written_project(root, table)
    (project / "typical.py").write_text(script)
    return project


def test_what_a_script_calls_is_shipped(tmp_path: Path) -> None:
    project = scripted_project(tmp_path / "project")
    site = installed(project, tmp_path / "site")
    answer = called(site, tmp_path / "cache", WITHOUT_LLVM + CALL, **ONLY_HITS)
    assert answer[:2] == FOUND
    kernels = {
        dict(entry.label.parts).get("name")
        for entry in BundleStore(str(site / "tiny" / "kernels.whorl"))
    }
    assert not [name for name in kernels if name and "own" in name]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import tiny.loops\n", "typical.py cannot be shipped: it called no kernel of a module in"),
        ("raise SystemExit(3)\n", "typical.py cannot be shipped: it ended with code 3"),
        ("import tiny.gone\n", "No module named 'tiny.gone'"),
        (
            SCRIPT.split("\nprint", maxsplit=1)[0] + "\nown(2)\n",
            "it called no kernel of a module in",
        ),
    ],
)
def test_a_script_that_calls_nothing_or_fails_stops_the_build(
    script: str, message: str, tmp_path: Path
) -> None:
    project = scripted_project(tmp_path / "project", script)
    with pytest.raises(RuntimeError) as raised:
        build_in_process(project, tmp_path / "out.whorl")
    assert message in str(raised.value)
