"""Objects become images that run as LLVM would have run them; what is unknown is refused."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whorl.launch import Image, Unlinkable, Unmappable, link, machine, map_image
from whorl.launch import mapped as mapped_module
from whorl.launch.level import host_level
from whorl.launch.machine import load_object, machine_code

linux_only = pytest.mark.skipif(
    sys.platform != "linux" or host_level() == "generic", reason="images are for x86-64 Linux"
)

CALLS = """
declare double @sin(double)
declare double @atan2(double, double)
@table = internal constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0]
define internal double @inner(double %x) noinline {
  %s = call double @sin(double %x)
  ret double %s
}
define double @outer(double %x, i64 %i) {
  %a = call double @inner(double %x)
  %p = getelementptr double, ptr @table, i64 %i
  %t = load double, ptr %p
  %b = call double @atan2(double %a, double %t)
  ret double %b
}
define ptr @pointer() {
  ret ptr @outer
}
"""


def made(text: str) -> Image:
    return link(machine_code(text, host_level()))


def callable_at(address: int, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(address)


@linux_only
def test_an_image_calls_the_c_library_reads_constants_and_itself() -> None:
    image = made(CALLS)
    mapped = map_image(image)
    outer = callable_at(mapped.addresses["outer"], ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    for i, constant in enumerate((1.0, 2.0, 4.0, 8.0)):
        assert outer(0.7, i) == math.atan2(math.sin(0.7), constant)
    pointer = callable_at(mapped.addresses["pointer"], ctypes.c_void_p)
    assert pointer() == mapped.addresses["outer"]


@linux_only
def test_an_image_is_the_same_after_a_round_trip_and_runs_in_two_places() -> None:
    image = made(CALLS)
    again = Image.from_plain(image.text, image.plain)
    assert again == image
    first, second = map_image(image), map_image(again)
    assert first.addresses["outer"] != second.addresses["outer"]


@linux_only
def test_text_that_was_cut_off_is_refused() -> None:
    image = made(CALLS)
    with pytest.raises(ValueError, match="bytes, not"):
        Image.from_plain(image.text[:-1], image.plain)


@linux_only
def test_a_function_outside_of_the_c_library_is_refused_when_linking_and_when_mapping() -> None:
    with pytest.raises(Unlinkable, match="system"):
        made("declare i32 @system(ptr)\ndefine i32 @f(ptr %x) {\n  %r = call i32 @system(ptr %x)\n"
             "  ret i32 %r\n}\n")  # fmt: skip
    image = made(CALLS)
    bad = Image(image.text, image.exports, ("system", *image.table[1:]))
    with pytest.raises(Unmappable, match="system"):
        map_image(bad)


@linux_only
def test_data_that_is_written_to_is_refused() -> None:
    with pytest.raises(Unlinkable, match="written"):
        made("@x = global i64 3\ndefine void @f() {\n  store i64 4, ptr @x\n  ret void\n}\n")


def test_what_is_no_object_is_refused() -> None:
    for junk in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(100), b"MZ" + bytes(200)):
        with pytest.raises(Unlinkable):
            link(junk)


@linux_only
def test_mapping_needs_no_compiler(tmp_path: Path) -> None:
    image = made(CALLS)
    (tmp_path / "image").write_bytes(image.text)
    program = f"""
import ctypes, sys
from pathlib import Path
from whorl.launch import Image, map_image
image = Image.from_plain(Path("image").read_bytes(), {image.plain!r})
mapped = map_image(image)
f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(mapped.addresses["outer"])
print(f(0.7, 0), "llvmlite" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(math.atan2(math.sin(0.7), 1.0)), "False"]


class Refusing:
    """The C library of a system that lets no memory become executable."""

    def __init__(self, *refused: str) -> None:
        self._library = mapped_module._library()
        self._refused = refused

    def mprotect(self, place: int, size: int, rights: int) -> int:
        if rights & 4 and "mprotect" in self._refused:
            return -1
        return int(self._library.mprotect(place, size, rights))

    def mmap(self, *arguments: int) -> Any:
        return (1 << 64) - 1 if "mmap" in self._refused else self._library.mmap(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


def refusing(monkeypatch: pytest.MonkeyPatch, *refused: str) -> None:
    library = Refusing(*refused)
    monkeypatch.setattr(mapped_module, "_library", lambda: library)


@linux_only
def test_where_written_memory_may_not_run_an_image_runs_from_a_memory_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusing(monkeypatch, "mprotect")
    assert not mapped_module.runs_written_memory()
    before = len(list(Path("/proc/self/fd").iterdir()))
    mapped = map_image(made(CALLS))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert mapped_module.is_executable(mapped.addresses["outer"])
    outer = callable_at(mapped.addresses["outer"], ctypes.c_double, ctypes.c_double, ctypes.c_int64)
    assert outer(0.7, 1) == math.atan2(math.sin(0.7), 2.0)


@linux_only
@pytest.mark.parametrize("step", ["memfd_create", "write", "truncate", "fcntl", "mmap"])
def test_where_a_memory_file_cannot_be_run_either_an_image_is_refused(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fails(*arguments: object) -> None:
        raise OSError(1, "Operation not permitted")

    refusing(monkeypatch, "mprotect", step)
    if step != "mmap":
        monkeypatch.setattr(f"{'fcntl' if step == 'fcntl' else 'os'}.{step}", fails)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(Unmappable, match="lets no memory become executable"):
        map_image(made(CALLS))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@linux_only
def test_llvm_is_not_believed_that_its_code_can_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    code = machine_code("define i64 @f() {\n  ret i64 42\n}\n", host_level())
    address, _kept = load_object(code, "f")
    assert callable_at(address, ctypes.c_int64)() == 42
    monkeypatch.setattr(machine, "is_executable", lambda address: False)
    with pytest.raises(RuntimeError, match="machine code cannot be run"):
        load_object(code, "f")


@linux_only
def test_where_code_can_be_run_is_known_also_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = map_image(made(CALLS))
    data = ctypes.create_string_buffer(8)
    assert mapped_module.is_executable(mapped.addresses["outer"])
    assert not mapped_module.is_executable(ctypes.addressof(data))
    assert not mapped_module.is_executable(0)

    def absent(*arguments: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", absent)
    assert mapped_module.is_executable(mapped.addresses["outer"])
    refusing(monkeypatch, "mprotect")
    assert not mapped_module.is_executable(mapped.addresses["outer"])
