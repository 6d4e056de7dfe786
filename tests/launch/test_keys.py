"""Where a dict has the pair of a number, also if somebody changes it at that moment."""

from __future__ import annotations

import ctypes
import sys
from types import FrameType
from typing import Any

import pytest

from whorl.launch.layout_search import object_layout
from whorl.launch.member_places import own_key, pair_of

NOWHERE = (0, 0, 0, 0)


def place_among(keys: int, word: int, number: int) -> int:
    """Where the pair of a number is among keys that say this of themselves."""
    inside = object_layout().inside
    first = min(inside.index_bits, inside.kind) & ~7
    bits = word >> 8 * (inside.index_bits - first) & 0xFF
    return keys + inside.start + (1 << bits) + 16 * number


def test_a_pair_holds_the_name_and_what_it_leads_to() -> None:
    for size in (1, 6, 40, 300):
        scope = {sys.intern(f"whorl_{i}"): [i] for i in range(size)}
        for number, (name, value) in enumerate(scope.items()):
            keys, word, pair, values = pair_of(id(scope), number)
            assert (pair, values) == (place_among(keys, word, number), 0)
            found = (ctypes.c_int64 * 2).from_address(pair)
            assert list(found) == [id(name), id(value)]


def test_dicts_of_other_keys_have_no_known_pairs() -> None:
    for mixed in ({1: 2}, {"a": 1, 2: 3}):
        assert pair_of(id(mixed), 0) == NOWHERE


@pytest.mark.parametrize("moment", range(30))
def test_a_dict_that_grows_meanwhile_is_not_said_to_have_its_old_pairs(moment: int) -> None:
    scope: dict[Any, Any] = {sys.intern(f"whorl_{i}"): [i] for i in range(5)}
    left = moment

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        left -= 1
        if left == 0:  # as another thread could
            scope.update({f"whorl_more_{i}": i for i in range(100)})
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = pair_of(id(scope), 3)
    finally:
        sys.settrace(before)
    keys, word, pair, _ = found
    assert found == NOWHERE or pair == place_among(keys, word, 3)


def test_a_key_is_the_very_text_that_the_dict_has() -> None:
    text = "".join(["who", "rl_key"])
    assert own_key({text: 1}, "whorl_key") is text
    assert own_key({}, "whorl_key") == "whorl_key"
