"""A specialization that is called again and again in, a native table for it out.

A kernel begins as an object that is called in Python. When a specialization has been found in
memory a few times, its reads become a table, and the kernel's class becomes the native one: its
instances enter machine code directly, which checks the tables and goes on to Python if none
fits. Whatever a table does not check (settings, a fork) drops all tables.
"""

from __future__ import annotations

import ctypes
import logging
import os
import weakref
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from whorl.launch.callable import make_native, native_base, set_entry
from whorl.launch.layout import NotKnown
from whorl.launch.routine import api_table, routine_address
from whorl.launch.table import Chosen, Launch, NotNative, Once, SlotWords, Table, table_of
from whorl.reads import Shape, World
from whorl.reads.replay import live_facts
from whorl.settings import Settings, on_change

from .graph import GraphStatus
from .labels import ENDED, labels_of
from .launch import Parts
from .machine import host_level, machine_code
from .record import CHECKPOINT, offsets
from .runtime import parallel_address, thread_count
from .types import ArrayType, Scalar

if TYPE_CHECKING:
    from whorl.jit.specialization import KnownShape, Specialization

    from .kernel import NumericKernel
    from .resumption import Resumption

    Called: TypeAlias = NumericKernel | Resumption

__all__ = ["NativeTables", "native_classes"]

log = logging.getLogger("whorl.launch")

CALLS_IN_PYTHON: Final = 3  # before the native way is made
LONGEST_PAUSE: Final = 64
MOST: Final = 16  # tables of one kernel
_PYTHON: Final = {"b": "bool", "i": "int", "f": "float"}


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of kernels that are called in Python, and of those that are called natively."""

    python: type
    native: type


_classes: dict[type, Classes | None] = {}


def native_classes(cls: type) -> Classes | None:
    """Both kinds of a kernel class, of one layout; None where there is no native way."""
    if cls not in _classes:
        _classes[cls] = _made_classes(cls)
    return _classes[cls]


def _made_classes(cls: type) -> Classes | None:
    try:
        base = native_base()
    except (NotKnown, AttributeError, OSError):
        return None
    names = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__qualname__": cls.__qualname__}
    python = type(cls.__name__, (base, cls), {**names, "__call__": cls.__call__})
    native = type(cls.__name__, (base, cls), dict(names))
    make_native(native)
    return Classes(python, native)


class NativeTables:
    """The native tables of one kernel."""

    def __init__(self) -> None:
        self._tables: tuple[Table, ...] = ()  # another one after each change
        self._tabled: dict[tuple[int, int], int] = {}  # how many a specialization has, by number
        self._kept: list[Any] = []  # a launch in another thread may still use these
        self._slow: Any = None
        self.parts: weakref.WeakKeyDictionary[Specialization, Parts]  # of what is loaded
        self.parts = weakref.WeakKeyDictionary()
        self.epoch = 0  # how often they were dropped
        self.try_at = CALLS_IN_PYTHON  # the call in Python at which to make the next one
        self.pause = 1  # calls from one try to the next, more after each in vain

    def drop(self, kernel: Called) -> None:
        """Let every call go on to Python."""
        self.epoch += 1
        self.pause = 1
        self._tabled = {}
        if self._tables:
            self._tables = ()
            self._show(kernel)

    def add(
        self, kernel: Called, known: KnownShape, world: World, found: Any, epoch: int, number: int
    ) -> None:
        """Make a table for calls like this one, if that can be; try less often if it cannot.

        With a number it is for calls that resume from the checkpoint of that number.
        """
        is_made = self._add(kernel, known, world, found, epoch, number)
        self.pause = 1 if is_made else min(2 * self.pause, LONGEST_PAUSE)

    def _add(
        self, kernel: Called, known: KnownShape, world: World, found: Any, epoch: int, number: int
    ) -> bool:
        """Make a table for calls like this one, if that can be; whether it was.

        `found` is what the facts of the call lead to, and the epoch that in which they were taken.
        """
        specialization = found[0]
        alike = (id(specialization), number)
        if len(self._tables) >= MOST or self._tabled.get(alike, 0) >= 2:
            return False
        self._tabled[alike] = self._tabled.get(alike, 0) + 1
        classes = native_classes(kernel.family)
        parts = self.parts.get(specialization)
        if classes is None or parts is None:
            return False
        level = host_level()
        try:
            once = Once(world)
            table = _table(known.shape, once, parts, number)
            # The table is made of what was found now, which has to be what was called with.
            if known.by_facts.get(live_facts(known.shape, cast("World", once))) is not found:
                raise NotNative("what it reads has changed meanwhile")
            address = routine_address(kernel._cache, level, lambda text: machine_code(text, level))
        except NotNative as reason:
            log.debug("%s is launched in Python: %s", kernel._name, reason)
            return False
        except Exception:  # a call that has its result already must not fail for this
            log.warning("%s cannot be launched natively", kernel._name, exc_info=True)
            return False
        if address is None or self.epoch != epoch:
            return False
        table.kept.append((specialization, parts))
        self._tables = (*self._tables, table)
        self._address = address
        self._show(kernel)
        kernel.__class__ = classes.native  # which has the same layout
        if self.epoch != epoch:  # another thread has dropped them since
            self.drop(kernel)
            return False
        return True

    def _show(self, kernel: Called) -> None:
        """Let the kernel's calls find the tables as they are now."""
        if self._slow is None:
            self._slow = _Slow(kernel)
        api = _api()
        shown = None
        while shown is not self._tables:  # another thread may change them meanwhile
            shown = self._tables
            addresses = [table.address for table in shown]
            words = (ctypes.addressof(api), id(self._slow), len(addresses), *addresses)
            header = (ctypes.c_int64 * len(words))(*words)
            self._kept.append((header, api, shown))
            set_entry(kernel, self._address, ctypes.addressof(header))


class _Slow:
    """The way through Python, for a kernel that does not keep itself alive by it."""

    def __init__(self, kernel: Called) -> None:
        self._kernel: Any = weakref.ref(kernel)
        self._made_of = kernel.made_of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kernel = self._kernel()
        if kernel is None:  # it is being collected, and something in its cycle still calls it
            make, *made_of = self._made_of
            kernel = make(*made_of)
        return kernel.call_in_python(*args, **kwargs)


@cache
def _api() -> Any:
    return api_table()


def _table(shape: Shape, world: Once, parts: Parts, number: int) -> Table:
    first, results = offsets([type for _, type in parts.slots])
    slots = {
        path: _slot_words(type, word) for (path, type), word in zip(parts.slots, first, strict=True)
    }
    template = (ctypes.c_int64 * 8)(
        thread_count() if parts.is_parallel else 1,
        parallel_address() if parts.is_parallel else 0,
        parts.printer,
    )
    template[CHECKPOINT] = number
    count, plan = _results(parts.result, results)
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
    )
    resumed = (labels[number - 1],) if number else ()
    table = table_of(shape, slots, world, list(world.arguments), launch, *resumed)
    table.kept.append(template)
    return table


def _slot_words(type: Scalar | ArrayType, word: int) -> SlotWords:
    if isinstance(type, ArrayType):
        return SlotWords("array", word, type.has_strides)
    return SlotWords(_PYTHON[type.kind] if type.weak else "scalar", word)


def _results(result: Any, word: int) -> tuple[int, Any]:
    if result is None:
        return 0, None
    if result[0] == "number":
        return 1, (result[1], result[2], word)
    plan = []
    for i, part in enumerate(result[1]):
        if part is None or part[0] != "number":
            raise NotNative("it returns tuples in tuples")
        plan.append((part[1], part[2], word + i))
    if not plan:
        raise NotNative("it returns an empty tuple")
    return len(plan), tuple(plan)


# -- what drops all tables --------------------------------------------------------------

alive: Final[weakref.WeakSet[Called]] = weakref.WeakSet()


def _drop_all() -> None:
    for kernel in list(alive):
        kernel.tables.drop(kernel)


def _on_settings(settings: Settings) -> None:
    _drop_all()


on_change(_on_settings)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
