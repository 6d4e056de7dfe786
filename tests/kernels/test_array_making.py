# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Arrays that are made in a kernel hold what NumPy's hold, and their memory is freed."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree
from whorl.errors import KernelError


def made(out, n, m):
    a = np.empty(n)
    a[:] = 2
    b = np.zeros((n, m))
    c = np.ones((n, m), dtype=np.float32)
    d = np.full(m, 7)
    e = np.full((n, m), 0.1, np.float32)
    f = np.zeros(n, dtype=np.int32)
    f += 3
    out[:] = a[:, None] + b + c * d + e + f[:, None]


def alike(a, out):
    b = np.zeros_like(a)
    c = np.ones_like(a)
    d = np.full_like(a, 3)
    e = np.empty_like(a, dtype=np.float64)
    e[:] = a / 2
    f = np.zeros_like(a, np.float64)
    out[:] = b + c + d + e + f


def counted(out, n, m):
    out[0, :n] = np.arange(n)
    out[1, : len(np.arange(2, n))] = np.arange(2, n)
    out[2, : len(np.arange(1, n, 3))] = np.arange(1, n, 3)
    out[3, : len(np.arange(n, 0, -2))] = np.arange(n, 0, -2)
    out[4, : len(np.arange(0.5, n, 0.7))] = np.arange(0.5, n, 0.7)
    out[5, :n] = np.linspace(0, 1, n)
    out[6, :m] = np.linspace(2.5, -1, m, endpoint=False)
    out[7, :n] = np.arange(n) * 2 + np.linspace(1, 3, n)
    out[8, :n] = np.arange(n, dtype=np.float32) / 3


def diagonals(out, n):
    out[:] = np.eye(n) + 2 * np.eye(n, k=1) + np.eye(n, n, -2) + np.identity(n)


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (0, 2), (20, 7)])
def test_new_arrays_are_numpys(shape: tuple[int, int]) -> None:
    n, m = shape
    agree(made, lambda: (np.zeros((n, m)), n, m))
    agree(alike, lambda: (np.arange(n * m).reshape(n, m).astype("f4"), np.zeros((n, m))))
    agree(alike, lambda: (np.arange(n * m).reshape(n, m).T, np.zeros((m, n))))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 20)])
def test_counts_are_numpys(shape: tuple[int, int]) -> None:
    n, m = shape
    agree(counted, lambda: (np.zeros((9, 60)), n, m))
    agree(diagonals, lambda: (np.zeros((m, m)), m))


def copied(a, b):
    c = a.copy()
    a[:] = 0
    d = np.array(c)
    c += 1
    e = d.astype(np.int32)
    b[:] = c + d * e + np.copy(d)
    f = b
    f[0] = 9
    g = a.T
    g[...] = a + 1
    a.fill(4)


def test_a_copy_is_its_own_and_a_name_is_not() -> None:
    agree(copied, lambda: (np.arange(6.0) * 1.3, np.zeros(6)))
    agree(copied, lambda: (np.arange(16.0).reshape(4, 4), np.zeros((4, 4))))
    agree(copied, lambda: (np.arange(12.0).reshape(3, 4), np.zeros((3, 4))))


def reshaped(a, b, n):
    c = a.reshape(n, -1)
    c[0] = 5
    d = c.ravel()
    d[1] = 7
    e = a.reshape((2, n))
    b[:] = e.T.reshape(-1) + e.flatten() + np.reshape(a, -1) + c.T.ravel()
    f = a[::2].reshape(n, 1)
    f[0, 0] = 11


def test_another_shape_is_a_view_where_numpys_is() -> None:
    agree(reshaped, lambda: (np.arange(12.0), np.zeros(12), 6))
    agree(reshaped, lambda: (np.arange(24.0)[::2], np.zeros(12), 6))
    with pytest.raises(ValueError, match=r"an array of size 12 has no shape \(5, 2\)"):
        whorl.kernel(reshaped)(np.arange(12.0), np.zeros(12), 5)


def permuted(a, b):
    b[:] = a.transpose(2, 0, 1) + np.transpose(a, (2, 0, 1)) + a.swapaxes(0, 2).swapaxes(1, 2)
    c = a.transpose()
    c[0, 0, 0] = 3


def test_axes_change_places_as_numpys() -> None:
    agree(permuted, lambda: (np.arange(24.0).reshape(2, 3, 4), np.zeros((4, 2, 3))))


def carried(a, n):
    before = a.copy()
    now = a * 2
    for i in range(n):
        after = 2 * now - before + np.full(len(a), 0.5)
        before = now
        now = after
        if i % 3 == 2:
            now = now - np.arange(len(a))
            continue
        if i == 8:
            break
    rest = np.zeros(len(a))
    while n > 0:
        rest = rest + now
        n -= 1
    a[:] = now + before + rest


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5, 20])
def test_arrays_are_carried_from_one_iteration_to_the_next(rounds: int) -> None:
    agree(carried, lambda: (np.arange(5.0), rounds))


def branches(a, n):
    if n > 2:
        b = a * 2
    elif n > 1:
        b = a
    else:
        b = np.zeros(len(a))
    b[0] = 7
    a[1:] += b[1:] + (a[1:] if n % 2 else b[:-1] * 3)
    return b[1]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a_name_is_one_array_or_another(n: int) -> None:
    agree(branches, lambda: (np.arange(5.0), n))


def halved(x):
    y = x / 2
    return y + np.ones(len(x)), y


def called(a):
    b, c = halved(a)
    for _ in range(3):
        b, d = halved(b + c)
        c = d * 1.5
    a[:] = b - c


def test_functions_return_arrays_to_kernels() -> None:
    agree(called, lambda: (np.arange(5.0),))


def parallel(a, out):
    for i in whorl.prange(len(a)):
        row = np.zeros(a.shape[1])
        for k in range(3):
            row = row + a[i] * k
        out[i] = row.reshape(-1)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_parallel_iteration_has_its_own_arrays(threads: int) -> None:
    whorl.configure(threads=threads)
    agree(parallel, lambda: (np.arange(3000.0).reshape(300, 10), np.zeros((300, 10))))


# -- memory -----------------------------------------------------------------------------


@whorl.kernel
def busy(a, n):
    for i in range(n):
        b = a + i
        c = b * 2 - np.ones(len(a))
        a[:] = c / 3
    d = a - 1
    e = d[1:] + np.zeros(n)[:1]
    a[:-1] = e


@whorl.kernel
def failing(a, n):
    b = a * 2
    for i in range(n):
        c = b + np.ones(len(a) + i // 7)
        a[:] = c


def peak() -> int:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def test_memory_is_freed_in_loops_and_at_the_end_of_every_launch() -> None:
    a = np.zeros(100_000)
    busy(a, 2)
    before = peak()
    busy(a, 1000)  # 2.4 GB, if nothing were freed
    small = np.zeros(10)
    for _ in range(20_000):
        busy(small, 3)
    for _ in range(2_000):
        with pytest.raises(ValueError, match="do not fit together"):
            failing(a, 8)
    assert peak() - before < 60


def many(n, a):
    b = np.zeros((n, n))
    a[0] = b[1, 1]


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [(-1, ValueError, "negative"), (2**40, MemoryError, "memory"), (2**20, MemoryError, "memory")],
)
def test_an_impossible_array_is_an_error(size: int, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        whorl.kernel(many)(size, np.zeros(1))


def lost(a, flag, n):
    b = a * 2
    with whorl.checkpoint(1, yield_on=flag):
        a[:] = b


def test_an_array_made_before_a_checkpoint_is_refused_after_it() -> None:
    with pytest.raises(KernelError, match="'b' is set before this checkpoint and used in it"):
        whorl.kernel(lost)(np.zeros(3), np.zeros((), "i4"), 3)


def resumable(a, flag, n):
    for i in range(n):
        a += np.ones(len(a)) * i
    with whorl.checkpoint(1, yield_on=flag):
        a *= 2
    for _ in range(n):
        b = a + 1
        a[:] = b


def test_arrays_are_made_before_and_after_a_checkpoint() -> None:
    kernel = whorl.kernel(resumable)
    a, flag = np.zeros(3), np.ones((), "i4")
    status = kernel(a, flag, 3)
    assert (status.yielded, a.tolist()) == (True, [6, 6, 6])
    kernel.resume(a, flag, 3, from_checkpoint=1)
    flag[()] = 0
    kernel.resume(a, flag, 3, from_checkpoint=1)
    assert a.tolist() == [27, 27, 27]


def test_the_interpreter_agrees() -> None:
    def make() -> tuple[Any, ...]:
        return np.arange(5.0), 4

    args = make()
    whorl.kernel(carried).interpret(*args)
    expected = make()
    carried(*expected)
    np.testing.assert_array_equal(args[0], expected[0])


def too_large(a, which):
    if whorl.static(which) == 0:
        a[0] = 300
    elif whorl.static(which) == 1:
        a[...] = -1
    elif whorl.static(which) == 2:
        a[a > 1] = 256
    elif whorl.static(which) == 3:
        a.fill(300)
    elif whorl.static(which) == 4:
        a[:] = np.full(3, 300, dtype=np.uint8)
    elif whorl.static(which) == 5:
        a[:] = np.minimum(a, 300)
    else:
        a[:] = np.array([1, 2, 300], dtype=np.uint8)


@pytest.mark.parametrize("which", range(7))
def test_an_integer_that_no_element_can_be_is_refused(which) -> None:
    with pytest.raises(OverflowError):
        too_large(np.arange(3, dtype=np.uint8), which)
    with pytest.raises(whorl.KernelError, match="does not fit into u8"):
        whorl.kernel(too_large)(np.arange(3, dtype=np.uint8), which)


def of_lists(a):
    rows = [a[0], a[1], a[0] * 2]
    first = [0.5] * 3
    return sum(rows), np.array(first), np.array((1, 2) * 2)


def test_lists_are_repeated_and_rows_in_them_added() -> None:
    agree(of_lists, lambda: (np.arange(6.0).reshape(2, 3),))
