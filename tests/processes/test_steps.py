"""Cached functions and steps among processes: found again, made once, never left half done."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.processes.programs import QUICK_IMPORTS, printed, written

APP = """
import json, os, sys, time
import numpy as np
import whorl
from dataclasses import dataclass
import enum

class Kind(enum.Enum):
    A = 1

@dataclass(frozen=True)
class Answer:
    kind: Kind
    values: object

class Odd:
    def __init__(self, x): self.x = x

@whorl.cached
def answer(n):
    return Answer(Kind.A, {"array": np.arange(n), "set": {"x", "y"}, "pair": (1, -0.0)})

@whorl.cached
def odd(n):
    return Odd(n)

def parse(text: str) -> list[str]:
    return text.split()

@dataclass(frozen=True)
class Count(whorl.Step[list[str], int]):
    by: int = 1
    def __call__(self, words, /):
        return len(words) * self.by

chain = whorl.chain(whorl.CachedStep(parse), whorl.CachedStep(Count(2)))

@whorl.cached(ignores=["open", "os.environ", "os.getpid"])
def slow(seconds):
    with open(os.environ["STARTED"], "a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(seconds)
    return os.getpid()
"""

SHOW = """
from app import *
made = answer(4)
words = [chain("a b c"), chain("a b c")]
print(json.dumps({
    "answer": [type(made).__name__, made.kind is Kind.A, made.values["array"].tolist(),
               sorted(made.values["set"]), str(made.values["pair"])],
    "keys": [answer.key(4), *(step.key(x) for step, x in zip(chain, ["a b", ["a"]]))],
    "odd": odd(3).x,
    "words": words,
    "ran": [f.stats()["ran"] for f in (answer, odd, *chain)],
}))
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    written(tmp_path / "program", {"app.py": APP, "show.py": SHOW})
    return tmp_path / "program"


def run(app: Path, *arguments: str | Path, seed: int = 0, **environment: str) -> Any:
    cache = str(app.parent / "cache")
    started = str(app.parent / "started")
    variables = {"WHORL_CACHE_DIR": cache, "STARTED": started, **QUICK_IMPORTS, **environment}
    return printed(*(arguments or (app / "show.py",)), path=[app], seed=seed, environment=variables)


def test_another_process_finds_everything_under_any_hash_seed(app: Path) -> None:
    first = run(app)
    assert first["ran"] == [1, 1, 1, 1]
    assert first["answer"] == ["Answer", True, [0, 1, 2, 3], ["x", "y"], "(1, -0.0)"]
    for seed in (1, 2):
        again = run(app, seed=seed)
        assert again == {**first, "ran": [0, 0, 0, 0]}


def test_a_program_finds_what_was_kept_when_its_module_was_imported(app: Path) -> None:
    run(app)
    (app / "app.py").write_text(
        APP
        + "\nif __name__ == '__main__':\n"
        + "".join(f"    {line}\n" for line in SHOW.replace("from app import *", "").splitlines())
    )
    assert run(app, app / "app.py")["ran"] == [0, 0, 0, 0]


def test_a_salt_in_the_environment_is_a_new_world(app: Path) -> None:
    run(app)
    assert run(app, WHORL_CACHE_SALT="new")["ran"] == [1, 1, 1, 1]
    assert run(app, WHORL_CACHE_SALT="new")["ran"] == [0, 0, 0, 0]


def test_a_pickle_is_not_read_by_who_has_another_key(app: Path) -> None:
    run(app)
    assert run(app, WHORL_SIGNING_KEY="the key of another team")["ran"] == [0, 1, 0, 0]
    key = app.parent / "cache" / "signing.key"
    assert key.stat().st_mode & 0o077 == 0
    key.unlink()
    assert run(app)["ran"] == [0, 1, 0, 0]
    assert run(app)["ran"] == [0, 0, 0, 0]


def _start(app: Path, seconds: float) -> subprocess.Popen[str]:
    variables = {
        **os.environ,
        "WHORL_CACHE_DIR": str(app.parent / "cache"),
        "STARTED": str(app.parent / "started"),
        "PYTHONPATH": str(app),
    }
    program = f"from app import *; print(slow({seconds!r}))"
    return subprocess.Popen(
        [sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, text=True, cwd=app
    )


def _started(app: Path, count: int = 1) -> list[int]:
    """The processes that have begun to run it, once there are so many."""
    file = app.parent / "started"
    for _ in range(600):
        if file.exists() and file.read_text().count("\n") >= count:
            return [int(line) for line in file.read_text().split()]
        time.sleep(0.05)
    raise AssertionError("nobody has begun")


def test_processes_that_miss_at_once_run_it_once(app: Path) -> None:
    children = [_start(app, 0.5) for _ in range(4)]
    found = {child.communicate(timeout=60)[0].strip() for child in children}
    assert len(found) == 1
    assert [str(pid) for pid in _started(app)] == list(found)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_leaves_nothing_and_another_takes_over(
    app: Path, how: signal.Signals
) -> None:
    first = _start(app, 1.01)
    (holder,) = _started(app)
    second = _start(app, 1.01)
    time.sleep(0.3)
    os.kill(holder, how)
    first.communicate(timeout=60)
    answer = second.communicate(timeout=60)[0].strip()
    assert answer == str(second.pid)
    assert _started(app, 2) == [holder, second.pid]


def test_loading_imports_no_module_that_an_entry_names(app: Path) -> None:
    """The entry of a dataclass is a miss where nobody has loaded its module."""
    written(
        app,
        {
            "model.py": "from dataclasses import dataclass\n\n@dataclass\n"
            "class Point:\n    x: int\n",
            "maker.py": "import importlib, whorl\n\n"
            "@whorl.cached(ignores=['importlib.import_module'])\ndef make(x):\n"
            "    return importlib.import_module('model').Point(x)\n",
        },
    )
    program = (
        "import json, sys; from maker import make; hit = make.explain(1).outcome; "
        "before = 'model' in sys.modules; made = make(1); "
        "print(json.dumps([hit, before, made.x, make.stats()['ran']]))"
    )
    assert run(app, "-c", program) == ["miss", False, 1, 1]
    assert run(app, "-c", program) == ["miss", False, 1, 1]
    assert run(app, "-c", "import model; " + program) == ["hit", True, 1, 0]


def _on_a_terminal(app: Path, **environment: str) -> str:
    """What a process shows on a terminal of its own."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"there are no terminals here: {error}")
    variables = {
        **os.environ,
        "WHORL_CACHE_DIR": str(app.parent / "cache"),
        "STARTED": str(app.parent / "started"),
        "PYTHONPATH": str(app),
        **environment,
    }
    program = "import sys; from app import *; slow(float(sys.argv[1]))"
    shown = b""
    for seconds in ("1.0", "1.1"):
        child = subprocess.Popen(
            [sys.executable, "-c", program, seconds], env=variables, stderr=slave, cwd=app
        )
        child.wait(60)
        os.set_blocking(master, False)
        while True:
            try:
                shown += os.read(master, 4096)
            except BlockingIOError:
                break
    os.close(slave)
    os.close(master)
    return shown.decode()


def test_a_long_run_shows_which_step_and_how_long_last_time(app: Path) -> None:
    shown = _on_a_terminal(app)
    assert "app.slow runs, 1 s" in shown
    assert "last time 1.0 s" in shown
    assert shown.endswith("\x1b[2K")


def test_progress_can_be_switched_off(app: Path) -> None:
    assert _on_a_terminal(app, WHORL_PROGRESS="0") == ""


def test_an_entry_can_be_looked_at_without_executing_anything(app: Path) -> None:
    run(app)
    program = """
import json, sys
from whorl.store import DirectoryStore
from pathlib import Path
import os
store = DirectoryStore(os.environ["WHORL_CACHE_DIR"])
keys = [(key, group) for group in store.groups() for key in store.iterate(group)]
labels = [store.get(key, group).entry.label for key, group in keys]
print(json.dumps([["app" in sys.modules], sorted({label.kind for label in labels}),
                  sorted({part.name for label in labels for part in label.parts})]))
"""
    (loaded,), kinds, parts = run(app, "-c", program)
    assert not loaded
    assert kinds == ["result"]
    assert {"code:app.answer", "class:app.Answer", "arg:n", "arg:input"} <= set(parts)
    assert json.dumps(parts)


def test_a_pickled_result_is_of_the_class_that_the_program_has(app: Path) -> None:
    ending = "assert type(odd(1)) is Odd\nprint(odd.stats()['ran'])\n"
    as_main = f"{APP}\nif __name__ == '__main__':\n" + "".join(
        f"    {line}\n" for line in ending.splitlines()
    )
    (app / "app.py").write_text(as_main)
    (app / "other.py").write_text(
        "import app\nfrom app import odd\nclass Odd: pass\n"
        + ending.replace("is Odd", "is app.Odd")
    )
    assert [run(app, app / "app.py"), run(app, app / "other.py")] == [1, 0]
    (app / "app.py").write_text(as_main.replace("self.x = x", "self.x = x + 0"))
    assert [run(app, app / "other.py"), run(app, app / "app.py")] == [1, 0]


def test_a_cached_function_that_calls_another_is_one_function_started_or_imported(
    app: Path,
) -> None:
    text = (
        "import whorl\n@whorl.cached\ndef inner(x):\n    return x\n"
        "@whorl.cached\ndef outer(x):\n    return inner(x)\n"
        "import json; print(json.dumps(outer.key(1)))\n"
    )
    (app / "calls.py").write_text(text)
    (app / "importing.py").write_text("import calls\n")
    assert run(app, app / "calls.py") == run(app, app / "importing.py")
