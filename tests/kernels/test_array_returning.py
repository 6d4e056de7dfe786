# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""A kernel returns ordinary ndarrays; of a view of an argument the memory is shared."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.array_agreement import agree, assert_same
from tests.kernels.native_calls import needs_native, warmed
from tests.processes.programs import printed, written
from whorl.errors import KernelError


def doubled(a):
    return a * 2


def made(n, m):
    out = np.empty((n, m))
    out[:] = np.arange(m)
    counts = np.zeros(n, np.int32)
    for i in range(n):
        counts[i] = i
    return out, counts, n + m, (np.ones((m, n), np.float32), None)


def views(a, n):
    return a[1:], a.T, a[::-1, 1], a[n], a.reshape(-1)


def whole(a, n):
    return a


def either(a, n):
    if n > 2:
        return a * 2
    if n > 1:
        return a[::2]
    b = np.zeros(len(a))
    if n > 0:
        return b
    return b[1:] + 1


def carried(a, n):
    b = a
    for i in range(n):
        b = b + i
    return b


def reshaped(n):
    b = np.zeros((n, 2 * n))
    b[0] = 1
    c = b.reshape(2 * n, n)
    return c


def chosen(a, n):
    b = np.zeros(n)
    c = np.ones(n)
    for _ in range(n):
        b, c = c, b
    return b, c


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "f8"])
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (3, 4), (2, 3, 4)])
def test_a_returned_expression_is_a_new_array(dtype: str, shape: tuple[int, ...]) -> None:
    result = agree(doubled, lambda: (np.arange(np.prod(shape)).reshape(shape).astype(dtype),))
    assert type(result) is np.ndarray
    assert result.flags.owndata
    assert result.flags.writeable


def test_arrays_are_returned_alone_and_in_tuples() -> None:
    out, counts, number, (ones, nothing) = agree(made, lambda: (3, 4))
    assert out.flags.owndata
    assert counts.flags.owndata
    assert ones.flags.owndata
    assert (number, nothing) == (7, None)
    agree(reshaped, lambda: (3,))
    agree(chosen, lambda: (0, 2))
    agree(chosen, lambda: (0, 3))


@pytest.mark.parametrize("turn", [lambda a: a, lambda a: a.T, lambda a: a[::2, ::-1]])
def test_a_returned_view_of_an_argument_shares_its_memory(turn: Any) -> None:
    agree(views, lambda: (turn(np.arange(24.0).reshape(4, 6)), 1))
    a = turn(np.arange(24.0).reshape(4, 6))
    for part in whorl.kernel(views)(a, 1)[:-1]:
        assert np.shares_memory(part, a)
        part[...] = 7
        assert (a == 7).any()
        a[...] = 0


def test_a_view_keeps_its_argument_alive_and_read_only() -> None:
    a = np.arange(24.0).reshape(4, 6)[::2]
    a.flags.writeable = False
    part = whorl.kernel(views)(a, 0)[0]
    assert not part.flags.writeable
    del a
    gc.collect()
    assert part.tolist() == [[12, 13, 14, 15, 16, 17]]


def test_an_argument_is_returned_itself() -> None:
    a = np.arange(3.0)
    assert whorl.kernel(whole)(a, 1) is a


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_one_array_or_another_is_returned(n: int) -> None:
    agree(either, lambda: (np.arange(6.0), n))
    agree(carried, lambda: (np.arange(6.0), n))


def failing(a, n):
    b = np.zeros(len(a))
    c = a * 2
    b[:] = c[:n]
    return b, c


def test_neither_returned_arrays_nor_those_of_failing_launches_leak() -> None:
    kernel, wrong = whorl.kernel(doubled), whorl.kernel(failing)
    a = np.zeros(50_000)
    kernel(a)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2_000):
        kernel(a)
        with pytest.raises(ValueError, match="does not fit"):
            wrong(a, 3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def of_many_kinds(a, n):
    out = np.zeros(a.shape)
    out[1:] = a[:-1]
    carried = np.zeros(3)
    for i in range(n):
        carried = carried + a[i]
    other = np.ones(n) if n > 2 else np.zeros(2)
    return out, n * 2.5, a, out, carried, np.asfortranarray(a[:, None] * a), out[1:], other


def failing_late(a, b):
    out = np.empty(len(a))
    out[:] = a
    b[:] = a[:2]
    return out


@needs_native
def test_returned_arrays_are_made_natively() -> None:
    a = np.arange(4.0)
    kernel = whorl.kernel(of_many_kinds)
    assert_same(warmed(whorl.kernel(doubled), a), a * 2)
    first = kernel(a, 3)
    for _ in range(10):
        result = kernel(a, 3)
        assert_same(result, of_many_kinds(a, 3))
        assert result[0] is result[3]
        assert result[2] is a
        assert result[5].flags.f_contiguous
    assert_same(first, of_many_kinds(a, 3))
    warm = warmed(whorl.kernel(one_and_two), a)
    plain = (np.zeros(1), np.zeros(1), a)
    assert [*map(sys.getrefcount, warm[:2])] == [*map(sys.getrefcount, plain[:2])]
    assert warm[2] is a


def one_and_two(a):
    one = a + 1
    two = one * 2
    return one, two, a


@needs_native
def test_no_launch_leaks_whether_it_makes_returns_or_raises() -> None:
    kernel, wrong = whorl.kernel(doubled), whorl.kernel(failing_late)
    tuples = whorl.kernel(one_and_two)
    a, b = np.arange(2_000.0), np.zeros(3)
    for _ in range(3_000):
        kernel(a)
        tuples(a)
    with pytest.raises(ValueError, match="does not fit"):
        wrong(a, b)
    before, references = _resident(), sys.getrefcount(a)
    for _ in range(20_000):
        kernel(a)
        tuples(a)
    for _ in range(3_000):
        with pytest.raises(ValueError, match="does not fit"):
            wrong(a, b)
    assert sys.getrefcount(a) == references
    assert _resident() - before < 8 << 20  # one lost array in ten would be 30 MB


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def impossible(a):
    return {"a": a}


def test_what_is_no_array_is_still_refused() -> None:
    with pytest.raises(KernelError, match="a dict is not supported"):
        whorl.kernel(impossible)(1)


PROGRAM = """
import json

import numpy as np

import whorl


@whorl.kernel
def table(n):
    x = np.linspace(0, 1, n)
    return x * x + {number}, x[1:]


first, second = table(5)
print(json.dumps([first.tolist(), second.tolist(), table.stats().get("compiled", 0)]))
"""


def test_a_second_process_returns_the_same_arrays_without_a_compile(tmp_path: Path) -> None:
    def run(number: int) -> Any:
        program = written(tmp_path, {"program.py": PROGRAM.format(number=number)}) / "program.py"
        return printed(program, environment={"WHORL_CACHE_DIR": str(tmp_path / "cache")})

    first, second, edited = run(1), run(1), run(2)
    assert first == [[1, 1.0625, 1.25, 1.5625, 2], [0.25, 0.5, 0.75, 1], 1]
    assert second == [*first[:-1], 0]
    assert edited == [[2, 2.0625, 2.25, 2.5625, 3], [0.25, 0.5, 0.75, 1], 1]


def test_the_interpreter_returns_the_same() -> None:
    a = np.arange(5.0)
    np.testing.assert_array_equal(whorl.kernel(doubled).interpret(a), a * 2)
