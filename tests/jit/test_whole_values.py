"""A compile that reads a whole value reads all of it: classes, shapes and the order of dicts."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.jit.compilers import Config, Inner, Make, program_kernel
from whorl.store import Cache


def test_the_safe_wide_key_knows_scalars_and_bytes_by_value(make: Make) -> None:
    kernel = make(lambda inputs: repr(inputs.everything()["x"]))
    for value in (np.float64(1), np.float64(2), b"one", b"two", bytearray(b"x"), bytearray(b"y")):
        assert kernel(value) == repr(value)


class Sub(dict[str, Any]):
    pass


def test_a_compiler_that_reads_everything_sees_the_classes_of_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = program_kernel(lambda program, inputs: inputs.everything()["x"].tiles())
    assert [kernel(Config()) for _ in range(4)] == [65] * 4
    monkeypatch.setattr(Config, "tile", 128)
    assert [kernel(Config()) for _ in range(4)] == [129] * 4
    monkeypatch.setattr(Inner, "size", 2)
    assert [kernel(Config()) for _ in range(4)] == [130] * 4
    monkeypatch.setattr(Config, "tiles", lambda self: 0)
    assert kernel(Config()) == 0


def test_a_compiler_that_reads_everything_sees_the_shapes_of_arrays() -> None:
    kernel = program_kernel(lambda program, inputs: inputs.everything()["x"].shape)
    for shape in ((3,), (4,), (3,)):
        assert kernel(np.zeros(shape)) == shape
    assert kernel.stats()["compiled"] == 2


class Cell:
    near: list[Any]


def mesh(n: int) -> Cell:
    cells = [[Cell() for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            around = ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
            cells[i][j].near = [cells[a][b] for a, b in around if 0 <= a < n and 0 <= b < n]
    vars(cells[0][0])["lock"] = threading.Lock()
    return cells[0][0]


def test_what_is_shared_or_in_circles_is_looked_into_once() -> None:
    kernel = program_kernel(
        lambda program, inputs: len(inputs.arg("x").value().near), cache="process"
    )
    cell = mesh(20)  # by every way to every cell this would never end
    assert (kernel(cell), kernel(cell), kernel.stats()["compiled"]) == (2, 2, 1)
    cell.near[0].near[1].near.append(cell)
    assert (kernel(cell), kernel.stats()["compiled"]) == (2, 2)
    doubled: list[Any] = [1, threading.Lock()]
    for _ in range(40):
        doubled = [doubled, doubled]
    sized = program_kernel(lambda program, inputs: len(inputs.arg("x").value()), cache="process")
    assert sized(doubled) == 2


@pytest.mark.parametrize(
    "held",
    [
        lambda lock: collections.OrderedDict(n=1, lock=lock),
        lambda lock: collections.defaultdict(int, n=1, lock=lock),
        lambda lock: Sub(n=1, lock=lock),
        lambda lock: {"deep": {"deep": [{"deep": {"n": 1, "lock": lock}}]}},
    ],
)
def test_containers_of_all_kinds_are_looked_into(held: Callable[[Any], Any]) -> None:
    def innermost(x: Any) -> Any:
        while "deep" in x:
            x = x["deep"] if isinstance(x["deep"], dict) else x["deep"][0]
        return x

    kernel = program_kernel(
        lambda _, inputs: innermost(inputs.arg("x").value())["n"], cache="process"
    )
    x = held(threading.Lock())
    assert kernel(x) == 1
    innermost(x)["n"] = 2
    assert kernel(x) == 2


class Turning:
    """Its number is another at every look."""

    turns = 0

    @property
    def number(self) -> int:
        self.turns += 1
        return self.turns


def test_a_value_that_is_another_at_every_look_is_compiled_for_every_call(store: Cache) -> None:
    kernel = program_kernel(
        lambda program, inputs: inputs.arg("x").attr("number").value(), store=store
    )
    turning = Turning()
    assert len({kernel(turning) for _ in range(4)}) == 4
    assert turning.turns < 200


@pytest.mark.parametrize(
    "held",
    [
        dict,
        lambda pairs: collections.Counter(dict(pairs)),
        lambda pairs: collections.defaultdict(int, pairs),
        collections.OrderedDict,
        Sub,
        lambda pairs: [1, (Sub(pairs),)],
        lambda pairs: np.array([dict(pairs)], dtype=object)[:1],
    ],
)
def test_who_reads_a_value_sees_the_order_of_its_dicts(held: Callable[[Any], Any]) -> None:
    kernel = program_kernel(lambda program, inputs: repr(inputs.arg("x").value()))
    for pairs in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]):
        assert kernel(held(pairs)) == repr(held(pairs))
    assert kernel.stats()["compiled"] == 2
