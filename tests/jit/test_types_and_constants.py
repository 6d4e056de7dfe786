"""Types, signatures and constants are told apart, and constants of every form are stored."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
from tests.jit.compilers import Make, Thing, compiles, kernel_in_memory
from tests.jit.running import run
from whorl.jit.kernel import Kernel
from whorl.reads import Inputs
from whorl.store import Cache, MemoryStore


def test_dtypes_of_extensions_that_share_their_short_name_are_told_apart(make: Make) -> None:
    kinds = pytest.importorskip("ml_dtypes")
    kernel = make(lambda inputs: inputs.arg("x").array())
    kernel(np.zeros(2, kinds.int4))
    kernel(np.zeros(2, kinds.uint4))
    assert compiles(kernel) == 2


def test_a_set_that_is_iterated_over_is_found_under_another_hash_seed(tmp_path: Path) -> None:
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "solver.py").write_text(
        textwrap.dedent(
            """
            import whorl
            from tests.jit.compilers import Looking
            compiler = Looking(lambda inputs: sorted(v.value() for v in inputs.arg("x")))
            @whorl.jit(compiler)
            def kernel(x): ...
            kernel({"alpha", "beta", "gamma", "delta"})
            print(compiler.compiles)
            """
        )
    )
    found = [run(directory, "solver.py", PYTHONHASHSEED=str(seed)) for seed in range(4)]
    assert found == ["1", "0", "0", "0"]


@pytest.mark.parametrize(
    "value",
    [("code", 1, 2), 1 << 20000, "\udcff", ("array", 1, 2, 3, 4), [[[]]], {"digest": 1}],
    ids=["code", "large", "surrogate", "array", "lists", "digest"],
)
def test_every_plain_constant_can_be_kept_and_explained(make: Make, value: Any) -> None:
    kernel = make(lambda inputs: type(inputs.arg("x").value()).__name__)
    assert kernel(value) == type(value).__name__
    assert kernel.explain(0).changes


def test_a_constant_that_is_nested_deeply_or_in_itself_is_kept(make: Make) -> None:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    kernel = make(lambda inputs: len(inputs.arg("x").value()))
    assert [kernel(deep), kernel(cyclic)] == [1, 1]


class Odd:
    def __whorl_signature__(self) -> Any:
        return {1, 2}


def test_an_unread_argument_with_an_odd_signature_does_no_harm(make: Make) -> None:
    assert make(lambda inputs: inputs.arg("x").value())(1, Odd()) == 1


def test_a_long_chain_of_members_is_replayed(make: Make) -> None:
    def look(inputs: Inputs) -> Any:
        view = inputs.arg("x")
        for _ in range(1200):
            view = view.attr("next")
        return view.attr("n").value()

    head = Thing(n=7)
    for _ in range(1200):
        head = Thing(next=head)
    kernel = make(look)
    assert [kernel(head) for _ in range(5)] == [7] * 5


def test_a_view_is_not_taken_for_true(make: Make) -> None:
    kernel = make(lambda inputs: "on" if inputs.arg("x") else "off")
    with pytest.raises(TypeError):
        kernel(False)


class Posing(type):
    """Its classes say that they are `int`."""

    def __eq__(cls, other: object) -> bool:
        return other is int

    def __hash__(cls) -> int:
        return hash(int)


def test_a_class_that_says_it_is_int_is_not(make: Make) -> None:
    class NoInt(metaclass=Posing):
        pass

    kernel = make(lambda inputs: str(inputs.arg("x").type()))
    number = kernel(1)
    assert [kernel(1) for _ in range(5)] == [number] * 5
    assert [kernel(NoInt()) == number for _ in range(5)] == [False] * 5


def test_structured_types_are_told_apart_by_their_fields(make: Make) -> None:
    two = np.dtype([("x", "<f4"), ("y", "<f4")])
    posing = np.dtype({"names": ["x@0:<f4, y"], "formats": ["<f4"], "offsets": [4], "itemsize": 8})
    arrays = make(lambda inputs: inputs.arg("x").array()[1])
    assert arrays(np.zeros(1, two)) != arrays(np.zeros(1, posing))
    ints = np.dtype([("x", "<i4"), ("y", "<i4")])
    scalars = make(lambda inputs: str(inputs.arg("x").type()))
    assert scalars(np.zeros(1, two)[0]) != scalars(np.zeros(1, ints)[0])


def circle() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def nested(levels: int, kind: type) -> Any:
    found: Any = kind((1,))
    for _ in range(levels):
        found = kind((found,))
    return found


@pytest.mark.parametrize("make", [
    circle,
    *(lambda n=n, kind=kind: nested(n, kind) for n in (60, 70, 400) for kind in (list, tuple)),
])  # fmt: skip
def test_what_holds_itself_or_much_is_compiled_once(make: Callable[[], Any]) -> None:
    cache = Cache(MemoryStore())

    def deeper(kernel: Kernel, value: Any, levels: int) -> Any:
        return deeper(kernel, value, levels - 1) if levels else kernel(value)

    kernel = kernel_in_memory(lambda inputs: bool(inputs.arg("x").value() is not None), cache)
    for levels in (0, 1, 2, 3, 50, 100):
        assert deeper(kernel, make(), levels)
    assert kernel.stats()["compiled"] == 1
    again = kernel_in_memory(lambda inputs: bool(inputs.arg("x").value() is not None), cache)
    assert again(make())
    assert again.stats() == {"found": 1}


@pytest.mark.parametrize("kind", [list, tuple])
def test_what_is_held_again_and_again_is_not_written_as_often(kind: Any) -> None:
    value: Any = kind((1.0,))
    for _ in range(40):
        value = kind((value, value))
    kernel = kernel_in_memory(lambda inputs: inputs.arg("x").value() is value)
    assert [kernel(value) for _ in range(5)] == [True] * 5
    assert kernel.stats()["compiled"] == 1
    assert [kernel(kind([0.0] * 20_000)) for _ in range(5)] == [False] * 5
    assert kernel.stats()["compiled"] == 2


class Counted:
    """Can be counted every second time."""

    asked = 0

    def __len__(self) -> int:
        Counted.asked += 1
        if not Counted.asked % 2:
            raise TypeError("not now")
        return 3


def test_a_length_is_the_one_that_was_seen() -> None:
    kernel = kernel_in_memory(lambda inputs: inputs.arg("x").len())
    Counted.asked = 0
    assert kernel(Counted()) == 3


def test_signatures_of_arrays_and_numbers_are_fixed() -> None:
    for cls in (np.ndarray, int, str, type(None)):
        with pytest.raises(TypeError, match="is fixed"):
            whorl.register_signature(cls, lambda value: 1)
