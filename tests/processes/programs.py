"""Programs in, what they print out: real processes for the tests of this directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["QUICK_IMPORTS", "ROOT", "differing", "forked", "printed", "written"]

ROOT: Final = Path(__file__).parents[2]

_bytecode = tempfile.TemporaryDirectory(prefix="whorl-tests-")

QUICK_IMPORTS: Final = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _bytecode.name}
"""Let processes keep bytecode for each other. Not for programs that are edited in their place."""

# Forks once per job, so that every job has a process of its own and whorl is imported once.
_FORKS: Final = """
import json, os, sys, traceback
import numpy, whorl

def child(job, write):
    try:
        sys.path[:0] = job["path"]
        scope = {"__name__": "job"}
        exec(compile(job["program"], "<job>", "exec"), scope)
        answer = {"result": scope["result"]}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    with open(write, "w") as out:
        json.dump(answer, out)
    os._exit(0)

answers = []
for job in json.load(sys.stdin):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        child(job, write)
    os.close(write)
    with open(read) as answer:
        answers.append(json.load(answer))
    os.waitpid(pid, 0)
json.dump(answers, sys.stdout)
"""


def printed(
    *arguments: str | Path,
    cwd: Path = ROOT,
    seed: int = 0,
    path: Sequence[Path] = (),
    timeout: float = 300,
    environment: Mapping[str, str] | None = None,
    text: str = "",
) -> Any:
    """What `python arguments...` prints, read as JSON."""
    variables = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        **(environment or {}),
    }
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=variables,
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def forked(program: str, paths: Sequence[Path], *, seed: int = 0) -> list[Any]:
    """The `result` that a program leaves, once for each path that is put in front of sys.path.

    Of a program that fails, the error instead.
    """
    jobs = [{"path": [str(path)], "program": program} for path in paths]
    answers = printed("-c", _FORKS, text=json.dumps(jobs), seed=seed)
    return [answer.get("result", answer) for answer in answers]


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files in it."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def differing(one: Mapping[str, object], two: Mapping[str, object]) -> set[str]:
    """The names under which two tables do not hold the same."""
    return {name for name in {*one, *two} if one.get(name) != two.get(name)}
