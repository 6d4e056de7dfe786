# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Native launches are right whatever happens between calls: properties, settings, forks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native, warmed
from whorl.launch import callable, native_tables, routine
from whorl.launch.table_checks import is_of_library
from whorl.settings import current

pytestmark = needs_native


@whorl.kernel
def by_keyword(x, *, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


def test_what_is_given_by_keyword_only_is_not_taken_by_position() -> None:
    call: Any = by_keyword
    x = np.ones(4)
    for _ in range(6):
        assert call(x, n=3) == 3.0
    with pytest.raises(TypeError, match="positional"):
        call(x, 4)


class Told:
    """An object whose array is another one after so many looks."""

    def __init__(self, *arrays: Any) -> None:
        self.arrays, self.looks = list(arrays), 0

    @property
    def x(self):
        self.looks += 1
        return self.arrays[min(self.looks, len(self.arrays)) - 1]


def total(told):
    s = 0.0
    for i in range(4):
        s += told.x[i]
    return s


def test_a_property_that_changes_while_a_table_is_made_makes_none() -> None:
    wide, narrow = np.arange(4.0), np.arange(4, dtype=np.float32)
    for looks in range(1, 16):
        kernel: Any = whorl.kernel(total)
        for _ in range(2):
            kernel(Told(wide))
        kernel(Told(*[wide] * looks, narrow))
        assert [kernel(Told(each)) for each in (narrow, wide)] == [6.0, 6.0]


class Interrupted:
    def __init__(self) -> None:
        self.array, self.error = np.ones(4), None

    @property
    def x(self):
        error, self.error = self.error, None
        if error is not None:
            raise error
        return self.array


def test_an_error_in_a_property_is_not_swallowed() -> None:
    kernel: Any = whorl.kernel(total)
    told: Any = Interrupted()
    assert warmed(kernel, told) == 4.0
    for error in (KeyboardInterrupt, SystemExit, ValueError):
        told.error = error
        with pytest.raises(error):
            kernel(told)
        assert kernel(told) == 4.0
    told.error = AttributeError  # an attribute that is not there just now, as for the plain way
    assert kernel(told) == kernel(told) == 4.0


class Configuring:
    def __init__(self, looks: int) -> None:
        self.array, self.looks = np.ones(4), looks

    @property
    def x(self):
        self.looks -= 1
        if self.looks == 0:
            whorl.configure(debug=True)
        return self.array


def some(told, n):
    s = 0.0
    for i in range(n):
        s += told.x[i]
    return s


def test_settings_that_change_while_a_table_is_made_are_honoured() -> None:
    for looks in range(1, 20):
        whorl.configure(debug=False)
        kernel: Any = whorl.kernel(some)
        told = Configuring(looks)
        while told.looks > 0:
            kernel(told, 4)
        with pytest.raises(IndexError):
            kernel(told, 5)


def test_tables_that_are_dropped_while_they_are_shown_stay_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel: Any = whorl.kernel(some)
    told = Configuring(-1)

    def set_entry(*args: Any) -> None:  # as if another thread came in between
        if not current().debug.value:
            whorl.configure(debug=True)
        callable.set_entry(*args)

    whorl.configure(debug=False)
    monkeypatch.setattr(native_tables, "set_entry", set_entry)
    for _ in range(3):
        kernel(told, 4)
    assert current().debug.value
    with pytest.raises(IndexError):
        kernel(told, 5)


def test_a_kernel_in_a_cycle_is_called_while_it_is_collected() -> None:
    results: list[Any] = []

    class Last:
        kernel: Any
        me: Any

        def __del__(self):
            for dtype in ("f8", "f4"):  # one natively, one on the way through Python
                results.append(self.kernel(Told(np.ones(4, dtype))))

    last = Last()
    last.kernel, last.me = whorl.kernel(total), last
    warmed(last.kernel, Told(np.ones(4)))
    last.kernel.last = last
    del last
    gc.collect()
    assert results == [4.0, 4.0]


MANY = "\n".join(
    [
        "import whorl",
        "@whorl.kernel",
        "def of_many_members(o):",
        "    t = 0.0",
        *(f"    t += o.m{i}[0]" for i in range(40)),
        "    return t",
    ]
)


class Large:
    pass


class Colliding:
    """A key that is compared with "m39", and takes all the other members away then."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.is_armed = owner, False

    def __hash__(self) -> int:
        return hash("m39")

    def __eq__(self, other: object) -> bool:
        if self.is_armed:
            for i in range(39):
                self.owner[f"m{i}"] = np.full(2, 1.0)
            self.junk = [np.full(2, -1e9) for _ in range(2000)]
        return False


def test_keys_of_an_instance_that_run_code_take_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_many_members.py").write_text(MANY)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = __import__("of_many_members").of_many_members
    thing = Large()
    key = Colliding(thing.__dict__)
    held: Any = thing.__dict__
    held[key] = None
    for i in range(40):
        setattr(thing, f"m{i}", np.full(2, float(i)))
    everything = float(sum(range(40)))
    for _ in range(6):
        assert kernel(thing) == everything
    key.is_armed = True
    assert kernel(thing) in (everything, 39.0 + 39.0)  # before or after, nothing else
    plain = Large()
    plain.__dict__.update((f"m{i}", np.full(2, float(i))) for i in range(40))
    assert warmed(kernel, plain) == everything
    other: Any = plain.__dict__
    other[5] = None
    assert kernel(plain) == everything


def scaled(self, v=5.0):
    return v * 2.0


@whorl.kernel
def calling(o):
    return o.do(o.x[0])


def test_what_only_looks_like_a_method_is_none() -> None:
    class Owner:
        do: Any
        x: Any

    owner = Owner()
    owner.x = np.ones(2)
    owner.do = types.MethodType(scaled, owner)
    assert warmed(calling, owner) == 2.0

    class Alike:
        def __init__(self) -> None:
            self.__func__, self.__self__ = scaled, owner

        def __call__(self, v):
            return 99.0

    owner.do = Alike()
    assert warmed(calling, owner) == calling.interpret(owner) == 99.0
    owner.do = staticmethod(scaled)
    assert calling(owner) == calling.interpret(owner) == 10.0


class Plain:
    def method(self) -> None: ...


def test_what_can_change_is_no_constant_of_a_library() -> None:
    append: Any = list[int]().append
    bound: Any = Plain().method
    value: Any
    for value in (append, bound, np.vectorize(abs), np.poly1d([1]), types, calling):
        assert not is_of_library(value), value
    for value in (np.sqrt, np.sum, np, whorl.prange, len, np.float64, np.dot):
        assert is_of_library(value), value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_holds() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with routine._lock[0]:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if routine._lock[0].acquire(timeout=5) else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0


LATE = """
import os, sys, types
import numpy as np, whorl

@whorl.kernel
def total(x):
    s = 0.0
    for i in range(4):
        s += x[i]
    return s

class Late:
    def __init__(self):
        self.total, self.x, self.y, self.write = total, np.ones(4), np.ones(4, "f4"), os.write
    def __del__(self):
        for x in (self.x, self.y):
            try:
                said = str(self.total(x)).encode()
            except Exception as error:
                said = type(error).__name__.encode()
            self.write(1, b"said " + said + b"\\n")

for _ in range(6):
    total(np.ones(4))
here = Late()
sys.late = Late()
sys.modules["aa_late"] = types.ModuleType("aa_late")
sys.modules["aa_late"].late = Late()
__builtins__.late = Late()
"""


def test_kernels_that_are_called_at_the_end_of_a_process_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(tmp_path / "late.py")],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("said") == 8, done.stdout  # a number, or what is gone by then
