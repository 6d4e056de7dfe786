"""Generators of NumPy in kernels: they draw the very numbers that NumPy draws."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import whorl

KINDS = (
    np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64,
)  # fmt: skip


def floats(rng: Any) -> Any:
    return (
        rng.random(), rng.random((2, 3)), rng.random(3, dtype=np.float32), rng.uniform(-1.0, 2.5),
        rng.standard_normal(), rng.standard_normal((2, 2), dtype=np.float32), rng.normal(1.0, 2.0),
        rng.normal(size=5), rng.exponential(2.0), rng.standard_exponential(3),
        rng.standard_exponential(dtype=np.float32), rng.gamma(2.0, 3.0, 4), rng.beta(1.0, 2.0),
        rng.chisquare(3.0), rng.standard_t(4.0), rng.standard_cauchy(), rng.lognormal(),
        rng.laplace(), rng.logistic(), rng.gumbel(), rng.rayleigh(), rng.weibull(2.0),
        rng.pareto(3.0), rng.standard_gamma(0.5), rng.standard_gamma(0.5, dtype=np.float32),
    )  # fmt: skip


def whole(rng: Any) -> Any:
    return (
        rng.integers(7), rng.integers(3, 9), rng.integers(0, 9, endpoint=True),
        rng.integers(2, dtype=np.int32), rng.integers(0, 2, 9, dtype=np.bool_),
        rng.integers(0, 200, 5, dtype=np.uint8), rng.integers(-300, 200, 5, dtype=np.int16),
        rng.integers(-5, 100, (2, 2)), rng.integers(0, 2**63 - 1), rng.integers(0, 2**32),
        rng.integers(0, 2**32 - 1, endpoint=True), rng.integers(4, 5, 2),
        rng.integers(-(2**63), 2**63 - 1, 3, endpoint=True),
        rng.integers(0, 2**40, size=3, dtype=np.uint64), rng.poisson(3.5, 8), rng.poisson(100.0),
        rng.geometric(0.3),
    )  # fmt: skip


def orders(rng: Any, a: Any, p: Any) -> Any:
    rows, columns, line = a.copy(), a.copy(), a.copy().ravel()
    rng.shuffle(rows)
    rng.shuffle(columns, axis=1)
    rng.shuffle(line)
    return (
        rows, columns, line, rng.permutation(10), rng.permutation(line), rng.permutation(a),
        rng.permutation(a, axis=1), rng.choice(7), rng.choice(7, replace=False),
        rng.choice(a, 2), rng.choice(a, 2, axis=1), rng.choice(a, (2, 2)), rng.choice(a),
        rng.choice(5, 6, p=p), rng.choice(1000, 20, replace=False),
        rng.choice(20000, 1000, replace=False), rng.choice(20000, 9, replace=False, shuffle=False),
        rng.choice(20000, 1001, replace=False, shuffle=False),
    )  # fmt: skip


KERNELS = {function: whorl.kernel(function) for function in (floats, whole, orders)}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    is_array = isinstance(right, np.ndarray)
    return bool(np.array_equal(left, right)) and (not is_array or left.dtype == right.dtype)


@pytest.mark.parametrize("function", KERNELS)
def test_a_kernel_draws_the_numbers_that_numpy_draws(function: Any) -> None:
    more = (np.arange(12.0).reshape(3, 4), np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
    for kind in KINDS:
        for seed in range(8):
            ours, numpys = np.random.Generator(kind(seed)), np.random.Generator(kind(seed))
            for rng in (ours, numpys):  # half a word of 64 bits waits in the state
                rng.integers(3, dtype=np.int32, size=seed % 2 + 1)
            given = more if function is orders else ()
            assert same(KERNELS[function](ours, *given), function(numpys, *given)), (kind, seed)
            assert ours.bit_generator.random_raw() == numpys.bit_generator.random_raw()


def walk(rng: Any, out: Any) -> Any:
    for i in range(out.size):
        out[i] = rng.random()
        if out[i] < 0.5:
            out[i] += rng.standard_normal()
        else:
            out[i] *= rng.integers(10)
    return rng.random()


def test_mixed_calls_and_numpys_own_share_one_stream() -> None:
    kernel = whorl.kernel(walk)
    ours, numpys = np.random.default_rng(1), np.random.default_rng(1)
    a, b = np.empty(1000), np.empty(1000)
    for _ in range(5):  # the last launches would be native
        assert kernel(ours, a) == walk(numpys, b)
        assert a.tolist() == b.tolist()
        assert ours.random() == numpys.random()


@whorl.kernel
def from_member(self: Any) -> float:
    return float(self.rng.random())


def test_a_generator_may_be_a_member_and_be_replaced() -> None:
    holder = SimpleNamespace(rng=np.random.default_rng(1))
    first = from_member(holder)
    holder.rng = np.random.Generator(np.random.MT19937(1))
    assert first == np.random.default_rng(1).random()
    assert from_member(holder) == np.random.Generator(np.random.MT19937(1)).random()
    assert len(from_member.specializations()) == 1


RNG = np.random.default_rng(7)


@whorl.kernel
def from_global() -> float:
    return float(RNG.random())


def test_a_generator_may_be_a_global() -> None:
    wanted = np.random.default_rng(7)
    assert [from_global() for _ in range(5)] == [wanted.random() for _ in range(5)]


def test_a_float_that_is_drawn_is_weak_as_a_float_of_python() -> None:
    @whorl.kernel
    def scaled(rng: Any, a: Any) -> Any:
        return a * rng.random()

    assert scaled(RNG, np.ones(2, np.float32)).dtype == np.float32


def test_what_numpy_refuses_is_refused_in_its_words() -> None:
    @whorl.kernel
    def draw(rng: Any, low: float, high: float, scale: float, n: int, m: int) -> Any:
        return rng.uniform(low, high), rng.normal(0.0, scale), rng.integers(n, m)

    rng = np.random.default_rng(1)
    refused = {
        "high - low < 0": (1.0, 0.0, 1.0, 0, 1),
        "scale < 0": (0.0, 1.0, -1.0, 0, 1),
        "low >= high": (0.0, 1.0, 1.0, 3, 3),
    }
    for message, given in refused.items():
        with pytest.raises(ValueError, match=message):
            draw.function(rng, *given)
        with pytest.raises(ValueError, match=message):
            draw(rng, *given)
    with pytest.raises(OverflowError, match="exceeds valid bounds"):
        draw(rng, -np.inf, np.inf, 1.0, 0, 1)


def test_what_cannot_be_drawn_in_a_kernel_says_what_can() -> None:
    @whorl.kernel
    def in_parallel(rng: Any, a: Any) -> None:
        for i in whorl.prange(a.size):
            a[i] = rng.random()

    @whorl.kernel
    def another(rng: Any) -> Any:
        return rng.multivariate_normal(np.zeros(2), np.eye(2))

    @whorl.kernel
    def by_array(rng: Any, a: Any) -> Any:
        return rng.normal(a)

    with pytest.raises(whorl.KernelError, match=r"(?s)prange.*whorl\.random\(key, i\)"):
        in_parallel(RNG, np.zeros(3))
    with pytest.raises(whorl.KernelError, match=r"(?s)'multivariate_normal'.*standard_normal"):
        another(RNG)
    with pytest.raises(whorl.KernelError, match=r"(?s)loc is one number.*Write a loop"):
        by_array(RNG, np.zeros(3))


def test_threads_that_share_a_generator_draw_each_number_once() -> None:
    @whorl.kernel(nogil=True)
    def fill(rng: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = rng.random()

    rng = np.random.default_rng(5)
    outs = [np.empty(200_000) for _ in range(4)]
    fill(np.random.default_rng(0), outs[0])
    threads = [threading.Thread(target=fill, args=(rng, out)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = np.sort(np.concatenate(outs))
    assert np.array_equal(drawn, np.sort(np.random.default_rng(5).random(800_000)))


def test_a_launch_waits_for_the_lock_of_the_bit_generator() -> None:
    rng = np.random.default_rng(5)
    from_member(SimpleNamespace(rng=rng))
    with rng.bit_generator.lock:
        thread = threading.Thread(target=from_member, args=(SimpleNamespace(rng=rng),))
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
    thread.join()
