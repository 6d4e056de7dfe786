"""Imports modules when they are first used, and never half way in a forked child.

`import whorl` is in front of every program that uses it, most of which need a few of its names. A
package says where its names are made, and the modules behind them wait until a name is asked for:

    from whorl.lazy import attach

    if TYPE_CHECKING:  # what type checkers and people read
        from .outcome import Absent, Found
    else:
        __getattr__, __dir__ = attach(__name__, {"outcome": "Absent Found"})

A name and a module may be called the same, as the function `whorl.fingerprint` and the package it
lives in. Importing a module binds it in its package, whatever was bound there before; so such a
package is given a class of its own, which leaves such names to the public ones.

A child that is forked while another thread imports would find the module locked for ever. So a fork
waits until nobody is importing here. What is done before a fork is done in the reverse order of its
registration, and `logging` has itself locked then. A thread that asks for a logger while that is
imported would wait for the fork, and the fork for the thread. So the wait comes before that lock:
it is registered again once `logging` is there.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from time import monotonic, sleep
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

from whorl.locks import RLock, get_ident

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping

_loading: Final[dict[int, int]] = {}  # how many of its imports each thread is in the middle of
_guard: Final = RLock()  # held for moments, never while something is imported
_forking: Final[list[None]] = []  # one for each time that a fork which is on its way took the guard
_registered_after_logging: Final[list[bool]] = []


def _before_fork() -> None:
    """Wait for the imports of other threads, but not for ever; begin none meanwhile."""
    until = monotonic() + 5
    _guard.acquire()
    _forking.append(None)
    while _loading.keys() - {get_ident()} and monotonic() < until:
        _guard.release()
        sleep(0.001)
        _guard.acquire()


def _after_fork_in_parent() -> None:
    if _forking:  # otherwise this was registered while the fork was on its way
        _forking.pop()
        _guard.release()


def _after_fork_in_child() -> None:
    _guard._at_fork_reinit()  # type: ignore[attr-defined] # as `threading` does
    _forking.clear()
    for thread in _loading.keys() - {get_ident()}:
        del _loading[thread]


def _register() -> None:
    """Wait for imports before a fork, and before all that was registered until now."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )


def _is_logging_there() -> bool:
    return hasattr(sys.modules.get("logging"), "captureWarnings")  # the last of it


_register()
if _is_logging_there():
    _registered_after_logging.append(True)


class _Importing:
    """What a thread is in the middle of while it imports, or does what no child must find begun."""

    __slots__ = ()

    def __enter__(self) -> None:
        me = get_ident()
        with _guard:
            if not _registered_after_logging and _is_logging_there():
                _registered_after_logging.append(True)
                _register()
            _loading[me] = _loading.get(me, 0) + 1

    def __exit__(self, *exception: object) -> None:
        me = get_ident()
        with _guard:
            _loading[me] -= 1
            if not _loading[me]:
                del _loading[me]


importing: Final = _Importing()
"""Around the imports that a function makes: a fork waits for them.

    with importing:
        from filelock import FileLock
"""


class _Front(ModuleType):
    """A package in which some public names are those of its modules."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in self.__dict__["_same_names"]):
            super().__setattr__(name, value)


class _Logger:
    """A logger that is looked up when there is a message.

    If `logging` cannot be imported, because no more files can be opened, messages are dropped.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            logging = load("logging")
        except (ImportError, OSError):
            return _discard
        return getattr(logging.getLogger(self._name), attribute)


def _discard(*words: object, **options: object) -> None:
    """In place of a logging method where `logging` cannot be imported."""


def logger(name: str) -> logging.Logger:
    """The logger of a name, without importing `logging` until it is used.

    >>> logger("whorl.store").level
    0
    """
    return cast("logging.Logger", _Logger(name))


class _LazyModule:
    """Stands for a module until one of its attributes is used."""

    __slots__ = ("_name", "_owner")

    def __init__(self, name: str, owner: dict[str, Any]) -> None:
        self._name = name
        self._owner = owner

    def __getattr__(self, attribute: str) -> Any:
        module = load(self._name)
        for name, value in list(self._owner.items()):
            if value is self:
                self._owner[name] = module
        return getattr(module, attribute)


def lazy_module(module: str, owner: dict[str, Any]) -> Any:
    """A module that is not imported until something of it is used; then it takes its own place.

        if TYPE_CHECKING:  # what type checkers and people read
            from . import eviction
        else:
            eviction = lazy_module("whorl.store.eviction", globals())

    >>> names = {}
    >>> names["errors"] = lazy_module("whorl.errors", names)
    >>> names["errors"].BadSetting.__name__, names["errors"].__name__
    ('BadSetting', 'whorl.errors')
    """
    return _LazyModule(module, owner)


def load(module: str) -> ModuleType:
    """A module, imported now if it has not been, and never half imported in a forked child.

    >>> load("whorl.errors").__name__
    'whorl.errors'
    """
    with importing:
        return import_module(module)


def attach(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names are defined in its modules.

    `names` has the names of each module, by the module's name within the package, or by its whole
    name if it is in another. The modules are attributes too, those without names for the package as
    well.

    >>> import whorl.store
    >>> "Found" in dir(whorl.store), whorl.store.Found.__module__
    (True, 'whorl.store.outcome')
    """
    front = sys.modules[package]
    modules = {name: module for module, listed in names.items() for name in listed.split()}
    same_names = {name for name, module in modules.items() if module.partition(".")[0] == name}
    if same_names:
        front.__dict__["_same_names"] = same_names
        front.__class__ = _Front

    def __getattr__(name: str) -> Any:
        if name in modules:
            module = modules[name]
            place = module if module.startswith("whorl.") else f"{package}.{module}"
            value = getattr(load(place), name)
        elif name in names:
            value = load(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        front.__dict__[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*front.__dict__, *modules, *names} - {"_same_names"})

    return __getattr__, __dir__
