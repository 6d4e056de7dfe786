"""Makes the table of a specialization: its reads, as operations of the native launcher.

Each path is walked into a register, shared parts once (`table_paths`); each read becomes a check
(`table_checks`); the operations are put in order, and simplified (`table_state`).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from typing import Any, Final

from whorl.fast_dataclasses import dataclass, field
from whorl.reads import Path, Shape, World
from whorl.reads.world import Once

from .member_places import pair_of
from .native import SPECIAL_WORDS
from .result_objects import CHOICE, NOTHING, NUMBERS, ONE
from .selector import MOST_PARAMETERS, Marks, Parameters
from .table_checks import check_defaults, check_label, check_read, check_surroundings
from .table_operations import KINDS, OP_WORDS, OPERATIONS
from .table_paths import plan_paths
from .table_state import ArrayRun, NotNative, Row, SlotWords, TableState, simplify

__all__ = [
    "Choice", "Launch", "NotNative", "SlotWords", "Table", "result_words", "table_of",
]  # fmt: skip

_RUNS_CODE: Final = frozenset(KINDS[row.name] for row in OPERATIONS if row.runs_code)
_ABOUT: Final = frozenset(KINDS[name] for name in ("INT", "FLOAT", "BOOL", "SCALAR"))


@dataclass(frozen=True, slots=True)
class Choice:
    """A result that is one of some objects: that of the number in a word."""

    word: int
    objects: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """The compiled kernel behind a table."""

    entry: int
    template: int  # the address of the record's first eight words
    words: int
    results: tuple[tuple[str, int, int], ...] | tuple[str, int, int] | Choice | None
    """Kind, bits and word of a number, or of several; or one of some objects."""
    failed: Any  # called with the status words of a launch that failed; it raises
    releases: bool
    keeps: bool = False  # whether other code may run meanwhile, and replace what is launched with


@dataclass(slots=True, eq=False)
class Table:
    """A table in memory, and what it refers to by address."""

    address: int
    arguments: int  # which are given: see `Parameters.word`
    parameters: Parameters
    marks: Marks  # what tells it apart from others
    form: tuple[int | bytes, ...]  # equal for tables that fit the same calls
    shape: Shape
    paths: dict[int, Path]  # by the register with what is there
    references: list[Any] = field(default_factory=list)
    owner: object = None  # what it launches
    facts: tuple[Any, ...] = ()  # of the calls that fit, for the reads of the shape


def table_of(
    shape: Shape,
    slots: Mapping[Path, SlotWords],
    world: World | Once,
    parameters: Parameters,
    launch: Launch,
    *label: object,
    given: tuple[int, frozenset[str]],
) -> Table:
    """The table for calls whose facts are those of a world; `NotNative` if there is none.

    `given` is how many arguments are given by position, and which by keyword: the others are those
    of the function's defaults. With a label it is for calls that have it as their last parameter.
    """
    state = TableState(
        world, parameters, _given(parameters, given, label), slots, keeps=launch.keeps
    )
    for each in label:
        check_label(state, each)
    check_defaults(state)
    plan_paths(state, shape.reads)
    check_surroundings(state)
    for read in shape.reads:
        check_read(state, read)
    for path in slots:
        if path not in state.filled:
            raise NotNative(f"{path} is not read on its own")
    return _in_memory(state, shape, launch)


def _given(
    parameters: Parameters, given: tuple[int, frozenset[str]], label: tuple[object, ...]
) -> frozenset[int]:
    """The numbers of the parameters that are given."""
    count, names = given
    numbers = {*range(count), *(parameters.names.index(name) for name in names)}
    if label:
        numbers.add(len(parameters.names) - 1)
    if (names or label) and len(parameters.names) > MOST_PARAMETERS:
        raise NotNative("it has too many parameters for arguments by keyword")
    return frozenset(numbers)


def _in_memory(state: TableState, shape: Shape, launch: Launch) -> Table:
    """The table in memory."""
    memories: dict[int, bytes] = {}  # of entries, by where they are: what tells calls apart
    every = _ordered(state, memories)
    operations = (ctypes.c_int64 * len(every))(*every)
    results = result_words(launch.results)
    arguments = state.parameters.word(state.given)
    words = (
        arguments,
        state.count,
        launch.words,
        launch.entry,
        launch.template,
        ctypes.addressof(operations),
        len(every) // OP_WORDS,
        ctypes.addressof(results),
        id(launch.failed),
        int(launch.releases),
    )
    memory = (ctypes.c_int64 * SPECIAL_WORDS)(*words)
    return Table(
        ctypes.addressof(memory),
        arguments,
        state.parameters,
        Marks(state.marks, state.marked),
        (launch.entry, arguments, *(memories.get(word, word) for word in every)),
        shape,
        {register: path for path, register in state.registers.items()},
        [*state.references, operations, results, memory, launch],
    )


def _ordered(state: TableState, memories: dict[int, bytes]) -> list[int]:
    """The operations in order.

    What is about the arguments themselves tells most specializations apart, so it comes
    before everything else, unless code of the user runs after it and could change them.
    """
    first, then = state.first, state.then
    simplify(first, then, state.fixed, _registers_of_runs(state.runs))
    stays = [row for row in first if row[0] == KINDS["STAYS"]]
    first = [row for row in first if row[0] != KINDS["STAYS"]]
    if stays:  # after all that runs code of the user
        first.append(_stays(state, memories, stays))
    runs = {run: _run(state, memories, run, entries) for run, entries in state.runs.items()}
    runs_code = any(operation[0] in _RUNS_CODE for operation in first)
    for operation in first:
        if operation[0] == KINDS["GLOBAL"]:
            operation[6] = int(runs_code or state.keeps)  # whether to keep it
    count = len(state.parameters.names)
    about = [
        *(words for run, words in runs.items() if run.is_about),
        *(each for each in then if each[0] in _ABOUT and each[1] < count),
    ]
    rest = [
        *(each for each in then if each[0] not in _ABOUT or each[1] >= count),
        *([_words(state, memories)] if state.fixed else []),
        *(words for run, words in runs.items() if not run.is_about),
    ]
    order = (*first, *about, *rest) if runs_code else (*about, *first, *rest)
    return [word for operation in (*state.before, *order) for word in operation]


def _registers_of_runs(runs: Mapping[ArrayRun, list[bytes]]) -> set[int]:
    """The registers that runs of arrays look into."""
    arrays = {
        struct.unpack_from("<I", entry)[0] // 8
        for run, entries in runs.items()
        if run.kind == "ARRAYS"
        for entry in entries
    }
    return arrays | {run.place for run in runs if run.kind != "ARRAYS"}


def _stays(state: TableState, memories: dict[int, bytes], rows: list[Row]) -> Row:
    """The operation that sees whether keys lead where they did, one after the other."""
    looked = [(scope, key, value, number) for _, _, _, scope, key, value, number, _ in rows]
    entries = b"".join(struct.pack("<8Q", *row, *pair_of(row[0], row[3])) for row in looked)
    # Where a dict keeps its keys now says nothing about which calls fit.
    form = b"".join(struct.pack("<3Q", *row[:3]) for row in looked)
    return [KINDS["STAYS"], 0, len(rows), _memory(state, memories, entries, form), 0, 0, 0, 0]


def _words(state: TableState, memories: dict[int, bytes]) -> Row:
    """The operation that checks words at fixed addresses, one after the other."""
    rows = [(place, mask, word) for (place, mask), word in state.fixed.items()]
    joined = b"".join(struct.pack("<3Q", *row) for row in rows)
    return [KINDS["WORDS"], 0, len(rows), _memory(state, memories, joined, joined), 0, 0, 0, 0]


def _run(state: TableState, memories: dict[int, bytes], run: ArrayRun, entries: list[bytes]) -> Row:
    """The operation that checks arrays of one kind, one after the other."""
    joined = b"".join(entries)
    place = _memory(state, memories, joined, joined)
    return [KINDS[run.kind], run.place, len(entries), run.dtype, run.ndim, run.flags, place,
            run.extents]  # fmt: skip


def _memory(state: TableState, memories: dict[int, bytes], entries: bytes, form: bytes) -> int:
    """Where the entries of an operation are; `form` is what of them tells calls apart."""
    memory = ctypes.create_string_buffer(entries)
    state.references.append(memory)
    memories[ctypes.addressof(memory)] = form
    return ctypes.addressof(memory)


def result_words(results: Any) -> Any:
    """What is made of the results in a record, as words for the launcher."""
    if results is None:
        words = [NOTHING]
    elif isinstance(results, Choice):
        words = [CHOICE, results.word, *map(id, results.objects)]
    elif isinstance(results[0], str):
        kind, bits, word = results
        words = [ONE, NUMBERS[kind, bits], word]
    else:
        words = [len(results)]
        for kind, bits, word in results:
            words += [NUMBERS[kind, bits], word]
    return (ctypes.c_uint64 * len(words))(*words)
