"""Programs of cuda.core in whorl's cache: compiled by NVRTC, which needs no device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.running import environment, run, write

pytest.importorskip("cuda.core")

PROGRAM = """\
from cuda.core import Program, ProgramOptions

from whorl.adapters.cuda_core import ProgramCache

SOURCE = 'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }'
ARCH = "sm_80"

cache = ProgramCache()
compiled = Program(SOURCE, "c++", ProgramOptions(arch=ARCH, name="scale")).compile(
    "cubin", cache=cache
)
again = Program(SOURCE, "c++", ProgramOptions(arch=ARCH, name="scale")).compile("cubin")
print(bytes(compiled.code) == bytes(again.code), compiled.name)
"""


def stats(place: Path) -> dict[str, str]:
    printed, _ = run(place, environment(place), "-m", "whorl", "stats")
    rows = (line.rsplit(None, 1) for line in printed.splitlines() if line.startswith("  "))
    return {name.strip(): count for name, count in rows}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", "1"),
        ("2.0f", "3.0f", "0"),
        ("sm_80", "sm_90", "0"),
        ("print(", "# a comment of Python\nprint(", "1"),
    ],
)
def test_a_process_finds_the_program_of_another_unless_it_is_another_program(
    old: str, new: str, found: str, tmp_path: Path
) -> None:
    write(tmp_path, {"run.py": PROGRAM})
    assert run(tmp_path, environment(tmp_path)) == ("True scale", "")
    assert stats(tmp_path)["hits"] == "0"
    write(tmp_path, {"run.py": PROGRAM.replace(old, new, 1) if old else PROGRAM})
    assert run(tmp_path, environment(tmp_path)) == ("True scale", "")
    assert stats(tmp_path)["hits"] == found
    listed, _ = run(tmp_path, environment(tmp_path), "-m", "whorl", "ls")
    assert "scale" in listed


MAPPING = """
from whorl.adapters.cuda_core import ProgramCache

with ProgramCache() as cache:
    print(cache.get("key"), cache.get(b"key", b"default"))
    cache["key"] = b"program"
    cache.update({"other": bytearray(b"more")})
    print(cache[b"key"], cache["other"])
    try:
        cache["third"]
    except KeyError as error:
        print(repr(error))
"""


def test_it_is_a_mapping_of_keys_to_bytes(tmp_path: Path) -> None:
    write(tmp_path, {"run.py": MAPPING})
    told = ["None b'default'", "b'program' b'more'", "KeyError('third')"]
    assert run(tmp_path, environment(tmp_path))[0].splitlines() == told


def test_an_unknown_version_has_no_cache_and_one_warning(tmp_path: Path) -> None:
    older = """
import whorl.adapters.cuda_core as adapter

adapter.LIBRARY = adapter.HostLibrary("cuda-core", (0, 1), (0, 2))
"""
    write(tmp_path, {"run.py": older + PROGRAM})
    for _ in range(2):
        told, errors = run(tmp_path, environment(tmp_path))
        assert told == "True scale"
        assert errors.count("whorl's adapter for cuda-core does nothing") == 1
    assert not (tmp_path / "whorl").exists()
