"""Complex numbers are those of NumPy: sums and products bit for bit, functions nearly."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whorl
import whorl.testing
from tests.kernels.array_agreement import agree
from tests.kernels.native_calls import needs_native, warmed

DTYPES = (np.complex128, np.complex64)
SCALE = 2 - 1j

parts = st.one_of(
    st.floats(-4, 4, width=32),
    st.sampled_from([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e30, 1e-30]),
)
numbers = st.builds(complex, parts, parts)
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40)


def operators(a: Any, b: Any, r: Any, e: Any, f: Any) -> None:
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        r[0, i] = x + y
        r[1, i] = x - y
        r[2, i] = x * y
        r[3, i] = x / y
        r[4, i] = -x
        r[5, i] = x.conjugate()
        r[6, i] = y.imag + x.real * 1j
        r[7, i] = x + 1
        r[8, i] = 2.5 * x
        e[i] = x == y
        f[i] = abs(x)


def array_operators(a: Any, b: Any) -> tuple[Any, ...]:
    return (
        a + b, a - b, a * b, a / b, -a, a.conj(), a.real, a.imag, a == b, a != b, a * 2.5, a + 1j,
        a**2, np.isnan(a), np.isinf(a), np.isfinite(a), np.where(b == a, a, b), np.square(a),
        np.maximum(a, b), np.minimum(a, b), np.multiply(a, b), np.add(a, 1), abs(a.real) * a,
    )  # fmt: skip


operators_kernel = whorl.kernel(operators)
array_kernel = whorl.kernel(array_operators)


def assert_same_bits(found: Any, expected: Any) -> None:
    """The same numbers, signs of zeros too; any NaN is as good as another."""
    assert found.dtype == expected.dtype
    if found.dtype.kind == "c":
        assert_same_bits(found.real, expected.real)
        assert_same_bits(found.imag, expected.imag)
        return
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40)
@given(drawn=pairs)
def test_operators_on_elements_are_those_of_numpys_scalars(dtype: Any, drawn: Any) -> None:
    a, b = (np.array(side).astype(dtype) for side in zip(*drawn, strict=True))
    found, expected = [
        (np.zeros((9, len(a)), dtype), np.zeros(len(a), bool), np.zeros(len(a), a.real.dtype))
        for _ in range(2)
    ]
    operators_kernel(a, b, *found)
    with np.errstate(all="ignore"):
        operators(a, b, *expected)
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40)
@given(drawn=pairs)
def test_operators_on_arrays_are_those_of_numpys_loops(dtype: Any, drawn: Any) -> None:
    a, b = (np.array(side).astype(dtype) for side in zip(*drawn, strict=True))
    found = array_kernel(a, b)
    with np.errstate(all="ignore"):
        expected = array_operators(a, b)
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


def functions(a: Any, r: Any) -> tuple[Any, ...]:
    r[0] = np.exp(a)
    r[1] = np.log(a)
    r[2] = np.sqrt(a)
    r[3] = np.sin(a)
    r[4] = np.cos(a)
    r[5] = np.tanh(a)
    r[6] = np.arcsin(a)
    r[7] = np.arctanh(a)
    r[8] = np.log10(a)
    r[9] = np.expm1(a)
    r[10] = np.log1p(a)
    r[11] = np.exp2(a)
    r[12] = np.reciprocal(a)
    r[13] = np.sign(a)
    r[14] = a**3
    r[15] = a**-2
    r[16] = a**0.5
    r[17] = a ** (1 + 1j)
    r[18] = 2.0**a
    r[19] = np.tan(a)
    r[20] = np.arccosh(a)
    return np.abs(a), np.angle(a), np.angle(a, deg=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_are_within_a_few_units_of_numpys(dtype: Any) -> None:
    random = np.random.default_rng(3)
    a = (random.normal(size=300) + 1j * random.normal(size=300)).astype(dtype)
    found, expected = np.zeros((21, 300), dtype), np.zeros((21, 300), dtype)
    sizes = whorl.kernel(functions)(a, found)
    others = functions(a, expected)
    error = np.abs(found - expected) / np.abs(expected)
    assert error.max() < 8 * np.finfo(dtype).eps, error.max(axis=1)
    for one, other in zip(sizes, others, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_max_ulp(one, other, 4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_and_products_are_within_numpys_error(dtype: Any) -> None:
    def reduced(a: Any, b: Any) -> tuple[Any, ...]:
        return (
            a.sum(), a.mean(axis=0), a.prod(axis=1), a @ b, np.dot(a[0], b[:, 0]),
            np.vdot(a[0], b[:, 0]), a.var(), a.std(axis=1), np.linalg.norm(a), a.cumsum(axis=1),
            np.trace(a @ b), np.count_nonzero(a), np.any(a), np.outer(a[0], b[0]),
        )  # fmt: skip

    random = np.random.default_rng(4)
    a = (random.normal(size=(6, 9)) + 1j * random.normal(size=(6, 9))).astype(dtype)
    b = a.T.copy() * dtype(1 + 2j)
    for found, expected in zip(whorl.kernel(reduced)(a, b), reduced(a, b), strict=True):
        close = 1e-5 if dtype is np.complex64 else 1e-13
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype


def test_types_come_together_as_in_numpy() -> None:
    def types(f: Any, i: Any, c: Any, w: complex) -> tuple[Any, ...]:
        return f + 1j, f * w, i + w, c * 1.5, c + w, c * f, c * i, f + 0j * i, c.real + i

    def arguments() -> tuple[Any, ...]:
        return np.ones(3, "f4"), np.arange(3, dtype="i2"), np.full(3, 1 + 1j, "c8"), 2 - 1j

    agree(types, arguments)


def test_parts_of_arrays_are_views_that_can_be_written() -> None:
    def parted(z: Any, x: Any) -> tuple[Any, ...]:
        z.real[1:] = x[1:] * 2
        z.imag[::2, 0] += 1
        z.T.imag[0] = z.real[:, 1]
        z[0].real *= 3
        z.imag = x + 1
        return z.real, z.imag.T, x.real, np.real(z) + np.imag(z), x.imag

    for order in ("C", "F"):

        def arguments(order: Any = order) -> tuple[Any, ...]:
            z = np.arange(12).reshape(4, 3) * (1 + 2j)
            return np.array(z, order=order), np.arange(12.0).reshape(4, 3)

        agree(parted, arguments)
    z = np.ones((4, 3), complex)
    part = whorl.kernel(parted)(z, np.zeros((4, 3)))[0]
    assert np.shares_memory(part, z)


def test_arrays_of_complex_numbers_are_made_in_kernels() -> None:
    def made(n: int, z: complex) -> tuple[Any, ...]:
        a = np.zeros(n, dtype=np.complex128)
        b = np.full((2, n), z)
        c = np.ones(n, complex)
        c[1:] = a[1:] + 1j * np.arange(n - 1)
        d = np.array([1j, 2, z])
        e = np.empty_like(b)
        e[...] = z * z
        return a, b, c, d, e, np.eye(3, dtype="c8"), c.astype(np.complex64), np.arange(3) + 0j

    agree(made, lambda: (4, 1.5 - 2j))


class Field:
    def __init__(self) -> None:
        self.values = np.linspace(0, 1, 5) + 1j
        self.factor = 1 - 2j
        self.single = np.complex64(0.5 + 4j)

    @whorl.kernel
    def turn(self, by: complex) -> Any:
        self.values[...] *= self.factor * by
        return self.values.sum(), self.single * 2, by.imag, SCALE * by, self.factor.conjugate()


@needs_native
def test_numbers_travel_natively_as_arguments_members_and_results() -> None:
    ours, theirs = Field(), Field()
    for _ in range(6):
        found, expected = ours.turn(1j + 1), Field.turn.interpret(theirs, 1j + 1)
        np.testing.assert_allclose(found, expected)
        assert all(type(each) in (complex, float) for each in found)

    @whorl.kernel
    def rotated(z: Any, w: Any, n: int) -> Any:
        return z * n, w, n, w == z, abs(w)

    for z, w in ((1 + 2j, np.complex64(3 - 1j)), (np.complex128(-1j), 1j), (0j, -0.0 + 0j)):
        assert warmed(rotated, z, w, 3) == rotated.interpret(z, w, 3)


@pytest.mark.filterwarnings(
    "ignore:complex.* must be a real number:DeprecationWarning"
)  # since 3.14
def test_pythons_numbers_divide_as_in_python() -> None:
    @whorl.kernel
    def divided(z: complex, w: complex) -> Any:
        return z / w, z / 3, 1 / z, complex(z.real, w.imag), complex(z, w), complex(2), cmath.pi

    random = np.random.default_rng(5)
    for _ in range(50):
        z, w = (complex(*random.normal(size=2)) for _ in range(2))
        with np.errstate(all="ignore"):
            assert divided(z, w)[:3] == (z / w, z / 3, 1 / z)
            assert divided(z, w)[3:6] == (complex(z.real, w.imag), complex(z, w), complex(2))


def test_functions_of_cmath_and_static_numbers() -> None:
    @whorl.kernel
    def computed(z: complex) -> Any:
        size, phase = cmath.polar(z)
        return (
            cmath.exp(z), cmath.sqrt(z), cmath.log(z), cmath.phase(z), cmath.rect(size, phase),
            cmath.isnan(z), cmath.isfinite(z), cmath.tanh(z), whorl.static(SCALE**2), SCALE * 1j,
        )  # fmt: skip

    for z in (1 + 2j, -3j, 0.5 + 0j, -4 - 1e-3j):
        np.testing.assert_allclose(computed(z), computed.interpret(z), rtol=1e-14)


def test_sums_in_prange_and_updates_of_shared_elements_lose_nothing() -> None:
    @whorl.kernel
    def counted(x: Any, h: Any, k: Any) -> Any:
        s = 0j
        for i in whorl.prange(x.shape[0]):
            s += x[i]
            h[k[i]] += x[i]
            h[3] -= 1j
            whorl.atomic_add(h, 2, x[i])
        return s

    n = 20_000
    random = np.random.default_rng(0)
    for dtype in DTYPES:
        x = (random.integers(-9, 9, n) + 1j * random.integers(-9, 9, n)).astype(dtype)
        k = random.integers(0, 4, n)
        found, expected = np.zeros(4, dtype), np.zeros(4, dtype)
        assert counted(x, found, k) == x.sum()
        np.add.at(expected, k, x)
        expected[3] -= n * 1j
        expected[2] += x.sum()
        np.testing.assert_array_equal(found, expected)
    assert "update shared" in counted.inspect()

    @whorl.kernel
    def scaled(x: Any) -> None:
        for i in whorl.prange(x.shape[0]):
            x[i] *= 2j  # its own element

    x = np.arange(5) + 1j
    scaled(x)
    np.testing.assert_array_equal(x, (np.arange(5) + 1j) * 2j)


def test_what_complex_numbers_cannot_do_is_refused_as_python_refuses_it() -> None:
    x, z = np.zeros(3), np.zeros(3, complex)

    def ordered(z: Any) -> Any:
        return z[0] < 1

    def cut_off(z: Any) -> Any:
        return float(z[0])

    def put_into_floats(x: Any, z: Any) -> None:
        x[:] = z

    def in_place(x: Any) -> None:
        x += 1j

    def made_real(z: Any) -> Any:
        return z.astype(np.float64)

    def remainder(z: Any) -> Any:
        return z[0] % 2

    def shared(z: Any, k: Any) -> None:
        for i in whorl.prange(3):
            z[k[i]] *= 2

    def rounded(z: Any) -> Any:
        return np.floor(z)

    for function, args, words in (
        (ordered, (z,), "complex numbers have no order.*\n.*\n.*\n.*abs"),
        (cut_off, (z,), "imaginary part would be lost"),
        (put_into_floats, (x, z), "imaginary part would be lost"),
        (in_place, (x,), "would put c128 into f64"),
        (made_real, (z,), r"imaginary part would be lost.*\n.*\n.*\n.*x\.real"),
        (remainder, (z,), "no floor and no remainder"),
        (shared, (z, np.arange(3)), r"only \+= and -= of c128 work"),
        (rounded, (z,), "for real numbers, not for c128"),
    ):
        with pytest.raises(whorl.KernelError, match=words):
            whorl.kernel(function)(*args)


def test_complex_numbers_are_found_again_by_another_kernel() -> None:
    def scaled(z: Any, w: complex) -> Any:
        return z * w + SCALE

    z = np.arange(3) + 2j
    first = whorl.kernel(scaled)(z, 1j)
    with whorl.testing.forbid_compile():
        np.testing.assert_array_equal(whorl.kernel(scaled)(z, 1j), first)
