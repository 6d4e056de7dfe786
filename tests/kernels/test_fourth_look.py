"""What was known to be wrong, and is not any more: powers, far steps, copies by pickle."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from whorl.store import Cache, DirectoryStore

FAR = 2**62


@whorl.kernel
def power(i, j):
    return i**j


@whorl.kernel
def picked(x, i):
    return x[i]


class Held:
    @whorl.kernel
    def scaled(self, x):
        return x * 2.0


@pytest.mark.parametrize("kind", [int, np.int8, np.int64])
def test_a_negative_power_of_an_integer_is_said_under_debug(kind: Any) -> None:
    checked = power.with_options(debug=True)
    assert checked(kind(2), kind(3)) == 8
    assert checked(kind(5), kind(0)) == 1
    with pytest.raises(ValueError, match="integers have no negative powers") as caught:
        checked(kind(2), kind(-1))
    assert "return i**j" in str(caught.value)


@whorl.kernel
def called(i, j):
    return pow(i, j)


@whorl.kernel
def called_of_numpy(i, j):
    return np.power(i, j)


@pytest.mark.parametrize("kernel", [called, called_of_numpy])
def test_functions_say_it_too(kernel: Any) -> None:
    checked = kernel.with_options(debug=True)
    assert (checked(2, 3), checked(2.0, -1.0)) == (8, 0.5)
    with pytest.raises(ValueError, match="integers have no negative powers"):
        checked(2, -3)


def test_numbers_without_a_sign_and_floats_have_all_their_powers() -> None:
    checked = power.with_options(debug=True)
    assert checked(np.uint8(2), np.uint8(3)) == 8
    assert checked(2.0, -1.0) == 0.5
    assert checked(np.float32(2), np.float32(-2)) == 0.25


@whorl.kernel
def far(start, stop, step, size, seen):
    for i in whorl.prange(start, stop, step):
        seen[i // size + 2] = i


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (0, 2**63 - 1, FAR),
        (-(2**63), 2**63 - 1, FAR),
        (-(2**63), 2**63 - 1, 2**63 - 1),
        (2**63 - 1, -(2**63), -FAR),
        (5, 5, FAR), (5, 4, FAR), (4, 5, -FAR), (0, 10, 3), (10, 0, -3), (1, 10, 9), (1, 10, 11),
    ],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_parallel_loops_with_far_steps_have_the_rounds_of_a_range(
    start: int, stop: int, step: int, threads: int
) -> None:
    before = whorl.configure(threads=threads)
    try:
        seen = np.full(16, 77, np.int64)
        size = FAR if abs(step) > 100 else 1
        far(start, stop, step, size, seen)
    finally:
        whorl.configure(threads=before.threads.value)
    expected = np.full(16, 77, np.int64)
    for i in range(start, stop, step):
        expected[i // size + 2] = i
    assert seen.tolist() == expected.tolist()


def test_a_kernel_with_other_options_is_pickled_with_them() -> None:
    checked = again(picked.with_options(debug=True, nogil=True))
    assert (checked.compiler.debug, checked.compiler.nogil) == (True, True)
    with pytest.raises(IndexError):
        checked(np.zeros(3), 9)
    assert again(picked) is picked
    assert again(Held.scaled.with_options(debug=True))(None, 2.0) == 4.0


def again(kernel: Any) -> Any:
    return pickle.loads(pickle.dumps(kernel))


def test_copies_of_a_kernel_are_the_kernel(tmp_path: Path) -> None:
    own = picked.with_options(store=Cache(DirectoryStore(tmp_path)))
    for kernel in (picked, picked.with_options(debug=True), own):
        assert copy.copy(kernel) is kernel
        assert copy.deepcopy({"step": kernel})["step"] is kernel


def test_what_is_more_than_options_apart_cannot_be_pickled(tmp_path: Path) -> None:
    own = picked.with_options(store=Cache(DirectoryStore(tmp_path)))
    other = whorl.jit(Other())(picked.function)
    for kernel in (own, other):
        with pytest.raises(pickle.PicklingError, match="picked"):
            pickle.dumps(kernel)


class Other:
    name, version = "other", "1"

    def compile(self, program: whorl.Program, inputs: whorl.Inputs) -> whorl.Artifact:
        return whorl.Artifact({})

    def load(self, artifact: whorl.Artifact, device: str) -> Any:
        return lambda *values: "other"


def test_a_local_one_is_refused_by_its_name() -> None:
    @whorl.kernel
    def inner(x):
        return x

    with pytest.raises((AttributeError, pickle.PicklingError), match="inner"):
        pickle.dumps(inner.with_options(debug=True))


table: dict[str, Any] = {"a": abs,
         "b": lambda x: x * 4.0}  # fmt: skip
fourfold = table["b"]
if len(table) > 5:
    chosen: Any = abs
else: chosen = lambda x: x + 1.0  # noqa: E701  # what is tested  # fmt: skip


def test_lambdas_in_the_middle_of_something_are_found() -> None:
    @whorl.kernel
    def both(x):
        return fourfold(x) + chosen(x)

    assert both(1.0) == 6.0


def test_what_is_wrong_in_one_is_said_with_its_line() -> None:
    odd: Any = {"a": 1,
           "b": lambda x: input(x) or 1}["b"]  # fmt: skip

    @whorl.kernel
    def k(x):
        return odd(x)

    with pytest.raises(whorl.KernelError) as caught:
        k(1.0)
    assert "lambda x: input(x)" in caught.value.text
