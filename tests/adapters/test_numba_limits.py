"""Functions of Numba that whorl compiles anew on purpose, and programs that it does not disturb."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.adapters.numba_programs import LOCATOR, RECORDING, run, write

pytest.importorskip("numba")

EXTENSIONS = """\
import operator, os
import numpy as np
from numba import types
from numba.extending import (
    intrinsic, overload, overload_attribute, overload_method, register_jitable)
SCALE = 10
def plain(x): raise NotImplementedError
@overload(plain)
def plain_overload(x):
    def impl(x): return x * SCALE + 0 * np.random.rand()
    return impl
@overload_method(types.Array, "scaled")
def scaled(a):
    def impl(a): return a * 2
    return impl
@overload_attribute(types.Array, "half")
def half(a):
    def impl(a): return a.size // 2
    return impl
@intrinsic
def same(context, x):
    def codegen(context, builder, signature, arguments): return arguments[0]
    return types.int64(types.int64), codegen
@register_jitable
def helper(x): return x + 3
"""

USERS = """\
import numpy as np
from numba import njit
from extensions import helper, plain, same

@njit(cache=True)
def numbers(x): return plain(x) + helper(x) + same(x)
def run_numbers(): return numbers(4), numbers

@njit(cache=True)
def arrays(a): return a.scaled().sum() + a.half
def run_arrays(): return arrays(np.arange(4)), arrays
"""

# What is edited, and which of the two functions returns something else then.
EXTENSION_EDITS = [
    ("SCALE = 10", "SCALE = 20", "numbers"),
    ("return a * 2", "return a * 3", "arrays"),
    ("a.size // 2", "a.size // 4", "arrays"),
    ("return arguments[0]", "return builder.neg(arguments[0])", "numbers"),
    ("return x + 3", "return x + 4", "numbers"),
]


def test_overloads_and_intrinsics_count_for_every_function(tmp_path: Path) -> None:
    files = {"main.py": RECORDING, "kernels.py": USERS, "extensions.py": EXTENSIONS}
    cache = tmp_path / "cache"
    home = write(tmp_path / "program", files)
    base, _ = run(home, cache=cache, **LOCATOR)
    for old, new, changed in EXTENSION_EDITS:
        write(home, {"extensions.py": EXTENSIONS.replace(old, new)})
        found, _ = run(home, cache=cache, **LOCATOR)
        assert all(hits == 0 for _, hits in found.values()), new
        assert [name for name in found if found[name][0] != base[name][0]] == [changed]
    write(home, files)
    found, _ = run(home, cache=cache, **LOCATOR)
    assert found == {name: [result, 1] for name, (result, _) in base.items()}
    found, _ = run(home, cache=cache, **LOCATOR, NUMBA_BOUNDSCHECK="1")
    assert found == base, "a setting of Numba counts"


REFUSED = """\
import os, sys
from numba import int64, njit
from numba.experimental import jitclass
from numba.extending import overload

@jitclass([("a", int64)])
class Holder:
    def __init__(self): self.a = 1
    def get(self): return self.a
@njit(cache=True)
def takes(holder): return holder.get()
def run_takes(): return takes(Holder()), takes
@njit(cache=True)
def makes(x): return Holder().get() + x
def run_makes(): return makes(1), makes
@njit
def called(x): return x
@njit(cache=True)
def calls_argument(f, x): return f(x)
def run_calls_argument(): return calls_argument(called, 1), calls_argument
def make(scope):
    exec("def nameless(x): return x", scope)
    return njit(cache=True)(scope["nameless"])
nameless = make({})
def run_nameless(): return nameless(1), nameless
@njit(cache=True)
def plain_sum(x): return x + 1
def run_plain_sum(): return plain_sum(1), plain_sum
"""

READS_ENVIRONMENT = """
def plain(x): raise NotImplementedError
@overload(plain)
def plain_overload(x):
    if os.environ.get("CHOICE"): return lambda x: 1
    return lambda x: 2
@njit(cache=True)
def chooses(x): return plain(x)
def run_chooses(): return chooses(1), chooses
"""


def test_what_nobody_can_know_exactly_is_compiled_in_each_process_and_said_once(
    tmp_path: Path,
) -> None:
    home = write(tmp_path / "program", {"main.py": RECORDING, "kernels.py": REFUSED})
    for _ in range(2):
        found, said = run(home, cache=tmp_path / "cache", **LOCATOR)
    assert {name: hits for name, (_, hits) in found.items()} == {
        "calls_argument": 0, "makes": 0, "nameless": 0, "plain_sum": 1, "takes": 0,
    }  # fmt: skip
    for name in ("kernels.takes", "kernels.makes", "kernels.calls_argument", "nameless"):
        assert said.count(f"{name} is not cached: ") == 1, said


def test_an_overload_that_reads_the_environment_is_not_cached(tmp_path: Path) -> None:
    files = {"main.py": RECORDING, "kernels.py": REFUSED + READS_ENVIRONMENT}
    home, cache = write(tmp_path / "program", files), tmp_path / "cache"
    found, said = run(home, cache=cache, **LOCATOR)
    assert found["chooses"] == ["2", 0]
    found, said = run(home, cache=cache, **LOCATOR, CHOICE="1")
    assert found["chooses"] == ["1", 0]
    assert "kernels.plain_overload uses os.environ" in said
    assert "whorl.adapters.numba.install(ignores=['os.environ'])" in said


CHANGES = """\
import json, sys
import numpy as np
import whorl.adapters.numba
whorl.adapters.numba.install()
from numba import njit, vectorize
N = int(sys.argv[1])
@vectorize(["int64(int64)"])
def ufunc(x): return x + N
@njit
def callee(x): return x + N
@njit(cache=True)
def calls_ufunc(x): return ufunc(x)
@njit(cache=True)
def calls(x): return callee(x)
@njit(cache=True)
def reads(x): return x + N
callee(1)
before = reads(1)
N = 2
after = [calls_ufunc(1), calls(1), reads(1), reads(1.0)]
hits = [sum(f.stats.cache_hits.values()) for f in (calls_ufunc, calls, reads)]
print(json.dumps([[before, *after], hits]))
"""


def test_a_global_that_changes_in_a_process_is_old_in_what_was_compiled_before(
    tmp_path: Path,
) -> None:
    home, cache = write(tmp_path, {"main.py": CHANGES}), tmp_path / "cache"
    old = [2, 2, 2, 2, 3.0]  # as Numba has it without a cache
    (results, hits), said = run(home, "1", cache=cache)
    assert (results, hits) == (old, [0, 0, 0])
    assert "main.calls is not cached: it calls main.callee, and something" in said
    (results, hits), _ = run(home, "2", cache=cache)
    assert (results, hits) == ([3, 3, 3, 3, 3.0], [0, 0, 1]), "only that for floats was kept"
    (results, hits), _ = run(home, "2", cache=cache)
    assert (results, hits) == ([3, 3, 3, 3, 3.0], [1, 1, 2])
    (results, hits), _ = run(home, "1", cache=cache)
    assert (results, hits) == (old, [0, 0, 2]), "what was made where N was 2 all the time"


ORDER = """\
import json, sys
from numba import njit
@njit
def divides(x): return 1.0 / x
@njit(cache=True)
def careful(x): return divides(x)
@njit(cache=True, error_model="numpy")
def careless(x): return careful(x)
def call(f):
    try: return repr(f(0.0))
    except ZeroDivisionError: return "error"
print(json.dumps([call(globals()[name]) for name in sys.argv[1:]]))
"""


def test_options_that_a_function_takes_from_its_caller_count(tmp_path: Path) -> None:
    home, cache = write(tmp_path, {"main.py": ORDER}), tmp_path / "cache"
    for _ in range(2):
        assert run(home, "careless", cache=cache, **LOCATOR)[0] == ["inf"]
        assert run(home, "careful", cache=cache, **LOCATOR)[0] == ["error"]
        assert run(home, "careful", "careless", cache=cache, **LOCATOR)[0] == ["error", "error"]


ONE = """\
import json, sys
from numba import njit
@njit(cache=True)
def add(x): return x + 1
result = add(1)
if "--recompile" in sys.argv:
    add.recompile()
files = add._cache._cache_file
print(json.dumps([result, sum(add.stats.cache_hits.values()), type(files).__name__]))
"""


@pytest.mark.parametrize(
    ("environment", "hits"),
    [
        ({}, 1),
        ({"WHORL_CACHE": "off"}, 0),
        ({"WHORL_CACHE": "readonly"}, 1),
        ({"WHORL_CACHE_DIR": "/proc/no-place"}, 0),
        ({"WHORL_SIGNING_KEY": "b" * 64}, 0),  # what others have sealed is not unpickled
    ],
    ids=["on", "off", "readonly", "no place", "another key"],
)
def test_a_cache_that_is_not_usable_does_not_disturb_the_program(
    environment: dict[str, str], hits: int, tmp_path: Path
) -> None:
    home, cache = write(tmp_path, {"main.py": ONE}), tmp_path / "cache"
    run(home, cache=cache, **LOCATOR)
    found, _ = run(home, "--recompile", cache=cache, **{**LOCATOR, **environment})
    assert found == [2, hits, "StoredOverloads"]


def test_a_required_hit_is_an_error_of_the_program_only_if_that_is_asked_for(
    tmp_path: Path,
) -> None:
    home, cache = write(tmp_path, {"main.py": ONE}), tmp_path / "cache"
    with pytest.raises(AssertionError, match="WHORL_REQUIRE_HIT forbids a miss"):
        run(home, cache=cache, **LOCATOR, WHORL_REQUIRE_HIT="1")
    run(home, cache=cache, **LOCATOR)
    assert run(home, cache=cache, **LOCATOR, WHORL_REQUIRE_HIT="1")[0][:2] == [2, 1]


def test_another_version_of_numba_keeps_its_own_cache_with_one_warning(tmp_path: Path) -> None:
    older = """\
import importlib.metadata
real = importlib.metadata.version
importlib.metadata.version = lambda name: "0.59.1" if name == "numba" else real(name)
"""
    home = write(tmp_path, {"main.py": older + ONE})
    for hits in (0, 1):
        found, said = run(home, cache=tmp_path / "cache", **LOCATOR)
        assert found == [2, hits, "IndexDataCacheFile"]
        assert said.count("this is 0.59.1") == 1
    assert list((home / "__pycache__").glob("*.nbc"))


def test_processes_that_compile_at_once_all_get_the_right_results(tmp_path: Path) -> None:
    home, cache = write(tmp_path, {"main.py": ONE}), tmp_path / "cache"
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: run(home, cache=cache, **LOCATOR)[0][0], range(3)))
    assert found == [2, 2, 2]
    assert run(home, cache=cache, **LOCATOR)[0][1] == 1


AUDITED = """\
import numpy as np
from numba import njit
import values
@njit(cache=True)
def scaled(x): return x * values.SCALE
@njit(cache=True)
def plain(x): return x
print(scaled(2), plain(1))
"""


def test_an_audit_reports_what_numba_serves_stale_with_the_path_that_differs(
    tmp_path: Path,
) -> None:
    home = write(tmp_path / "program", {"main.py": AUDITED, "values.py": "SCALE = 2\n"})

    def audit(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "whorl", "--cache-dir", str(tmp_path / "cache"), "audit"]
        ended = subprocess.run(
            [*command, "--adapter", "numba", *words, str(home / "main.py")],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return ended.returncode, ended.stdout

    assert audit() == (0, "4 1\nnumba was served 0 entries: 0 stale, 0 unknown, 0 right; "
                       "it compiled 2\n")  # fmt: skip
    assert "2 right" in audit()[1]
    write(home, {"values.py": "SCALE = 3\n"})
    code, said = audit()
    assert code == 1
    assert said.startswith("4 1\n"), "the stale result"
    assert "main.scaled (int64,): stale\n  global:main.values.SCALE: 2 -> 3\n    read at" in said
    assert "1 stale, 0 unknown, 1 right" in said
    code, said = audit("--json")
    entries = json.loads(said)["entries"]
    assert [(each["function"], each["verdict"]) for each in entries] == [
        ("main.scaled", "stale"), ("main.plain", "right"),
    ]  # fmt: skip
    assert entries[0]["changes"][0]["path"] == "global:main.values.SCALE"


def test_an_audit_says_what_it_cannot_know(tmp_path: Path) -> None:
    home = write(tmp_path / "program", {"main.py": AUDITED, "values.py": "SCALE = 2\n"})
    subprocess.run([sys.executable, str(home / "main.py")], check=True, capture_output=True)
    command = [sys.executable, "-m", "whorl", "audit", "--cache-dir", str(tmp_path / "cache")]
    ended = subprocess.run(
        [*command, "--adapter", "numba", "--json", str(home / "main.py")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    entries = json.loads(ended.stdout)["entries"]
    assert {each["verdict"] for each in entries} == {"unknown"}
    assert {each["reason"] for each in entries} == {"it was made when no audit took note"}
