"""A layout that is wrong anywhere is noticed before it is used, and without a crash."""

from __future__ import annotations

import ctypes
import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whorl
import whorl.testing
from tests.kernels.native_calls import is_native, needs_native
from whorl.launch import callable as native_callable
from whorl.launch import (
    failure,
    layout_search,
    native_tables,
    routine,
    status,
)
from whorl.launch.callable import NotKnown, class_layout, words_of
from whorl.launch.canary import check_layout
from whorl.launch.object_layout import ObjectLayout
from whorl.launch.probed_memory import ProbedMemory

pytestmark = needs_native


def fields() -> list[tuple[str, ...]]:
    found = layout_search.object_layout()
    names: list[tuple[str, ...]] = []
    for name in ObjectLayout.__slots__:
        value = getattr(found, name)
        inner = getattr(value, "__slots__", None)
        names += [(name,)] if inner is None else [(name, each) for each in inner]
    return names


def replaced(path: tuple[str, ...], value: Any) -> ObjectLayout:
    found: Any = layout_search.object_layout()
    name, *rest = path
    if rest:
        value = dataclasses.replace(getattr(found, name), **{rest[0]: value})
    changed: ObjectLayout = dataclasses.replace(found, **{name: value})
    return changed


def value_of(path: tuple[str, ...]) -> Any:
    found: Any = layout_search.object_layout()
    for name in path:
        found = getattr(found, name)
    return found


def test_the_layout_of_this_interpreter_is_right() -> None:
    check_layout(layout_search.object_layout())


UNUSED = {  # by the way in which instances keep their values here
    "pointer": {("instance", "valid")},
    "tagged": {("instance", "pointer"), ("instance", "valid")},
    "embedded": {("instance", "pointer")},
    "": {("instance", each) for each in ("pointer", "values", "valid", "class_keys", "dict")},
}


def is_used(path: tuple[str, ...]) -> bool:
    return path not in UNUSED[layout_search.object_layout().instance.inline]


@pytest.mark.parametrize("path", [each for each in fields() if is_used(each)], ids=".".join)
def test_every_offset_that_is_wrong_is_noticed(path: tuple[str, ...]) -> None:
    right = value_of(path)
    if isinstance(right, str):
        others = {"ints": ("sized", "tagged"), "none": ("counted", "for ever")}
        wrong: Any = others.get(path[-1], ("pointer", "tagged", "embedded"))
        wrong = [each for each in wrong if each != right]
    else:
        steps = (1, 2) if path[-1] in ("index_bits", "kind", "valid") else (4, 8, 16, 64, 4096)
        wrong = [right + sign * step for step in steps for sign in (1, -1)]
        wrong += [] if path in (("descriptor",), ("instance", "dict")) else [1 << 40]
    for each in wrong:
        if each != 0 or path[-1] not in ("descriptor", "dict"):  # where that says: not known
            with pytest.raises(NotKnown):
                check_layout(replaced(path, each))


def test_an_address_that_is_none_is_no_crash() -> None:
    memory = ProbedMemory()
    try:
        for address in (0, 1, 8, -8, 1 << 47, 1 << 62, (1 << 63) - 8, 1 << 64):
            with pytest.raises(NotKnown):
                memory.words(address, 2)
        text = ctypes.create_string_buffer(b"whorl")
        assert memory.bytes(ctypes.addressof(text), 5) == b"whorl"
    finally:
        memory.close()


def test_no_file_stays_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    check_layout(layout_search.object_layout())
    with pytest.raises(NotKnown):
        check_layout(replaced(("float_value",), 8))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_words_of_an_object_end_where_it_ends() -> None:
    for value in ((1, 2), (), ("a",) * 9):
        assert len(words_of(value)) == value.__sizeof__() // 8
        assert 8 * len(words_of(value)) < value.__sizeof__() + 8


def first(thing: Any, k: int) -> Any:
    return thing.x[1] * k, thing.x.shape[0]


class Thing:
    def __init__(self) -> None:
        self.x = np.arange(7.0)[::2]


@pytest.mark.parametrize("path", [("array_shape",), ("float_value",), ("inside", "start")], ids=str)
def test_with_a_layout_that_is_wrong_kernels_are_right_and_one_warning_says_so(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = replaced(path, value_of(path) + 8)
    monkeypatch.setattr(layout_search, "ObjectLayout", lambda **found: wrong)
    monkeypatch.setattr(routine, "_addresses", {})
    monkeypatch.setattr(native_tables, "_classes", {})
    monkeypatch.setattr(failure, "_reasons", {})
    layout_search.object_layout.cache_clear()
    try:
        with whorl.testing.fresh_cache(), caplog.at_level(logging.WARNING, "whorl.launch"):
            for _ in range(2):  # kernels
                kernel: Any = whorl.kernel(first)
                thing = Thing()
                for k in range(8):
                    assert kernel(thing, k) == (2.0 * k, 4)
                assert not is_native(kernel)
        on, reason = status()
    finally:
        monkeypatch.setattr(layout_search, "ObjectLayout", ObjectLayout)
        layout_search.object_layout.cache_clear()
    assert not on
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"kernels are launched in Python: {reason}"]


def test_the_layout_is_that_of_this_process_again() -> None:
    assert class_layout().base_size == object.__basicsize__
    assert native_callable.native_base().__basicsize__ > object.__basicsize__
    assert status() == (True, "")
