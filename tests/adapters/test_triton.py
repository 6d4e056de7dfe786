"""Triton's kernels in whorl's cache: never stale, in real processes, without a device."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.adapters.running import run, write
from tests.adapters.triton_program import FILES
from tests.adapters.triton_program import triton_environment as environment
from tests.processes.servers import redis_at

pytest.importorskip("triton")

NUMBERS = "2.0 3.0 5.0 10.0 11.0 13.0 14.0"
NOINLINE = "@triton.jit  # may stand alone\n"
SEVERAL_LINES = "import constants\n\n\nclass Unread:\n    WIDTH = 1\n\n\n# kernels\n"


class Edit(NamedTuple):
    """An edit of the program, and whether the kernel is then another one."""

    name: str
    file: str
    old: str
    new: str
    changes: bool = True


EDITS = (
    Edit("a constant read through a module", "constants.py", "SCALE = 2", "SCALE = 9"),
    Edit("a constant that is a helper's default", "constants.py", "FACTOR = 3.0", "FACTOR = 9.0"),
    Edit("a class attribute, read at compile time", "helpers.py", "WIDTH = 7", "WIDTH = 90"),
    Edit("a method that runs at compile time", "helpers.py", "WIDTH * 2", "WIDTH * 30"),
    Edit("a dict of another file, read at compile time", "constants.py", '"wide": 4', '"wide": 40'),
    Edit("a member of an enum", "constants.py", "SLOW = 6", "SLOW = 60"),
    Edit("a constexpr global of another file", "constants.py", "constexpr(5)", "constexpr(50)"),
    Edit("the body of a helper in another file", "helpers.py", "x + 11.0", "x + 12.0"),
    Edit("a literal default of a helper", "helpers.py", "= FACTOR):", "= 15.0):"),
    Edit("a captured variable", "kernels.py", "made(13)", "made(14)"),
    Edit("the body of the kernel", "kernels.py", "v = FN(v)", "v = FN(v) * 17.0"),
    Edit("a function that is handed in", "kernels.py", "return x - power", "return x + power"),
    Edit("a constexpr argument", "run.py", "BLOCK = 128", "BLOCK = 256"),
    Edit("the type of an argument", "run.py", '"*fp32"', '"*fp16"'),
    Edit("the target", "run.py", "ARCH = 80", "ARCH = 90"),
    Edit("an option", "run.py", "WARPS = 4", "WARPS = 8"),
    Edit("a helper that is not inlined", "helpers.py", NOINLINE, "@triton.jit(noinline=True)\n"),
    Edit("a comment in the kernel", "kernels.py", "v = FN(v)", "v = FN(v)  # at last", False),
    Edit("a comment in a helper", "helpers.py", "x * factor", "x * factor  # scaled", False),
    Edit("lines above the kernel", "kernels.py", "import constants\n", SEVERAL_LINES, False),
    Edit("a docstring", "helpers.py", "def width():\n", 'def width():\n    """Twice."""\n', False),
    Edit("a constant that nothing reads", "constants.py", "UNREAD = 1", "UNREAD = 2", False),
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the program has run once."""
    directory = tmp_path_factory.mktemp("base")
    write(directory / "program", FILES)
    assert run(directory / "program", environment(directory)) == (f"compiled {NUMBERS}", "")
    return directory


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_an_edit_compiles_if_it_changes_the_kernel_and_only_then(
    edit: Edit, base: Path, tmp_path: Path
) -> None:
    assert FILES[edit.file].count(edit.old) == 1, "the edit is found once"
    edited = FILES[edit.file].replace(edit.old, edit.new)
    write(tmp_path, {**FILES, edit.file: edited})
    shutil.copytree(base / "whorl", tmp_path / "whorl")
    told, _ = run(tmp_path, environment(tmp_path))
    assert told.split()[0] == ("compiled" if edit.changes else "found")


def test_a_process_finds_what_another_has_compiled_in_a_checkout_of_another_place(
    base: Path, tmp_path: Path
) -> None:
    write(tmp_path / "moved", FILES)
    assert run(tmp_path / "moved", environment(base)) == (f"found {NUMBERS}", "")


@pytest.mark.parametrize("edit", EDITS[:3], ids=lambda edit: edit.name)
def test_tritons_own_cache_is_stale_where_whorl_is_not(edit: Edit, tmp_path: Path) -> None:
    write(tmp_path, FILES)
    own = environment(tmp_path)
    del own["TRITON_CACHE_MANAGER"]
    assert run(tmp_path, own)[0] == f"compiled {NUMBERS}"
    (tmp_path / edit.file).write_text(FILES[edit.file].replace(edit.old, edit.new))
    assert run(tmp_path, own)[0] == f"found {NUMBERS}", "Triton has noticed: correct the guide"
    how, numbers = run(tmp_path, environment(tmp_path))[0].split(" ", 1)
    assert how == "compiled"
    assert numbers != NUMBERS


def test_a_miss_is_explained_by_path_value_and_line(base: Path, tmp_path: Path) -> None:
    edit = EDITS[0]
    write(tmp_path, {**FILES, edit.file: FILES[edit.file].replace(edit.old, edit.new)})
    shutil.copytree(base / "whorl", tmp_path / "whorl")
    _, errors = run(tmp_path, environment(tmp_path, WHORL_LOG="why"))
    assert "global:kernels.constants.SCALE: 2 -> 9" in errors
    assert "kernels.py:26: `v = scaled(v) * constants.SCALE + width()`" in errors


def test_an_attribute_of_a_class_is_explained_by_its_value(base: Path, tmp_path: Path) -> None:
    edit = EDITS[2]
    write(tmp_path, {**FILES, edit.file: FILES[edit.file].replace(edit.old, edit.new)})
    shutil.copytree(base / "whorl", tmp_path / "whorl")
    _, errors = run(tmp_path, environment(tmp_path, WHORL_LOG="why"))
    assert "class:helpers.Config.WIDTH: 7 -> 90" in errors


def test_a_constant_that_changes_within_a_process_is_noticed(base: Path, tmp_path: Path) -> None:
    again = """
constants.SCALE = 9
compiled = triton.compile(source, GPUTarget("cuda", ARCH, 32), {"num_warps": WARPS})
print(found, 9.0 in numbers(compiled))
constants.SCALE = 2
triton.compile(source, GPUTarget("cuda", ARCH, 32), {"num_warps": WARPS})
print(found)
"""
    write(tmp_path, {**FILES, "run.py": "import constants\n" + FILES["run.py"] + again})
    shutil.copytree(base / "whorl", tmp_path / "whorl")
    told, _ = run(tmp_path, environment(tmp_path))
    assert told.splitlines()[1:] == ["[True, False] True", "[True, False, True]"]


IMPURE = """
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


class Config:
    def width(self):
        return int(os.environ["WIDTH"])


@(getattr(triton, "constexpr_function", None) or tl.core.constexpr_function)
def width():
    return Config().width()


@triton.jit
def kernel(x):
    tl.store(x, width())


if sys.argv[1:]:
    import whorl.adapters.triton

    whorl.adapters.triton.install(ignores=sys.argv[1:])
found = []
triton.knobs.compilation.listener = lambda **told: found.append(told["cache_hit"])
for _ in range(2):
    compiled = triton.compile(ASTSource(kernel, {"x": "*i32"}), GPUTarget("cuda", 80, 32))
    print(found[-1], f"constant {os.environ['WIDTH']} :" in compiled.asm["ttir"])
"""


def test_a_kernel_that_depends_on_the_environment_is_compiled_and_not_cached(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"run.py": IMPURE})
    for width in ("3", "4"):
        told, errors = run(tmp_path, environment(tmp_path, WIDTH=width))
        assert told.splitlines() == ["False True", "False True"]
        assert errors.count("run.kernel is not cached") == 1
        assert "run.Config.width uses os.environ" in errors
        assert "whorl.adapters.triton.install(ignores=['os.environ'])" in errors


def test_the_advice_for_what_cannot_be_cached_helps_when_it_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"run.py": IMPURE})
    variables = environment(tmp_path, WIDTH="3")
    assert run(tmp_path, variables, "run.py", "os.environ") == ("False True\nTrue True", "")
    assert run(tmp_path, variables, "run.py", "os.environ") == ("True True\nTrue True", "")


def test_an_unknown_version_of_triton_has_its_own_cache_and_one_warning(tmp_path: Path) -> None:
    older = """
import whorl.adapters.triton as adapter

adapter.LIBRARY = adapter.HostLibrary("triton", (2, 0), (3, 0))
assert not adapter.install()
"""
    write(tmp_path, {**FILES, "run.py": older + FILES["run.py"]})
    told, errors = run(tmp_path, environment(tmp_path))
    assert told == f"compiled {NUMBERS}"
    assert errors.count("whorl") == 1
    assert "it knows the versions from 2.0 to those before 3.0" in errors
    assert run(tmp_path, environment(tmp_path))[0] == f"found {NUMBERS}"
    assert not (tmp_path / "whorl").exists()


def test_processes_that_start_together_compile_a_kernel_once(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with ThreadPoolExecutor(3) as threads:
        told = [*threads.map(lambda _: run(tmp_path, environment(tmp_path))[0], range(3))]
    assert sorted(told) == [f"compiled {NUMBERS}", f"found {NUMBERS}", f"found {NUMBERS}"]


def test_launches_find_their_kernels_too(tmp_path: Path) -> None:
    launch = """
from triton.runtime.driver import driver


class Device:
    def get_current_target(self):
        return GPUTarget("cuda", ARCH, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


driver.set_active(Device())
tensor = triton.runtime.jit.MockTensor(triton.language.float32)
more = {"num_warps": WARPS, "BLOCK": 64, "FN": kernels.lowered}
kernels.kernel.warmup(tensor, tensor, 1000, grid=(1,), **more)
print(found)
"""
    write(tmp_path, {**FILES, "run.py": FILES["run.py"] + launch})
    assert run(tmp_path, environment(tmp_path))[0].endswith("[False, False]")
    assert run(tmp_path, environment(tmp_path))[0].endswith("[True, True]")


def test_files_live_as_long_as_the_process_and_those_for_people_where_triton_has_them(
    base: Path, tmp_path: Path
) -> None:
    listing = """
from pathlib import Path

(home,) = {Path(path).parent for path in groups[0].values()}
assert {path.suffix for path in home.iterdir()} >= {".ttir", ".ptx", ".cubin", ".json"}
print(home)
"""
    told = 'found.append(told["cache_hit"])'
    program = FILES["run.py"].replace(told, f'({told}, groups.append(told["metadata_group"]))')
    write(tmp_path, {**FILES, "run.py": "groups = []\n" + program + listing})
    dumped = environment(base, TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=str(tmp_path / "dump"))
    told, _ = run(tmp_path, {**dumped, "TRITON_ALWAYS_COMPILE": "1"})
    assert not Path(told.splitlines()[-1]).exists()
    assert [*(tmp_path / "dump").glob("*/kernel.ptx")]


LIBRARY_USER = """
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import library
from library import plus


@triton.jit
def one(x):
    tl.store(x, plus(1))


@triton.jit
def two(x):
    tl.store(x, library.plus(1))


for kernel in (one, two):
    compiled = triton.compile(ASTSource(kernel, {"x": "*i32"}), GPUTarget("cuda", 80, 32))
    print(*(number for number in (3, 4) if f"constant {number} :" in compiled.asm["ttir"]))
"""


def test_a_function_of_an_installed_library_that_was_edited_by_hand_counts(tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = {"RECORD": "library.py,,\nlibrary-1.0.dist-info/RECORD,,\n"}
    write(site / "library-1.0.dist-info", info)
    write(tmp_path, {"run.py": LIBRARY_USER})
    variables = environment(tmp_path)
    variables["PYTHONPATH"] = f"{site}:{variables.get('PYTHONPATH', '')}"
    for number in (2, 3):
        text = f"import triton\n\n\n@triton.jit\ndef plus(x):\n    return x + {number}\n"
        write(site, {"library.py": text})
        assert run(tmp_path, variables)[0].split() == [str(number + 1)] * 2


SINGLE = """
from pathlib import Path

from triton.runtime.cache import get_cache_manager

manager = get_cache_manager("00ff")
path = manager.get_file("module.so")
print(None if path is None else Path(path).read_bytes(), sorted(manager.get_group("all") or ()))
if path is None:
    files = {name: manager.put(name.encode(), name) for name in ("module.so", "module.h")}
    manager.put_group("all", files)
    assert Path(files["module.so"]).read_bytes() == b"module.so"
print(get_cache_manager("00fe").get_file("module.so"))
"""


def test_modules_for_launches_are_kept_file_by_file(tmp_path: Path) -> None:
    write(tmp_path, {"run.py": SINGLE})
    assert run(tmp_path, environment(tmp_path))[0].splitlines() == ["None []", "None"]
    found = ["b'module.so' ['module.h', 'module.so']", "None"]
    assert run(tmp_path, environment(tmp_path))[0].splitlines() == found


def test_without_a_cache_kernels_are_compiled_in_every_process(base: Path) -> None:
    for _ in range(2):
        told, _ = run(base / "program", environment(base, WHORL_CACHE="off"))
        assert told == f"compiled {NUMBERS}"


def test_where_a_hit_is_required_a_compile_is_an_error(base: Path, tmp_path: Path) -> None:
    variables = environment(base, WHORL_REQUIRE_HIT="1")
    assert run(base / "program", variables)[0] == f"found {NUMBERS}"
    edit = EDITS[0]
    write(tmp_path, {**FILES, edit.file: FILES[edit.file].replace(edit.old, edit.new)})
    with pytest.raises(AssertionError, match="RequiredHit"):
        run(tmp_path, variables)


def test_machines_share_kernels_by_tiers(tmp_path: Path) -> None:
    with redis_at(tmp_path) as server:
        write(tmp_path, FILES)
        url = f"redis://127.0.0.1:{server.port}?trust=all"
        one = environment(tmp_path / "one", WHORL_REMOTE=url)
        other = environment(tmp_path / "other", WHORL_REMOTE=url)
        assert run(tmp_path, one)[0] == f"compiled {NUMBERS}"
        assert run(tmp_path, other)[0] == f"found {NUMBERS}"
