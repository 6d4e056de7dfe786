# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Kernels that are called natively notice everything that they would notice in Python."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import sys
import threading
import warnings
import weakref
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.kernels.native_calls import is_native, needs_native, warmed

pytestmark = needs_native
SCALE = 2.0


def helper(v):
    return v + 1


@whorl.kernel
def weighted(x, n: int):
    """Sum up."""
    s = 0.0
    for i in range(n):
        s += helper(x[i]) * SCALE
    return s


@whorl.kernel
def of_object(state, k):
    s = 0.0
    for i in range(state.inner.x.shape[0]):
        s += state.inner.x[i] * k
    return s, state.n


def test_a_kernel_becomes_native_and_stays_what_it_was() -> None:
    x = np.ones(4)
    assert warmed(weighted, x, 4) == 16.0
    assert weighted.__doc__ == "Sum up."
    assert list(inspect.signature(weighted).parameters) == ["x", "n"]
    assert pickle.loads(pickle.dumps(weighted)) is weighted
    assert copy.deepcopy(weighted) is weighted
    assert isinstance(weighted, whorl.NumericKernel)
    assert weighted(x, n=2) == weighted(n=2, x=x) == 8.0
    with pytest.raises(TypeError, match="missing 1 required"):
        weighted(x)  # type: ignore[call-arg] # the bad call is what is tested


def test_a_changed_global_or_helper_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert weighted(x, 4) == 24.0
    monkeypatch.undo()
    assert weighted(x, 4) == 16.0
    monkeypatch.setattr(helper, "__code__", (lambda v: v + 2).__code__)
    assert weighted(x, 4) == 24.0
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[__name__], "range", lambda n: (), raising=False)
    assert weighted(x, 4) == 0.0
    monkeypatch.undo()
    assert weighted(x, 4) == 16.0


def test_other_types_go_to_their_own_specialization_and_back() -> None:
    x, y = np.ones(4), np.ones(4, np.float32)
    warmed(weighted, x, 4)
    warmed(weighted, y, 4)
    assert [weighted(each, 3) for each in (x, y, x[::-1], x, y)] == [12.0] * 5
    kernel: Any = weighted
    assert kernel(x, np.int32(2)) == 8.0


def test_members_that_change_in_any_way_are_noticed() -> None:
    state = SimpleNamespace(inner=SimpleNamespace(x=np.ones(4)), n=3)
    assert warmed(of_object, state, 2.0) == (8.0, 3)
    state.n = 5
    assert of_object(state, 2.0) == (8.0, 5)
    state.n = 5.5
    assert of_object(state, 2.0) == (8.0, 5.5)
    state.n = 1
    state.inner.x = np.ones(6)
    assert of_object(state, 2.0) == (12.0, 1)
    state.inner = SimpleNamespace(x=np.ones(2, np.float32))
    assert of_object(state, 2.0) == (4.0, 1)
    state.inner.x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(whorl.KernelError):
        of_object(state, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of newer NumPys
        state.inner.x.shape = (6,)
    assert of_object(state, 2.0) == (30.0, 1)
    state.inner.x = np.ones(4)[::2]
    assert of_object(state, 2.0) == (4.0, 1)
    del state.n
    with pytest.raises((whorl.KernelError, AttributeError)):
        of_object(state, 2.0)
    other = copy.copy(state)
    other.n, other.inner = 9, SimpleNamespace(x=np.ones(3))
    assert of_object(other, 2.0) == (6.0, 9)


def test_listeners_hear_of_native_kernels_too() -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    with whorl.testing.recorded_events() as events:
        weighted(x, 4)
    assert [event.what.value for event in events] == ["recalled", "launched"]


def test_settings_are_honoured_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    whorl.configure(debug=True)
    with pytest.raises(IndexError):
        weighted(x, 400)
    whorl.configure(debug=False, interpret=True)
    with pytest.raises(IndexError):
        weighted(x, 400)
    whorl.configure(interpret=False)
    assert warmed(weighted, x, 4) == 16.0


class Holder:
    def __init__(self) -> None:
        self.x = np.ones(3)

    @whorl.kernel
    def total(self, k: float):
        s = 0.0
        for v in self.x:
            s += v * k
        return s


class Doubled(Holder):
    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self._x = 2 * value


def test_methods_are_native_for_each_class() -> None:
    holder, doubled = Holder(), Doubled()
    for _ in range(5):
        assert (holder.total(2.0), doubled.total(2.0)) == (6.0, 12.0)
    assert is_native(Holder.__dict__["total"])
    bound = holder.total
    assert (bound(1.0), Holder.total(holder, 3.0)) == (3.0, 9.0)
    assert copy.copy(holder).total(1.0) == 3.0


def test_threads_may_call_one_kernel_at_once() -> None:
    results: list[bool] = []

    def work(dtype: str) -> None:
        x = np.ones(100, dtype)
        results.append(all(weighted(x, n % 100) == 4.0 * (n % 100) for n in range(3000)))

    threads = [threading.Thread(target=work, args=(dtype,)) for dtype in ("f8", "f4", "i8", "f8")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_nothing_leaks() -> None:
    state = SimpleNamespace(inner=SimpleNamespace(x=np.ones(4)), n=3)
    warmed(of_object, state, 2.0)
    counts = sys.getrefcount(state), sys.getrefcount(state.inner), sys.getrefcount(state.inner.x)
    for _ in range(10_000):
        of_object(state, 2.0)
    assert counts == (
        sys.getrefcount(state),
        sys.getrefcount(state.inner),
        sys.getrefcount(state.inner.x),
    )
    gone = weakref.ref(state.inner.x)
    del state
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_can_call_a_native_kernel() -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    child = os.fork()
    if child == 0:
        os._exit(0 if all(weighted(x, 4) == 16.0 for _ in range(10)) else 1)
    assert os.waitpid(child, 0)[1] == 0


@whorl.kernel(debug=True)
def checked(x, i):
    return x[i]


def test_errors_of_debug_kernels_come_back_natively() -> None:
    x = np.arange(3.0)
    assert warmed(checked, x, 1) == 1.0
    for _ in range(3):
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 of arg:x"):
            checked(x, 7)
    assert checked(x, -1) == 2.0


def test_ints_that_do_not_fit_are_refused() -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    with pytest.raises(OverflowError, match="arg:n"):
        weighted(x, 2**70)


def test_a_kernel_that_is_collected_leaves_nothing() -> None:
    kernel = whorl.kernel(weighted.function)
    warmed(kernel, np.ones(4), 4)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


class Slotted:
    __slots__ = ("n", "x", "y")

    def __init__(self) -> None:
        self.x, self.y, self.n = np.ones(3), np.full(3, 2.0), 3


@whorl.kernel
def of_slots(s):
    total = 0.0
    for i in range(s.n):
        total += s.x[i] * s.y[i]
    return total


def test_members_in_slots_are_seen_as_they_are() -> None:
    thing = Slotted()
    assert warmed(of_slots, thing) == 6.0
    thing.x = np.full(3, 5.0)
    assert of_slots(thing) == 30.0
    thing.x = thing.y
    assert of_slots(thing) == 12.0
    thing.n = 2
    assert of_slots(thing) == 8.0
    thing.x = np.ones(3, np.float32)
    assert of_slots(thing) == 4.0
    del thing.y
    with pytest.raises((whorl.KernelError, AttributeError)):
        of_slots(thing)
    thing.y = np.ones(3)
    assert of_slots(thing) == 2.0
    assert of_slots(SimpleNamespace(x=np.ones(2), y=np.ones(2), n=2)) == 2.0


def test_a_class_that_changes_under_a_native_kernel_is_noticed() -> None:
    class Local:
        __slots__ = ("n", "x", "y")

    cls: Any = Local
    thing = cls()
    thing.x, thing.y, thing.n = np.ones(3), np.ones(3), 3
    assert warmed(of_slots, thing) == 3.0
    cls.n = property(lambda self: 2)
    assert of_slots(thing) == 2.0
    cls.__getattribute__ = lambda self, name: 1 if name == "n" else np.ones(3)
    assert of_slots(thing) == 1.0


class Many:
    def __init__(self) -> None:
        for i in range(40):
            setattr(self, f"m{i}", np.full(2, float(i)))


MANY = "\n".join(
    [
        "import whorl",
        "@whorl.kernel",
        "def of_many(o):",
        "    t = 0.0",
        *(f"    t += o.m{i}[0]" for i in range(40)),
        "    return t",
    ]
)


def test_members_of_a_large_instance_are_seen_as_they_are(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_many_kernel.py").write_text(MANY)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = __import__("of_many_kernel").of_many
    thing: Any = Many()
    cls: Any = Many
    everything = float(sum(range(40)))
    assert warmed(kernel, thing) == everything
    thing.m7 = np.full(2, 1000.0)
    assert kernel(thing) == everything + 993
    thing.__dict__["m7"] = np.full(2, 7.0, np.float32)
    assert kernel(thing) == everything
    thing.__dict__ = dict(reversed(thing.__dict__.items()))
    assert kernel(thing) == everything
    del thing.m3
    with pytest.raises((whorl.KernelError, AttributeError)):
        kernel(thing)
    cls.m3 = np.full(2, 3.0)  # found in the class now
    try:
        assert kernel(thing) == everything
        cls.m7 = property(lambda self: np.full(2, 0.5))  # hides it
        assert kernel(thing) == everything - 6.5
    finally:
        del cls.m3, cls.m7
    assert kernel(copy.copy(Many())) == everything
    counts = [sys.getrefcount(cls().m0), sys.getrefcount(thing.m0)]
    for _ in range(1000):
        kernel(Many())
    assert counts == [sys.getrefcount(cls().m0), sys.getrefcount(thing.m0)]


class Body:
    def __init__(self, k: float) -> None:
        self.k, self.x = k, np.ones(3)

    def weight(self, i):
        return self.x[i] * self.k

    @whorl.kernel
    def total(self):
        s = 0.0
        for i in range(3):
            s += self.weight(i)
        return s


def test_methods_that_a_native_kernel_calls_are_looked_up_every_time() -> None:
    body: Any = Body(2.0)
    for _ in range(5):
        assert body.total() == 6.0
    assert is_native(Body.__dict__["total"])
    body.k = 3.0
    assert body.total() == 9.0
    body.weight = Body(10.0).weight
    assert body.total() == 30.0
    del body.weight
    assert body.total() == 9.0


def test_options_give_a_kernel_that_begins_in_python() -> None:
    x = np.ones(4)
    warmed(weighted, x, 4)
    again: Any = weighted.with_options()
    assert not is_native(again)
    assert warmed(again, x, 4) == 16.0


class Odd:
    @property
    def x(self):
        return np.ones(3)

    def __getattr__(self, name):
        return (1, 2)


@whorl.kernel
def never_native(o, n):
    return o.x[0] * n, (n, n)


def test_a_kernel_that_cannot_be_native_is_tried_less_and_less_often() -> None:
    odd = Odd()
    for _ in range(200):
        assert never_native(odd, 2) == (2.0, (2, 2))
    assert not is_native(never_native)
    assert never_native.tables.pause == 128


@whorl.kernel
def with_default(x, n=2):
    return x[0] * n


def test_calls_by_keyword_are_native_and_share_a_table_with_others() -> None:
    x = np.ones(3)
    for _ in range(20):
        assert by_name(x, n=2) == by_name(n=2, x=x) == 2.0
    assert is_native(by_name)
    calls = by_name.python_calls
    assert warmed(by_name, x, 3) == 3.0
    for _ in range(20):
        assert by_name(x, n=2) == by_name(n=2, x=x) == 2.0
    assert len(by_name.tables) == 1
    assert by_name.python_calls == calls


@whorl.kernel
def by_name(x, n=2):
    return x[0] * n


def test_what_is_left_to_a_default_is_taken_from_there_natively() -> None:
    x = np.ones(3)
    assert warmed(with_default, x) == 2.0
    assert warmed(with_default, x, 3) == 3.0
    assert len(with_default.tables) == 2
    for n in range(20):
        assert (with_default(x), with_default(x, n), with_default(x)) == (2.0, n, 2.0)
    with_default.function.__defaults__ = (5,)
    assert [with_default(x) for _ in range(9)] == [5.0] * 9
    with_default.function.__defaults__ = (2.5,)
    assert [with_default(x) for _ in range(9)] == [2.5] * 9
    with_default.function.__defaults__ = None
    with pytest.raises(TypeError, match="n"):
        with_default(x)
    with_default.function.__defaults__ = (2,)
    assert [with_default(x) for _ in range(9)] == [2.0] * 9


TABLE = np.arange(4.0)


class Picker:
    @whorl.kernel
    def picked(self, i=1, table=TABLE):
        return self.scale * table[i]

    def __init__(self, scale):
        self.scale = scale


def test_an_array_by_default_is_looked_at_in_every_launch() -> None:
    one, other = Picker(2.0), Picker(3)
    for _ in range(9):
        assert (one.picked(), other.picked(), one.picked(2)) == (2.0, 3.0, 4.0)
    TABLE[1] = 7.0
    assert (one.picked(), other.picked()) == (14.0, 21.0)
    TABLE.resize(5000, refcheck=False)  # the very same array, somewhere else
    TABLE[1] = 8.0
    assert [one.picked() for _ in range(9)] == [16.0] * 9
    TABLE.setflags(write=False)
    assert [one.picked() for _ in range(9)] == [16.0] * 9


def test_objects_of_several_classes_are_all_native() -> None:
    kernel: Any = whorl.kernel(of_object.function)
    kinds = [type(f"Kind{i}", (), {}) for i in range(5)]
    things: list[Any] = [kind() for kind in kinds]
    for thing in things:
        thing.inner, thing.n = SimpleNamespace(x=np.ones(2)), 1
    for _ in range(5):
        assert [kernel(thing, 2.0) for thing in things] == [(4.0, 1)] * 5
    calls = kernel.python_calls
    for _ in range(5):
        assert [kernel(thing, 2.0) for thing in things] == [(4.0, 1)] * 5
    assert kernel.python_calls == calls


def test_tables_that_are_no_longer_found_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel: Any = whorl.kernel(weighted.function)
    x = np.ones(4)
    counts: list[int] = []
    for i in range(200):
        monkeypatch.setattr(sys.modules[__name__], "helper", helper_like(i))
        for _ in range(2):
            assert kernel(x, 4) == 16.0
        counts.append(len(kernel.tables._publications))
    assert max(counts) == 1
    assert len(kernel.tables) <= 8
    assert is_native(kernel)


def helper_like(number: int) -> Any:
    return FunctionType(helper.__code__, globals(), "helper")


@whorl.kernel(nogil=True)
def waiting(flag, out):
    out[0] = 1
    while flag[0] == 0:
        out[1] += 1
    return flag[0], out[0]


def test_tables_are_kept_while_a_launch_uses_them() -> None:
    done, ready = np.ones(1, np.int64), np.zeros(2, np.int64)
    warmed(waiting, done, ready)
    flag, out = np.zeros(1, np.int64), np.zeros(2, np.int64)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(waiting(flag, out)))
    thread.start()
    while not out[0]:
        pass
    for _ in range(20):  # the launch goes on with a header that nobody finds any more
        whorl.configure(debug=False)
        gc.collect()
        warmed(waiting, done, ready)
        assert len(waiting.tables._publications) == 2
    flag[0] = 7
    thread.join()
    assert results == [(7, 1)]
    whorl.configure(debug=False)
    assert len(waiting.tables._publications) == 1
