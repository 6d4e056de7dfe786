"""What a process imports late: several threads at once, and children that are forked meanwhile."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import whorl

SOURCE = Path(whorl.__file__).parent

# The command line and the tests of users do not fork while they import.
AS_ONE = ("cli/", "testing/")

# A value of NumPy is there only when NumPy is; these three are part of the interpreter.
THERE = {"numpy", "os", "sys", "_abc"}


def late_imports() -> list[tuple[str, ast.Import | ast.ImportFrom, bool]]:
    """The imports in functions: where, which, and whether a fork waits for it."""
    found = []

    def visit(node: ast.AST, place: str, in_function: bool, is_waited_for: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            in_function, is_waited_for = True, False
        elif isinstance(node, ast.With):
            is_waited_for = any(ast.unparse(item) == "importing" for item in node.items)
        elif isinstance(node, ast.Import | ast.ImportFrom) and in_function:
            found.append((f"{place}:{node.lineno}", node, is_waited_for))
        for child in ast.iter_child_nodes(node):
            visit(child, place, in_function, is_waited_for)

    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(AS_ONE):
            visit(ast.parse(path.read_text()), place, False, False)
    return found


def test_a_fork_waits_for_every_import_that_a_function_makes() -> None:
    found = late_imports()
    assert len(found) > 20  # or they are not found by this test
    alone = [
        f"{place} {ast.unparse(node)}"
        for place, node, is_waited_for in found
        if not is_waited_for and not (isinstance(node, ast.Import) and node.names[0].name in THERE)
    ]
    assert not alone, "put these into `with importing:` of whorl.lazy"


def test_the_modules_of_the_lowering_are_imported_as_one() -> None:
    names = sorted(path.stem for path in (SOURCE / "kernels" / "lowering").glob("[a-z]*.py"))
    names.remove("systems")  # lowers the launcher, and no kernel
    assert "loops" in names
    text = "import sys, whorl.kernels.pipeline\n"
    text += f"missing = [each for each in {names} if f'whorl.kernels.lowering.{{each}}' not in "
    text += "sys.modules]; print(missing)"
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


PROGRAM = """
import numpy as np
import whorl

@whorl.kernel
def scaled(a: float, x):
    for i in range(x.shape[0]):
        x[i] = a * x[i]

@whorl.kernel(debug=True)
def at(x, n: int):
    return x[n]

@whorl.kernel
def wrong(x):
    return x.nothing.like_it

@whorl.cached
def twice(n):
    return 2 * n

def launch():
    x = np.ones(4)
    scaled(2.0, x)
    assert (x == 2).all()

def fail():
    try:
        at(np.ones(3), 5)
    except IndexError:
        return
    raise AssertionError("nothing was raised")

def refuse():
    try:
        wrong(np.ones(3))
    except whorl.WhorlError as error:
        assert str(error)

def explain():
    assert str(scaled.explain(2.0, np.ones(4, np.float32)))

def keep():
    assert twice(3) == 6

def put():
    from whorl.artifacts import Artifact, Label, decode, encode
    from whorl.store import default_cache
    key = whorl.StableDigest("0" * 32)
    default_cache().put(encode(Artifact({"code": b"ret"}), Label("artifact", key)))
    assert decode(default_cache().get(key).entry).payloads["code"] == b"ret"

def count():
    from whorl.store import default_cache
    default_cache().statistics.flush()
    default_cache().statistics.totals

def describe():
    import dataclasses
    assert dataclasses.fields(whorl.Artifact)
    assert repr(whorl.settings.current())
    assert whorl.fingerprint([whorl.settings.current().cache.value])

USES = [launch, fail, refuse, explain, keep, put, count, describe]
"""

THREADS = """
import sys, threading
import uses
sys.setswitchinterval(1e-6)
barrier, failed = threading.Barrier(16), []

def run(use):
    barrier.wait()
    try:
        use()
    except BaseException as error:
        failed.append((use.__name__, error))

threads = [threading.Thread(target=run, args=(uses.USES[i % 8],)) for i in range(16)]
for each in threads: each.start()
for each in threads: each.join()
assert not failed, failed
"""

# Threads make each use the first time while the process forks, again and again.
FORKS = """
import faulthandler, os, sys, threading, time, warnings
import uses
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of what this tries
sys.setswitchinterval(1e-4)

def run(use):
    use()

threads = [threading.Thread(target=run, args=(use,)) for use in uses.USES]
for each in threads: each.start()
children = []
while any(each.is_alive() for each in threads) and len(children) < 12:
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(60, exit=True)  # instead of waiting for ever
        try:
            for use in uses.USES: use()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
    time.sleep(0.004 * len(children))
ended = [os.waitpid(child, 0)[1] for child in children]
for each in threads: each.join()
print(ended)
assert children and not any(ended)
"""


def run(text: str, tmp_path: Path) -> None:
    (tmp_path / "uses.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={**os.environ, "WHORL_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not done.returncode, done.stdout + done.stderr
    assert not done.stderr


def test_threads_that_use_everything_for_the_first_time_at_once_all_succeed(
    tmp_path: Path,
) -> None:
    for _ in range(3):  # with nothing in the cache, and with all of it
        run(THREADS, tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_children_that_are_forked_while_threads_import_can_use_everything(tmp_path: Path) -> None:
    for _ in range(2):
        run(FORKS, tmp_path)


NO_FILES = """
import os, resource, sys
import numpy as np
import uses
uses.launch()
for _ in range(int(sys.argv[1])): uses.launch()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True: taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
for _ in range(30): uses.launch()
for file in taken: os.close(file)
for _ in range(300): uses.launch()
print("ok", end="")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
@pytest.mark.parametrize("calls", [0, 1])
def test_a_kernel_that_was_launched_is_launched_when_no_more_files_can_be_opened(
    tmp_path: Path, calls: int
) -> None:
    run("import uses; uses.launch()", tmp_path)
    run(f"import sys; sys.argv = ['', '{calls}']\n{NO_FILES}", tmp_path)


def test_a_logger_that_cannot_be_imported_says_nothing() -> None:
    text = """
import sys
sys.modules["logging"] = None  # as good as: its file cannot be opened
from whorl.lazy import logger
print(logger("whorl.store").warning("%s", 1, exc_info=True))
"""
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "None"
