"""A read that is refused is recorded too: a compile may catch it and go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import LookingAtProgram, kernel_in_memory
from whorl.reads import Inputs
from whorl.store import Cache, DirectoryStore, MemoryStore


def described(inputs: Inputs) -> Any:
    try:
        return ["array", *inputs.arg("x").array()]
    except whorl.UnsupportedRead as error:
        return f"none: {error.type_name}"


def counted(inputs: Inputs) -> Any:
    x, found = inputs.arg("x"), None
    for _ in range(2):  # who asks again is told again
        try:
            found = str(x.len())
        except whorl.UnsupportedRead:
            found = "nothing to count"
    return found


def test_a_read_that_was_refused_is_one_of_a_compile_that_goes_on(tmp_path: Path) -> None:
    values = [3, np.zeros(3), 4, "text", np.zeros(3, "f4"), None, np.zeros((2, 2))]
    expected = [described_plainly(value) for value in values]
    for order in (1, -1):
        kernel = kernel_in_memory(described, Cache(DirectoryStore(tmp_path)))
        for _ in range(5):
            assert [kernel(value) for value in values[::order]] == expected[::order]
    assert kernel.stats()["compiled"] == 0
    assert kernel.explain(3).outcome == "hit"
    assert kernel.explain(object()).outcome == "miss"


def described_plainly(value: Any) -> Any:
    if type(value) is not np.ndarray:
        return f"none: {type(value).__name__}"
    return ["array", "array", value.dtype.str, value.ndim, "C", "rw"]


def test_so_it_is_of_what_cannot_be_counted() -> None:
    kernel = kernel_in_memory(counted)
    for _ in range(5):
        assert [kernel(x) for x in (3, [1, 2], 4, (1,))] == [
            "nothing to count",
            "2",
            "nothing to count",
            "1",
        ]
    assert kernel.stats()["compiled"] == 3


def test_one_that_is_not_caught_is_raised_by_every_call() -> None:
    kernel = kernel_in_memory(lambda inputs: list(inputs.arg("x").array()))
    assert kernel(np.zeros(2))[1] == "<f8"
    for _ in range(5):
        with pytest.raises(whorl.UnsupportedRead):
            kernel(3)
    assert kernel.stats()["compiled"] == 1


class Uncounted:
    def __len__(self) -> int:
        raise TypeError(f"{self!r} cannot be counted")


def test_addresses_are_no_part_of_what_is_refused() -> None:
    kernel, kept = kernel_in_memory(counted), [Uncounted() for _ in range(5)]
    assert [kernel(x) for x in kept] == ["nothing to count"] * 5
    assert kernel.stats()["compiled"] == 1


@pytest.mark.parametrize("other", [None, 3, "text"])
def test_what_has_no_memory_is_named_when_aliases_are_asked_for(other: Any) -> None:
    @whorl.jit(
        LookingAtProgram(lambda program, inputs: inputs.arg("x").alias(inputs.arg("y"))),
        store=Cache(MemoryStore()),
    )
    def kernel(x: Any, y: Any) -> None: ...

    with pytest.raises(whorl.UnsupportedRead) as raised:
        kernel(np.zeros(3), other)
    assert (raised.value.path, raised.value.type_name) == ("arg:y", type(other).__name__)
    assert "register_signature" not in str(raised.value)
