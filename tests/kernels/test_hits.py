# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels take their types from the arguments.
"""Whatever comes in whatever order: what a call finds is what a compile of it would make.

Each kernel is called with objects whose members are values of all kinds, in a random order, under
an audit: every hit is compiled again and compared, and one that should have been an error raises
it.
"""

from __future__ import annotations

import enum
import functools
import math
import random
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest

import whorl
import whorl.testing
from whorl.kernels import NumericKernel


class Plain(enum.Enum):
    A = 1
    B = 2


class Number(enum.IntEnum):
    A = 1
    B = 2


def added(x):
    return x + 1


def times(x, y=2):
    return x * y


def minus(x, *, z=3.0):
    return x - z


class Owner:
    def __init__(self, n: Any) -> None:
        self.n = n

    def go(self, x):
        return x + self.n


class Other(Owner):
    def go(self, x):
        return x * self.n


POOL: Final[list[Any]] = [
    1, 2, True, False, 0.0, -0.0, 1.0, math.nan, None, "a", "b", b"a",
    np.float32(1.5), np.int8(3), np.bool_(True), np.uint64(7),
    Plain.A, Plain.B, Number.A, Number.B,
    np.ones(3), np.arange(3), np.ones(3, "f4"), np.ones((2, 3)), np.ones((3, 2)).T,
    np.ones(6)[::2], np.array(2.0), np.array(1, "i4"), np.zeros(3, bool),
    (1, 2), (1.0, 2.0), (1,), (), [1, 2], [3, 4], {0: 3, 1: 4}, {"a": 1}, {"a": 1, "b": 2},
    {"b": 2, "a": 1}, {3, 4}, range(2), range(3),
    added, times, minus, functools.partial(times), functools.partial(added),
    Owner(1).go, Owner(2.0).go, Other(3).go, Owner(1), Other(1), Owner(2.5), int, float, math.sqrt,
    SimpleNamespace(n=1), SimpleNamespace(n=2.0), SimpleNamespace(n=None), SimpleNamespace(m=1),
]  # fmt: skip


BESIDE: Final[list[Any]] = [1, 2.0, (1,), added]


@whorl.kernel
def operators(o, x):
    return o.a * o.b + x


@whorl.kernel
def called(o, x):
    return o.a(x)


@whorl.kernel
def by_name(o, x):
    g = o.a
    return g(x) + 1


@whorl.kernel
def methods(o, x):
    return o.a.go(x)


@whorl.kernel
def members(o, x):
    return o.a.n + x


@whorl.kernel
def constants(o, x):
    return x * whorl.static(o.a)


@whorl.kernel
def nothing(o, x):
    return 1 if o.a is None else 2


@whorl.kernel
def equal(o, x):
    return 1 if o.a == o.b else 2


@whorl.kernel
def looped(o, x):
    for v in o.a:
        x += v
    return x


@whorl.kernel
def listed(o, x):
    for v in whorl.static([2 * each for each in o.a]):
        x += v
    return x


@whorl.kernel
def lengths(o, x):
    return len(o.a), whorl.static(len(o.a))


@whorl.kernel
def unpacked(o, x):
    p, q = o.a
    return p + q


@whorl.kernel
def classes(o, x):
    return 1 if isinstance(o.a, (int, float)) else 2


@whorl.kernel
def present(o, x):
    return o.a.n if whorl.static(hasattr(o.a, "n")) else x


@whorl.kernel
def indexed(o, x):
    return o.a[1] + o.a[0]


@whorl.kernel
def keyed(o, x):
    return o.a["a"] + whorl.static(o.a["a"])


@whorl.kernel
def contained(o, x):
    return o.a in (1, 2)


@whorl.kernel
def chosen(o, x):
    return o.a if x > 1 else o.b


@whorl.kernel
def logic(o, x):
    return (o.a and o.b), not o.a


@whorl.kernel
def followed(o, x):
    return added(o.a) + whorl.static(o.b(2))


@whorl.kernel
def converted(o, x):
    s: float = o.a
    return s, int(o.a), abs(o.a)


@whorl.kernel
def counted(o, x):
    for i in range(o.a):
        x += i
    for i in whorl.static(range(o.a)):
        x += i
    return x


@whorl.kernel
def pairs(o, x):
    for i, v in enumerate(o.a):
        x += i * v
    for v, w in zip(o.a, o.a):  # noqa: B905 # as users write it
        x += v * w
    return x


@whorl.kernel
def starred(o, x):
    first, *_ = o.a
    return first + added(*o.b)


KERNELS: Final[list[NumericKernel]] = [
    each for each in list(globals().values()) if isinstance(each, NumericKernel)
]


@pytest.mark.parametrize("kernel", KERNELS, ids=[each.function.__name__ for each in KERNELS])
def test_what_a_call_finds_is_what_a_compile_of_it_would_make(kernel: NumericKernel) -> None:
    chance = random.Random(kernel.function.__name__)

    def outcome(value: Any) -> str:
        beside, unread = chance.choice(BESIDE), chance.choice(POOL)
        thing = SimpleNamespace(a=value, b=beside, unread=unread)
        return called_with(kernel, thing, chance.choice((1, 2.0)))

    fitting = [each for each in chance.sample(POOL, len(POOL)) if outcome(each) != "error"]
    assert "found" in [outcome(each) for each in chance.choices(fitting, k=20)]


def called_with(kernel: NumericKernel, *arguments: Any) -> str:
    """How a call ends; what is found is compared with what a compile makes."""
    before = kernel.stats().get("compiled", 0)
    with whorl.testing.recorded_events() as events:
        try:
            kernel(*arguments)
        except whorl.KernelError:
            assert "recalled" not in [event.what.value for event in events]
            return "error"
        except ValueError:  # of the run: another number of values
            return "error"
    if kernel.stats().get("compiled", 0) > before:
        return "compiled"
    with whorl.testing.audit(rate=1) as report:
        kernel(*arguments)
    doubts = [each for each in report.findings if each.kind in ("stale", "not deterministic")]
    assert not doubts, arguments
    return "found"
