"""The systems dialect: compiled functions do what their plain Python does; mistakes are named."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.systems import sample_routines
from tests.systems.compiled import native
from whorl.errors import KernelError
from whorl.kernels.ir_text import text_of
from whorl.kernels.systems_compiler import program_of
from whorl.launch.level import host_level
from whorl.systems import Twin, f64, i8, i64, load, stack, store, u8, u32, u64
from whorl.systems.raw_memory import checking, own_stack

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or host_level() == "generic", reason="images are for x86-64 Linux"
)

words = st.integers(0, 2**64 - 1)


def memory(*values: int) -> Any:
    return (ctypes.c_uint64 * max(1, len(values)))(*values)


@given(st.lists(words, max_size=9))
def test_a_loop_over_memory_wraps_as_its_twin_does(values: list[int]) -> None:
    held = memory(*values)
    args = ctypes.addressof(held), len(values)
    assert native(sample_routines.total)(*args) == sum(values) % 2**64
    assert sample_routines.total(*map(u64, args)) == sum(values) % 2**64


@given(words, words)
def test_constants_and_conversions_are_those_of_the_twin(first: int, second: int) -> None:
    address = ctypes.addressof(held := memory(first, second))
    found = native(sample_routines.low_half_of_second)(address)
    assert found == sample_routines.low_half_of_second(u64(address)) == held[1] & 0xFFFFFFFF


@given(words, st.integers(0, 2**17))
def test_routines_tuples_and_the_stack_are_those_of_the_twin(first: int, by: int) -> None:
    address = ctypes.addressof(held := memory(first))
    assert len(held) == 1
    assert native(sample_routines.mixed)(address, by) == sample_routines.mixed(
        u64(address), u64(by)
    )


def test_an_inlined_routine_gives_its_stack_back_each_time() -> None:
    assert sample_routines.many_stacks(u64(5), u64(3)) == native(sample_routines.many_stacks)(5, 3)
    many, words = 100_000, 1_000  # 800 MB, if they were all there at once
    assert native(sample_routines.many_stacks)(many, words) == many * (many - 1) // 2


def test_a_function_of_c_is_called_by_its_address_with_its_signature() -> None:
    address = ctypes.cast(ctypes.pythonapi.PyFloat_FromDouble, ctypes.c_void_p).value or 0
    for made in (native(sample_routines.half), sample_routines.half):
        found = made(u64(address), u64(7))
        assert ctypes.cast(int(found), ctypes.py_object).value == 3.5


def test_an_error_of_c_waits_in_the_twin_and_is_raised_by_the_compiled_function() -> None:
    address = ctypes.cast(ctypes.pythonapi.PyObject_GetAttr, ctypes.c_void_p).value or 0
    args = [u64(each) for each in (address, id(3), id("no such attribute"))]
    assert sample_routines.attribute(*args) == 0
    assert isinstance(Twin.error, AttributeError)
    Twin.error = None
    with pytest.raises(AttributeError):
        native(sample_routines.attribute)(*args)


def test_a_program_is_printed_as_those_of_kernels_are() -> None:
    text = text_of(program_of(sample_routines.half))
    assert "PyFloat_FromDouble@function((f64(number) * f64(0.5)))" in text


def adds_two_types(word: u64) -> u64:
    return word + load(word, u32)


def has_no_type(word: u64) -> u64:
    count = 0
    while load(word, u64) != 0:
        count += 1
    return u64(count)


def compares_two_types(word: u64) -> u64:
    return u64(word == load(word, u32))  # type: ignore[comparison-overlap]  # it is refused


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (adds_two_types, "u64 and u32 are of different types"),
        (compares_two_types, "u64 and u32 are of different types"),
        (has_no_type, "an int without a type"),
    ],
)
def test_numbers_are_not_converted_unasked(function: Any, words: str) -> None:
    with pytest.raises(KernelError, match=words):
        program_of(function)


def test_numbers_of_two_types_do_not_mix_in_the_twin_either() -> None:
    with pytest.raises(TypeError, match="u64 and u32"):
        u64(1) + u32(1)
    assert u8(250) + 10 == 4
    assert i8(-128) - 1 == 127
    assert 1 - u64(2) == 2**64 - 1
    assert type(3 * u64(2)) is type(1 << u64(3)) is u64
    assert i64(2**63) == -(2**63)


def test_every_address_of_a_twin_is_seen_by_a_check() -> None:
    seen = []
    with own_stack(), checking(lambda address, size: seen.append((address, size))):
        place = stack(2)
        store(place, u64(3))
        store(place + 8, f64(0.5))
        assert load(place, u8) == 3
    assert seen == [(place, 8), (place + 8, 8), (place, 1)]
