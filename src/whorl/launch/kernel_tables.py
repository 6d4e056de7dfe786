"""Makes the native table for calls like a given one of a loaded kernel.

Everything here is for kernels that are called more than a few times, and imported when the first
one is: a process that calls each kernel once or twice needs none of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.reads import Aspect, Path, Read, Shape, World
from whorl.reads.replay import live_facts
from whorl.reads.world import Once
from whorl.signals import is_of_signal_handler

from .c_api import api_table
from .graph_status import ENDED, GraphStatus, labels_of
from .launch_record import CHECKPOINT, offsets, words_of
from .members import BARE
from .result_objects import ARGUMENT, OBJECT
from .routine import launcher_at
from .runtime import parallel_address, thread_count
from .selector import NO_PARAMETERS, Marks, Parameters, header_of
from .slot_types import ArrayType, Scalar
from .table import Choice, Launch, NotNative, SlotWords, Table, table_of

if TYPE_CHECKING:
    from whorl.store import Cache

    from .plain_launch import NativeCall

__all__ = [
    "NO_MARKS", "NO_PARAMETERS", "NotNative", "api_of_all", "header_of", "is_reached", "launcher",
    "table_for",
]  # fmt: skip

NO_MARKS: Final = Marks({})
_LABEL: Final = "from_checkpoint"
_PYTHON: Final = {"b": "bool", "i": "int", "f": "float"}  # the others are known by their class
_ANY_NUMBER: Final = 0x04 | 0x08  # flags of code: *args, **kwargs


def launcher(cache: Cache) -> int | None:
    """The address of the launcher, from where a kernel keeps what it compiles."""
    return launcher_at(cache)


@cache
def api_of_all() -> Any:
    """The table of addresses that all launches use."""
    return api_table()


def table_for(call: NativeCall) -> Table:
    """The table for calls that read the same as this one; `NotNative` if there is none."""
    world = Once(call.world)
    parts, number = call.parts, call.number
    if parts.streams:
        raise NotNative("it draws from a bit generator, which is locked in Python")
    first, results = offsets([type for _, type in parts.slots])
    slots = {
        path: _slot_words(type, word, is_lean=place in parts.lean)
        for place, ((path, type), word) in enumerate(zip(parts.slots, first, strict=True))
    }
    template = (ctypes.c_int64 * 8)(
        thread_count() if parts.is_parallel else 1,
        parallel_address() if parts.is_parallel else 0,
        parts.printer,
    )
    template[CHECKPOINT] = number
    count, plan = _result_plan(call, results)
    labels: tuple[Any, ...] = ()
    if parts.checkpoints is not None:
        labels = labels_of(parts.checkpoints, cast("World", world))
        plan = Choice(CHECKPOINT, (ENDED, *(GraphStatus(True, label) for label in labels)))
    launch = Launch(
        parts.address,
        ctypes.addressof(template),
        results + max(1, count),
        plan,
        parts.failed,
        parts.releases,
        keeps=parts.releases or parts.polls,
    )
    label = (labels[number - 1],) if number else ()
    parameters = _parameters(world, is_labelled=bool(number))
    table = table_of(call.known.shape, slots, world, parameters, launch, *label, given=call.given)
    table.references.append(template)
    table.owner = parts
    table.facts = live_facts(call.known.shape, cast("World", world))
    return table


def _parameters(world: Once, *, is_labelled: bool) -> Parameters:
    """The parameters of a function, and that of its `resume`, which is by keyword alone."""
    code = world.function.__code__
    if code.co_flags & _ANY_NUMBER:
        raise NotNative("it takes any number of arguments")
    names: list[str | None] = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    names[: code.co_posonlyargcount] = [None] * code.co_posonlyargcount
    if is_labelled:
        names = [None if name == _LABEL else name for name in names] + [_LABEL]
    return Parameters(tuple(names), code.co_argcount)


def is_reached(
    table: Table, register: int, error: Exception, world_of: Callable[[], World]
) -> bool:
    """Whether a call comes to what is read into a register of a table, and raises this there.

    It does if all that is read before is as it is for the calls that the table is for. What is
    absent is not raised: that is for the compiler to judge. A handler of a signal can raise
    anywhere, and what it raises is always the caller's.
    """
    path = table.paths.get(register)
    if path is None or is_of_signal_handler(error):
        return True
    absent = LookupError if path.steps[-1].operation == "item" else AttributeError
    if isinstance(error, absent):
        return False
    world = Once(world_of())
    before = tuple(takewhile(lambda read: not _leads_through(read, path), table.shape.reads))
    count = sum(3 if read.aspect is Aspect.ARRAY else 1 for read in before)
    facts = live_facts(Shape(before), cast("World", world))
    return facts[:count] == table.facts[:count]


def _leads_through(read: Read, path: Path) -> bool:
    """Whether a read passes a path."""
    return any(
        (each.root, each.name, each.steps[: len(path.steps)]) == (path.root, path.name, path.steps)
        for each in (read.path, *read.beside)
    )


def _slot_words(type: Scalar | ArrayType, word: int, *, is_lean: bool) -> SlotWords:
    if isinstance(type, ArrayType):
        return SlotWords("array", word, BARE if is_lean else int(type.has_strides))
    return SlotWords(_PYTHON.get(type.kind, "scalar") if type.weak else "scalar", word)


def _result_plan(call: NativeCall, word: int) -> tuple[int, Any]:
    """How many words the results take, and what each is; `NotNative` for what is not made so."""
    parts = call.parts
    result = parts.result
    if not all(parts.arrays):
        raise NotNative("it returns an array that it has not made")
    if result is None:
        return len(parts.arrays), None
    items = result[1] if result[0] == "tuple" else [result]
    if not items:
        raise NotNative("it returns an empty tuple")
    if any(item is None or item[0] in ("tuple", "named") for item in items):
        raise NotNative("it returns a tuple with more than numbers and arrays in it")
    objects = word + sum(_words(item) for item in items if item[0] == "number")
    arguments = max(word + 1, objects + len(parts.arrays))  # which are behind the record
    plan: list[tuple[str, int, int]] = []
    place = word
    for kind, *item in items:
        if kind == "number":
            plan.append((item[0], item[1], place))
            place += _words((kind, *item))
        elif kind == "slot":
            plan.append((ARGUMENT, 64, arguments + _register(call, item[0])))
        else:
            is_first = (OBJECT, 64, objects + item[0]) not in plan
            plan.append((OBJECT if is_first else ARGUMENT, 64, objects + item[0]))
    return arguments - word, tuple(plan) if result[0] == "tuple" else plan[0]


def _register(call: NativeCall, slot: int) -> int:
    """The register with an argument that is returned."""
    path, _ = call.parts.slots[slot]
    count, names = call.given
    number = call.parts.parameters.index(path.name) if path.root == "arg" else count
    if path.root != "arg" or path.steps or not (number < count or path.name in names):
        raise NotNative("it returns an array that is no argument")
    return number


def _words(number: Any) -> int:
    """How many words a number among the results takes."""
    return words_of(Scalar(number[1], number[2]))
