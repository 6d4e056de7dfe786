"""What a new process does before its first hit, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = '''
"""Calls a kernel and tells what the interpreter was asked for meanwhile."""
import json
import sys

import numpy as np

import whorl

SCALE = 2.0


def helper(x):
    return x * SCALE


class Reading:
    name, version, toolchain = "reading", "1", "none"
    environment = {"READING_LEVEL": "2"}
    code = "by version"

    def compile(self, program, inputs):
        inputs.env("READING_LEVEL")
        inputs.arg("x").array()
        scale = program.code.glob("helper").code().glob("SCALE").value()
        return whorl.Artifact({"code": b"..."}, {"scale": scale})

    def load(self, artifact, device):
        return lambda x: artifact.metadata["scale"]


@whorl.jit(Reading())
def kernel(x):
    return helper(x)


WATCHED = ("open", "os", "import", "fcntl", "tempfile", "exec", "compile")
events = []
watching = []
x = np.zeros(4)


def hook(event, args):
    if watching and event.partition(".")[0] in WATCHED:
        events.append([event, str(args[0]) if args else ""])


sys.addaudithook(hook)
watching.append(True)
result = kernel(x)
watching.clear()
print(json.dumps({"result": result, "stats": kernel.stats(), "events": events}))
'''


def run(folder: Path, **variables: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "WHORL_CACHE_DIR": str(folder / "cache"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def opened(told: dict[str, Any], folder: Path) -> list[tuple[str, ...]]:
    """Where the files are that were opened, if nothing else was done."""
    kinds = [event for event, _ in told["events"]]
    assert kinds == ["open"] * len(kinds), told["events"]
    return [Path(name).relative_to(folder).parts[:3] for _, name in told["events"]]


def test_the_first_hit_opens_the_artifact_and_does_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path)["stats"]["compiled"] == 1
    told = run(tmp_path)
    assert (told["result"], told["stats"]) == (2.0, {"found": 1})
    assert opened(told, tmp_path) == [("cache", "v1", "groups")]


def test_a_compiler_that_counts_by_its_code_has_nothing_else_read_of_the_cache(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace('    code = "by version"\n', ""))
    assert run(tmp_path)["stats"]["compiled"] == 1
    told = run(tmp_path)
    assert (told["result"], told["stats"]) == (2.0, {"found": 1})
    names = [Path(name) for event, name in told["events"] if event == "open"]
    inside = [name for name in names if name.is_relative_to(tmp_path)]
    assert [name.relative_to(tmp_path).parts[:3] for name in inside] == [("cache", "v1", "groups")]


def test_a_cache_that_is_set_after_the_imports_has_its_hint_read_in_the_first_lookup(
    tmp_path: Path,
) -> None:
    later = "os.environ['WHORL_CACHE_DIR'] += '2'\nsys.addaudithook(hook)"
    text = "import os\n" + PROGRAM.replace("sys.addaudithook(hook)", later)
    (tmp_path / "program.py").write_text(text)
    assert run(tmp_path)["stats"]["compiled"] == 1
    told = run(tmp_path)
    assert (told["result"], told["stats"]) == (2.0, {"found": 1})
    assert opened(told, tmp_path) == [("cache2", "v1", "entries"), ("cache2", "v1", "groups")]


def test_a_kernel_that_another_process_compiles_after_the_imports_is_found(tmp_path: Path) -> None:
    meanwhile = (
        "if len(sys.argv) == 1:\n"
        "    import subprocess\n"
        "    subprocess.run([sys.executable, __file__, 'once'], check=True, capture_output=True)\n"
        "sys.addaudithook(hook)"
    )
    (tmp_path / "program.py").write_text(PROGRAM.replace("sys.addaudithook(hook)", meanwhile))
    told = run(tmp_path)
    assert (told["result"], told["stats"]) == (2.0, {"found": 1})
    assert opened(told, tmp_path) == [("cache", "v1", "entries"), ("cache", "v1", "groups")]


def test_without_its_hint_a_new_process_lists_and_the_next_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    run(tmp_path)
    for path in (tmp_path / "cache" / "v1" / "entries").rglob("*"):
        if path.is_file():
            path.unlink()  # the rows about sources too
    kinds = [{event for event, _ in run(tmp_path)["events"]} for _ in range(2)]
    assert ["os.listdir" in each for each in kinds] == [True, False]


def test_another_value_or_another_variable_is_still_another_key(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run(tmp_path)
    assert run(tmp_path, READING_LEVEL="2")["stats"] == {"found": 1}
    assert run(tmp_path, READING_LEVEL="3")["stats"]["compiled"] == 1
    program.write_text(PROGRAM.replace("SCALE = 2.0", "SCALE = 4.0"))
    told = run(tmp_path)
    assert (told["result"], told["stats"]["compiled"]) == (4.0, 1)
    program.write_text(PROGRAM)
    assert (run(tmp_path)["result"], run(tmp_path)["stats"]) == (2.0, {"found": 1})
