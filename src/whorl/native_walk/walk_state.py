"""The memory of the native walk: what it is given, buffers that grow, and two arenas.

A walk is given the address of its state: functions of C, objects of Python, the table of classes,
and buffers that are there from the start. A buffer that becomes too small is replaced by a larger
one, which is given back at the end if it has more than eight megabytes. (For a chain of 100,000
objects, fetching the memory anew each time takes twice as long as the walk.) The interpreter's lock
is held for the whole walk, so one state serves all threads and all policies.

A buffer is four words: where it begins and ends, and where the one began and ended that was there
from the start. An arena is a list of pieces that never move: the newest piece, the first free
place in it, its end, and the first free place of the piece that was there from the start.
"""

from __future__ import annotations

from types import NoneType
from typing import Final

from whorl.launch.object_words import word
from whorl.systems import CFunction, cold, store, u64

from .token_bytes import copy_bytes

PyMem_RawMalloc: Final = CFunction("PyMem_RawMalloc", u64, u64, word=0)
PyMem_RawRealloc: Final = CFunction("PyMem_RawRealloc", u64, u64, u64, word=1)
PyMem_RawFree: Final = CFunction("PyMem_RawFree", NoneType, u64, word=2)
PyDict_Next: Final = CFunction("PyDict_Next", u64, u64, u64, u64, u64, word=3)
PyUnicode_FromStringAndSize: Final = CFunction("PyUnicode_FromStringAndSize", u64, u64, u64, word=4)
Py_IncRef: Final = CFunction("Py_IncRef", NoneType, u64, word=5)
PyTuple_New: Final = CFunction("PyTuple_New", u64, u64, word=6)
PyTuple_SetItem: Final = CFunction("PyTuple_SetItem", u64, u64, u64, u64, word=7)
API: Final = (
    "PyMem_RawMalloc", "PyMem_RawRealloc", "PyMem_RawFree", "PyDict_Next",
    "PyUnicode_FromStringAndSize", "Py_IncRef", "PyTuple_New", "PyTuple_SetItem",
)  # fmt: skip

# Words of the state: what a walk is given,
(
    NONE, TRUE, ELLIPSIS, DICT_CLASS, OBJECT_CLASS, CLASSES, SECRET_AT, COMPLEX_AT, ELLIPSIS_AT,
    HEAD, HEAD_SIZE, NODE_TAG, NODE_VALUES, NODE_ITEMS, NODE_COUNTED,
) = range(8, 23)  # fmt: skip
# and its own memory: buffers, arenas, and single words.
OUT, STACK, MEMO, UNKNOWN, ORDERS = 24, 28, 32, 36, 40
KEPT, SCRATCH = 44, 48
MEMO_COUNT, UNKNOWN_COUNT, FLAT_AT, STATUS, ROOT, DIGEST = 52, 53, 54, 55, 56, 57
STATE_WORDS: Final = DIGEST + 4

# Why a walk ends without a digest.
PLAIN, CYCLE, SHORTAGE = 1, 2, 3

ORDER_SLOTS: Final = 256
CHUNK: Final = 512
_KEPT_BYTES: Final = 1 << 23
_PIECE: Final = 1 << 16
_PIECE_HEAD: Final = 16  # the piece before it, and its own end


@cold
def grow(state: u64, buffer: int, used: u64, need: u64) -> bool:
    """Let a buffer have room for so many bytes behind those that are used; whether it has."""
    start, end, first = word(state, buffer), word(state, buffer + 1), word(state, buffer + 2)
    size = 2 * (end - start) + need
    fresh = u64(0)
    if start == first:
        fresh = PyMem_RawMalloc(state, size)
        if fresh != 0:
            copy_bytes(start, used, fresh)
    else:
        fresh = PyMem_RawRealloc(state, start, size)
    if fresh == 0:
        store(state + 8 * STATUS, u64(SHORTAGE))
        return False
    store(state + 8 * buffer, fresh)
    store(state + 8 * buffer + 8, fresh + size)
    return True


@cold
def more_room(state: u64, pos: u64, need: u64) -> u64:
    """The place in a larger buffer of tokens; 0 if there is no memory."""
    used = pos - word(state, OUT)
    if not grow(state, OUT, used, need):
        return u64(0)
    return word(state, OUT) + used


def with_room(state: u64, pos: u64, need: u64) -> u64:
    """The same place among the tokens, with room behind it; 0 if there is no memory."""
    if pos + need <= word(state, OUT + 1):
        return pos
    return more_room(state, pos, need)


def give_back(state: u64, buffer: int) -> None:
    """Let a buffer that is very large be the one again that was there from the start."""
    if word(state, buffer + 1) - word(state, buffer) > _KEPT_BYTES:
        PyMem_RawFree(state, word(state, buffer))
        store(state + 8 * buffer, word(state, buffer + 2))
        store(state + 8 * buffer + 8, word(state, buffer + 3))


# -- arenas -----------------------------------------------------------------------------


@cold
def piece(state: u64, arena: int, size: u64) -> u64:
    """Memory from a new piece of an arena; 0 if there is none."""
    whole = size + _PIECE_HEAD
    if whole < _PIECE:
        whole = u64(_PIECE)
    fresh = PyMem_RawMalloc(state, whole)
    if fresh == 0:
        store(state + 8 * STATUS, u64(SHORTAGE))
        return u64(0)
    store(fresh, word(state, arena))
    store(fresh + 8, fresh + whole)
    store(state + 8 * arena, fresh)
    store(state + 8 * arena + 8, fresh + _PIECE_HEAD + size)
    store(state + 8 * arena + 16, fresh + whole)
    return fresh + _PIECE_HEAD


def take(state: u64, arena: int, size: u64) -> u64:
    """Memory from an arena: so many bytes, which is a multiple of eight; 0 if there is none."""
    place = word(state, arena + 1)
    if place + size <= word(state, arena + 2):
        store(state + 8 * arena + 8, place + size)
        return place
    return piece(state, arena, size)


@cold
def release_pieces(state: u64, arena: int, mark: u64) -> None:
    """The same, where pieces were added since."""
    newest = word(state, arena)
    while mark <= newest or mark > word(newest, 1):
        before = word(newest, 0)
        PyMem_RawFree(state, newest)
        newest = before
    store(state + 8 * arena, newest)
    store(state + 8 * arena + 8, mark)
    store(state + 8 * arena + 16, word(newest, 1))


def release(state: u64, arena: int, mark: u64) -> None:
    """Give back what was taken from an arena since its first free place was this one."""
    newest = word(state, arena)
    if mark > newest and mark <= word(newest, 1):
        store(state + 8 * arena + 8, mark)
    else:
        release_pieces(state, arena, mark)
