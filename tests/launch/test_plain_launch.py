# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Calls that are not native are launched in Python, with the same results and errors."""

from __future__ import annotations

import gc
import logging
import math
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native
from whorl.launch import failure, mapped, native_tables, routine, status
from whorl.launch.callable import NotKnown

pytestmark = needs_native


def plainly(kernel: Any, *args: Any) -> Any:
    """What a kernel returns when it is launched in Python, time and again."""
    for _ in range(4):
        result = kernel.call_in_python(*args)
    return result


@whorl.kernel
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += (i + 1) * x[i, j]
    return s, x.shape[0], x.shape[1]


ARRAYS: list[Any] = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6.0).reshape(3, 2).T,
    np.arange(24.0).reshape(4, 6)[::2, ::-2],
    np.arange(6, dtype=np.int8).reshape(2, 3),
    np.zeros((0, 3)),
    np.zeros((3, 0), order="F"),
    np.broadcast_to(np.arange(3.0), (4, 3)),
    np.arange(3.0).reshape(3, 1)[::2],
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.strides}")
def test_arrays_of_any_layout_are_plainly(array: Any) -> None:
    kernel: Any = whorl.kernel(total.function)
    assert plainly(kernel, array) == kernel.interpret(array)
    read_only = array.view()
    read_only.flags.writeable = False
    assert plainly(kernel, read_only) == kernel.interpret(array)


@whorl.kernel
def mixed(n, x, flag):
    return n, x, flag


NUMBERS: list[Any] = [
    0, 1, -1, 2**63 - 1, -(2**63), 0.5, -0.0, -1.0, math.inf, True, False,
    np.int8(-3), np.uint8(200), np.int16(-1), np.uint16(9), np.int32(-1), np.uint32(7),
    np.int64(-1), np.uint64(2**64 - 1), np.float32(0.1), np.float64(0.1), np.float32(-1), np.True_,
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_any_kind_are_plainly(number: Any) -> None:
    kernel: Any = whorl.kernel(mixed.function)
    found = plainly(kernel, number, number, number)
    assert [str(each) for each in found] == [str(each) for each in kernel.interpret(*[number] * 3)]
    assert list(map(type, found)) == list(map(type, kernel.interpret(*[number] * 3)))


def test_what_does_not_fit_has_the_same_words_as_before() -> None:
    kernel: Any = whorl.kernel(mixed.function)
    said = []
    for _ in range(6):
        with pytest.raises(OverflowError, match=r"arg:x is .*, which does not fit") as caught:
            kernel.call_in_python(1, 2**70, True)
        said.append(str(caught.value))
        kernel.call_in_python(1, 2, True)
    assert len(set(said)) == 1


@whorl.kernel
def of_parts(o, k):
    return o.inner.x[0] * k + o.n


@whorl.kernel(debug=True)
def checked(x, i):
    return x[i]


@whorl.kernel
def nothing():
    pass


@whorl.kernel
def nested(n):
    return n, (n, n)


def test_members_errors_and_no_results_are_launched_in_python() -> None:
    thing = SimpleNamespace(inner=SimpleNamespace(x=np.ones(2)), n=3)
    assert plainly(of_parts, thing, 2.0) == 5.0
    thing.n = 4.5
    assert of_parts.call_in_python(thing, 2.0) == 6.5
    assert plainly(checked, np.arange(3.0), -1) == 2.0
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 of arg:x"):
        checked.call_in_python(np.arange(3.0), 3)
    assert plainly(nothing) is None
    for _ in range(5):
        assert nested.call_in_python(3) == (3, (3, 3))


def test_calls_by_keyword_come_to_the_same() -> None:
    kernel: Any = whorl.kernel(total.function)
    x = np.ones((2, 2))
    plainly(kernel, x)
    assert kernel(x=x) == (6.0, 2, 2)
    with pytest.raises(TypeError):
        kernel(y=x)
    with pytest.raises(TypeError):
        kernel(x, x)


SCALE = 2.0


@whorl.kernel
def scaled(x):
    return x[0] * SCALE


def more(x):
    return x[0] + 7.0


def other(x, y):
    return x[0] + y


def test_what_changes_is_noticed_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(2)
    assert plainly(scaled, x) == 2.0
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert scaled.call_in_python(x) == 3.0
    monkeypatch.undo()
    assert scaled.call_in_python(x) == scaled.call_in_python(x[::2]) == 2.0
    whorl.configure(debug=True)
    with pytest.raises(IndexError):
        scaled.call_in_python(x[:0])
    whorl.configure(debug=False)
    scaled.function.__code__, code = more.__code__, scaled.function.__code__
    try:
        assert scaled.call_in_python(x) == 8.0
        for _ in range(5):
            scaled.call_in_python(x)
        scaled.function.__code__ = other.__code__
        assert scaled.call_in_python(x, 2) == scaled.call_in_python(x, y=2) == 3.0
    finally:
        scaled.function.__code__ = code
    assert scaled.call_in_python(x) == 2.0


def test_nothing_leaks_in_python() -> None:
    kernel: Any = whorl.kernel(mixed.function)
    values: list[Any] = [np.uint64(7), np.float32(0.5), 10**9]
    plainly(kernel, *values)
    x = np.ones((3, 2))
    plainly(total, x)
    counts = [sys.getrefcount(each) for each in (*values, x, None)]
    for _ in range(10_000):
        kernel.call_in_python(*values)
        total.call_in_python(x)
        nothing.call_in_python()
    after = [sys.getrefcount(each) for each in (*values, x, None)]
    assert after[:-1] == counts[:-1]
    assert abs(after[-1] - counts[-1]) < 100
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_threads_may_launch_at_once_in_python() -> None:
    kernel: Any = whorl.kernel(nogil=True)(total.function)
    plainly(kernel, np.ones((2, 2)))
    right: list[bool] = []

    def work(n: int) -> None:
        x = np.full((2, n), float(n))
        right.append(all(kernel.call_in_python(x) == (3.0 * n * n, 2, n) for _ in range(2000)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


@pytest.fixture
def begun_anew(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Routines and classes as in a new process."""
    monkeypatch.setattr(routine, "_addresses", {})
    monkeypatch.setattr(failure, "_reasons", {})
    monkeypatch.setattr(native_tables, "_classes", {})
    return monkeypatch


def test_where_layouts_are_unknown_kernels_are_launched_in_python(
    begun_anew: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def unknown() -> Any:
        raise NotKnown("an array is not laid out as others are")

    begun_anew.setattr(routine, "object_layout", unknown)
    begun_anew.setattr(native_tables, "native_base", unknown)
    assert status() == (False, "an array is not laid out as others are")
    with caplog.at_level(logging.WARNING, "whorl.launch"):
        for function in (total.function, mixed.function):
            kernel: Any = whorl.kernel(function)
            args = (np.ones((2, 2)),) if function is total.function else (1, 2, 3)
            assert plainly(kernel, *args) == kernel.interpret(*args)
            assert kernel(*args) == kernel.interpret(*args)
            assert type(kernel) is whorl.NumericKernel
    said = [record.message for record in caplog.records if "in Python" in record.message]
    assert said == ["kernels are launched in Python: an array is not laid out as others are"]


def test_where_no_memory_may_run_images_are_loaded_through_llvm(begun_anew: Any) -> None:
    def refused(image: Any) -> Any:
        raise mapped.Unmappable("this system lets no memory run that was written to")

    begun_anew.setattr(routine, "map_image", refused)
    begun_anew.setattr("whorl.launch.plain_launch.map_image", refused)
    assert not status().on
    kernel: Any = whorl.kernel(total.function)
    x = np.ones((2, 3))
    assert plainly(kernel, x) == kernel.interpret(x) == kernel(x)
    assert len(kernel.tables) == 1  # native, through LLVM
    assert status().on


def test_where_nothing_can_be_loaded_kernels_are_launched_in_python(begun_anew: Any) -> None:
    def refused(*args: Any) -> Any:
        raise mapped.Unmappable("no")

    begun_anew.setattr(routine, "launcher_for", refused)
    kernel: Any = whorl.kernel(total.function)
    for array in ARRAYS:
        for _ in range(4):
            assert kernel(array) == kernel.interpret(array)
    assert not len(kernel.tables)
    assert status() == (False, "the launcher could not be loaded: no")


def test_a_process_says_that_it_launches_natively() -> None:
    assert status() == (True, "")
