"""Finds the entry of a dict by its number, and the words that show that it stays there.

As long as a dict has the same keys, of the same size and kind, a number has the same place.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .instances import PAIR, Attributes, DictLayout, attributes_in_dict
from .layout_search import object_layout

__all__ = ["entries_of", "key_number", "keys_bits", "keys_word", "own_key", "pair_of"]


def keys_word(inside: DictLayout) -> int:
    """Where, among the keys of a dict, the word is that says how large their index is."""
    return min(inside.index_bits, inside.kind) & ~7


def keys_bits(inside: DictLayout) -> int:
    """The bits of that word: the size of the index, and of which kind the keys are."""
    first = keys_word(inside)
    return 0xFF << 8 * (inside.index_bits - first) | 0xFF << 8 * (inside.kind - first)


def pair_of(scope: int, number: int) -> tuple[int, int, int, int]:
    """Where a dict has its keys, what they say of themselves, the pair of a number, the values.

    No values: they stand beside the keys. No keys: it is not known where anything is, and the
    launcher looks for it each time.
    """
    inside = object_layout().inside
    keys = ctypes.c_int64.from_address(scope + inside.keys).value
    # Another thread may exchange the keys at any moment: all that follows is about these.
    first = keys_word(inside)
    word = ctypes.c_uint64.from_address(keys + first).value & keys_bits(inside)
    index_bits = word >> 8 * (inside.index_bits - first) & 0xFF
    has_texts = word >> 8 * (inside.kind - first) & 0xFF
    values = ctypes.c_int64.from_address(scope + inside.values).value
    if not has_texts or (values and not object_layout().instance.dict):
        return 0, 0, 0, 0
    return keys, word, keys + inside.start + (1 << index_bits) + PAIR * number, values


def entries_of(scope: object) -> Attributes | None:
    """Where a dict keeps its entries; None for other objects, and if not all keys are texts."""
    if type(scope) is not dict:
        return None
    return attributes_in_dict(id(scope), object_layout().inside, object_layout().instance)


def key_number(scope: dict[Any, Any], key: str) -> int:
    """The number of the entry with a key, as a hint for the launcher; 0 if it is not known."""
    entries = entries_of(scope)
    return 0 if entries is None else max(entries.number(key), 0)


def own_key(scope: dict[Any, Any], key: str) -> str:
    """The text by which a dict knows what a key leads to: `__main__` is not one for all, say.

    >>> text = "".join(["a", "b"])
    >>> own_key({text: 1}, "ab") is text
    True
    """
    entries = entries_of(scope)
    if entries is None or entries.number(key) >= 0:
        return key
    return next((each for each in list(scope) if each == key), key)
