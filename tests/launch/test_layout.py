"""Offsets are found in known objects, and are right for others."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from whorl.launch.callable import NotKnown, class_layout
from whorl.launch.layout_search import object_layout


def test_the_layout_of_this_interpreter_is_found() -> None:
    found = object_layout()
    assert found.type == 8
    assert found.base_size == object.__basicsize__


def test_arrays_are_read_through_it() -> None:
    found = object_layout()
    for array in (np.zeros((2, 3, 4)), np.arange(10, dtype="u1")[::3], np.array(1.0)):
        at = id(array)
        assert ctypes.c_int32.from_address(at + found.array_ndim).value == array.ndim
        strides = ctypes.c_int64.from_address(at + found.array_strides).value
        count = array.ndim
        if count:
            assert tuple((ctypes.c_int64 * count).from_address(strides)) == array.strides


def test_functions_and_classes_are_read_through_it() -> None:
    found = object_layout()

    def function() -> None: ...

    class Thing: ...

    code = ctypes.c_int64.from_address(id(function) + found.function_code).value
    assert code == id(function.__code__)
    assert ctypes.c_uint64.from_address(id(Thing) + found.type_flags).value == Thing.__flags__


def test_a_build_without_a_global_lock_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    class_layout.cache_clear()
    monkeypatch.setattr(sys, "abiflags", "t")  # also where PYTHON_GIL=1 has it use one
    with pytest.raises(NotKnown, match="global lock"):
        class_layout()


def test_another_implementation_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (object_layout, class_layout):
        found.cache_clear()
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    for found in (object_layout, class_layout):
        with pytest.raises(NotKnown, match="pypy"):
            found()
