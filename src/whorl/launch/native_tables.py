"""The native tables of a kernel: when they are made, how calls find them, what drops them.

A kernel begins as an object that is called in Python. When a specialization has been found in
memory a few times, its reads become a table, and the kernel's class becomes the native one: its
instances enter machine code directly, which checks the tables and goes on to Python if none
fits. Whatever a table does not check (settings, a fork) drops all tables.

A step that fails turns all of this off for the kernel: its class becomes the one that is called in
Python again, which needs nothing of what could not be made.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import weakref
from typing import TYPE_CHECKING, Any, Final, Protocol

from whorl.errors import show_users_frames
from whorl.fast_dataclasses import NamedTuple, dataclass
from whorl.lazy import lazy_module, logger
from whorl.settings import Settings, on_change

from .callable import IN_PYTHON, entry_header, make_native, native_base, set_entry

if TYPE_CHECKING:
    from whorl.reads import World
    from whorl.store import Cache

    from . import failure, kernel_tables
    from .plain_launch import NativeCall, Parts
    from .selector import Header, Parameters
    from .table import Table
else:
    # For kernels that are called more than twice.
    kernel_tables = lazy_module("whorl.launch.kernel_tables", globals())
    failure = lazy_module("whorl.launch.failure", globals())  # for what goes wrong


log = logger("whorl.launch")

CALLS_IN_PYTHON: Final = 3  # before the native way is made
LONGEST_PAUSE: Final = 4096
MOST: Final = 32  # tables of one kernel
MOST_ALIKE: Final = 8  # of one specialization: for objects of several classes, say


class Called(Protocol):
    """What is called natively: a kernel, or its `resume`."""

    family: type
    tables: NativeTables

    @property
    def recipe(self) -> tuple[Any, ...]:
        """How to make another one: a callable, and its arguments."""

    def call_in_python(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call that is not launched natively."""

    def world_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> World:
        """The world of a call."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of kernels that are called in Python, and of those that are called natively."""

    python: type
    native: type


_classes: dict[type, Classes | None] = {}


def native_classes(cls: type) -> Classes | None:
    """Both kinds of a kernel class, of one layout; None where there is no native way."""
    if cls not in _classes:
        _classes[cls] = _make_classes(cls)
    return _classes[cls]


def _make_classes(cls: type) -> Classes | None:
    try:
        return _classes_of(cls)
    except Exception as error:  # kernels are then called in Python
        turned_off(error, IN_PYTHON)
        return None


def _classes_of(cls: type) -> Classes:
    base = native_base()
    names = {"__module__": cls.__module__, "__doc__": cls.__doc__, "__qualname__": cls.__qualname__}
    python = type(cls.__name__, (base, cls), {**names, "__call__": cls.__call__})
    native = type(cls.__name__, (base, cls), dict(names))
    make_native(native)
    return Classes(python, native)


def turned_off(error: Exception, consequence: str) -> bool:
    """Whether something is launched in Python for good because of an error: `failure.turns_off`."""
    try:
        turns_off = failure.turns_off
    except (ImportError, OSError):  # no more files can be opened, nor that of a module
        return False
    return turns_off(error, consequence)


class NativeTables:
    """The native tables of one kernel."""

    def __init__(self, name: str) -> None:
        self.name = name  # for people
        self._tables: tuple[Table, ...] = ()  # another one after each change
        # The last is what calls find; others are still used.
        self._publications: list[_Publication] = []
        self._slow: Any = None
        self._address = 0  # of the launcher: known before a header is published
        # What calls may find already, and is not listed yet.
        self._publishing: list[_Publication] = []
        self.is_off = False  # a step has failed
        self.epoch = 0  # how often they were dropped
        self.try_at = CALLS_IN_PYTHON  # the call in Python at which to make the next one
        self.pause = 1  # calls from one try to the next, more after each in vain

    def __len__(self) -> int:
        return len(self._tables)

    def drop(self, kernel: Called) -> None:
        """Let every call go on to Python."""
        self.epoch += 1
        self.pause = 1
        if self._tables:
            self._tables = ()
            try:
                self._publish(kernel)
            except BaseException as error:  # the old tables must not be found any more
                _call_in_python(kernel)
                if not isinstance(error, Exception):
                    raise
                self._turn_off(kernel, error)

    def _turn_off(self, kernel: Called, error: Exception) -> None:
        """Launch the kernel in Python from now on, because a step has failed; say why, once.

        The call has its result already, and must not fail for this. What a handler of a signal has
        raised is for the caller.
        """
        if turned_off(error, f"{self.name} is launched in Python"):
            self.is_off = True
            _call_in_python(kernel)

    def note_try(self, calls: int, *, is_made: bool) -> None:
        """Try again at the next call in Python if a table was made, and ever later if not."""
        self.pause = 1 if is_made else min(2 * self.pause, LONGEST_PAUSE)
        self.try_at = calls + self.pause

    def add(self, kernel: Called, call: NativeCall, epoch: int, cache: Cache) -> bool:
        """Make a table for calls like this one, if that can be; whether it was.

        The epoch is that in which the facts of the call were taken.
        """
        if self.is_off:
            return False
        try:
            return self._add_table(kernel, call, epoch, cache)
        except Exception as error:
            self._turn_off(kernel, error)
            return False

    def _add_table(self, kernel: Called, call: NativeCall, epoch: int, cache: Cache) -> bool:
        classes = native_classes(kernel.family)
        launcher = None if classes is None else kernel_tables.launcher(cache)
        if classes is None or launcher is None:
            return False
        not_native = kernel_tables.NotNative
        try:
            table = kernel_tables.table_for(call)
            # The table is made of what was found now, which has to be what was called with.
            if call.known.by_facts.get(table.facts) is not call.match:
                raise not_native("what it reads has changed meanwhile")
        except not_native as reason:
            log.debug("%s is launched in Python: %s", self.name, reason)
            return False
        if self.epoch != epoch:
            return False
        if any(each.form == table.form for each in self._tables):
            return False  # the call came here for another reason: somebody listened, say
        before, (others, is_full) = self._tables, self._without_oldest(call.parts)
        self._tables = (*others, table)
        self._address = launcher
        try:
            self._publish(kernel)
        except BaseException:
            self._tables = before
            raise
        if type(kernel) is classes.python:
            kernel.__class__ = classes.native  # of the same layout
        if self.epoch != epoch:  # another thread has dropped them since
            self.drop(kernel)
            return False
        return not is_full

    def _without_oldest(self, parts: Parts) -> tuple[tuple[Table, ...], bool]:
        """The tables without the oldest that have to go for a new one; whether there were any."""
        tables = self._tables
        alike = [table for table in tables if table.owner is parts]
        gone = alike[:1] if len(alike) >= MOST_ALIKE else list(tables[: len(tables) >= MOST])
        return tuple(table for table in tables if table not in gone), bool(gone)

    def _publish(self, kernel: Called) -> None:
        """Let the kernel's calls find the tables as they are now."""
        slow = self._slow
        if slow is None:
            slow = self._slow = _PythonCall(kernel, self)
        api = kernel_tables.api_of_all()
        tables = None
        while tables is not self._tables:  # another thread may change them meanwhile
            tables = self._tables
            count = tables[0].arguments if tables else 0
            # Marks are about given arguments: the same ones in all tables.
            is_even = all(table.arguments == count for table in tables)
            marked = [
                (table.address, table.marks if is_even else kernel_tables.NO_MARKS)
                for table in tables
            ]
            header = kernel_tables.header_of(
                ctypes.addressof(api), id(slow), count, marked, id(slow.raised), _parameters(tables)
            )
            publication = _Publication(header, tables, api, slow)
            # It is kept before any call can find it, whatever is raised in between: one that was
            # not listed in the end stays.
            self._publishing.append(publication)
            set_entry(kernel, self._address, header.address)
            self._publications.append(publication)
            self._publishing.remove(publication)
        self._let_go(kernel)

    def _let_go(self, kernel: Called) -> None:
        """Forget the headers, and with them tables, that no call uses and none will find.

        A call counts itself in its header as long as it needs anything of it, under the lock of
        the interpreter. A header is published once, before it is in the list: one that is in the
        list and is not the kernel's any more is never found again.
        """
        listed = list(self._publications)  # before it is asked which one is current: see above
        current = entry_header(kernel)
        for each in listed:
            if each.header.address != current and not each.header.is_used:
                with contextlib.suppress(ValueError):  # another thread has done so
                    self._publications.remove(each)


def _parameters(tables: tuple[Table, ...]) -> Parameters:
    """By which names arguments are given; none if tables are of different signatures."""
    every = {table.parameters for table in tables}
    return every.pop() if len(every) == 1 else kernel_tables.NO_PARAMETERS


def _call_in_python(kernel: Called) -> None:
    """Let a kernel's calls no longer enter natively, by what cannot fail."""
    classes = _classes.get(kernel.family)
    if classes is not None and type(kernel) is not classes.python:
        kernel.__class__ = classes.python  # of the same layout


class _Publication(NamedTuple):
    """A header, and what it leads to."""

    header: Header
    tables: tuple[Table, ...]
    api: Any
    slow: _PythonCall  # another thread may have made one too


class _PythonCall:
    """A call in Python, for a kernel that does not keep itself alive by it."""

    def __init__(self, kernel: Called, of: NativeTables) -> None:
        self._kernel: Any = weakref.ref(kernel)
        self._recipe = kernel.recipe
        self.raised = _ErrorHandler(self, of)

    def kernel(self) -> Any:
        """The kernel, or another one like it."""
        kernel = self._kernel()
        if kernel is None:  # it is being collected, and something in its cycle still calls it
            make, *recipe = self._recipe
            kernel = make(*recipe)
        return kernel

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.kernel().call_in_python(*args, **kwargs)
        except Exception as error:
            show_users_frames(error)
            raise


class _ErrorHandler:
    """Called with what code of the user has raised in a native call, and with the call.

    It goes to the caller, and that code does not run again, but for two cases: it says that
    something is absent, which is a fact like others; or the table is for other calls, and this one
    does not come to that code.
    """

    def __init__(self, slow: _PythonCall, of: NativeTables) -> None:
        self._slow: Any = weakref.ref(slow)
        self._of: Any = weakref.ref(of)

    def __call__(
        self, error: Exception, address: int, register: int, /, *args: Any, **kwargs: Any
    ) -> Any:
        slow = self._slow()
        table = next((each for each in self._of()._tables if each.address == address), None)
        if table is None:
            raise error
        kernel = slow.kernel()
        if kernel_tables.is_reached(table, register, error, lambda: kernel.world_of(args, kwargs)):
            raise error
        return slow(*args, **kwargs)


# -- what drops all tables --------------------------------------------------------------

alive: Final[weakref.WeakSet[Called]] = weakref.WeakSet()


def _drop_all() -> None:
    for kernel in list(alive):
        kernel.tables.drop(kernel)


def _on_settings(before: Settings, after: Settings) -> None:
    _drop_all()


on_change(_on_settings)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
