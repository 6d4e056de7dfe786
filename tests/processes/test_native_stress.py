"""Native launches under an allocator that notices what is written outside, or used when freed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.native_calls import needs_native

pytestmark = needs_native

PROGRAM = '''
import copy, gc, sys, threading, types
import numpy as np, whorl

@whorl.kernel
def of_members(o, k):
    s = 0.0
    for i in range(o.x.shape[0]):
        s += o.x[i] * o.y[0, i] + o.z[0]
    return s * k, o.n, o.inner.w[0]

@whorl.kernel(nogil=True)
def without_lock(o, k):
    s = 0.0
    for i in range(o.x.shape[0]):
        s += o.x[i]
    return s * k

@whorl.kernel
def of_arrays(a, b, c, n):
    c[n] = a[n] + b[n]

@whorl.kernel(debug=True)
def checked(a, i):
    return a[i], i

class Plain: pass
class Slotted: __slots__ = ("x", "y", "z", "n", "inner")
class Derived(Plain):
    __slots__ = ("z",)
class Asked(Plain):
    @property
    def z(self):
        gc.collect(0)  # code of the user, which frees things
        return self.held
    @z.setter
    def z(self, value):
        self.held = value

def filled(cls, n=4, order="xyzni"):
    made = cls()
    for name in order:
        if name == "x": made.x = np.ones(n)
        if name == "y": made.y = np.ones((1, n))
        if name == "z": made.z = np.ones(3)
        if name == "n": made.n = n
        if name == "i":
            made.inner = types.SimpleNamespace(w=np.full(2, 7.0))
    return made

KINDS = [Plain, Slotted, Derived, Asked, types.SimpleNamespace]

def changed(thing, round):
    """The same object in another place, or with other things in it."""
    match round % 9:
        case 0: thing.x = np.ones(4)
        case 1: thing = copy.copy(thing)
        case 2: thing = filled(type(thing), 4, "inzyx")
        case 3:
            if hasattr(thing, "__dict__") and type(thing) is not types.SimpleNamespace:
                thing.__dict__ = dict(reversed(vars(thing).items()))
        case 4:
            del thing.y
            thing.y = np.ones((1, 4))
        case 5:
            if hasattr(thing, "__dict__"):
                for i in range(40):
                    setattr(thing, f"other{i}", i)
        case 6: thing.inner = types.SimpleNamespace(other=1, w=np.full(2, 7.0))
        case 7:
            if hasattr(thing, "__dict__"):
                vars(thing)[round] = None
        case 8: thing = filled(type(thing))
    return thing

failures = []

def work(number):
    things = [filled(kind) for kind in KINDS]
    a, b, c = (np.ones(8) for _ in range(3))
    try:
        for round in range(ROUNDS):
            for i, thing in enumerate(things):
                for k in (2.0, 3):
                    assert of_members(thing, k) == (8.0 * k, 4, 7.0), (round, i)
                assert without_lock(thing, 2.0) == 8.0
                things[i] = changed(thing, round + i + number)
            of_arrays(a, b, c, round % 8)
            of_arrays(a[::2], b, c, 1)
            assert c[1] == 2.0
            assert checked(a, -1) == (1.0, -1)
            for bad in (99, -99):
                try:
                    checked(a, bad)
                except IndexError:
                    continue
                raise AssertionError("not noticed")
            if round % 50 == number:
                whorl.configure(debug=False)  # drops all tables, under the launches of the others
    except BaseException as error:
        failures.append(repr(error))
        raise

threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures

# References, after all of that.
thing, x = filled(Plain), np.ones(4)
for _ in range(10): of_members(thing, 2.0), of_arrays(x, x, x, 1)
held = [thing, vars(thing), thing.x, thing.y, thing.inner, thing.inner.w, x, x.dtype, Plain,
        of_members, of_arrays]
before = [sys.getrefcount(each) for each in held]
nones = sys.getrefcount(None)
for _ in range(20_000):
    of_members(thing, 2.0)
    of_arrays(x, x, x, 1)
assert [sys.getrefcount(each) for each in held] == before
assert abs(sys.getrefcount(None) - nones) < 200
assert of_members.python_calls < ROUNDS * 200, of_members.python_calls
print("well", of_members.python_calls)
'''


@pytest.mark.parametrize("allocator", ["debug", "malloc_debug"])
def test_launches_do_no_harm_under_a_debugging_allocator(tmp_path: Path, allocator: str) -> None:
    rounds = 300 if allocator == "debug" else 60
    (tmp_path / "stress.py").write_text(f"ROUNDS = {rounds}\n{PROGRAM}")
    environment = {
        **os.environ,
        "PYTHONMALLOC": allocator,
        "MALLOC_PERTURB_": "165",
        "WHORL_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(tmp_path / "stress.py")],
        check=False, capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("well"), done.stdout
