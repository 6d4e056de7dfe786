"""The text of what binds, for every way to count; and what it expects of partials and classes."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest

from whorl.late import replace
from whorl.launch.binding import (
    DEALLOC,
    PartialLayout,
    binding_text,
    original_slot,
    partial_layout,
    place_of_slot,
)
from whorl.launch.class_layout import NotKnown
from whorl.launch.layout import layout
from whorl.launch.native import routine_text


@pytest.mark.parametrize("none", ["counted", "for ever", "call"])
def test_all_texts_are_valid(none: str) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    at = replace(layout(), none=none)
    partial = PartialLayout(func=16, args=24, keywords=32, dict=40, weak=48, call=56)
    made = llvm.parse_assembly(binding_text(at, partial, 32))
    made.verify()
    assert made.get_function(DEALLOC)
    llvm.parse_assembly(routine_text(at)).verify()
    llvm.parse_assembly(routine_text(None)).verify()


def test_partials_are_known_where_bound_kernels_are_resumed_natively() -> None:
    if sys.version_info < (3, 14):
        assert partial_layout(functools.partial).func >= object.__basicsize__
    else:
        with pytest.raises(NotKnown):
            partial_layout(functools.partial)


def test_a_python_that_is_not_known_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 99))
    with pytest.raises(NotKnown):
        partial_layout(functools.partial)


def test_partials_with_more_in_them_are_not_known() -> None:
    class Larger(functools.partial[Any]):
        __slots__ = ("more",)

    with pytest.raises(NotKnown):
        partial_layout(Larger)


def test_slots_are_found_in_classes() -> None:
    class Getter:
        def __get__(self, *of: object) -> int:
            return 7

    place = place_of_slot("descr_get", Getter, property, classmethod)
    assert place == place_of_slot("descr_get", staticmethod, type(lambda: 0))
    assert not original_slot(int, "descr_get")
    with pytest.raises(NotKnown):
        place_of_slot("descr_get", Getter, int)
