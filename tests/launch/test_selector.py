# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""A call is led to the tables that may fit it: straight, and never past one that does."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl
from tests.kernels.native_calls import needs_native
from whorl.launch.selector import IDENTITY, INT, META, Mark, Marks, array_mark, header_of


def marks_of(tables: list[dict[tuple[int, int], int]]) -> tuple[int, int]:
    """How many marks a header looks at, and how many places it has."""
    marked = [Marks({Mark(*mark): n for mark, n in marks.items()}) for marks in tables]
    header = header_of(0, 0, 2, [(8 * (i + 1), marks) for i, marks in enumerate(marked)])
    return header.memory[5], header.memory[7] + 1


def test_one_table_or_tables_that_are_alike_need_no_marks() -> None:
    assert marks_of([])[0] == 0
    assert marks_of([{(0, META): 1}])[0] == 0
    assert marks_of([{(0, META): 1}, {(0, META): 1}])[0] == 0
    assert marks_of([{(0, META): 1}, {(1, META): 2}])[0] == 0


def test_as_many_marks_are_chosen_as_tell_tables_apart() -> None:
    one = [{(0, META): 5, (1, META): i} for i in range(10)]
    assert marks_of(one) == (1, 32)
    two = [{(0, META): i, (1, META): j} for i, j in product(range(3), repeat=2)]
    assert marks_of(two)[0] == 2
    ints = [{(0, META): 5, (0, INT): i % (1 << 64)} for i in (-1, 0, 1, 2**63)]
    assert marks_of(ints)[0] == 1
    mixed = [{(0, IDENTITY): 2**63 + i, (0, META): i % 2} for i in range(8)]
    assert marks_of(mixed)[0] == 1


def test_arrays_that_are_one_kind_to_a_kernel_have_one_mark() -> None:
    array = np.zeros((3, 4))
    read_only = np.zeros((3, 4))
    read_only.flags.writeable = False
    kinds = [
        array, np.zeros((3, 4), order="F"), array[:, ::2], np.zeros(3), np.zeros((3, 4), "f4"),
        read_only, np.array(1.0),
    ]  # fmt: skip
    assert len({array_mark(each) for each in kinds}) == len(kinds)
    assert array_mark(np.zeros((7, 1))) == array_mark(array)  # which is Fortran's as well
    assert array_mark(array[1:]) == array_mark(array)


@whorl.kernel
def size_of(x, y, k):
    return x.size + y.size, k


@whorl.kernel
def static_of(n, name, x):
    if whorl.static(name == "a"):
        return x[0] + n * 0
    return x[0] * whorl.static(n)


def all_native(kernel: Any, rows: list[Any], wanted: list[Any]) -> None:
    for _ in range(6):
        assert [kernel(*row) for row in rows] == wanted
    calls = kernel.python_calls
    for _ in range(3):
        assert [kernel(*row) for row in rows] == wanted
        assert [kernel(*row) for row in reversed(rows)] == wanted[::-1]
    assert kernel.python_calls == calls


@needs_native
@pytest.mark.parametrize("both", [False, True])
def test_all_of_many_specializations_are_launched_natively(both: bool) -> None:
    kernel: Any = whorl.kernel(size_of.function)
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    kinds = [np.zeros((2,) * n, d) for n, d in product((1, 2), ("f4", "f8", "i2", "u1"))]
    kinds += [np.zeros(4)[::2], np.zeros((2, 3), order="F"), read_only]
    rows: list[Any] = [(x, x if both else kinds[0], 1) for x in kinds]
    rows += [(kinds[0], kinds[0], k) for k in (1.5, True, np.float32(2))]
    all_native(kernel, rows, [kernel.interpret(*row) for row in rows])
    header = kernel.tables._publications[-1].header
    assert header.memory[5] == 2  # an array, and the number


@needs_native
def test_constants_tell_specializations_apart() -> None:
    kernel: Any = whorl.kernel(static_of.function)
    x = np.ones(2)
    rows = [(n, name, x) for n, name in product((1, 2, 3, -1), ("a", "b"))]
    all_native(kernel, rows, [kernel.interpret(*row) for row in rows])


class Plain:
    x: Any


class Slotted:
    __slots__ = ("n", "x")


@whorl.kernel
def of_member(o, k):
    return o.x.size * o.n, k


@needs_native
@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_members_tell_specializations_apart(kind: type) -> None:
    kernel: Any = whorl.kernel(of_member.function)
    rows: list[Any] = []
    for n, dtype in product((1, 2), ("f4", "f8", "i2", "u1")):
        for number in (2, 2.5):
            thing: Any = kind()
            thing.x, thing.n = np.zeros((2,) * n, dtype), number
            rows.append((thing, 1))
    wanted = [kernel.interpret(*row) for row in rows]
    all_native(kernel, rows, wanted)
    header = kernel.tables._publications[-1].header
    assert header.memory[5] == 2  # the array, and the number
    for thing, _ in rows[::2]:  # wherever the attributes are now
        if kind is Plain:
            thing.other = vars(thing)
    for thing, _ in rows[1::4]:
        if kind is Plain:
            thing.__dict__ = dict(reversed(vars(thing).items()))
    all_native(kernel, rows, wanted)
    del rows[0][0].n
    with pytest.raises((whorl.KernelError, AttributeError)):
        kernel(*rows[0])
    assert kernel(SimpleNamespace(x=np.zeros(3), n=1), 1) == (3, 1)
