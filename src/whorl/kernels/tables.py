"""A loaded kernel and the facts of a call in, what launches calls like it out.

Everything here is for kernels that are called more than a few times, and imported when the first
one is: a process that calls each kernel once or twice needs none of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.launch.members import BARE
from whorl.launch.routine import Routines, api_table, routines
from whorl.launch.selector import Marks, header_of
from whorl.launch.table import Chosen, Launch, NotNative, SlotWords, Table, table_of
from whorl.lazy import importing
from whorl.reads import Aspect, Path, Read, Shape, World
from whorl.reads.once import Once
from whorl.reads.replay import live_facts

from .graph import GraphStatus
from .labels import ENDED, labels_of
from .launch import Parts
from .level import host_level
from .machine import load_functions, machine_code
from .packing import packed_launch, result_plan
from .record import CHECKPOINT, offsets
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar

if TYPE_CHECKING:
    from .kernel import NumericKernel
    from .native import Called

__all__ = [
    "NO_MARKS", "NotNative", "Once", "api_of_all", "header_of", "is_reached", "live_facts",
    "packed_for",
    "routines_for", "table_for",
]  # fmt: skip

NO_MARKS: Final = Marks({})
_PYTHON: Final = {"b": "bool", "i": "int", "f": "float"}


def routines_for(kernel: Called) -> Routines | None:
    """The launcher and the packer, from where the kernel keeps what it compiles."""
    level = host_level()
    return routines(
        kernel._cache,
        level,
        lambda text: machine_code(text, level, effort=2),  # as quick, made sooner
        lambda code, names: load_functions(code, names, level),
    )


def packed_for(
    kernel: NumericKernel, parts: Parts, python: Callable[..., Any]
) -> Callable[..., Any]:
    """A builtin that launches like a generated function; that one, where there is none."""
    found = routines_for(kernel)
    if found is None:
        return python
    return packed_launch(parts, kernel.function, python, found.packed, api_of_all())


@cache
def api_of_all() -> Any:
    """The table of addresses that all launches use."""
    return api_table()


def table_for(shape: Shape, world: Once, parts: Parts, number: int, given: int) -> Table:
    """The table for calls that read the same as this one; `NotNative` if there is none.

    With a number it is for calls that resume from the checkpoint of that number. So many
    arguments are given; the others are those of the function's defaults.
    """
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
    count, plan = result_plan(parts.result, results)
    labels: tuple[Any, ...] = ()
    if parts.checkpoints is not None:
        labels = labels_of(parts.checkpoints, cast("World", world))
        plan = Chosen(CHECKPOINT, (ENDED, *(GraphStatus(True, label) for label in labels)))
    launch = Launch(
        parts.address,
        ctypes.addressof(template),
        results + max(1, count),
        plan,
        parts.failed,
        parts.releases,
        keeps=parts.releases or parts.polls,
    )
    resumed = (labels[number - 1],) if number else ()
    names = list(world.arguments)
    table = table_of(shape, slots, world, names, launch, *resumed, given=given)
    table.kept.append(template)
    return table


def is_reached(
    called: Any,
    table: Table,
    register: int,
    error: Exception,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> bool:
    """Whether a call comes to what is read into a register of a table, and raises this there.

    It does if all that is read before is as it is for the calls that the table is for. What is
    absent is not raised: that is for the compiler to judge. A handler of a signal can raise
    anywhere, and what it raises is always the caller's.
    """
    with importing:
        from whorl.reads.signals import is_of_signal_handler

    path = table.paths.get(register)
    if path is None or is_of_signal_handler(error):
        return True
    absent = LookupError if path.steps[-1].operation == "item" else AttributeError
    if isinstance(error, absent):
        return False
    kernel: NumericKernel = getattr(called, "kernel", called)
    given = {name: value for name, value in kwargs.items() if name != "from_checkpoint"}
    values = kernel.lookup.binding.bind(*args, **given)
    world = Once(kernel.lookup.world(values, kernel.compiler.target()))
    before = tuple(takewhile(lambda read: not _leads_through(read, path), table.shape.reads))
    count = sum(3 if read.aspect is Aspect.ARRAY else 1 for read in before)
    facts = live_facts(Shape(before), cast("World", world))
    return facts[:count] == table.facts[:count]


def _leads_through(read: Read, path: Path) -> bool:
    """Whether something is on the way to what is read."""
    return any(
        (each.root, each.name, each.steps[: len(path.steps)]) == (path.root, path.name, path.steps)
        for each in (read.path, *read.beside)
    )


def _slot_words(type: Scalar | ArrayType, word: int, *, is_lean: bool) -> SlotWords:
    if isinstance(type, ArrayType):
        return SlotWords("array", word, BARE if is_lean else int(type.has_strides))
    return SlotWords(_PYTHON[type.kind] if type.weak else "scalar", word)
