"""The loop of a ufunc, in the systems dialect: from NumPy's arguments to a launch of a kernel.

NumPy calls it with the addresses of the operands, the extents, the steps in bytes, and a block of
words that is made once for each loop (`loop_block`):

    api, failed, operands, words of the record, serial and contiguous, serial and strided, parallel,
    the first words of a launch record, then a row for each slot of the kernel:
        operand, size of an element, dimensions, where its inner steps are, which extents it has

It runs without the lock of the interpreter. The kernel for contiguous operands is the one that LLVM
turns into vector instructions. Threads share the work where the operands are contiguous and what is
written does not overlap what is read, except element by element: `accumulate` reads what it has
just written.
"""

from __future__ import annotations

from types import NoneType
from typing import Final

from whorl.launch.launch_record import FIRST_SLOT, STATUS
from whorl.launch.object_words import word
from whorl.systems import CFunction, cold, stack, store, u64, upto

__all__ = ["API", "HEAD", "ROW", "ROWS", "whorl_ufunc_loop"]

API: Final = (
    "PyGILState_Ensure", "PyGILState_Release", "PyBytes_FromStringAndSize", "PyObject_CallOneArg",
    "Py_DecRef",
)  # fmt: skip
_ensure: Final = CFunction(API[0], u64, word=0)
_release: Final = CFunction(API[1], NoneType, u64, word=1)
_bytes: Final = CFunction(API[2], u64, u64, u64, word=2)
_call: Final = CFunction(API[3], u64, u64, u64, word=3)
_forget: Final = CFunction(API[4], NoneType, u64, word=4)
_Kernel: Final = CFunction("the kernel", NoneType, u64)

_API, _FAILED, _OPERANDS, _WORDS, _CONTIGUOUS, _STRIDED, _PARALLEL, HEAD = range(8)
ROWS: Final = HEAD + 9  # the first words of a record, and how many rows there are
_COUNT: Final = ROWS - 1
_OPERAND, _SIZE, _NDIM, _INNER, _EXTENTS = range(5)
ROW: Final = _EXTENTS + 8
_HEAD_WORDS: Final = tuple(range(FIRST_SLOT))
_STATUS_BYTES: Final = 32


def whorl_ufunc_loop(operands: u64, extents: u64, steps: u64, block: u64) -> None:
    """Run the kernel over the operands."""
    record = stack(word(block, _WORDS))
    for i in _HEAD_WORDS:
        store(record + 8 * i, word(block, HEAD + i))
    entry = word(block, _STRIDED)
    if are_contiguous(extents, steps, block):
        entry = word(block, _CONTIGUOUS)
        if word(block, _PARALLEL) != 0 and are_apart(operands, extents, block):
            entry = word(block, _PARALLEL)
        put_operands(record, operands, extents, steps, block, False)
    else:
        put_operands(record, operands, extents, steps, block, True)
    _Kernel(entry, record)
    if word(record, STATUS) != 0:
        raise_failure(block, record)


def are_contiguous(extents: u64, steps: u64, block: u64) -> bool:
    """Whether the elements of every operand are neighbours in memory, in their order."""
    for i in upto(word(block, _COUNT)):
        row = _row(block, i)
        size = word(row, _SIZE)
        dimension = word(row, _NDIM)
        while dimension > 1:
            dimension -= 1
            if word(steps, word(row, _INNER) + dimension - 1) != size:
                return False
            size *= word(extents, word(row, u64(_EXTENTS) + dimension))
        if word(steps, word(row, _OPERAND)) != size:
            return False
    return True


def are_apart(operands: u64, extents: u64, block: u64) -> bool:
    """Whether no two operands overlap, unless they begin at the same place."""
    count = word(block, _COUNT)
    for i in upto(count):
        begin = word(operands, word(_row(block, i), _OPERAND))
        end = begin + size_of(extents, _row(block, i))
        for j in upto(count):
            other = word(operands, word(_row(block, j), _OPERAND))
            if other > begin and other < end:
                return False
    return True


def size_of(extents: u64, row: u64) -> u64:
    """How many bytes a contiguous operand has."""
    size = word(row, _SIZE)
    for k in upto(word(row, _NDIM)):
        size *= word(extents, word(row, u64(_EXTENTS) + k))
    return size


def put_operands(
    record: u64, operands: u64, extents: u64, steps: u64, block: u64, has_strides: bool
) -> None:
    """Put address, extents and strides of each operand into its slot."""
    slot = record + 8 * FIRST_SLOT
    for i in upto(word(block, _COUNT)):
        row = _row(block, i)
        operand, ndim = word(row, _OPERAND), word(row, _NDIM)
        store(slot, word(operands, operand))
        slot += 8
        for k in upto(ndim):
            store(slot, word(extents, word(row, u64(_EXTENTS) + k)))
            slot += 8
        if has_strides:
            store(slot, word(steps, operand))
            slot += 8
            for k in upto(ndim - 1):
                store(slot, word(steps, word(row, _INNER) + k))
                slot += 8


@cold
def raise_failure(block: u64, record: u64) -> None:
    """Let Python raise what the status of the launch says."""
    api = word(block, _API)
    state = _ensure(api)
    status = _bytes(api, record + 8 * STATUS, _STATUS_BYTES)
    if status != 0:
        result = _call(api, word(block, _FAILED), status)
        _forget(api, status)
        if result != 0:
            _forget(api, result)
    _release(api, state)


def _row(block: u64, number: u64) -> u64:
    return block + 8 * ROWS + 8 * ROW * number
