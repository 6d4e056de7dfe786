"""`kernel.compile` compiles for types without a call, and calls of these types find it."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np
import pytest

import whorl
import whorl.testing
from whorl.kernels.argument_types import ArgumentType, parsed_types


@whorl.kernel
def first(x: Any) -> Any:
    return x.ravel()[0] if whorl.static(x.ndim > 1) else x[0]


@whorl.kernel
def doubled(n: Any) -> Any:
    return n + n


@pytest.fixture(autouse=True)
def fresh() -> Any:
    with whorl.testing.fresh_cache():
        yield


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i64", 7), ("int", 7), ("f64", 7.5), ("float", 7.5), ("i32", np.int32(7)),
        ("u8", np.uint8(7)), ("f32", np.float32(7.5)), (int, 7), (float, 7.5),
        (whorl.f32, np.float32(1)), (whorl.i64, 7),
    ],
)  # fmt: skip
def test_a_number_is_found_by_its_type(text: Any, value: Any) -> None:
    made = doubled.compile(text)
    assert doubled.specialize(value) is made
    assert doubled(value) == 2 * value


ARRAYS: list[tuple[Any, Any]] = [
    ("f64[::1]", np.arange(5.0)),
    ("f64[:]", np.arange(9.0)[::2]),
    ("f32[:, ::1]", np.ones((3, 1), np.float32)),
    ("i16[::1, :]", np.ones((3, 4), np.int16, order="F")),
    ("u8[:, :]", np.ones((6, 6), np.uint8)[::2, ::3]),
    ("f64[:, :, ::1]", np.ones((2, 1, 4))),
    ("whorl.f64[::1]", np.arange(5.0)),
    (whorl.Array.__class_getitem__((whorl.f64, 2)), np.ones((2, 2))),
]


@whorl.kernel
def count(x: Any) -> int:
    n = 0
    for i in range(x.shape[0]):
        n += i
    return n


@pytest.mark.parametrize(("text", "value"), ARRAYS, ids=lambda each: str(each)[:14])
def test_an_array_is_found_by_its_type(text: Any, value: Any) -> None:
    made = count.compile(text)
    assert count.specialize(value) is made


def test_an_array_that_is_not_written_to_is_another_type() -> None:
    made = count.compile("const f64[::1]")
    fixed = np.arange(3.0)
    assert count.specialize(fixed) is not made
    fixed.flags.writeable = False
    assert count.specialize(fixed) is made


def test_an_array_without_dimensions() -> None:
    assert ArgumentType.parse("f64[()]").value.shape == ()


@dataclasses.dataclass
class Inner:
    weights: Annotated[Any, "f64[::1]"]


@dataclasses.dataclass(frozen=True)
class State:
    x: Annotated[Any, "f64[:, ::1]"]
    n: int
    inner: Inner


@whorl.kernel
def energy(state: Any, factor: Any) -> Any:
    total = 0.0
    for i in range(state.n):
        total += state.x[i, 0] * state.inner.weights[i] * factor
    return total


def test_a_dataclass_of_such_types() -> None:
    made = energy.compile(State, factor="f64")
    state = State(np.ones((3, 3)), 3, Inner(np.ones(3)))
    assert energy.specialize(state, 2.0) is made
    assert energy(state, 2.0) == 6.0


def test_examples_and_types_go_together() -> None:
    made = energy.compile(State(np.ones((3, 3)), 3, Inner(np.ones(3))), "f64")
    assert energy.compile(State, "f64") is made


@whorl.kernel
def unrolled(x: Any, n: Any) -> Any:
    total = 0.0
    for i in whorl.static(range(n)):
        total += x[i]
    return total


@whorl.kernel
def by_length(x: Any) -> Any:
    total = 0.0
    for i in whorl.static(range(x.shape[0])):
        total += x[i]
    return total


def test_a_type_is_no_constant() -> None:
    with pytest.raises(TypeError, match=r"uses arg:n as a constant: i64 says nothing about its"):
        unrolled.compile("f64[::1]", "i64")
    made = unrolled.compile("f64[::1]", 3)
    assert unrolled.specialize(np.ones(5), 3) is made
    with pytest.raises(TypeError, match=r"uses arg:x.shape.* as a constant: f64\[::1\] says"):
        by_length.compile("f64[::1]")


def test_a_dimension_count_is_known_by_the_type() -> None:
    assert first.compile("f64[::1]").key is not None


def test_code_for_a_processor_that_is_not_here_is_compiled_and_refused_when_it_is_called() -> None:
    made = count.compile("f64[::1]", target="x86-64-v4")
    assert made.architecture.endswith("x86-64-v4")
    assert made.artifact.metadata["level"] == "x86-64-v4"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("f65", "is no type of an argument"),
        ("f64[", "is no type of an array"),
        ("int[:]", "is no type of an array"),
        ("f64[::1, ::1]", "one of them may be"),
        ("f64[:, ::1, :]", "the last dimension"),
        ("f64[3]", "a dimension is written"),
        ("const i64", "leave const out"),
        (dict, "is no dataclass"),
        (whorl.NumericKernel, "is no dataclass"),
    ],
)
def test_what_is_no_type_is_said(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        count.compile(given)


Written: Any = dataclasses.make_dataclass(
    "Written", [("x", "f64[:, ::1]"), ("n", "'i64'")], namespace={"__module__": __name__}
)


@whorl.kernel
def corner(state: Any) -> Any:
    return state.x[0, 0] * state.n


def test_annotations_may_be_texts() -> None:
    made = corner.compile(Written)
    assert corner.specialize(Written(np.ones((2, 3)), 4)) is made


@dataclasses.dataclass
class Unknown:
    name: str


def test_a_field_that_has_no_such_type_is_named() -> None:
    with pytest.raises(TypeError, match=r"Unknown\.name"):
        count.compile(Unknown)


def test_types_in_a_text_are_separated_by_commas_outside_of_brackets() -> None:
    texts = [each.text for each in parsed_types(" f64[:, ::1] , i64,f64[()], ")]
    assert texts == ["f64[:, ::1]", "i64", "f64[()]"]
    assert parsed_types("") == ()


def test_a_kernel_that_uses_rows_as_vectors_is_compiled_for_rows_of_any_length() -> None:
    @whorl.kernel
    def moved(x: Any, v: Any) -> None:
        for i in range(x.shape[0]):
            x[i] += 2 * v[i]

    made = moved.compile("f64[:, ::1]", "f64[:, ::1]")
    for length in (3, 20):
        x = np.zeros((4, length))
        moved(x, np.ones((4, length)))
        assert (x == 2).all()
    assert made in moved.specializations()
