# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, type-arg"
# mypy: disable-error-code="valid-type, index, assignment"
# Kernels take their types from the arguments.
"""Each program runs compiled and as plain Python: same results, same arrays."""

from __future__ import annotations

import copy
import enum
import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.kernels.programs import checked

SCALE = 2.5
WEIGHTS = (0.25, 0.5, 0.25)


class Mode(enum.IntEnum):
    FAST = 1
    SLOW = 2


def same(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Run compiled and interpreted on copies; the results and all arrays agree."""
    theirs, ours = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
    expected = kernel.interpret(*theirs[0], **theirs[1])
    found = kernel(*ours[0], **ours[1])
    assert type(found) is type(expected)
    np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-12, equal_nan=True)
    for left, right in zip(arrays(ours), arrays(theirs), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)
    return found


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [part for item in value for part in flat(item)]
    return [] if value is None else [value]


def arrays(value: Any) -> list[Any]:
    match value:
        case np.ndarray():
            return [value]
        case tuple() | list():
            return [part for item in value for part in arrays(item)]
        case dict():
            return [part for item in value.values() for part in arrays(item)]
    if hasattr(value, "__dict__"):
        return arrays(vars(value))
    return []


# -- numbers ----------------------------------------------------------------------------


@whorl.kernel
def integers(a, b):
    return a // b, a % b, a + b, a - b, a * b, -a, +a, ~a, a & b, a | b, a ^ b, abs(a)


@pytest.mark.parametrize("a", [7, -7, 0, 13])
@pytest.mark.parametrize("b", [3, -3, 1, -1, 8])
def test_integer_operators_are_those_of_python(a: int, b: int) -> None:
    same(integers, a, b)


@whorl.kernel
def floats(a, b):
    return a / b, a // b, a % b, a**b, a**2, a**3, a**-1, a < b, a == b, min(a, b), max(a, b)


@pytest.mark.parametrize("a", [7.5, 0.25, 3.0])
@pytest.mark.parametrize("b", [2.0, 1.5, 3.0])
def test_float_operators_are_those_of_python(a: float, b: float) -> None:
    same(floats, a, b)


@whorl.kernel
def float_division(x, y, out):
    for i in range(x.size):
        out[i, 0] = x[i] // y[i]
        out[i, 1] = x[i] % y[i]


def test_float_division_of_all_signs_and_zeros_is_that_of_numpy() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, -7.0, np.inf, -np.inf, np.nan])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    out = np.zeros((x.size, 2))
    float_division(x, y, out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[:, 0], x // y)
        np.testing.assert_array_equal(out[:, 1], x % y)


@whorl.kernel
def shifts(a, b):
    return a << b, a >> b


def test_shifts() -> None:
    same(shifts, 5, 3)
    same(shifts, -5, 1)


@whorl.kernel
def wrapping(x, out):
    out[0] = x[0] + x[1]
    out[1] = x[0] * x[1]
    out[2] = -x[2]


def test_overflow_wraps_as_in_numpy() -> None:
    x = np.array([100, 100, -128], np.int8)
    same(wrapping, x, np.zeros(3, np.int8))


@whorl.kernel
def by_zero(a, b):
    return a // b, a % b


def test_integer_division_by_zero_is_zero_as_in_numpy() -> None:
    zero = np.zeros(1, np.int64)[0]
    assert by_zero(5, 0) == (0, 0)
    assert by_zero(np.int64(5), zero) == (0, 0)
    lowest = np.iinfo(np.int64).min
    assert by_zero(np.int64(lowest), np.int64(-1)) == (lowest, 0)


@whorl.kernel
def promoted(x, s, out):
    for i in range(x.size):
        out[i] = x[i] * s + 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u2", "i8"])
@pytest.mark.parametrize("scalar", [3, 1.5, np.float32(1.5), np.float64(0.1), np.int16(4), True])
def test_promotion_is_that_of_numpy(dtype: str, scalar: Any) -> None:
    if np.dtype(dtype).kind != "f" and isinstance(scalar, float | np.floating):
        return
    x = np.arange(5).astype(dtype)
    same(promoted, x, scalar, np.zeros(5))


@whorl.kernel
def stays_f32(x, dt, out):
    for i in range(x.size):
        out[i] = x[i] * dt


def test_a_float32_array_times_a_python_float_stays_float32() -> None:
    x = np.full(3, 0.1, np.float32)
    out = np.zeros(3)
    stays_f32(x, 0.1, out)
    assert out.tolist() == (x * 0.1).astype(np.float64).tolist()
    assert "f32" in stays_f32.inspect("ir")


@whorl.kernel
def chain(a, b, c):
    return a < b < c, a < b < c, a or b, a and c, not a, a if b > c else c


@pytest.mark.parametrize("args", [(1, 2, 3), (3, 2, 1), (0, 0, 5), (0, 5, 0)])
def test_comparisons_chain_and_logic_short_circuits(args: tuple[int, ...]) -> None:
    same(chain, *args)


@whorl.kernel
def guarded(x, i):
    return i < x.size and x[i] > 0


def test_the_right_side_is_not_evaluated_needlessly() -> None:
    x = np.ones(3)
    same(guarded, x, 1)
    assert guarded.compiler is not None
    assert whorl.kernel(debug=True)(guarded.function)(x, 99) is False


@whorl.kernel
def mathematics(x):
    return (
        math.sqrt(x), math.sin(x), math.cos(x), math.exp(x), math.log(x), math.floor(x),
        math.ceil(x), math.atan2(x, 2.0), math.hypot(x, 1), math.pi * x, math.tanh(x),
        math.isnan(x), math.isfinite(x), round(x), int(x), float(3), np.sqrt(x), np.floor(x),
        np.minimum(x, 1.0), np.maximum(x, 1.0), np.sign(x), np.where(x > 1, x, 0.0), math.erf(x),
    )  # fmt: skip


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5, 1e-3])
def test_functions_of_math_and_numpy(x: float) -> None:
    same(mathematics, x)


# -- control ----------------------------------------------------------------------------


@whorl.kernel
def primes(n):
    count = 0
    for i in range(2, n):
        for j in range(2, i):
            if i % j == 0:
                break
        else:
            count += 1
    return count


@whorl.kernel
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 1000:
            break
    else:
        steps += 10000
    return steps


@whorl.kernel
def early(x, limit):
    for i in range(x.size):
        if x[i] > limit:
            return i
        if x[i] < 0:
            continue
        x[i] += 1
    return -1


@whorl.kernel
def downwards(n):
    total = 0
    for i in range(n, 0, -2):
        total = total * 10 + i
    return total


@whorl.kernel
def swap(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a, b


@whorl.kernel
def endless(n):
    i = 0
    while True:
        i += 3
        if i > n:
            break
    return i


def test_control_flow() -> None:
    same(primes, 60)
    same(collatz, 27)
    same(early, np.array([1.0, -1.0, 5.0, 9.0]), 4)
    same(early, np.array([1.0, -1.0]), 4)
    same(downwards, 9)
    same(swap, 30)
    same(endless, 10)


@whorl.kernel
def widening(x):
    s = 0
    for i in range(x.size):
        s = s + x[i]
    return s


def test_a_variable_that_begins_as_an_int_becomes_what_is_added() -> None:
    assert same(widening, np.array([0.5, 1.5])) == 2.0
    assert isinstance(widening(np.array([1, 2])), int)


@whorl.kernel
def unrolled(x):
    s = 0.0
    for w in WEIGHTS:
        s += w
    for k in whorl.static(range(3)):
        s += x[k] * WEIGHTS[k]
    for i, w in enumerate(WEIGHTS):
        if i == 1:
            continue
        s += w * i
    return s


def test_loops_over_known_things() -> None:
    same(unrolled, np.array([1.0, 2.0, 4.0]))


@whorl.kernel
def looked_up(x, out):
    for i in range(x.size):
        out[i] = WEIGHTS[i % 3] * x[i] * SCALE


def test_a_global_tuple_is_a_table() -> None:
    same(looked_up, np.arange(7.0), np.zeros(7))


@whorl.kernel
def over_arrays(x, y):
    s = 0.0
    for a in x:
        s += a
    for i, a in enumerate(x):
        s += i * a
    for a, b in zip(x, y):  # noqa: B905 # as users write it
        s += a * b
    return s


def test_loops_over_arrays() -> None:
    same(over_arrays, np.arange(4.0), np.arange(5.0) + 1)


# -- arrays -----------------------------------------------------------------------------


@whorl.kernel
def stencil(u, out):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]


@pytest.mark.parametrize("order", ["C", "F", "strided", "transposed"])
def test_arrays_of_every_layout(order: str) -> None:
    base = np.random.default_rng(0).random((12, 16))
    u = {
        "C": np.ascontiguousarray(base),
        "F": np.asfortranarray(base),
        "strided": base[::2, ::-1],
        "transposed": base.T,
    }[order]
    out = np.zeros_like(u)
    expected = np.zeros(u.shape)
    stencil(u, out)
    expected[1:-1, 1:-1] = (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    )
    np.testing.assert_allclose(out, expected, atol=1e-14)


@whorl.kernel
def negative(x, i):
    return x[-1], x[i], x[i - 1], x.size, x.ndim, len(x), x.shape[0]


def test_negative_indices_count_from_the_end() -> None:
    same(negative, np.arange(5.0), 0)
    same(negative, np.arange(5.0), -2)


def row_sum(row):
    s = 0.0
    for i in range(row.shape[0]):
        s += row[i]
    return s


@whorl.kernel
def slices(a, out):
    for i in range(a.shape[0]):
        out[i] = row_sum(a[i]) + row_sum(a[i, 1:]) * 10 + row_sum(a[i, ::2]) * 100
    out[0] += row_sum(a[:, 0]) + row_sum(a[::-1, 1]) + row_sum(a.T[1]) + row_sum(a[1:3, -1])
    out[1] += row_sum(a[0, 5:2]) + row_sum(a[0, -2:]) + row_sum(a[0, :-1]) + row_sum(a[0, ::-2])


@pytest.mark.parametrize("order", ["C", "F"])
def test_slices_are_views(order: Any) -> None:
    same(slices, np.array(np.random.default_rng(1).random((5, 6)), order=order), np.zeros(5))


@whorl.kernel
def filled(a, v):
    a[1] = v
    a[:, 2] = 7
    a[0, 0] += 5
    a[-1, -1] *= 2


def test_parts_can_be_filled() -> None:
    same(filled, np.ones((3, 4)), 2.5)


@whorl.kernel
def ping_pong(a, b, n):
    src = a
    dst = b
    for _ in range(n):
        for i in range(1, src.size - 1):
            dst[i] = 0.5 * (src[i - 1] + src[i + 1])
        src, dst = dst, src
    return src[1]


def test_buffers_can_be_exchanged() -> None:
    same(ping_pong, np.arange(6.0) ** 2, np.zeros(6), 3)


@whorl.kernel
def zero_dimensional(c, x):
    while c[()] > 0:
        c[()] -= 1
        x[0] += c
    return c[()]


def test_arrays_without_dimensions() -> None:
    same(zero_dimensional, np.array(5, np.int32), np.zeros(1))


@whorl.kernel
def empty(x):
    s = 0
    for i in range(x.size):
        s += x[i]
    return s


def test_an_empty_array() -> None:
    assert empty(np.zeros(0)) == 0
    assert empty(np.zeros(0, np.int32)) == 0


# -- functions, methods, objects --------------------------------------------------------


@whorl.func
def accel(p, i, j, soft=0.1):
    d = p[j] - p[i]
    return d / (d * d + soft) ** 1.5


def clamp(x, low=0.0, *, high=1.0):
    if x < low:
        return low
    if x > high:
        return high
    return x


@whorl.kernel
def calls(p):
    s = 0.0
    for i in range(p.size):
        for j in range(p.size):
            if i != j:
                s += accel(p, i, j) + accel(p, i, j=j, soft=0.5)
        s += clamp(p[i]) + clamp(p[i], 0.5) + clamp(p[i], high=0.25)
    square = lambda v: v * v

    def cube(v, by=1):
        return v * square(v) * by

    return s + square(3.0) + cube(2.0) + cube(2.0, by=2)


def test_functions_are_followed() -> None:
    same(calls, np.array([0.1, 0.7, 1.5]))


@dataclass
class Inner:
    x: Any
    k: float = 2.0


@dataclass(frozen=True)
class Params:
    inner: Inner
    n: int
    uid: object = field(default_factory=object)

    @property
    def twice(self) -> int:
        return self.n * 2


def scaled(state, factor):
    total = 0.0
    for i in range(state.x.size):
        total += state.x[i] * factor * state.k
    return total


def two_deep(params, factor):
    return scaled(params.inner, factor)


@whorl.kernel
def objects(params, factor):
    s = params.inner
    a = scaled(s, factor) + scaled(state=s, factor=1) + two_deep(params, 2.0)
    pair = (s, factor)
    s.x[0] += 1
    return a + scaled(*pair), params.twice


def test_objects_at_any_depth() -> None:
    params = Params(Inner(np.arange(3.0)), 4)
    reference = Params(Inner(np.arange(3.0)), 4)
    assert objects(params, 3.0) == objects.interpret(reference, 3.0)
    assert params.inner.x.tolist() == reference.inner.x.tolist()


class Bodies:
    gravity = 9.81

    def __init__(self, n: int) -> None:
        self.n = n
        self.pos = np.arange(float(n))
        self.vel = np.ones(n)
        self.uid = object()
        self.mode = Mode.FAST

    def force(self, i):
        return -self.pos[i] * self.gravity

    @whorl.kernel
    def step(self, dt: float):
        for i in range(self.n):
            self.vel[i] += self.force(i) * dt
            if self.mode == Mode.FAST:
                self.pos[i] += self.vel[i] * dt

    @whorl.kernel
    def energy(self):
        return 0.5 * self.total(self.vel)

    @staticmethod
    def total(v):
        s = 0.0
        for x in v:
            s += x * x
        return s


class Heavy(Bodies):
    gravity = 100.0

    def force(self, i):
        return -1.0 * self.gravity


def test_methods_are_kernels_and_are_followed_as_they_are_resolved() -> None:
    for cls in (Bodies, Heavy, Bodies):
        ours, theirs = cls(5), cls(5)
        for _ in range(3):
            ours.step(0.1)
            cls.step.interpret(theirs, 0.1)
        np.testing.assert_allclose(ours.pos, theirs.pos)
        assert ours.energy() == pytest.approx(cls.energy.interpret(theirs))


@whorl.kernel
def polymorphic(a, b):
    if a is None:
        return 1.0
    if b.extra is None:
        return a[0]
    return a[0] + b.extra[0]


def test_none_and_present_members() -> None:
    x = np.ones(2)
    assert polymorphic(None, None) == 1.0
    assert polymorphic(x, SimpleNamespace(extra=None)) == 1.0
    assert polymorphic(x, SimpleNamespace(extra=x)) == 2.0
    assert polymorphic(None, None) == 1.0


@whorl.kernel
def annotated(x: whorl.Array[whorl.f32, 1], n: int, dt: float, k: whorl.static, m: whorl.i32):
    local: whorl.f32 = dt
    s: float = 0
    for i in range(n):
        s += x[i] * local * k
    return s, m


def test_annotations_are_checked() -> None:
    x = np.ones(3, np.float32)
    kernel: Any = annotated
    assert kernel(x, 3, 2, 2, 5) == (12.0, 5)
    with pytest.raises(whorl.KernelError, match=r"parameter 'x' .*Array\[float32, 1\].* f64\[:\]"):
        kernel(np.ones(3), 3, 2.0, 2, 5)
    with pytest.raises(whorl.KernelError, match="parameter 'n' is declared as int"):
        kernel(x, 3.5, 2.0, 2, 5)


# -- vectors ----------------------------------------------------------------------------


@whorl.kernel
def vectors(p, out):
    total = whorl.zeros(3)
    for i in range(p.shape[0]):
        a = whorl.vec(p[i, 0], p[i, 1], p[i, 2])
        b = whorl.vec(1.0, 0.5, 2)
        total += whorl.cross(a, b) * 2.0 - a / 2
        total[1] += whorl.dot(a, b) + whorl.norm(b) + a @ b
        out[i] = a + 1
    for k in range(3):
        out[0, k] = total[k]
    m = whorl.vec((1.0, 2.0), (3.0, 4.0))
    v = m @ whorl.vec(total[0], total[1])
    m[0, 1] = 9.0
    w = v
    w[0] = 3.0
    return v[0], v[1], (m @ m)[0, 1], m.T[1, 0], -v[1], v.sum()


def test_small_vectors() -> None:
    same(vectors, np.random.default_rng(2).random((4, 3)), np.zeros((4, 3)))


# -- parallel ---------------------------------------------------------------------------


@whorl.kernel
def parallel(x, out, bins):
    total = 0.0
    low = 1e9
    for i in whorl.prange(x.size):
        v = x[i] * 2
        out[i] = v
        total += v
        low = min(low, v)
        whorl.atomic_add(bins, int(x[i] * 10) % 4, 1)
    return total, low


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_parallel_loops_reductions_and_atomics(threads: int) -> None:
    before = whorl.configure()
    x = np.random.default_rng(3).random(10_001)
    try:
        whorl.configure(threads=threads)
        same(parallel, x, np.zeros_like(x), np.zeros(4, np.int64))
    finally:
        whorl.settings.restore(before)


def test_a_reduction_is_the_same_for_every_number_of_threads() -> None:
    x = np.random.default_rng(3).random(10_001)
    found = set()
    before = whorl.configure()
    try:
        for threads in (1, 2, 3, 4):
            whorl.configure(threads=threads)
            found.add(parallel(x, np.zeros_like(x), np.zeros(4, np.int64)))
    finally:
        whorl.settings.restore(before)
    assert len(found) == 1


# -- debug ------------------------------------------------------------------------------


def test_debug_raises_what_python_raises() -> None:
    x = np.arange(4)
    assert checked(x, 1, 1) == 1
    with pytest.raises(
        IndexError, match=r"index 9 is out of bounds for axis 0 of arg:x, of size 4"
    ):
        checked(x, 9, 1)
    with pytest.raises(ZeroDivisionError):
        checked(x, 1, 0)
    with pytest.raises(AssertionError, match="not seven"):
        checked(x, 1, 7)


@whorl.kernel(debug=True)
def printing(x):
    for i in range(x.size):
        print("x", i, "=", x[i])


def test_debug_prints(capsys: pytest.CaptureFixture[str]) -> None:
    printing(np.array([0.5, 2.0]))
    assert capsys.readouterr().out == "x 0 = 0.5\nx 1 = 2.0\n"


def test_a_print_that_prints_nothing_is_said_once_when_it_is_compiled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @whorl.kernel
    def silent(x):
        for i in range(x.size):
            print("x", i, "=", x[i])

    for _ in range(2):
        silent(np.ones(2))
    (said,) = [record.getMessage() for record in caplog.records]
    assert '`print("x", i, "=", x[i])` prints nothing without debug' in said


# -- audit ------------------------------------------------------------------------------


def test_an_audit_finds_nothing() -> None:
    with whorl.testing.audit(rate=1.0) as report:
        for dtype in ("f8", "f4"):
            widening(np.ones(3, dtype))
            widening(np.ones(3, dtype))
    assert report.compared
    assert not report.findings


def test_a_list_is_no_tuple() -> None:
    def kinds(x):
        a = [x, 2.0] if x > 0 else [3.0, x]
        b = a + [x]  # noqa: RUF005  # the sum of lists is what this is about
        _, *rest = (x, x)
        return (
            a == (1.0, 2.0),  # type: ignore[comparison-overlap]  # the question
            a == [1.0, 2.0],
            isinstance(a, list),
            isinstance(b, tuple),
            isinstance(b[0:2], list),
            isinstance(rest, list),
            isinstance((x, x), list),
        )

    expected = (False, True, True, False, True, True, False)
    assert kinds(1.0) == expected
    assert whorl.kernel(kinds)(1.0) == expected
