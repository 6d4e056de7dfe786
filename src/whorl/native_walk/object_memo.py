"""What a native walk remembers of objects, by address.

An object that only one reference leads to is met once and not remembered. Any other is put down
when the walk goes on to its parts, and its tokens are kept when it has been met a second time: so
a graph with many paths is walked about twice, and a tree costs nothing. An object that is met while
the walk is among its parts is on a cycle.

    entry    key, and: OPEN, SEEN, AGAIN, ASKED; the address of a copy; or that of an answer
    copy     bytes, tokens, and the bytes themselves

The keys of copies are addresses of objects. Answers, which Python has given for what only it can
describe, are found by the address of the object or of its class, and OF_OBJECT or OF_CLASS more:
an object may be described in one walk and have parts in the next, because it was changed between
them, and an answer must not be taken for a copy.
"""

from __future__ import annotations

from typing import Final

from whorl.launch.object_words import word
from whorl.systems import cold, inlined, load, routine, store, u64, upto

from .token_bytes import copy_bytes
from .walk_state import KEPT, MEMO, MEMO_COUNT, UNKNOWN, UNKNOWN_COUNT, grow, take

OPEN, SEEN, AGAIN, ASKED = 1, 2, 3, 4
OF_CLASS, OF_OBJECT = 1, 2
_STATES: Final = 16  # what is more is an address
_ENTRY: Final = 16  # bytes
_MIX: Final = 0x9E3779B97F4A7C15


def mixed(key: u64) -> u64:
    """Where to begin looking for a key."""
    product = key * _MIX
    return product >> 32


@inlined
def entry_of(state: u64, key: u64) -> u64:
    """The entry of a key, or the free one where it belongs."""
    start = word(state, MEMO)
    mask = word(state, MEMO + 1) - start - 1
    place = (mixed(key) * _ENTRY) & mask
    while True:
        found = load(start + place, u64)
        if found == key or found == 0:
            break
        place = (place + _ENTRY) & mask
    return start + place


@routine
def install(state: u64, key: u64, value: u64) -> bool:
    """Put a new key down; whether there is memory for it."""
    count = word(state, MEMO_COUNT) + 1
    is_full = 2 * _ENTRY * count > word(state, MEMO + 1) - word(state, MEMO)
    if is_full and not enlarge(state):
        return False
    store(state + 8 * MEMO_COUNT, count)
    entry = entry_of(state, key)
    store(entry, key)
    store(entry + 8, value)
    return True


@cold
def enlarge(state: u64) -> bool:
    """Make the table twice as large."""
    old, end = word(state, MEMO), word(state, MEMO + 1)
    size = end - old
    # What is copied is in the wrong places: the old entries are read from a copy in an arena.
    copy = take(state, KEPT, size)
    if copy == 0:
        return False
    copy_bytes(old, size, copy)
    if not grow(state, MEMO, u64(0), u64(0)):
        return False
    start = word(state, MEMO)
    for i in upto((2 * size) >> 3):
        store(start + 8 * i, u64(0))
    place = copy
    while place < copy + size:
        key = load(place, u64)
        if key != 0:
            entry = entry_of(state, key)
            store(entry, key)
            store(entry + 8, load(place + 8, u64))
        place += _ENTRY
    return True


@routine
def meet(state: u64, value: u64) -> u64:
    """What is known of an object whose parts come next.

    OPEN and AGAIN: now it is on the way, for the first or second time; SEEN: it was so already; 0:
    no memory; anything else is the copy of its tokens.
    """
    entry = entry_of(state, value)
    if load(entry, u64) == 0:
        return u64(OPEN) if install(state, value, u64(OPEN)) else u64(0)
    known = load(entry + 8, u64)
    if known == SEEN:
        store(entry + 8, u64(AGAIN))
        return u64(AGAIN)
    return known if known >= _STATES else u64(SEEN)


@routine
def leave(state: u64, value: u64, how: u64, start: u64, size: u64, tokens: u64) -> bool:
    """Put down that the parts of an object are done; whether there is memory for its tokens."""
    entry = entry_of(state, value)
    if how == OPEN:
        store(entry + 8, u64(SEEN))
        return True
    copy = take(state, KEPT, 8 * ((size + 7) >> 3) + 16)
    if copy == 0:
        return False
    store(copy, size)
    store(copy + 8, tokens)
    copy_bytes(start, size, copy + 16)
    store(entry + 8, copy)
    return True


@routine
def answer_to(state: u64, value: u64, key: u64) -> u64:
    """Python's answer for an object; 0 if there is none yet: then it will be asked."""
    entry = entry_of(state, key)
    if load(entry, u64) == key:
        known = load(entry + 8, u64)
        return known if known >= _STATES else u64(0)
    count = word(state, UNKNOWN_COUNT)
    place = word(state, UNKNOWN) + 8 * count
    if place + 8 > word(state, UNKNOWN + 1):
        if not grow(state, UNKNOWN, 8 * count, u64(8)):
            return u64(0)
        place = word(state, UNKNOWN) + 8 * count
    store(place, value + (key & OF_CLASS))
    store(state + 8 * UNKNOWN_COUNT, count + 1)
    install(state, key, u64(ASKED))
    return u64(0)
