"""An augmented assignment in `prange` loses no update, and is atomic only where it has to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import whorl
from whorl.kernels import NumericKernel

Array = npt.NDArray[Any]
N = 200_000
KEYS = np.random.default_rng(0).integers(0, 3, N)


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    before = whorl.configure()
    whorl.configure(threads=4)
    yield
    whorl.settings.restore(before)


def shared_part(kernel: NumericKernel) -> str:
    """The text of the functions that several threads run."""
    functions = kernel.inspect("llvm").split("\ndefine ")
    return "\n".join(
        function
        for function in functions
        if "_part(" in (head := function.partition("\n")[0]) or "_shared(" in head
    )


def is_atomic(kernel: NumericKernel) -> bool:
    text = shared_part(kernel)
    assert text
    return "atomicrmw" in text or "cmpxchg" in text


# -- no update is lost ------------------------------------------------------------------


@whorl.kernel
def counted(h: Array, keys: Array, by: Any) -> None:
    for i in whorl.prange(keys.size):
        h[keys[i]] += by


DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_histogram_by_augmented_assignment_is_numpys(dtype: str) -> None:
    h, expected = np.zeros((2, 3), dtype)
    counted(h, KEYS, 1)
    np.add.at(expected, KEYS, expected.dtype.type(1))
    assert h.tolist() == expected.tolist()
    assert "cmpxchg" in shared_part(counted) or "atomicrmw" in shared_part(counted)


@whorl.kernel
def flagged(h: Array, keys: Array) -> None:
    for i in whorl.prange(keys.size):
        h[keys[i]] ^= True


def test_bools_lose_no_update() -> None:
    h = np.zeros(3, np.bool_)
    flagged(h, KEYS)
    assert h.tolist() == (np.bincount(KEYS) % 2 == 1).tolist()


@whorl.kernel
def operated(h: Array, keys: Array, x: Array) -> None:
    for i in whorl.prange(keys.size):
        k = keys[i]
        h[k, 0] += x[i]
        h[k, 1] -= x[i]
        h[k, 2] ^= x[i]
        h[k, 3] |= 1 << (x[i] & 31)
        h[k, 4] &= ~(1 << (x[i] & 31))
        h[k, 5] *= 3


def test_every_exact_operator_on_ints_loses_no_update() -> None:
    x = np.random.default_rng(1).integers(0, 1000, N)
    h = np.zeros((3, 6), np.int64)
    h[:, 4], h[:, 5] = -1, 1
    expected = h.copy()
    operated(h, KEYS, x)
    bits = np.int64(1) << (x & 31)
    np.add.at(expected[:, 0], KEYS, x)
    np.subtract.at(expected[:, 1], KEYS, x)
    np.bitwise_xor.at(expected[:, 2], KEYS, x)
    np.bitwise_or.at(expected[:, 3], KEYS, bits)
    np.bitwise_and.at(expected[:, 4], KEYS, ~bits)
    with np.errstate(over="ignore"):
        np.multiply.at(expected[:, 5], KEYS, 3)
    assert h.tolist() == expected.tolist()


@whorl.kernel
def halved(h: Array, s: Array, n: int) -> None:
    for i in whorl.prange(n):
        h[i % 2] //= 2
        s[i % 2] /= 2
        s[2 + i % 2] **= 0.5
        h[2 + i % 2] <<= 1
        h[4 + i % 2] >>= 1
        h[6 + i % 2] %= 1000 - i


def test_operators_that_need_a_loop_run_once_for_each_iteration() -> None:
    h = np.array([2**60, 2**60, 1, 1, 2**60, 2**60, 123456789, 123456789])
    s = np.array([2.0**60, 2.0**60, 1.0, 1.0])
    for n in (50, 100):
        one, two = h.copy(), s.copy()
        halved(one, two, n)
        half = n // 2
        assert one[:2].tolist() == [2**60 >> half] * 2
        assert one[2:4].tolist() == [1 << half] * 2
        assert one[4:6].tolist() == [2**60 >> half] * 2
        assert two.tolist() == [2.0**60 / 2**half] * 2 + [1.0, 1.0]


class Model:
    def __init__(self) -> None:
        self.total = np.zeros((), np.int64)
        self.h = np.zeros(3, np.int32)

    @whorl.func
    def add(self, k: int) -> None:
        self.h[k] += 1
        self.total[()] += 1

    @whorl.kernel
    def run(self, keys: Array) -> None:
        for i in whorl.prange(keys.size):
            for _ in range(2):
                self.add(keys[i])


def test_methods_and_members_lose_no_update() -> None:
    model = Model()
    model.run(KEYS)
    assert model.total == 2 * N
    assert model.h.tolist() == (2 * np.bincount(KEYS)).tolist()


@whorl.kernel
def by_name(x: Array, keys: Array) -> None:
    for i in whorl.prange(keys.size):
        x += keys[i]


def test_an_array_without_dimensions_loses_no_update() -> None:
    x = np.zeros((), np.int64)
    by_name(x, KEYS)
    assert x == KEYS.sum()


LARGE = "\n".join(f"    x = x + {i}" for i in range(70))


def test_a_function_that_is_called_as_a_subroutine_loses_no_update(tmp_path: Any) -> None:
    source = (
        "import whorl\n\n\n@whorl.func\ndef add(h, k, x):\n"
        f"{LARGE}\n    h[k] += 1\n    return x\n\n\n"
        "@whorl.kernel\ndef run(h, own, keys):\n    for i in whorl.prange(keys.size):\n"
        "        add(h, keys[i], 1.0)\n        own[i] += add(h, keys[i], 2.0)\n"
    )
    file = tmp_path / "large_one.py"
    file.write_text(source)
    scope: dict[str, Any] = {"__name__": "large_one", "__file__": str(file)}
    exec(compile(source, str(file), "exec"), scope)
    h, own = np.zeros(3, np.int64), np.zeros(N)
    scope["run"](h, own, KEYS)
    assert h.tolist() == (2 * np.bincount(KEYS)).tolist()
    assert own.tolist() == [2.0 + sum(range(70))] * N


@whorl.kernel
def two_names(a: Array, b: Array, keys: Array) -> None:
    for i in whorl.prange(keys.size):
        a[i] += 1
        b[keys[i]] += 1


def test_two_names_of_one_array_lose_no_update() -> None:
    for _ in range(5):
        a = np.zeros(N, np.int64)
        two_names(a, a, KEYS)
        expected = np.ones(N, np.int64)
        np.add.at(expected, KEYS, 1)
        assert (a == expected).all()


@whorl.kernel
def neighbours(a: Array, b: Array, n: int) -> None:
    for i in whorl.prange(n):
        for _ in range(50):
            a[i] += 1
            b[i] += 1


def test_views_that_overlap_lose_no_update() -> None:
    for shift in (0, 1, 7):
        whole = np.zeros(64 + shift, np.int64)
        neighbours(whole[shift:], whole[: 64 + shift], 64)
        expected = np.zeros(64 + shift, np.int64)
        expected[shift:] += 50
        expected[:64] += 50
        assert whole.tolist() == expected.tolist()


@whorl.kernel
def own(a: Array, n: int) -> None:
    for i in whorl.prange(n):
        a[i] += 1


def test_an_array_whose_elements_are_one_and_the_same_loses_no_update() -> None:
    one = np.zeros(1, np.int64)
    every = np.lib.stride_tricks.as_strided(one, (N,), (0,))
    own(every, N)
    assert one[0] == N


@whorl.kernel
def negative(a: Array, start: int, stop: int) -> None:
    for i in whorl.prange(start, stop):
        a[i] += 1


def test_negative_indices_that_meet_others_lose_no_update() -> None:
    for _ in range(20):
        a = np.zeros(1000, np.int64)
        negative(a, -1000, 1000)
        assert a.tolist() == [2] * 1000


@whorl.kernel
def narrow(a: Array, n: int) -> None:
    for i in whorl.prange(n):
        a[np.uint8(i)] += 1


def test_an_index_of_few_bits_comes_around_and_loses_no_update() -> None:
    a = np.zeros(256, np.int64)
    narrow(a, 256 * 1000)
    assert a.tolist() == [1000] * 256


@whorl.kernel
def two_places(a: Array, n: int) -> None:
    for i in whorl.prange(n):
        for _ in range(20):
            a[i] += 1
            a[i + 1] += 1


def test_two_elements_of_one_iteration_lose_no_update() -> None:
    for _ in range(20):
        a = np.zeros(65, np.int64)
        two_places(a, 64)
        assert a.tolist() == [20, *[40] * 63, 20]
    assert is_atomic(two_places)


# -- and ordinary loops are not atomic --------------------------------------------------


@whorl.kernel
def scaled(a: Array, b: Array) -> None:
    for i in whorl.prange(a.size):
        a[i] *= 2.0
        a[i] += b[i]


@whorl.kernel
def shifted(a: Array, n: int) -> None:
    for i in whorl.prange(1, a.size - 1):
        a[i + 1] += 1.0


@whorl.kernel
def backwards(a: Array) -> None:
    for i in whorl.prange(a.size):
        a[a.size - 1 - i] += 1.0


@whorl.kernel
def from_somewhere(a: Array, start: int, stop: int) -> None:
    for i in whorl.prange(start, stop):
        a[i] += 1.0


@whorl.kernel
def rows(a: Array) -> None:
    for i in whorl.prange(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += 1.0


@whorl.kernel
def columns(a: Array) -> None:
    for j in whorl.prange(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] += 1.0


@whorl.kernel
def parts(a: Array) -> None:
    for i in whorl.prange(a.shape[0]):
        row = a[i]
        for j in range(row.size):
            row[j] += 1.0


@whorl.kernel
def blocks(a: Array) -> None:
    for block in whorl.prange((a.shape[0] + 3) // 4):
        first = block * 4
        for i in range(first, min(first + 4, a.shape[0])):
            for j in range(a.shape[1]):
                a[i, j] += 1.0


@whorl.kernel
def strides(a: Array) -> None:
    for first in whorl.prange(0, a.shape[0], 4):
        for i in range(first, min(first + 4, a.shape[0])):
            for j in range(a.shape[1]):
                a[i, j] += 1.0


@whorl.func
def added(a: Array, i: int, x: float) -> None:
    a[i] += x


@whorl.kernel
def inlined(a: Array, b: Array) -> None:
    for i in whorl.prange(a.size):
        added(a, i, b[i])


LINE, PLATE = np.zeros(50), np.zeros((10, 7))


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (scaled, (LINE, LINE)),
        (shifted, (LINE, 0)),
        (backwards, (LINE,)),
        (from_somewhere, (LINE, 0, 50)),
        (rows, (PLATE,)),
        (rows, (np.zeros((10, 70))[::2, ::3],)),
        (columns, (PLATE,)),
        (parts, (PLATE,)),
        (blocks, (PLATE,)),
        (strides, (PLATE,)),
        (inlined, (LINE, LINE)),
        (neighbours, (LINE, LINE.copy(), 50)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_element_of_its_own_for_each_iteration_needs_no_atomic(
    kernel: NumericKernel, args: tuple[Any, ...]
) -> None:
    kernel(*args)
    assert not is_atomic(kernel)


@pytest.mark.parametrize("kernel", [rows, columns, parts, blocks, strides])
def test_elements_of_their_own_are_all_updated(kernel: NumericKernel) -> None:
    for plate in (np.zeros((1001, 7)), np.zeros((7, 1001)).T, np.zeros((2002, 21))[::2, ::3]):
        kernel(plate)
        assert (plate == 1.0).all()


@whorl.kernel
def two_columns(x: Array, y: Array, n: int) -> None:
    for i in whorl.prange(n):
        x[i] += 1.0
        y[i] -= 1.0


def test_columns_of_one_array_are_each_their_own() -> None:
    points = np.zeros((1000, 3))
    two_columns(points[:, 0], points[:, 1], 1000)
    assert points.tolist() == [[1.0, -1.0, 0.0]] * 1000
    assert not is_atomic(two_columns)


FORMS = [
    "i", "i + 1", "2 * i", "2 * i + j", "3 * i + j", "i * 2 - 1 + 1", "i // 2", "i % 7", "i + j",
    "m + i", "m - i", "i * 2 + k", "i * i", "min(i, 5)", "2 * i + m // 2", "np.int16(i)",
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(FORMS)))
def test_what_is_not_atomic_is_reached_by_one_iteration_only(tmp_path: Path, first: int) -> None:
    for second in {first, (first + 1) % len(FORMS), (first + 5) % len(FORMS)}:
        one, two = FORMS[first], FORMS[second]
        source = (
            "import numpy as np\nimport whorl\n\n\n@whorl.kernel\ndef run(a, n, m):\n"
            "    for i in whorl.prange(n):\n        k = i % 2\n        for j in range(2):\n"
            f"            a[{one}] += 1\n            a[{two}] += 1\n"
        )
        file = tmp_path / f"forms_{second}.py"
        file.write_text(source)
        scope: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
        exec(compile(source, str(file), "exec"), scope)
        a = np.zeros(5000, np.int64)
        scope["run"](a, 30, 40)
        reached: list[set[int]] = []
        expected = np.zeros_like(a)
        for i in range(30):
            names = {"i": i, "k": i % 2, "m": 40, "np": np}
            places = [int(eval(form, names | {"j": j})) for j in range(2) for form in (one, two)]
            np.add.at(expected, places, 1)
            reached.append(set(places))
        assert a.tolist() == expected.tolist()
        is_shared = sum(map(len, reached)) > len(set().union(*reached))
        if is_shared:
            assert is_atomic(scope["run"]), (one, two)


# -- promises ---------------------------------------------------------------------------


@whorl.kernel
def scattered(out: Array, order: Array, x: Array) -> None:
    for i in whorl.prange(order.size):
        k = whorl.distinct(order[i])
        out[k] += x[i]
        out[k] *= 2.0


@whorl.kernel
def half_promised(out: Array, order: Array, x: Array) -> None:
    for i in whorl.prange(order.size):
        out[whorl.distinct(order[i])] += x[i]
        out[order[0]] += 1.0


def test_distinct_indices_are_a_promise_and_need_no_atomics() -> None:
    order = np.random.default_rng(0).permutation(N)
    x, out = np.arange(float(N)), np.ones(N)
    scattered(out, order, x)
    assert not is_atomic(scattered)
    assert "update own" in scattered.inspect()
    np.testing.assert_array_equal(out[order], 2.0 * (1.0 + x))


def test_a_promise_about_one_of_two_updates_is_not_enough() -> None:
    order = np.arange(N) + 1
    out = np.zeros(N + 1)
    half_promised(out, order, np.ones(N))
    assert is_atomic(half_promised)
    assert "update shared" in half_promised.inspect()
    assert out.sum() == 2 * N


def test_a_distinct_index_is_an_integer() -> None:
    @whorl.kernel
    def wrong(out: Array, x: Array) -> None:
        for i in whorl.prange(x.size):
            out[whorl.distinct(x[i])] += 1.0

    with pytest.raises(whorl.KernelError, match="an index is an integer"):
        wrong(np.zeros(3), np.zeros(3))
