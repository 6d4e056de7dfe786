"""Tensors of torch and arrays that others make: known by raw metadata, no adaptor is built."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import pytest

import whorl
from tests.jit.compilers import Make, Thing, compiles
from tests.jit.test_kernel import again
from whorl.reads import signature

torch: Any = pytest.importorskip("torch", reason="torch is no dependency")


@pytest.fixture
def kernel(make: Make) -> Any:
    return make(lambda inputs: inputs.arg("x").array())


def test_another_content_size_or_tensor_is_no_compile(kernel: Any) -> None:
    for tensor in (torch.zeros(2, 3), torch.ones(7, 5), torch.zeros(0, 2), torch.rand(1, 1)):
        kernel(tensor)
    assert compiles(kernel) == 1


def tensors() -> dict[str, Any]:
    base = torch.zeros(4, 4)
    return {
        "float32": base,
        "float64": base.double(),
        "float16": base.half(),
        "bfloat16": base.bfloat16(),
        "int32": base.int(),
        "int64": base.long(),
        "uint8": base.to(torch.uint8),
        "bool": base.bool(),
        "complex": base.to(torch.complex64),
        "one dimension": base[0],
        "no dimension": torch.tensor(1.0),
        "three dimensions": torch.zeros(2, 2, 2),
        "with gaps": base[::2, ::2],
        "requires grad": torch.zeros(4, 4, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.zeros(4, 4)),
        "meta": torch.zeros(4, 4, device="meta"),
        "conjugated": base.to(torch.complex64).conj(),
        "negated": torch._neg_view(base),
        "sparse": base.to_sparse(),
        "unwritten channels last": torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "four dimensions": torch.zeros(2, 3, 4, 5),
    }


def test_dtype_dimensions_layout_device_and_grad_are_facts(kernel: Any) -> None:
    held = tensors()
    made = {name: kernel(tensor) for name, tensor in held.items()}
    assert compiles(kernel) == len(held), _twins(made)
    for _ in range(3):
        assert {name: kernel(tensor) for name, tensor in held.items()} == made
    assert compiles(kernel) == len(held)
    warm = again(kernel)
    assert {name: warm(tensor) for name, tensor in tensors().items()} == made
    assert compiles(warm) == 0


def _twins(made: dict[str, Any]) -> list[tuple[str, str]]:
    return [(a, b) for a in made for b in made if a < b and made[a] == made[b]]


def test_a_view_is_known_by_its_own_layout(kernel: Any) -> None:
    base = torch.zeros(6, 6)
    whole, rows, columns = kernel(base), kernel(base[:3]), kernel(base[:, :3])
    assert whole == rows
    assert whole != columns
    assert kernel(base.view(4, 9)) == whole


def test_a_tensor_that_is_changed_in_place_is_looked_at_anew(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("a").array())
    thing = Thing(a=torch.zeros(4))
    before = kernel(thing)
    thing.a.resize_(2, 2)
    resized = kernel(thing)
    thing.a.requires_grad_(True)
    grad = kernel(thing)
    thing.a = thing.a.detach().double()
    assert len({before, resized, grad, kernel(thing)}) == 4


def test_a_tensor_used_as_a_type_is_known_as_one_used_as_an_array(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").type())
    assert kernel(torch.zeros(3)) == signature(torch.zeros(5))
    assert compiles(kernel) == 1
    kernel(torch.zeros(3, dtype=torch.int8))
    assert compiles(kernel) == 2


def test_nothing_is_exported_or_copied_to_know_a_tensor(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("an adaptor was built")

    held = tensors()
    made = [kernel(tensor) for tensor in held.values()]
    for name in ("__dlpack__", "__array__", "numpy", "contiguous", "clone", "cpu"):
        monkeypatch.setattr(torch.Tensor, name, refused)
    assert [kernel(tensor) for tensor in held.values()] == made
    assert [signature(tensor) for tensor in held.values()] == made


def test_grad_is_a_fact_when_it_was_read_and_only_then(make: Make) -> None:
    kernel = make(lambda inputs: inputs.arg("x").attr("grad").type()[0])
    with_grad = torch.ones(2, requires_grad=True)
    with_grad.sum().backward()
    assert kernel(torch.ones(2, requires_grad=True)) == "NoneType"
    assert kernel(with_grad) == "dlpack"
    other = make(lambda inputs: inputs.arg("x").array(), extra={"version": "2"})
    assert other(torch.ones(2, requires_grad=True)) == other(with_grad)


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: [t], lambda t: Thing(t=t)])
def test_the_value_of_a_tensor_is_refused(make: Make, wrap: Any) -> None:
    kernel = make(lambda inputs: str(inputs.arg("x").value()))
    for tensor in (
        torch.zeros(2),
        torch.nn.Parameter(torch.zeros(2)),
        torch.zeros(2).untyped_storage(),
    ):
        with pytest.raises(whorl.UnsupportedRead, match="belongs to torch"):
            kernel(wrap(tensor))


def test_buffers_of_others_are_known_by_raw_metadata(kernel: Any) -> None:
    buffers = [
        array.array("d", [1.0]),
        array.array("f", [1.0]),
        bytearray(b"abc"),
        memoryview(b"abc"),
        memoryview(bytearray(8)).cast("i"),
        (ctypes.c_float * 3)(),
    ]
    made = [kernel(buffer) for buffer in buffers]
    assert [kernel(buffer) for buffer in buffers] == made
    assert len(set(made)) == compiles(kernel)
