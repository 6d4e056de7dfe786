"""Functions that call themselves return what they return in plain Python."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import whorl


def even(n: Any) -> Any:
    if n == 0:
        return True
    return odd(n - 1)


def odd(n: Any) -> Any:
    if n == 0:
        return False
    return even(n - 1)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def sort(a: Any, low: Any, high: Any) -> None:
    if low >= high:
        return
    pivot, i = a[high], low
    for j in range(low, high):
        if a[j] < pivot:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[high] = a[high], a[i]
    sort(a, low, i - 1)
    sort(a, i + 1, high)


def transform(x: Any) -> Any:
    n = x.shape[0]
    if n == 1:
        return x
    first, second = transform(x[::2]), transform(x[1::2])
    result = np.empty(n, np.complex128)
    for k in range(n // 2):
        turned = np.exp(-2j * np.pi * k / n) * second[k]
        result[k] = first[k] + turned
        result[k + n // 2] = first[k] - turned
    return result


def halves(n: Any) -> Any:
    if n == 0:
        return 1  # an int here, a float there
    return halves(n - 1) * 0.5


def square(x: Any) -> Any:
    return x * x


def integral(f: Any, a: Any, b: Any, tolerance: Any, depth: Any) -> Any:
    m = (a + b) / 2
    whole, parts = (b - a) * f(m), (m - a) * f((a + m) / 2) + (b - m) * f((m + b) / 2)
    if abs(whole - parts) < tolerance or depth == 0:
        return parts
    left = integral(f, a, m, tolerance / 2, depth - 1)
    return left + integral(f, m, b, tolerance / 2, depth - 1)


def pair(n: Any) -> Any:
    if n <= 0:
        return 0, 1.0
    count, power = pair(n - 1)
    return count + 1, power * 2


def counted(n: Any, h: Any) -> Any:
    if n <= 0:
        return 0.0
    total = 0.0
    for i in range(2):
        h[n] += 1
        total += counted(n - 1 - i, h)
    return total + 1


@whorl.kernel
def everything(n: Any, a: Any, z: Any, h: Any) -> Any:
    sort(a, 0, a.shape[0] - 1)
    return (
        even(n), odd(n), ackermann(2, 3), halves(n), transform(z), pair(n), counted(n, h),
        integral(square, 0.0, 1.0, 1e-5, 12),
    )  # fmt: skip


def test_recursive_functions_are_those_of_python() -> None:
    random = np.random.default_rng(0)
    a, z = random.normal(size=50), random.normal(size=32) + 0j
    for n in (7, 4):
        ours, theirs = (np.zeros(9), a.copy()), (np.zeros(9), a.copy())
        found = everything(n, ours[1], z, ours[0])
        expected = everything.interpret(n, theirs[1], z, theirs[0])
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], np.sort(a))
        np.testing.assert_allclose(found[4], expected[4], atol=1e-14)
        for one, other in zip(found, expected, strict=True):
            if not isinstance(other, np.ndarray):
                assert one == pytest.approx(other)
                assert type(one) is type(other) or isinstance(other, np.generic)


class Tree:
    def __init__(self) -> None:
        self.left = np.array([1, 3, -1, -1, -1])
        self.right = np.array([2, 4, -1, -1, -1])
        self.value = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    @whorl.func
    def total(self, node: Any) -> Any:
        if node < 0:
            return 0.0
        return self.value[node] + self.total(self.left[node]) + self.total(self.right[node])

    @whorl.kernel
    def run(self) -> Any:
        return self.total(0)


def test_methods_call_themselves() -> None:
    assert Tree().run() == 15.0


@whorl.kernel
def fibonacci(n: Any) -> Any:
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def test_a_kernel_calls_itself_and_may_be_called_from_threads_and_in_prange() -> None:
    @whorl.kernel
    def many(a: Any) -> None:
        for i in whorl.prange(a.shape[0]):
            a[i] = fibonacci(i)

    assert [fibonacci(n) for n in range(12)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    a = np.zeros(12, np.int64)
    many(a)
    assert a[-1] == 89
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(fibonacci(15))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [610] * 3


def test_a_recursion_without_end_raises_what_python_raises() -> None:
    def forever(n: int) -> int:
        return forever(n + 1) + 1

    def deep(n: Any) -> Any:
        return 0 if n == 0 else deep(n - 1) + 1

    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        whorl.kernel(forever)(0)
    assert whorl.kernel(deep)(1000) == 1000


def test_what_cannot_be_known_of_a_recursion_is_an_error_that_says_what_to_write() -> None:
    def unknown(n: Any) -> Any:
        return unknown(n + 1) + 1

    def apart(n: Any) -> Any:
        if n == 0:
            return None
        if n == 1:
            return 2.0
        return apart(n - 1)

    def outer(n: Any) -> Any:
        def inner(m: Any) -> Any:
            return 1 if m == 0 else inner(m - 1)

        return inner(n)

    for function, words in (
        (unknown, "it is not known what unknown, .* returns.*\n.*\n.*\n.*def f\\(n: int\\) -> int"),
        (apart, "what is returned is None in one branch"),
        (outer, "defined inside of the kernel.*\n.*\n.*\n(.*\n)?.*Define it outside"),
    ):
        with pytest.raises(whorl.KernelError, match=words):
            whorl.kernel(function)(3)
